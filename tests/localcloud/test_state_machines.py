"""State machines, where moto alone would do otherwise."""

import json

import pytest

from tests.localcloud.harness import Deployed, eventually


@pytest.mark.parametrize("integration", ["dynamodb", "aws-sdk:dynamodb"])
def test_a_state_that_reads_an_item_has_its_bytes_as_base64(
    deployed: Deployed, integration: str
) -> None:
    deployed.put("read", list={"L": [{"B": b"\x00\xff"}]})
    read = {
        "Type": "Task",
        "Resource": f"arn:aws:states:::{integration}:getItem",
        "Parameters": {"TableName": deployed.ids["Table"], "Key": {"id": {"S": "read"}}},
        "End": True,
    }
    states = deployed.client("stepfunctions")
    machine = states.create_state_machine(
        name=integration.replace(":", "-"),
        definition=json.dumps({"StartAt": "Read", "States": {"Read": read}}),
        roleArn="arn:aws:iam::123456789012:role/reader",
    )["stateMachineArn"]
    execution = states.start_execution(stateMachineArn=machine, name="once")["executionArn"]

    def ended() -> dict | None:
        found: dict = states.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    found = eventually(ended)
    assert found["status"] == "SUCCEEDED"
    assert json.loads(found["output"])["Item"]["list"] == {"L": [{"B": "AP8="}]}
