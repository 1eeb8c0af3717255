"""The code of the deployed functions that need boto3, which takes long to import."""

import json
import os

import boto3


def forward(event, _context):
    """Puts what it gets into a queue; a message's body says what happens to it then."""
    records = event["Records"]
    body = json.dumps(records)
    boto3.client("sqs").send_message(QueueUrl=os.environ["QUEUE_URL"], MessageBody=body)
    if any(one.get("body") == "poison" for one in records):
        raise ValueError("poison")
    refused = [one["messageId"] for one in records if one.get("body") == "refuse"]
    return {"batchItemFailures": [{"itemIdentifier": name} for name in refused]}
