"""The queue's table, as the functions reach it: they need the store alone, and not what producers
and operators ask of a queue."""

from lifoq.environment import Environment
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store


def store_of(environment: Environment) -> Store:
    table = DynamoTable.connect(environment.table_name)
    return Store(table, lifetimes=environment.lifetimes())
