"""The tasks that limits over all workers let through together, beside one worker that has the
limits for itself: in virtual time."""

from collections import Counter
from functools import partial
from typing import Any, Final

import pytest

from lifoq import Context, NewTask
from lifoq.errors import QueueMisconfigured
from lifoq.items.quota_table import QuotaTable, SharedLimit, quota_table_id
from tests.virtual.bench import Bench
from tests.virtual.machine import Machine

FROM: Final = 2.0
UNTIL: Final = 14.0
"""Seconds; what starts in between counts."""
DEEP: Final = 350
"""Tasks that wait before the first run begins."""

LIMITED: Final = {"in_flight": 3, "rate_limit": 4}
OF_ALL: Final = {"in_flight": 6, "total_in_flight": 8, "rate_limit": 25}
Types = dict[str, tuple[float, dict[str, Any]]]
"""By name: seconds of a task, and its limits. The first type fills the queue from below, of the
others the newest tasks always are."""

ONE_LIMITED: Final[Types] = {"plain": (0.25, {}), "limited": (0.25, LIMITED)}
TWO_LIMITED: Final[Types] = {**ONE_LIMITED, "long": (1.0, {"in_flight": 2})}
LONG_OTHERS: Final[Types] = {"plain": (5.0, {}), "limited": (0.25, LIMITED)}
SHORT_OTHERS: Final[Types] = {"plain": (0.1, {}), "limited": (0.25, {"in_flight": 1})}
LONG_LIMITED: Final[Types] = {"plain": (0.25, {}), "limited": (1.0, {"in_flight": 2})}
SLOW_RATE: Final[Types] = {"plain": (0.25, {}), "limited": (0.25, {"rate_limit": 0.5})}


def starts(types: Types, limits: dict[str, Any], *, workers: int, shared: bool) -> Counter[str]:
    """Return the number of tasks of each type that begin. If limits are not ``shared``, one worker
    has all."""
    bench, settings = Bench(), dict(limits)
    if not shared:
        total = settings.pop("total_in_flight", None) or settings["in_flight"] * workers
        settings["in_flight"] = min(total, settings["in_flight"] * workers)
    for number, (name, (seconds, terms)) in enumerate(types.items()):
        bench.handle(name, seconds, **terms)
        if number == 0:
            bench.queue.put_many([NewTask(task_type=name, payload=name)] * DEEP)

    def arrive() -> None:
        while True:
            for name in list(types)[1:]:
                bench.put(name, name)
            bench.sleep(0.05)

    bench.beside(arrive)
    for _ in range(workers if shared else 1):
        machine = bench.new_machine()
        processor = bench.processor(machine, shared_limits=shared, **settings)
        machine.spawn(processor.run, "run")
    bench.sleep(UNTIL)
    bench.scheduler.close()
    return Counter(name for at, name in bench.begun if FROM < at <= UNTIL)


only_in_prove = partial(pytest.param, marks=pytest.mark.prove)


@pytest.mark.parametrize(
    ("workers", "types", "limits"),
    [
        only_in_prove(1, ONE_LIMITED, OF_ALL, id="one limited type"),
        pytest.param(1, TWO_LIMITED, OF_ALL, id="two"),
        only_in_prove(1, LONG_OTHERS, OF_ALL, id="beside long tasks"),
        only_in_prove(1, SHORT_OTHERS, {"in_flight": 2}, id="beside short tasks"),
        pytest.param(1, SLOW_RATE, {"in_flight": 6}, id="a slow rate"),
        only_in_prove(1, TWO_LIMITED, {"in_flight": 1, "rate_limit": 9}, id="one slot"),
        only_in_prove(3, ONE_LIMITED, OF_ALL, id="three workers"),
        only_in_prove(3, TWO_LIMITED, OF_ALL, id="three workers, two limited types"),
        pytest.param(2, LONG_LIMITED, {"in_flight": 6, "total_in_flight": 2}, id="a slot each"),
        only_in_prove(
            3, ONE_LIMITED, {"in_flight": 1, "total_in_flight": 2}, id="fewer than three"
        ),
    ],
)
def test_shared_limits_let_as_much_through_as_those_of_one_worker(workers, types, limits):
    alone = starts(types, limits, workers=workers, shared=False)
    together = starts(types, limits, workers=workers, shared=True)
    for name, number in alone.items():
        assert together[name] >= 0.9 * number - 1, (together, alone)


def test_a_task_whose_limit_is_asked_for_first_starts_before_those_that_came_earlier(bench):
    """It waits for the answer whether it may, for a tenth of a second at the most; so do they."""
    bench.handle("plain", 1)
    bench.handle("limited", 1, in_flight=1)
    for name in ("plain", "limited"):
        bench.put(name, name)
        bench.sleep(0.01)
    bench.run(window=10, in_flight=1, shared_limits=True)
    assert [name for _, name in bench.begun] == ["limited", "plain"]


def test_while_all_types_are_at_their_shared_limits_each_start_costs_a_look(bench):
    bench.handle("limited", 5, in_flight=1)
    bench.put_many("limited", 100)
    bench.table.polls = 0
    bench.run(window=50, shared_limits=True)
    assert len(bench.begun) == 10
    assert bench.table.polls <= 15


def test_a_run_whose_quota_table_cannot_be_read_ends_and_says_so(bench):
    bench.handle("limited", in_flight=1)
    bench.put("limited")
    bench.table.damage({"taskId": quota_table_id("limited"), "payload": "no quota table"})
    with pytest.raises(QueueMisconfigured, match="is not the quota table of a limit"):
        bench.run(shared_limits=True)


def test_the_example_of_the_page_is_what_the_code_does():
    bench, limits = Bench(), {"in_flight": 4, "rate_limit": 10}
    bench.handle("price.refresh", 0.3, **limits)
    bench.queue.put_many([NewTask(task_type="price.refresh")] * 500)

    def begin(at: float) -> Machine:
        machine = bench.new_machine()
        processor = bench.processor(machine, shared_limits=True, window=60)
        bench.beside(lambda: machine.spawn(processor.run, "run"), at=at)
        return machine

    def lent(at: float) -> list[tuple[int, ...]]:
        bench.sleep(at - bench.seconds)
        quota_table = QuotaTable.of(
            bench.table.get(quota_table_id("price.refresh")), SharedLimit(in_flight=4, rate=10)
        )
        return sorted((tuple(entry.has) for entry in quota_table.entries.values()), reverse=True)

    begin(0)
    lost = begin(5)
    assert lent(4) == [(4, 10)]
    assert lent(5.8) == [(3, 5), (0, 0)]
    assert lent(9.8) == [(2, 5), (2, 5)]
    bench.sleep(10 - bench.seconds)
    lost.crash()
    assert lent(22.3) == [(2, 5), (2, 5)]
    assert lent(23) == [(2, 10), (2, 0)]
    assert lent(52.3)[1] == (2, 0)
    assert lent(53.5) == [(4, 10)]
    bench.scheduler.close()


@pytest.mark.parametrize("seconds", [0.3, 5])
def test_a_worker_that_comes_late_has_an_even_part_once_tasks_of_the_other_have_ended(seconds):
    bench, shared = Bench(), SharedLimit(in_flight=10)
    running: list[int] = []
    most = 0

    def work(payload: int, _context: Context) -> None:
        nonlocal most
        running.append(payload)
        most = max(most, len(running))
        bench.sleep(bench.draw.uniform(0.5, 1.5) * seconds)  # they end one by one
        running.remove(payload)

    bench.registry.task("long", in_flight=shared.in_flight)(work)
    bench.put_many("long", 400)
    for at in (0, 5):
        machine = bench.new_machine()
        run = bench.processor(machine, in_flight=10, shared_limits=True, window=60).run
        bench.beside(partial(machine.spawn, run, "run"), at=at)
    bench.sleep(5 + 2 + seconds)
    item = bench.table.get(quota_table_id("long"))
    assert [entry.has.slots for entry in QuotaTable.of(item, shared).entries.values()] == [5, 5]
    assert len(running) >= 9
    assert most == 10
    bench.scheduler.close()
