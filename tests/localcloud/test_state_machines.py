"""State machines, where moto alone would do otherwise."""

import json

from tests.localcloud.harness import eventually


def test_a_state_that_reads_an_item_has_its_bytes_as_base64(deployed):
    deployed.put("read", list={"L": [{"B": b"\x00\xff"}]})
    read = {
        "Type": "Task",
        "Resource": "arn:aws:states:::dynamodb:getItem",
        "Parameters": {"TableName": deployed.ids["Table"], "Key": {"id": {"S": "read"}}},
        "End": True,
    }
    states = deployed.client("stepfunctions")
    machine = states.create_state_machine(
        name="reads",
        definition=json.dumps({"StartAt": "Read", "States": {"Read": read}}),
        roleArn="arn:aws:iam::123456789012:role/reader",
    )["stateMachineArn"]
    execution = states.start_execution(stateMachineArn=machine)["executionArn"]

    def ended() -> dict | None:
        found: dict = states.describe_execution(executionArn=execution)
        return None if found["status"] == "RUNNING" else found

    found = eventually(ended)
    assert found["status"] == "SUCCEEDED"
    assert json.loads(found["output"])["Item"]["list"] == {"L": [{"B": "AP8="}]}
