"""The queue's table, as the functions reach it: they need the store alone, and not what producers
and operators ask of a queue."""

from typing import TYPE_CHECKING

from lifoq.aws.dynamo_table import DynamoTable
from lifoq.environment import Environment
from lifoq.store.store import Store

if TYPE_CHECKING:
    from lifoq.store.large_values import LargeValues


def store_of(environment: Environment, *, repeats: bool = True) -> Store:
    """``repeats``: whether calls that fail are repeated at once."""
    table = DynamoTable.in_function(environment.table_name, repeats=repeats)
    return Store(table, lifetimes=environment.lifetimes(), large=_large(environment.bucket))


def _large(bucket: str | None) -> "LargeValues | None":
    if bucket is None:
        return None
    from lifoq.aws.bucket import in_bucket  # noqa: PLC0415 - a cold start less to import

    return in_bucket(bucket)
