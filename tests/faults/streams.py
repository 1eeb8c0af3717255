"""The history of a table, as its stream tells it: what was applied, in order."""

from typing import Any

import boto3

from lab import dynamodb_local
from lifoq.aws.dynamo_values import plain
from tests.faults.history import Write


class History:
    """All writes to a table of DynamoDB Local since it was created, but for deletions."""

    def __init__(self, endpoint: str, table_name: str) -> None:
        arguments: Any = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
        self._client = boto3.client("dynamodbstreams", **arguments)
        (stream,) = self._client.list_streams(TableName=table_name)["Streams"]
        self._arn = stream["StreamArn"]
        (shard,) = self._client.describe_stream(StreamArn=self._arn)["StreamDescription"]["Shards"]
        begin = {"ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = self._client.get_shard_iterator(StreamArn=self._arn, **begin)
        self._following = iterator["ShardIterator"]
        self._read: list[Write] = []

    def writes(self) -> list[Write]:
        """Read what is new, and return all."""
        while (page := self._client.get_records(ShardIterator=self._following))["Records"]:
            self._read += [
                Write(plain(images["OldImage"]) if "OldImage" in images else None, plain(new))
                for images in (record["dynamodb"] for record in page["Records"])
                if (new := images.get("NewImage")) is not None
            ]
            self._following = page["NextShardIterator"]
        return self._read
