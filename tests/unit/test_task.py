"""Reading tasks from items, and errors into items."""

import re

import pytest

from lifoq.errors import DamagedTask
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import ATTRIBUTE_TYPES, Attribute
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
