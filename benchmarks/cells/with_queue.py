"""The same cells by the queue's own processor and store in virtual time, to hold the simulation to.

Each cell is a queue of its own, so each runs by itself; only who starts when is put together.
"""

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any, Final

from benchmarks.cells.inversions import newer_by
from benchmarks.cells.order import SERVICE, Setting
from benchmarks.cells.simulation import Waits, Work, simulate
from benchmarks.goodput.load import Arrival
from benchmarks.goodput.policies import Policy
from benchmarks.goodput.system import FOREVER, System

SAME: Final = 0.01
"""Mean service times by which a wait may differ: the queue looks again after a while."""
SETTINGS: Final = (
    Setting(slots=1, load=0.8),
    Setting(slots=1, load=0.95),
    Setting(slots=1, load=2.0),
    Setting(slots=10, load=2.0),
)


def compare(setting: Setting, *, tasks: int, seed: int) -> dict[str, Any]:
    draw = Random(seed)
    work = setting.work(tasks, draw)
    cells = setting.routing.route(tasks, setting.cells, draw)
    slots = setting.slots_by_cell()
    simulated = simulate(work, cells=cells, slots=slots)
    real = waits(work, cells=cells, slots=slots)
    return {
        "cells": setting.cells,
        "slots_per_cell": setting.slots,
        "load": setting.load,
        "tasks": tasks,
        "same_share": sum(map(_same, simulated, real)) / tasks,
        **_shares("simulated", work, simulated),
        **_shares("queue", work, real),
    }


def _same(simulated: float | None, real: float | None) -> bool:
    if simulated is None or real is None:
        return simulated is real
    return abs(simulated - real) < SAME * SERVICE


def _shares(name: str, work: Work, found: Waits) -> dict[str, float]:
    served = sum(wait is not None for wait in found)
    return {
        f"{name}_served_share": served / len(found),
        f"{name}_inversions_share": len(newer_by(work, found)) / served,
    }


def waits(work: Work, *, cells: Sequence[int], slots: Sequence[int]) -> Waits:
    """As ``simulate``, by the queue's own code."""
    found: Waits = [None] * len(cells)
    for cell, size in enumerate(slots):
        tasks = [task for task, of in enumerate(cells) if of == cell]
        for task, wait in _one_queue(work, tasks, size):
            found[task] = wait
    return found


def _one_queue(work: Work, tasks: Sequence[int], slots: int) -> Iterator[tuple[int, float]]:
    policy = Policy(name="cell", threshold=None, deadline=work.deadline / SERVICE)
    started: dict[str, float] = {}
    ids: list[str | None] = []
    system = System(
        policy,
        on_start=lambda start: started.update({start.task_id: start.wait * SERVICE}),
        slots=slots,
        window=FOREVER,
    )
    arrivals = iter(
        [
            Arrival(moment=work.arrivals[task] / SERVICE, service=work.services[task] / SERVICE)
            for task in tasks
        ]
    )
    system.feed(arrivals, lambda arrival: ids.append(system.offer(arrival.service)))
    system.run((work.arrivals[-1] + work.deadline) / SERVICE)
    for task, task_id in zip(tasks, ids, strict=True):
        if task_id in started:
            yield task, started[task_id]
