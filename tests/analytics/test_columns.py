"""Columns of times: nulls in Arrow's tables are never in NumPy's arrays, and back."""

import numpy as np
import pyarrow as pa
import pytest

from lifoq_analytics import columns
from lifoq_analytics.columns import NEVER


def test_what_is_null_never_came_and_the_other_way_round():
    known = pa.chunked_array([pa.array([3, None], pa.int32()), pa.array([0], pa.int32())])
    assert columns.moments(known).tolist() == [3, NEVER, 0]
    assert columns.filled(known, -1).tolist() == [3, -1, 0]
    assert columns.column(np.array([3, NEVER, 0])) == pa.array([3, None, 0], pa.int64())
    kind = pa.timestamp("us", tz="UTC")
    assert columns.column(np.array([3, NEVER]), kind) == pa.array([3, None], pa.int64()).cast(kind)


def test_the_time_between_two_moments_is_known_where_both_are():
    starts, ends = np.array([1, NEVER, 1, NEVER, 7]), np.array([5, 5, NEVER, NEVER, 2])
    assert columns.between(starts, ends).tolist() == [4, NEVER, NEVER, NEVER, -5]


@pytest.mark.parametrize("step", [1, 2, 1_000])
def test_keys_are_counted_whether_they_lie_close_together_or_far_apart(step):
    keys, number = columns.count(step * np.array([7, -2, 7, 3, 7, -2]))
    assert (keys.tolist(), number.tolist()) == ([-2 * step, 3 * step, 7 * step], [2, 1, 3])
    nobody, none = columns.count(np.array([], np.int64))
    assert (len(nobody), len(none)) == (0, 0)


def test_rows_of_equal_keys_are_one_by_sum_and_by_the_greatest_and_the_least():
    rows = {"key": ["b", "a"], "tasks": [1, 2], "max_wait": [3, None], "min_wait": [5, 6]}
    more = {"key": ["a", "b"], "tasks": [10, 20], "max_wait": [4, 2], "min_wait": [7, 1]}
    tables = [pa.table(rows), pa.table(more)]
    folded = columns.fold(tables, ["key"])
    assert folded.schema == tables[0].schema
    assert folded.sort_by("key").to_pydict() == {
        "key": ["a", "b"],
        "tasks": [12, 21],
        "max_wait": [4, 3],
        "min_wait": [6, 1],
    }


def test_groups_hold_the_rows_of_each_word():
    table = pa.table({"word": ["b", "a", "b", "c"], "n": [1, 2, 3, 4]})
    found = {word: its["n"].to_pylist() for word, its in columns.groups(table, "word").items()}
    assert found == {"a": [2], "b": [1, 3], "c": [4]}
    assert list(found) == ["a", "b", "c"]
    assert columns.groups(table.slice(0, 0), "word") == {}
