"""The history of a table, as its stream tells it: what was applied, in order."""

from typing import Any

import boto3

from lab import dynamodb_local
from lifoq.aws.dynamo_values import plain
from tests.faults.history import Write


def writes(endpoint: str, table_name: str) -> list[Write]:
    """All writes to a table of DynamoDB Local since it was created, but for deletions."""
    arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
    client = boto3.client("dynamodbstreams", **arguments)
    (stream,) = client.list_streams(TableName=table_name)["Streams"]
    arn = stream["StreamArn"]
    records: list[Any] = []
    for shard in client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        begin = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        following = client.get_shard_iterator(StreamArn=arn, **begin)["ShardIterator"]
        while (page := client.get_records(ShardIterator=following))["Records"]:
            records += page["Records"]
            following = page["NextShardIterator"]
    return [
        Write(
            plain(images["OldImage"]) if "OldImage" in images else None, plain(images["NewImage"])
        )
        for images in (record["dynamodb"] for record in records)
        if "NewImage" in images
    ]
