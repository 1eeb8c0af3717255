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


def test_a_schedule_or_a_rule_is_named_where_it_will_not_fire_as_it_says(tmp_path):
    stack = {
        "Wrong": of_type("AWS::Scheduler::Schedule", ScheduleExpression="cron(1 2)"),
        "Later": of_type("AWS::Scheduler::Schedule", ScheduleExpression={"Ref": "Told"}),
        "Fixed": of_type("AWS::Scheduler::Schedule", FlexibleTimeWindow={"Mode": "OFF"}),
        "Loose": of_type("AWS::Scheduler::Schedule", FlexibleTimeWindow={"Mode": "FLEXIBLE"}),
        "Rule": of_type("AWS::Events::Rule", ScheduleExpression="rate(1 day)"),
        "Silent": of_type("AWS::Events::Rule", ScheduleExpression=None),
        "Queue": of_type("AWS::SQS::Queue"),
        "Cdk": of_type("AWS::CDK::Metadata"),
    }
    inventory = Inventory(tmp_path / "not-imitated.txt")
    wrong, rule, _ = inventory.news({"one": stack})
    assert wrong.startswith("AWS::Scheduler::Schedule: Invalid Schedule Expression cron(1 2)")
    assert rule == "AWS::Events::Rule.ScheduleExpression: rules do not fire by themselves"
    flexible = "AWS::Scheduler::Schedule.FlexibleTimeWindow: schedules fire on time"
    assert inventory.lines() == [wrong, flexible, rule]
    assert inventory.news({}) == inventory.lines() == []
