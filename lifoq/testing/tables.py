"""Make a queue's table for a test, on any DynamoDB endpoint."""

from typing import Any

from lifoq.items import schema


def create_table(client: Any, table_name: str) -> None:
    """Create the queue's table, its TTL switched on, and wait until it can be used.

    Args:
        client: A boto3 client of DynamoDB: of AWS, moto or DynamoDB Local.
        table_name: The name of the table.

    Examples:
        >>> from moto import mock_aws
        >>> with mock_aws():
        ...     create_table(boto3.client("dynamodb", region_name="us-east-1"), "my-table")
        ...     queue = Queue.connect(table="my-table", region_name="us-east-1")
        ...     queue.put("device.check").status
        <Status.PENDING: 'PENDING'>
    """
    client.create_table(**schema.table_definition(table_name))
    client.get_waiter("table_exists").wait(
        TableName=table_name, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )
    client.update_time_to_live(
        TableName=table_name,
        TimeToLiveSpecification={"Enabled": True, "AttributeName": schema.TTL_ATTRIBUTE.value},
    )
