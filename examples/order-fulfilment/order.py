"""Has an order fulfilled, and prints how that ended: python order.py ORDER"""

import json
import sys
import time
import uuid
from typing import Any

import boto3

from lifoq import LifoqError, Queue

try:
    Queue.connect("orders")  # says what is missing, if this is not where the queue is
except LifoqError as error:
    sys.exit(str(error))

cloudformation: Any = boto3.client("cloudformation")
outputs = cloudformation.describe_stacks(StackName="orders")["Stacks"][0]["Outputs"]
(machine,) = [one["OutputValue"] for one in outputs if one["OutputKey"] == "OrderArn"]
within = {"reserveWithin": 600, "chargeWithin": 600, "shipWithin": 3600, "undoWithin": 3600}

executions: Any = boto3.client("stepfunctions")
begun = executions.start_execution(
    stateMachineArn=machine,
    name=str(uuid.uuid4()),
    input=json.dumps({"order": json.loads(sys.argv[1]), **within}),
)
while True:
    found = executions.describe_execution(executionArn=begun["executionArn"])
    if found["status"] != "RUNNING":
        break
    time.sleep(0.5)
output = json.loads(found["output"]) if "output" in found else ""
print(found["status"], output)  # noqa: T201 - the answer
