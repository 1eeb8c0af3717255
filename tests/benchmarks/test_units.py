"""Units by the rules: what DynamoDB Local reports where it follows them, and known cases."""

import pytest

from benchmarks.units import Metered, item_bytes, write_units
from lifoq.items.task import NewTask
from lifoq.tables.store import Store
from lifoq.testing.fixtures import noise


@pytest.mark.parametrize(
    ("value", "size"), [("é", 2), (1700000000123456, 9), (1000, 2), (["a", {"b": "cd"}], 13)]
)
def test_sizes_are_those_that_aws_documents(value, size):
    assert item_bytes({"a": value}) == 1 + size


def test_a_smaller_item_costs_what_the_larger_one_before_it_did():
    assert write_units({"taskId": "a", "payload": "x" * 3000}, {"taskId": "a"}) == 3


def test_each_kilobyte_that_an_item_begins_is_a_unit_of_the_table_and_none_of_the_index():
    table = Metered()
    Store(table, host=table.host).put(NewTask(task_type="a", payload=noise(6200)))
    assert table.write_units == 6 + 1  # some 5,060 bytes, compressed
