"""Callers, twice as many as the worker can serve, of whom many leave at some moment."""

import random
from collections import Counter
from typing import Any

import pytest

from lifoq import Context, Queue, TaskShed, WaitTimeout
from lifoq.basics.host import MICROSECONDS
from lifoq.items.schema import WAITING, Status
from lifoq.store.store import Store
from tests.virtual.bench import CALL, Bench
from tests.virtual.machine import Machine

PER_SECOND = 40
"""Calls; the worker does half as many."""
TAKES = 0.5
PATIENCE = 4.0
UNDER_WAY = 4 * CALL
"""Seconds for which a claim or a withdrawal may be on its way to the table."""


class Leaving:
    """The machine of a caller who leaves at some moment, by an interrupt."""

    def __init__(self, machine: Machine, leaves_at: float) -> None:
        self._machine = machine
        self._leaves_at = leaves_at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def sleep(self, seconds: float) -> None:
        left = self._leaves_at - self._machine.now() / MICROSECONDS
        self._machine.sleep(max(0.0, min(seconds, left)))
        if left < seconds:
            raise KeyboardInterrupt


class Callers:
    """Callers who come one after another."""

    def __init__(self, bench: Bench, number: int) -> None:
        self.bench = bench
        self.number = number
        self.ends: dict[int, tuple[str, float]] = {}
        """The end of each call for its caller, and its time."""

    def come(self) -> None:
        for n in range(self.number):
            self.bench.sleep(1 / PER_SECOND)
            machine = self.bench.new_machine()
            machine.spawn(lambda n=n, machine=machine: self.call(n, machine), "caller")

    def call(self, n: int, machine: Machine) -> None:
        draw = random.Random(n)
        stays = draw.uniform(0, 2 * PATIENCE) if n % 2 else 10 * PATIENCE
        host = Leaving(machine, machine.now() / MICROSECONDS + stays)
        queue = Queue(Store(self.bench.table, host=host), host=host)
        try:
            end = queue.call("a", n, task_id=f"t{n}", timeout=PATIENCE)
        except (TaskShed, WaitTimeout, KeyboardInterrupt) as error:
            end = type(error).__name__
        assert n not in self.ends, "answered once"
        self.ends[n] = (end, self.bench.seconds)


def served_until_all_have_gone(callers: Callers) -> None:
    bench = callers.bench

    def work(payload: int, context: Context) -> str:
        bench.begun.append((bench.seconds, payload))
        for _ in range(10):
            bench.sleep(TAKES / 10)
            if context.cancelled:
                break
        return "served"

    bench.registry.task("a")(work)
    bench.beside(callers.come)
    while len(callers.ends) < callers.number:
        bench.run(heartbeat=1, lease=5)


@pytest.mark.parametrize("number", [400, pytest.param(10_000, marks=pytest.mark.prove)])
def test_nothing_is_begun_for_a_caller_who_has_gone_and_each_is_answered_once(number):
    callers = Callers(Bench(), number)
    served_until_all_have_gone(callers)
    bench, ends = callers.bench, callers.ends

    told = Counter(end for end, _ in ends.values())
    assert sum(told.values()) == number
    assert min(told["served"], told["TaskShed"], told["KeyboardInterrupt"]) > number / 10

    begun = Counter(n for _, n in bench.begun)
    assert max(begun.values()) == 1
    assert [n for at, n in bench.begun if at > ends[n][1] + UNDER_WAY] == []
    assert {n for n, (end, _) in ends.items() if end == "served"} <= {*begun}

    items = {item["payload"]: item for item in bench.table.items() if "taskType" in item}
    assert len(items) == number
    now = bench.machine.now()
    left_behind = [
        item
        for item in items.values()
        if item["taskStatus"] == Status.TAKEN
        or (item["taskStatus"] in WAITING and item["expiresAt"] > now)
    ]
    assert left_behind == []
