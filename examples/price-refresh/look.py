"""Somebody looks at an article, and who shows prices is told of the new one: python look.py SKU"""

import json
import sys
from typing import Any

import boto3

from lifoq import LifoqError, Queue

try:
    Queue.connect("prices")  # says what is missing, if this is not where the queue is
except LifoqError as error:
    sys.exit(str(error))

cloudformation: Any = boto3.client("cloudformation")
stack = cloudformation.describe_stacks(StackName="prices")["Stacks"][0]
outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}

wish = {"sku": sys.argv[1], "currency": "EUR"}
functions: Any = boto3.client("lambda")
functions.invoke(FunctionName=outputs["ProducerName"], Payload=json.dumps(wish).encode())

sqs: Any = boto3.client("sqs")
told: list[Any] = []
while not told:
    answer = sqs.receive_message(QueueUrl=outputs["PricesUrl"], WaitTimeSeconds=10)
    told = answer.get("Messages", [])
print(json.loads(told[0]["Body"])["result"])  # noqa: T201 - the answer
