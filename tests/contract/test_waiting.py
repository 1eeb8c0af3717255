"""Many tasks read at once, and waited for together."""

import random
from collections import Counter
from datetime import timedelta
from unittest import mock

import pytest

from lifoq import (
    Cells,
    DamagedTask,
    InvalidInput,
    Queue,
    StoreUnavailable,
    TaskCancelled,
    TaskError,
    TaskFailed,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
)
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.aws.dynamo_values import typed
from lifoq.aws.retry_policy import ATTEMPTS
from lifoq.basics.clock import ServerClock
from lifoq.store.large_values import LargeValues, MemoryBlobs
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from tests.contract.conftest import succeed


def looks(queue: Queue) -> mock.Mock:
    """Every read of several items, with their ids."""
    return mock.patch.object(queue.store.table, "get_many", wraps=queue.store.table.get_many)


def test_many_are_got_by_their_ids_in_their_order_and_none_where_there_is_none(queue):
    ids = [f"t{n}" for n in range(120)]
    for n, task_id in enumerate(ids):
        queue.put("a", n, task_id=task_id)
    asked = ["nobody", *reversed(ids), ids[3]]
    found = queue.get_many(iter(asked))
    assert list(found) == asked[:-1]
    assert found.pop("nobody") is None
    assert [task.payload for task in found.values()] == list(reversed(range(120)))
    assert (queue.get_many([]), list(queue.wait_many([], timeout=1))) == ({}, [])


def test_values_of_the_bucket_come_with_them(host):
    store = Store(MemoryTable(), host=host, large=LargeValues(MemoryBlobs(), host=host))
    queue, payload = Queue(store, host=host), [str(n) for n in range(30_000)]
    for task_id in ("t", "u"):
        queue.put("a", payload, task_id=task_id)
    assert [task.payload for task in queue.get_many(["t", "u"]).values()] == [payload] * 2
    for task_id in ("t", "u"):
        store.succeed(store.claim(task_id, claim_id="c", lease=30), str(payload).replace("'", '"'))
    ended = list(queue.wait_many(["t", "u"], timeout=0))
    assert [outcome.result() for outcome in ended] == [payload] * 2


@pytest.mark.parametrize("call", ["get_many", "wait_many"])
@pytest.mark.parametrize("client", [Queue, lambda store: Cells([Queue(store)])])
@pytest.mark.parametrize(
    ("task_ids", "sentence"),
    [
        ("t", "must be an iterable of ids, such as a list"),
        (7, "must be an iterable of ids, such as a list"),
        (["t", ""], "task_id=''"),
        (["t", None], "task_id=None"),
        ([f"t{n}" for n in range(1001)], "must be ids of 1,000 tasks at the most; ask in parts"),
    ],
)
def test_what_are_no_ids_or_too_many_is_refused_before_anything_is_read(
    store, call, client, task_ids, sentence
):
    terms = {"timeout": 1} if call == "wait_many" else {}
    with pytest.raises(InvalidInput, match=sentence):
        getattr(client(store), call)(task_ids, **terms)


def test_each_outcome_comes_as_its_task_ends_and_only_those_that_are_left_are_looked_at(
    queue, host
):
    ids = [f"t{n}" for n in range(4)]
    for task_id in ids:
        queue.put("a", task_id=task_id)
    succeed(queue, "t2", '"at once"')
    host.on_sleep = lambda: len(host.slept) in (1, 3) and succeed(queue, f"t{len(host.slept)}")
    with looks(queue) as looked:
        told = [
            (outcome.task_id, outcome.task.result, len(host.slept))
            for outcome in queue.wait_many(ids, timeout=timedelta(seconds=1))
            if outcome.error is None
        ]
    assert told == [("t2", "at once", 0), ("t1", "done", 1), ("t3", "done", 3)]
    whole = [set(call.args[0]) for call in looked.call_args_list if "only" not in call.kwargs]
    parts = [set(call.args[0]) for call in looked.call_args_list if "only" in call.kwargs]
    assert whole == [set(ids), {"t1"}, {"t3"}, {"t0"}], "first, what has ended, and last"
    assert parts == [{"t0", "t1", "t3"}, *[{"t0", "t3"}] * 2, *[{"t0"}] * (len(parts) - 3)]
    assert host.slept[:3] == [0.1, pytest.approx(0.15), pytest.approx(0.225)]
    assert sum(host.slept) == pytest.approx(1)


def test_the_outcome_of_each_says_what_a_wait_for_it_alone_would(queue, host, past):
    for task_id in ("succeeds", "fails", "is cancelled", "is shed", "vanishes", "waits"):
        queue.put("a", task_id=task_id, deadline=5 if task_id == "is shed" else 3600)
    succeed(queue, "succeeds", '{"x":1}')
    failing = queue.store.claim("fails", claim_id="c", lease=30)
    queue.store.fail(failing, TaskError(type="ValueError", message="boom"))
    queue.cancel("is cancelled")
    past.write({"taskId": "damaged", "taskStatus": "PENDING"})
    host.on_sleep = lambda: past.remove("vanishes")
    ids = ["nobody", "damaged", "succeeds", "fails", "is cancelled", "is shed", "vanishes", "waits"]
    told = {outcome.task_id: outcome for outcome in queue.wait_many([*ids, *ids], timeout=10)}
    assert {task_id: type(outcome.error) for task_id, outcome in told.items()} == {
        "nobody": TaskNotFound,
        "damaged": DamagedTask,
        "succeeds": type(None),
        "fails": TaskFailed,
        "is cancelled": TaskCancelled,
        "is shed": TaskShed,
        "vanishes": TaskShed,
        "waits": WaitTimeout,
    }
    assert list(told)[-1] == "waits"
    for task_id in {*ids} - {"succeeds", "vanishes"}:
        with pytest.raises(type(told[task_id].error)):
            queue.wait(task_id, timeout=0)
    assert told["succeeds"].result() == queue.wait("succeeds", timeout=0) == {"x": 1}
    with pytest.raises(TaskFailed, match="ValueError: boom"):
        told["fails"].result()
    assert told["waits"].task.status == "PENDING", "what is known"
    known = {task_id for task_id, outcome in told.items() if outcome.task is not None}
    assert known == {*ids} - {"nobody", "damaged"}


@pytest.mark.parametrize("wait", ["wait", "wait_many"])
def test_a_poll_of_what_goes_on_reads_no_payload(queue, host, wait):
    queue.put("a", random.Random(1).randbytes(20_000).hex(), task_id="t")
    read, table = [], queue.store.table
    asked = {"wait": lambda: queue.wait("t", timeout=60)}
    asked["wait_many"] = lambda: next(queue.wait_many(["t"], timeout=60)).result()

    def noted(name):
        call = getattr(table, name)

        def noting(*args, **kwargs):
            found = call(*args, **kwargs)
            read.append(sum(len(str(item)) for item in (found if name == "get_many" else [found])))
            return found

        return mock.patch.object(table, name, noting)

    with noted("get"), noted("get_many"), pytest.raises(WaitTimeout):
        asked[wait]()
    assert len(read) > 10
    assert [size > 10_000 for size in read] == [True, *[False] * (len(read) - 2), True]


@pytest.mark.parametrize("status", ["SUCCESS", "PENDING"])
def test_what_changes_between_the_two_reads_of_a_poll_is_told_as_it_is(queue, host, status):
    """It has ended by its status; by its item it has ended otherwise, or waits anew."""
    queue.put("a", task_id="t")
    host.on_sleep = lambda: len(host.slept) == 1 and queue.cancel("t")
    whole = queue.store.read_each

    def later(task_ids):
        if len(host.slept) == 1:
            queue.put("a", "anew", task_id="t", if_exists="replace")
            if status == "SUCCESS":
                succeed(queue, "t")
        return whole(task_ids)

    with mock.patch.object(queue.store, "read_each", later):
        (outcome,) = queue.wait_many(["t"], timeout=1)
    assert (outcome.task.status, outcome.task.payload) == (status, "anew")
    assert (type(outcome.error), len(host.slept) == 1) == (
        (type(None), True) if status == "SUCCESS" else (WaitTimeout, False)
    )


def test_no_time_looks_once_and_who_works_beyond_the_time_has_one_more_look(queue, host):
    for task_id in ("t", "u"):
        queue.put("a", task_id=task_id)
    with looks(queue) as looked:
        (outcome,) = queue.wait_many(["t"], timeout=0)
    assert (type(outcome.error), looked.call_count, host.slept) == (WaitTimeout, 1, [])
    succeed(queue, "t")
    ended = queue.wait_many(["t", "u"], timeout=1)
    assert next(ended).task_id == "t"
    host.advance(60)
    succeed(queue, "u")
    assert next(ended).error is None


def test_cells_wait_for_their_tasks_together(cells, host):
    ids = [f"t{n}" for n in range(20)]
    for task_id in ids:
        cells.put("a", task_id=task_id)
        succeed(cells.home(task_id), task_id, f'"{task_id}"')
    assert Counter(task is None for task in cells.get_many(["nobody", *ids]).values()) == {
        True: 1,
        False: 20,
    }
    told = {one.task_id: one.result() for one in cells.wait_many(ids, timeout=1)}
    assert told == {task_id: task_id for task_id in ids}
    assert host.slept == []


# What DynamoDB leaves out of an answer


class Answers:
    """DynamoDB that reads as many of the keys as it is told, call by call; then all."""

    region = "us-east-1"

    def __init__(self, *reads: int) -> None:
        self.reads = list(reads)
        self.asked: list[int] = []

    def call(self, operation, request):
        assert operation == "BatchGetItem"
        (name, wanted), *_ = request["RequestItems"].items()
        keys = wanted["Keys"]
        assert wanted["ConsistentRead"]
        self.asked.append(len(keys))
        read = self.reads.pop(0) if self.reads else len(keys)
        left = {name: {**wanted, "Keys": keys[read:]}} if keys[read:] else {}
        found = [typed({"taskId": key["taskId"]["S"]}) for key in keys[:read]]
        return {"Responses": {name: found}, "UnprocessedKeys": left}


def read(answers: Answers, number: int, host: ManualHost) -> list[str]:
    table = DynamoTable(name="queue", calls=answers, once=answers, clock=ServerClock(host))
    return [item["taskId"] for item in table.get_many([f"t{n}" for n in range(number)])]


def test_a_hundred_are_read_by_a_call(host):
    answers = Answers()
    assert len(read(answers, 1000, host)) == 1000
    assert answers.asked == [100] * 10


def test_what_an_answer_left_out_is_asked_for_again_at_once_and_then_after_pauses(host):
    answers = Answers(40, 40, 0, 10)
    assert sorted(read(answers, 100, host)) == sorted(f"t{n}" for n in range(100))
    assert answers.asked == [100, 60, 20, 20, 10]
    assert len(host.slept) == 3
    assert all(0 <= slept <= 1 for slept in host.slept)


def test_a_table_that_reads_nothing_again_and_again_is_told(host):
    with pytest.raises(StoreUnavailable, match=f"read nothing in {ATTEMPTS} BatchGetItems"):
        read(Answers(*[0] * 9), 5, host)
    assert len(host.slept) == ATTEMPTS - 1
