"""The list of what the local cloud leaves out, as somebody is told of it."""

from lifoq_localcloud.deployments.inventory import Inventory
from tests.localcloud.template import of_type


def test_what_of_a_deployment_is_not_imitated_is_named(deployed):
    lines = deployed.cloud.not_imitated()
    assert "AWS::Lambda::EventSourceMapping: there is no broker to read from" in lines
    assert not [line for line in lines if line.startswith("AWS::SNS::Subscription")]


def test_what_the_application_misses_is_said_once_and_the_rest_is_in_a_file(tmp_path):
    file = tmp_path / "not-imitated.txt"
    inventory = Inventory(file)
    kinds = ("AWS::CloudWatch::Alarm", "AWS::ECS::Service", "AWS::Nowhere::Thing")
    first = {kind: of_type(kind) for kind in kinds}
    second = {"Function": of_type("AWS::Lambda::Function", Layers=["layer"], MemorySize=128)}
    service = "AWS::ECS::Service: runs no container; start `lifoq work` beside it"
    layers = "AWS::Lambda::Function.Layers: layers are not unpacked"

    told = inventory.news({"one": first})
    assert [line.partition(" (")[0] for line in told] == [
        service,
        "AWS::Nowhere::Thing: has an id, and nothing behind it",
        f"What is not as on AWS is listed in {file}",
    ]
    assert inventory.news({"one": first, "two": second}) == [layers]
    listed = file.read_text().splitlines()
    assert listed == inventory.lines()
    assert "AWS::Lambda::Function.MemorySize: memory is not limited" in listed
    assert len(listed) == 5
