"""Producers, workers and a sweep race for the same ids on a real engine: no newest put is lost."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from lifoq.errors import LeaseLost, NotClaimed
from lifoq.items.replacing import made_at
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from lifoq.items.task_error import TaskError
from lifoq.tables.store import Store

pytestmark = pytest.mark.prove

IDS = ("d-0", "d-1", "d-2")
PRODUCERS = 3
PUTS = 80
"""Puts of each producer."""
WORKERS = 4
LEASE = 0.4
STALLS = 0.05
"""Share of the attempts whose worker stands still for longer than its lease."""
OUTCOME = TaskError(type="Trouble", message="for a moment")


class Record:
    """What producers were told, and what ran."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.confirmed: dict[str, int] = defaultdict(int)
        """By id, when the newest put was made that is known to be in the queue."""
        self.ran: dict[str, list[int]] = defaultdict(list)
        self.late: list[str] = []

    def confirm(self, task_id: str, made: int) -> None:
        with self._lock:
            self.confirmed[task_id] = max(made, self.confirmed[task_id])

    def known(self, task_id: str) -> int:
        with self._lock:
            return self.confirmed[task_id]

    def run(self, task_id: str, made: int, *, known: int) -> None:
        """``known``: what was confirmed before the claim was sent."""
        with self._lock:
            self.ran[task_id].append(made)
            if made < known:
                self.late.append(f"{task_id}: {made} ran, {known} was confirmed")


def produce(store: Store, record: Record, number: int) -> None:
    draw = random.Random(f"producer {number}")
    for _ in range(PUTS):
        task_id = draw.choice(IDS)
        put = NewTask(task_type="a", payload=number, task_id=task_id, if_exists="replace")
        task = store.put(put)
        record.confirm(task_id, made_at(task.parked or task))
        time.sleep(draw.uniform(0, 0.02))


def work(store: Store, record: Record, number: int, done: Callable[[], bool]) -> None:
    draw = random.Random(f"worker {number}")
    while not done():
        for task_id in draw.sample(IDS, k=len(IDS)):
            known, claim_id = record.known(task_id), f"{number}-{time.time_ns()}"
            try:
                task = store.claim(task_id, claim_id=claim_id, lease=LEASE)
            except NotClaimed:
                continue
            record.run(task_id, made_at(task), known=known)
            time.sleep(2 * LEASE if draw.random() < STALLS else draw.uniform(0, 0.02))
            try:
                draw.choice(
                    (
                        lambda task=task: store.succeed(task, "1"),
                        lambda task=task: store.fail(task, OUTCOME),
                        lambda task=task: store.retry(task, OUTCOME, delay=0),
                    )
                )()
            except LeaseLost:
                continue


def sweep(store: Store, done: Callable[[], bool]) -> None:
    while not done():
        items, _ = store.taken(limit=10, start=None)
        for task in store.read([str(item["taskId"]) for item in items]):
            if task.status is Status.TAKEN and (task.lease_expires or 0) < store.now():
                store.reclaim(task, max_attempts=2)
        time.sleep(0.05)


def test_the_newest_put_of_each_id_is_the_last_to_run_and_none_replaces_a_newer_one(
    dynamodb_local_endpoint, new_dynamo_table
):
    store, record = Store(new_dynamo_table(dynamodb_local_endpoint)), Record()
    all_put = threading.Event()

    def done() -> bool:
        tasks = store.read(IDS)
        return all_put.is_set() and all(
            task.status in (Status.SUCCESS, Status.FAILURE) for task in tasks
        )

    with ThreadPoolExecutor(max_workers=PRODUCERS + WORKERS + 1) as pool:
        others = [pool.submit(work, store, record, n, done) for n in range(WORKERS)]
        others.append(pool.submit(sweep, store, done))
        for producer in [pool.submit(produce, store, record, n) for n in range(PRODUCERS)]:
            producer.result()
        all_put.set()
        for other in others:
            other.result()

    assert not record.late
    for task_id in IDS:
        task = store.get(task_id)
        assert task is not None
        assert made_at(task) == record.confirmed[task_id] == max(record.ran[task_id])
        assert task.parked is None
