"""Calls: a task for which somebody waits, with the caller's patience as its deadline."""

from datetime import timedelta
from unittest import mock

import pytest

from lifoq import (
    Cancelled,
    InvalidInput,
    NoResult,
    Queue,
    Status,
    StoreUnavailable,
    TaskCancelled,
    TaskError,
    TaskFailed,
    TaskShed,
    WaitTimeout,
)
from lifoq.client import call as calls
from lifoq.testing.hosts import ManualHost
from tests.conftest import on_dynamodb_too


class Worker:
    """Does one thing at the end of the caller's n-th pause."""

    def __init__(self, queue: Queue, host: ManualHost) -> None:
        self.store, self.host = queue.store, host

    def at(self, pause: int, does) -> None:
        def paused() -> None:
            if len(self.host.slept) == pause:
                does()

        self.host.on_sleep = paused

    def claim(self):
        (task,) = self.store.read([task_id for task_id, _ in self.store.browse(Status.PENDING)])
        return self.store.claim(task.task_id, claim_id="c", lease=60)

    def succeeds(self, result: str = '"done"') -> None:
        self.store.succeed(self.claim(), result)

    def fails(self) -> None:
        self.store.fail(self.claim(), TaskError(type="ValueError", message="boom"))


@pytest.fixture
def worker(queue, host) -> Worker:
    return Worker(queue, host)


def only(queue: Queue):
    """The only task of the queue, wherever it is."""
    items = [item for item in queue.store.table.scan(limit=100).rows if "taskType" in item]
    (task,) = queue.store.read([str(item["taskId"]) for item in items])
    return task


def test_the_result_is_returned_and_the_patience_is_the_deadline(queue, host, worker):
    worker.at(2, worker.succeeds)
    assert queue.call("a", {"x": 1}, timeout=timedelta(seconds=20), key="k") == "done"
    task = only(queue)
    assert (task.payload, task.key, task.expires_at - task.enqueued_at) == ({"x": 1}, "k", 20e6)
    assert host.slept == [0.1, pytest.approx(0.15)]


def slow_put(queue: Queue, host: ManualHost, *, before: float = 0, after: float = 0):
    """A put that takes seconds before the task's terms are made, and after it."""
    put = queue.store.put_new

    def slow(new):
        host.advance(before)
        made = put(new)
        host.advance(after)
        return made

    return mock.patch.object(queue.store, "put_new", slow)


def test_who_is_not_served_in_time_is_told_without_a_write(queue, host):
    with (
        slow_put(queue, host, before=1),
        mock.patch.object(queue.store, "cancel") as cancel,
        pytest.raises(TaskShed),
    ):
        queue.call("a", timeout=20)
    assert sum(host.slept) == pytest.approx(20)
    assert not cancel.called
    assert only(queue).expired(host.now()), "nobody begins it any more"


def test_an_attempt_that_outlasts_the_patience_is_told_to_stop(queue, host, worker):
    worker.at(1, worker.claim)
    with slow_put(queue, host, after=1), pytest.raises(WaitTimeout, match="within 20 s"):
        queue.call("a", timeout=20)
    assert only(queue).cancel_asked is not None


def test_a_result_that_comes_with_the_last_look_is_returned(queue, worker):
    claimed = []
    worker.at(1, lambda: claimed.append(worker.claim()))
    cancel = queue.store.cancel

    def too_late(task_id):
        queue.store.succeed(claimed[0], "7")
        return cancel(task_id)

    with mock.patch.object(queue.store, "cancel", too_late):
        assert queue.call("a", timeout=20) == 7


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("leaves", [KeyboardInterrupt, GeneratorExit, ZeroDivisionError])
def test_what_waits_is_withdrawn_and_what_runs_is_told_when_the_caller_leaves(
    queue, worker, leaves, begun
):
    def left() -> None:
        if begun:
            worker.claim()
        raise leaves

    worker.at(3, left)
    with pytest.raises(leaves):
        queue.call("a", timeout=20)
    task = only(queue)
    assert (task.status, task.cancel_asked is not None) == (
        (Status.TAKEN, True) if begun else (Status.CANCELLED, False)
    )


def test_a_caller_who_leaves_while_the_put_is_under_way_leaves_nothing_behind(queue):
    put = queue.store.put_new

    def interrupted(new):
        put(new)
        raise KeyboardInterrupt

    with mock.patch.object(queue.store, "put_new", interrupted), pytest.raises(KeyboardInterrupt):
        queue.call("a", timeout=20)
    assert only(queue).status is Status.CANCELLED


def test_the_withdrawal_that_fails_hides_nothing_and_is_logged(queue, worker, caplog):
    def left() -> None:
        raise KeyboardInterrupt

    worker.at(1, left)
    down = mock.patch.object(queue.store, "cancel", side_effect=StoreUnavailable("no answer"))
    with down, pytest.raises(KeyboardInterrupt):
        queue.call("a", timeout=20)
    assert "which nobody waits for, stays: no answer" in caplog.text
    assert caplog.records[0].name == calls.log.name


def test_callers_of_one_id_share_its_task_and_only_the_first_withdraws_it(queue, host, worker):
    queue.put("a", "first", task_id="t")
    with pytest.raises(WaitTimeout):
        queue.call("a", "second", task_id="t", timeout=2)
    assert queue.get("t").status is Status.PENDING
    assert sum(host.slept) == pytest.approx(2)
    with (
        mock.patch.object(host, "on_sleep", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        queue.call("a", "second", task_id="t", timeout=2)
    assert queue.get("t").status is Status.PENDING
    worker.at(len(host.slept) + 1, worker.succeeds)
    assert queue.call("a", "third", task_id="t", timeout=2) == "done"
    assert queue.get("t").payload == "first"


def test_every_end_has_its_error_and_each_the_answer_of_a_web_handler(queue, host, worker, past):
    def cancelled() -> None:
        queue.cancel("t")

    ends = {
        TaskFailed: (worker.fails, 502),
        TaskCancelled: (cancelled, 409),
        TaskShed: (lambda: past.remove("t"), 503),
        WaitTimeout: (worker.claim, 504),
    }
    for error, (end, status) in ends.items():
        past.remove("t")
        host.slept.clear()
        worker.at(1, end)
        with pytest.raises(NoResult) as raised:
            queue.call("a", timeout=5, task_id="t")
        assert (type(raised.value), raised.value.http_status) == (error, status)
        assert raised.value.task_id == "t"


def test_a_task_that_is_deleted_before_it_is_looked_at_is_shed(queue, past):
    put = queue.store.put_new

    def deleted(new):
        task = put(new)
        past.remove("t")
        return task

    with mock.patch.object(queue.store, "put_new", deleted), pytest.raises(TaskShed):
        queue.call("a", timeout=5, task_id="t")


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"timeout": 0}, "timeout=0: must be a number of seconds above 0"),
        ({"timeout": 3601}, "timeout=3601.0: is 3601 s after .* the queue's deadline is 3600 s"),
        ({"timeout": 5, "task_id": ""}, "task_id=''"),
        ({"timeout": 5, "head_start": 6}, "head_start=6: is longer than the task's deadline"),
    ],
)
def test_what_is_no_call_is_refused_before_anything_is_written(queue, terms, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        queue.call("a", **terms)
    assert queue.store.table.scan(limit=1).rows == ()


def test_a_call_of_cells_lies_in_the_cell_of_its_id(cells, host):
    for n in range(8):
        worker = Worker(cells.home(f"t{n}"), host)
        worker.at(len(host.slept) + 1, worker.succeeds)
        assert cells.call("a", task_id=f"t{n}", timeout=5) == "done"
    with pytest.raises(TaskShed):
        cells.call("a", timeout=5)
    assert cells.waiting().value == 1


# Callers who say again that they wait


def test_who_asks_for_nothing_writes_nothing_and_who_does_says_so_every_few_seconds(queue, host):
    with mock.patch.object(queue.store, "want", wraps=queue.store.want) as wants:
        with pytest.raises(TaskShed):
            queue.call("a", timeout=60)
        assert wants.call_count == 0
        with pytest.raises(TaskShed):
            queue.call("a", timeout=60, while_waiting=True)
    assert 60 / 5 <= wants.call_count <= 60 / calls.WANTED_ANEW + 1


@on_dynamodb_too
def test_a_worker_is_told_by_its_heartbeat_that_the_caller_has_gone_without_a_word(
    queue, host, worker
):
    claimed = []

    def dies() -> None:  # the process is killed, so nothing is withdrawn
        claimed.append(worker.claim())
        raise KeyboardInterrupt

    worker.at(2, dies)
    gone = mock.patch.object(calls.Call, "withdraw")
    with gone, pytest.raises(KeyboardInterrupt):
        queue.call("a", timeout=60, while_waiting=True)
    (task,) = claimed
    host.advance(calls.WANTED_FOR - 1)
    queue.store.extend(task, lease=90)
    host.advance(1)
    with pytest.raises(Cancelled):
        queue.store.extend(task, lease=90)
    told = queue.get(task.task_id)
    assert told.cancel_asked == host.now()
    assert told.lease_expires == host.now() + 90e6, "there is time to clean up"
    queue.store.end_cancelled(task)
    assert queue.get(task.task_id).status is Status.CANCELLED


def test_a_caller_who_waits_keeps_its_task_alive_for_as_long_as_it_waits(queue, host, worker):
    claimed = []

    def at_work() -> None:
        if not claimed:
            claimed.append(worker.claim())
        queue.store.extend(claimed[0], lease=30)

    host.on_sleep = at_work
    with pytest.raises(WaitTimeout):
        queue.call("a", timeout=300, while_waiting=True)


def test_a_caller_who_is_late_but_there_is_believed(queue, host):
    queue.put("a", task_id="t")
    task = queue.store.claim("t", claim_id="c", lease=60)
    queue.store.want("t", until=host.now() + 1)
    host.advance(2)
    update = queue.store.table.update

    def renewed_meanwhile(task_id, change):
        if "cancelAsked" in change.set_once:
            queue.store.want("t", until=host.now() + 10)
        update(task_id, change)

    with mock.patch.object(queue.store.table, "update", renewed_meanwhile):
        queue.store.extend(task, lease=60)
    assert queue.get("t").cancel_asked is None


def test_a_call_that_shares_a_task_says_nothing_of_it(queue):
    queue.put("a", task_id="t")
    with mock.patch.object(queue.store, "want") as wants, pytest.raises(WaitTimeout):
        queue.call("a", task_id="t", timeout=20, while_waiting=True)
    assert not wants.called


def test_to_want_what_has_ended_or_is_gone_writes_nothing(queue, worker):
    queue.store.want("nobody", until=1)
    assert queue.get("nobody") is None
    queue.put("a", task_id="t")
    worker.succeeds()
    before = queue.store.table.get("t")
    queue.store.want("t", until=1)
    assert queue.store.table.get("t") == before


@pytest.mark.parametrize("again", ["redrive", "replace"])
def test_a_redrive_and_a_newer_put_are_nobodys_any_more(queue, host, worker, again):
    queue.put("a", task_id="t", if_exists="replace")
    queue.store.want("t", until=host.now() + 1)
    if again == "redrive":
        worker.fails()
        queue.redrive("t")
    else:
        queue.put("a", task_id="t", if_exists="replace")
    assert "wantedUntil" not in queue.store.table.get("t")
