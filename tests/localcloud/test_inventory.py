"""What somebody is told of what the local cloud leaves out."""

from localcloud.inventory import Inventory
from tests.localcloud.template import of_type


def test_what_the_application_misses_is_said_once_and_the_rest_is_in_a_file(tmp_path):
    file = tmp_path / "not-imitated.txt"
    inventory = Inventory(file)
    first = {"Alarm": of_type("AWS::CloudWatch::Alarm"), "Service": of_type("AWS::ECS::Service")}
    second = {"Function": of_type("AWS::Lambda::Function", Layers=["layer"], MemorySize=128)}
    service = "AWS::ECS::Service: runs no container; start `lifoq work` beside it"
    layers = "AWS::Lambda::Function.Layers: layers are not unpacked"

    told = inventory.news({"one": first})
    assert [line.partition(" (")[0] for line in told] == [
        service,
        f"What is not as on AWS is listed in {file}",
    ]
    assert inventory.news({"one": first, "two": second}) == [layers]
    listed = file.read_text().splitlines()
    assert listed == inventory.lines()
    assert "AWS::Lambda::Function.MemorySize: memory is not limited" in listed
    assert len(listed) == 4
