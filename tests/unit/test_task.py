"""Reading tasks from items, and errors into items."""

import re

import pytest

from lifoq.errors import DamagedTask
from lifoq.items import size
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import ATTRIBUTE_TYPES, Attribute, not_projected
from lifoq.items.task import NewTask, Task, accept
from lifoq.items.task_error import MAX_TRACEBACK, TaskError
from lifoq.items.transitions import new_item
from lifoq.testing.hosts import START


def item(**changes):
    accepted = accept(NewTask(task_type="a", payload={"n": 1}), now=START, longest_deadline=10**9)
    plain = new_item(accepted, task_id="t", stamp=START, lifetimes=Lifetimes())
    return {k: v for k, v in {**plain, **changes}.items() if v is not None}


@pytest.mark.parametrize("attribute", [a for a in Attribute if a is not Attribute.TASK_ID])
def test_an_attribute_of_another_type_or_an_unknown_status_is_named(attribute):
    wrong = "text" if ATTRIBUTE_TYPES[attribute] == "N" else 7
    with pytest.raises(DamagedTask, match=f"{attribute} is (str|int), but must be of type [A-Z]"):
        Task.from_item(item(**{attribute: wrong}))
    with pytest.raises(DamagedTask, match="'RUNNING', which is no status"):
        Task.from_item(item(taskStatus="RUNNING"))


def test_the_due_time_of_a_task_that_waits_no_more_for_it_is_none():
    due = {Attribute.DUE_AT: START}
    assert Task.from_item(item(**due)).due_at is None
    assert Task.from_item(item(**due, taskStatus="DELAYED")).due_at == START


def test_an_attempt_that_ended_as_only_a_later_release_knows_is_left_out_and_damages_no_task():
    known = {"attempt": 1, "ended": START, "how": "RETRIED"}
    later = {"attempt": 2, "how": "HANDED_TO_ANOTHER_REGION", "region": ["eu-west-1"]}
    task = Task.from_item(item(history=[known, later]))
    assert [past.encode() for past in task.history] == [known]


def boom(depth: int):
    if depth:
        boom(depth - 1)
    raise ValueError("x" * 5000 + "\ud800")


def test_an_error_is_bounded_and_readable_and_reads_back():
    try:
        boom(500)
    except ValueError as error:
        described = TaskError.of(error)
    assert described.type == "ValueError"
    assert len(described.message) <= 1000
    assert described.message.endswith("xxx… (4,041 more characters)")
    assert len(described.traceback) <= MAX_TRACEBACK
    assert re.match(r"\([\d,]+ characters before\)\n", described.traceback)
    assert TaskError.from_json(described.to_json()) == described


def test_a_traceback_is_kept_as_far_as_the_item_has_room_for_it():
    try:
        raise ValueError(2_000 * "\x01")
    except ValueError as error:
        described = TaskError.of(error)
    kept = TaskError.from_json(described.to_json()).traceback
    assert re.match(r"\([\d,]+ characters before\)\n\x01", kept)


def test_an_index_lacks_what_it_does_not_project_and_nothing_where_it_projects_all():
    needed = {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["b", "c", "a"]}}
    shown = {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["c", "d"]}}
    assert not_projected(shown, needed) == ["a", "b"]
    assert not_projected({"Projection": {"ProjectionType": "ALL"}}, needed) == []


def test_the_size_of_an_item_is_that_of_its_names_and_values_as_dynamodb_counts_them():
    for value, bytes_of_it in (
        ("\u00e9", 2),
        (b"123", 3),
        (7, 12),
        (["x", b"yz"], 3 + 2 + 3),
        ({"bc": "d", "e": "f"}, 3 + 2 + 3 + 2),
    ):
        assert size.of({"name": value}) == 4 + bytes_of_it
