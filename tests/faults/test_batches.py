"""Batches: one call of the handler for several tasks, of which each keeps its own claim, time and
outcome. In virtual time."""

import logging
from collections.abc import Callable
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from lifoq import (
    Busy,
    Context,
    Done,
    Fail,
    NewTask,
    ProcessUnusable,
    Queue,
    Retry,
    Status,
    Store,
)
from lifoq.items.attempt_history import Ended
from lifoq.items.change import Change, Item
from lifoq.items.schema import OWN_PREFIX
from lifoq.store.memory_table import MemoryTable
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.task_id_in_logs import with_task_id
from tests.virtual.bench import SLOW, Bench
from tests.virtual.machine import Machine, Threadless

Answer = Callable[[list[Any], list[Context]], Any]


class Calls:
    """The calls of a handler: when each began, and its payloads."""

    def __init__(
        self, bench: Bench, *, seconds: float = 0.05, answer: Answer | None = None
    ) -> None:
        self.bench = bench
        self.begun: list[tuple[float, list[Any]]] = []
        self._seconds = seconds
        self._answer = answer or (lambda payloads, _contexts: payloads)

    def __call__(self, payloads: list[Any], contexts: list[Context]) -> Any:
        self.begun.append((self.bench.seconds, payloads))
        self.bench.sleep(self._seconds)
        return self._answer(payloads, contexts)

    @property
    def payloads(self) -> list[list[Any]]:
        return [payloads for _, payloads in self.begun]

    @property
    def sizes(self) -> list[int]:
        return [len(payloads) for payloads in self.payloads]


def register(bench: Bench, *, seconds: float = 0.05, answer: Answer | None = None, **terms: Any):
    calls = Calls(bench, seconds=seconds, answer=answer)
    bench.registry.task("mail", **{"batch": 25, "batch_wait": 0.2, **terms})(calls)
    return calls


# When a batch begins


def test_a_full_batch_begins_at_once_newest_first_and_the_rest_when_its_first_has_waited(bench):
    calls = register(bench, batch=4)
    ids = bench.put_many("mail", 10)
    bench.run(in_flight=1)
    assert calls.payloads == [[9, 8, 7, 6], [5, 4, 3, 2], [1, 0]]
    assert calls.begun[1][0] < 0.2 <= calls.begun[2][0] < 0.25
    assert [bench.task(task_id).result for task_id in ids] == list(range(10))
    assert [bench.task(task_id).attempts for task_id in ids] == [1] * 10


def test_without_a_wait_a_batch_takes_what_is_there(bench):
    calls = register(bench, batch_wait=0)
    bench.put_many("mail", 3)
    bench.run()
    assert calls.sizes == [3]
    assert calls.begun[0][0] < 0.05


def test_a_task_that_has_waited_for_a_slot_does_not_wait_for_others_as_well(bench):
    calls = register(bench, batch_wait=30)
    bench.handle("other", 40)
    bench.put("mail", "old")
    bench.put("other")
    bench.run(in_flight=1)
    assert calls.begun[0][0] == pytest.approx(40, abs=0.1)


def test_a_producer_whose_clock_is_ahead_makes_no_batch_wait_for_longer(bench):
    calls = register(bench)
    ahead = Machine("ahead", bench.scheduler, skew=20)
    queue = Queue(Store(bench.table, host=ahead), host=ahead)
    queue.put("mail", 1)
    bench.run()
    assert calls.begun[0][0] == pytest.approx(0.2, abs=0.02)


def test_a_task_waits_for_others_for_half_of_its_life_at_the_most(bench):
    calls = register(bench, batch_wait=60)
    bench.put("mail", deadline=8)
    bench.run()
    assert calls.begun[0][0] == pytest.approx(4, abs=0.1)


def test_tasks_that_wait_for_their_batch_keep_no_other_type_waiting(bench):
    calls = register(bench, batch_wait=10)
    bench.handle("other", 0.01)
    bench.put_many("other", 20)
    mails = bench.put_many("mail", 3)  # newer
    seen = []
    bench.beside(lambda: seen.append(bench.statuses(mails)), at=5)
    bench.run(in_flight=1)
    assert max(at for at, _ in bench.begun) < 1
    assert seen == [{"PENDING": 3}]  # and are claimed by nobody meanwhile
    assert calls.begun[0][0] == pytest.approx(10, abs=0.1)


def test_a_batch_fills_with_tasks_from_behind_the_first_page(bench):
    calls = register(bench, batch=10, batch_wait=0.05)
    bench.handle("slow", 50, in_flight=1)
    for _ in range(40):
        bench.put("mail")
        bench.put_many("slow", 4)
    bench.sleep(1)
    bench.run(window=5, in_flight=2)
    assert (sum(calls.sizes), calls.sizes.count(10)) == (40, 3)  # each page shows two


# Slots, rates and keys


def test_a_batch_takes_one_slot_and_one_start_of_a_rate(bench):
    calls = register(bench, seconds=2, batch=5, in_flight=2, rate_limit=1)
    bench.put_many("mail", 20)
    report = bench.run(in_flight=8)
    assert report.succeeded == 20
    begun = [at for at, _ in calls.begun]
    assert calls.sizes == [5] * 4
    assert [later - one >= 1 for one, later in pairwise(begun)] == [True] * 3
    assert [later - one >= 2 for one, later in zip(begun, begun[2:], strict=False)] == [True] * 2


def test_calls_whose_outcomes_are_not_written_yet_count_as_one_each_however_many_tasks(bench):
    bench.table.slow["SUCCESS"] = 10**6
    calls = register(bench, batch=10, batch_wait=0)
    bench.put_many("mail", 100)
    bench.run(in_flight=4, window=20)
    assert len([at for at, _ in calls.begun if at < SLOW]) == 6


# Claims


def test_a_claim_that_is_answered_late_keeps_the_others_for_a_second_and_is_handed_back(bench):
    calls = register(bench, batch=5)
    bench.table.slow["claim"] = 1
    ids = bench.put_many("mail", 5)
    bench.run()
    assert calls.sizes == [4, 1]
    assert calls.begun[0][0] == pytest.approx(1.01, abs=0.02)
    assert bench.statuses(ids) == {"SUCCESS": 5}
    (late,) = [task for task in map(bench.task, ids) if task.history]
    assert (late.attempts, late.history[0].ended) == (1, Ended.NOT_COUNTED)


def test_a_batch_of_which_one_cannot_be_claimed_waits_for_it_no_longer(bench):
    calls = register(bench, batch_wait=0)
    taken, _, _ = bench.put_many("mail", 3)
    take = partial(bench.queue.store.claim, taken, claim_id="other", lease=30)
    bench.beside(take, at=0.003)
    bench.run(linger=0)
    begun, payloads = calls.begun[0]
    assert payloads == [2, 1]
    assert begun < 0.1


def test_a_batch_of_which_nothing_can_be_claimed_frees_its_slot(bench):
    calls = register(bench, batch_wait=0, in_flight=1)
    ids = bench.put_many("mail", 3)

    for task_id in ids:
        take = partial(bench.queue.store.claim, task_id, claim_id="other", lease=30)
        bench.beside(take, at=0.003)
    bench.beside(lambda: bench.put("mail", "late"), at=0.1)
    bench.run()
    assert calls.payloads == [["late"]]


# Outcomes


def of_each(payloads: list[Any], contexts: list[Context]) -> list[Any]:
    answers = {
        "value": {"sent": True},
        "done": Done(result=1, follow_ups=[NewTask(task_type="other", task_id="follow-up")]),
        "retry": Retry("later", after=7),
        "busy": Busy(after=3),
        "fail": Fail("no such address"),
        "error": ValueError("boom"),
        "no JSON": object(),
    }
    return [answers[payload] for payload in payloads]


def test_each_task_has_the_outcome_that_the_list_says(bench):
    register(bench, answer=of_each)
    names = ["value", "done", "retry", "busy", "fail", "error", "no JSON"]
    ids = {name: bench.put("mail", name) for name in names}
    bench.run(linger=0)
    found = {name: bench.task(task_id) for name, task_id in ids.items()}
    assert {name: str(task.status) for name, task in found.items()} == {
        "value": "SUCCESS",
        "done": "SUCCESS",
        "retry": "DELAYED",
        "busy": "DELAYED",
        "fail": "FAILURE",
        "error": "DELAYED",
        "no JSON": "FAILURE",
    }
    assert (found["value"].result, found["done"].result) == ({"sent": True}, 1)
    assert bench.task("follow-up").task_type == "other"
    assert [found[name].attempts for name in ("retry", "busy", "error")] == [1, 0, 1]
    assert [name for name, task in found.items() if task.alone] == ["error"]
    assert found["error"].error.message == "boom"


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (None, "did not answer for this task"),
        ([1, 2], "returned 2 for 3 tasks"),
        ({"a": 1}, "of a batch returned dict"),
    ],
)
def test_what_is_not_answered_is_retried_alone(bench, returned, why):
    answer = lambda payloads, _: returned if len(payloads) > 1 else ["done"]  # noqa: E731
    calls = register(bench, answer=answer, backoff=Backoff.fixed(1))
    ids = bench.put_many("mail", 3)
    bench.run()
    assert calls.sizes == [3, 1, 1, 1]
    tasks = [bench.task(task_id) for task_id in ids]
    assert [task.result for task in tasks] == ["done"] * 3
    assert all(why in task.history[0].message for task in tasks)
    assert all("context.answer(result)" in task.history[0].message for task in tasks)


def test_a_poison_task_takes_no_other_with_it_more_than_once(bench):
    def answer(payloads: list[Any], _contexts: list[Context]) -> list[Any]:
        if 3 in payloads:
            raise ValueError("poison")
        return payloads

    calls = register(bench, answer=answer, backoff=Backoff.fixed(1))
    ids = bench.put_many("mail", 10)
    bench.beside(lambda: bench.put_many("mail", 3), at=0.5)
    bench.run(max_attempts=2)
    assert sorted(calls.sizes) == [*[1] * 10, 3, 10]  # those that come later share a call
    assert bench.statuses(ids) == {"SUCCESS": 9, "FAILURE": 1}
    bench.queue.redrive(ids[3])
    assert not bench.task(ids[3]).alone


@pytest.mark.parametrize(
    ("error", "attempts"), [(Retry("down", after=1), 2), (Busy("full", after=1), 1)]
)
def test_what_asks_for_a_retry_is_no_fault_and_goes_in_a_batch_again(bench, error, attempts):
    raised = [error]

    def answer(payloads: list[Any], _contexts: list[Context]) -> list[Any]:
        if raised:
            raise raised.pop()
        return payloads

    calls = register(bench, answer=answer)
    ids = bench.put_many("mail", 10)
    bench.run(in_flight=1)
    assert len(calls.sizes) < 5  # as many as are due by then
    assert {bench.task(task_id).attempts for task_id in ids} == {attempts}


def test_an_answer_that_was_given_stands_whatever_comes_later(bench):
    def answer(payloads: list[Any], contexts: list[Context]) -> list[Any]:
        contexts[0].answer("first")
        contexts[0].answer("sent")
        contexts[1].answer(Fail("no such address"))
        if len(payloads) == 3:
            raise ConnectionError("gone")
        return payloads

    register(bench, answer=answer)
    ids = bench.put_many("mail", 3)
    bench.run(linger=0)
    tasks = [bench.task(task_id) for task_id in reversed(ids)]
    assert [str(task.status) for task in tasks] == ["SUCCESS", "FAILURE", "DELAYED"]
    assert tasks[0].result == "sent"
    assert (tasks[2].alone, tasks[2].error.type) == (True, "ConnectionError")


def test_the_handler_of_one_task_has_nothing_to_answer_but_by_its_return(bench):
    bench.registry.task("a")(lambda _payload, context: context.answer(1))
    task_id = bench.put("a")
    bench.run(max_attempts=1)
    assert "for handlers with batch" in bench.task(task_id).error.message


# Time, leases, cancelling


def test_a_task_whose_own_time_is_over_is_settled_alone_and_the_batch_goes_on(bench):
    register(bench, seconds=3)
    brief = bench.put("mail", "brief", timeout=1)
    others = bench.put_many("mail", 5)
    seen = []
    bench.beside(lambda: seen.append((bench.task(brief).status, bench.statuses(others))), at=2)
    report = bench.run(linger=0)
    assert seen == [(Status.DELAYED, {"TAKEN": 5})]
    assert (report.timed_out, report.succeeded) == (1, 5)
    assert bench.task(brief).alone


def test_a_batch_that_hangs_takes_one_slot_and_is_told_of(bench):
    register(bench, seconds=10_000, timeout=1, in_flight=1)
    bench.handle("other")
    bench.put_many("mail", 25)
    bench.put_many("other", 3)
    with pytest.raises(ProcessUnusable, match="task type mail are taken by handlers that hang"):
        bench.run(in_flight=2, window=10)
    assert len(bench.begun) == 3


def test_a_task_that_is_cancelled_in_a_batch_is_told_by_its_context_and_ends_cancelled(bench):
    told: list[bool] = []

    def answer(payloads: list[Any], contexts: list[Context]) -> list[Any]:
        told.extend(context.cancelled for context in contexts)
        return payloads

    register(bench, seconds=5, answer=answer)
    ids = bench.put_many("mail", 3)
    bench.beside(lambda: bench.queue.cancel(ids[1]), at=1)
    bench.run(heartbeat=1)
    assert told == [False, True, False]
    assert [str(bench.task(task_id).status) for task_id in ids] == ["SUCCESS"] * 3

    bench.registry.clear()
    register(bench, seconds=5, answer=lambda payloads, _: [ValueError()] * len(payloads))
    ids = bench.put_many("mail", 3)
    bench.beside(lambda: bench.queue.cancel(ids[1]), at=1)
    bench.run(heartbeat=1, linger=0)
    assert [str(bench.task(task_id).status) for task_id in ids] == [
        *("DELAYED", "CANCELLED", "DELAYED")
    ]


def test_a_batch_whose_process_dies_leaves_suspects_that_run_one_by_one(bench):
    machine = bench.new_machine()

    def answer(payloads: list[Any], _contexts: list[Context]) -> list[Any]:
        if len(payloads) > 1:
            machine.kill()
        return payloads

    calls = register(bench, answer=answer)
    ids = bench.put_many("mail", 6)
    machine.spawn(bench.processor(machine).run, "run")
    bench.sleep(60)
    bench.sweep()
    tasks = [bench.task(task_id) for task_id in ids]
    assert [(task.leases_lost, task.status) for task in tasks] == [(1, Status.PENDING)] * 6
    bench.run()
    assert calls.sizes == [6, *[1] * 6]
    begun = [at for at, _ in calls.begun[1:]]
    assert all(later - one >= 0.05 for one, later in pairwise(begun))
    assert bench.statuses(ids) == {"SUCCESS": 6}


@pytest.mark.parametrize("threads", [2, 8, 29])
def test_a_process_without_threads_runs_the_part_of_a_batch_that_has_them(bench, threads):
    calls = register(bench, batch=20, batch_wait=0)
    ids = bench.put_many("mail", 20)
    machine = Threadless("poor", bench.scheduler, threads=threads)
    with pytest.raises(ProcessUnusable, match="no thread can be started"):
        bench.processor(machine).run()
    assert bench.statuses(ids)["SUCCESS"] == sum(calls.sizes)
    bench.sleep(60)
    bench.sweep()
    bench.run()
    assert bench.statuses(ids) == {"SUCCESS": 20}


# What surrounds it


def test_every_attempt_of_a_batch_is_surrounded_and_log_records_carry_all_ids(bench):
    entered, logged = [], []

    @bench.registry.around_attempts
    @contextmanager
    def session(context: Context):
        entered.append(context.task_id)
        yield

    def answer(payloads: list[Any], _contexts: list[Context]) -> list[Any]:
        record = logging.makeLogRecord({})
        with_task_id(record)
        logged.append(record.taskId)
        return payloads

    register(bench, answer=answer)
    ids = bench.put_many("mail", 3)
    bench.run()
    assert entered == ids[::-1]
    assert logged == [",".join(ids[::-1])]


def test_each_task_of_a_batch_is_written_twice_as_without_batches(bench, monkeypatch):
    written: list[str] = []
    update = MemoryTable.update_and_get

    def watched(table: MemoryTable, task_id: str, change: Change) -> Item:
        written.append(task_id)
        return update(table, task_id, change)

    monkeypatch.setattr(MemoryTable, "update_and_get", watched)
    register(bench)
    ids = bench.put_many("mail", 25)
    bench.run()
    assert sorted(i for i in written if not i.startswith(OWN_PREFIX)) == sorted([*ids, *ids])
