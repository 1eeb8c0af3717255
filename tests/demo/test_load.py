"""The generator's schedule is switched, and nothing else about it changes."""

import json

import boto3
import pytest
from moto import mock_aws

from demo.load import Generator, Phase


@pytest.fixture
def scheduler():
    with mock_aws():
        client = boto3.client("scheduler", region_name="us-east-1")
        client.create_schedule(
            Name="load",
            ScheduleExpression="rate(1 minute)",
            FlexibleTimeWindow={"Mode": "OFF"},
            State="DISABLED",
            Target={
                "Arn": "arn:aws:lambda:us-east-1:123456789012:function:create",
                "RoleArn": "arn:aws:iam::123456789012:role/scheduler",
                "Input": "{}",
                "RetryPolicy": {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60},
            },
        )
        yield client


def test_starting_a_phase_enables_the_schedule_with_the_phases_load(scheduler):
    Generator(scheduler, "load").start(Phase(name="x", tasks_per_second=2.5, seconds=30))
    schedule = scheduler.get_schedule(Name="load")
    assert schedule["State"] == "ENABLED"
    assert json.loads(schedule["Target"]["Input"]) == {
        "taskType": "device.check",
        "payload": {"question": "is the device well?"},
        "load": {"profile": "constant", "tasksPerSecond": 2.5, "seconds": 30},
    }


def test_a_phase_without_load_leaves_the_schedule_disabled(scheduler):
    generator = Generator(scheduler, "load")
    generator.start(Phase(name="x", tasks_per_second=5, seconds=30))
    generator.start(Phase(name="y", tasks_per_second=0, seconds=30))
    assert scheduler.get_schedule(Name="load")["State"] == "DISABLED"


def test_expression_window_and_target_stay_as_they_were_deployed(scheduler):
    before = scheduler.get_schedule(Name="load")
    generator = Generator(scheduler, "load")
    generator.start(Phase(name="x", tasks_per_second=5, seconds=30))
    generator.stop()
    after = scheduler.get_schedule(Name="load")
    assert after["ScheduleExpression"] == before["ScheduleExpression"]
    assert after["FlexibleTimeWindow"] == before["FlexibleTimeWindow"]
    for name in ("Arn", "RoleArn", "RetryPolicy"):
        assert after["Target"][name] == before["Target"][name]
