"""``python -m benchmarks.fairness``: one key floods, twenty others ask for little."""

import random
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from statistics import quantiles
from typing import Final

import click

from benchmarks.fairness.results import Flood, Results
from benchmarks.record import recording
from benchmarks.units import Metered
from benchmarks.world import World, poisson
from lifoq import WorkerSettings
from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.change import Item
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import Attribute

SLOTS: Final = 10
SERVICE: Final = 1.0
"""Seconds, of every task: ten tasks a second."""
RATES: Final = {"flood": 100.0, **{f"quiet-{number}": 0.2 for number in range(20)}}
"""Tasks a second, of each key."""
LASTS: Final = 600.0
"""Seconds of the flood, and of the quiet keys."""
PATIENCE: Final = 30.0
"""Seconds within which a quiet key's task must start to be in time."""
ANSWER: Final = 0.01
"""Seconds that a call takes."""
PAYLOAD: Final = "x" * 100


@dataclass(frozen=True, kw_only=True)
class Setting:
    fair: bool
    deadline: float = 60.0
    """The queue's, in seconds: how much of the flood is there at a time, some 6,000 or 56,000."""
    threshold: float | None = None
    """The adaptive order's, in seconds."""


SETTINGS: Final = (
    Setting(fair=False),
    Setting(fair=True),
    Setting(fair=True, deadline=3_600.0),
    Setting(fair=True, threshold=20.0),
)


@click.command()
@click.option("--seconds", default=LASTS, show_default=True, help="Of the flood.")
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(seconds: float, processes: int) -> None:
    """Ten minutes of a flood in virtual time, with fair shares and without."""
    with (
        recording("fairness", "python -m benchmarks.fairness") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        floods = pool.map(flood, SETTINGS, [seconds] * len(SETTINGS))
        found.results = Results(patience_seconds=PATIENCE, floods=list(floods))


def flood(setting: Setting, seconds: float) -> Flood:
    table, put, most = Metered(answer=ANSWER), Counter[str](), 0
    waits: dict[str, list[float]] = defaultdict(list)

    def claimed(item: Item) -> None:
        wait = (table.host.time - item[Attribute.ENQUEUED_AT]) / MICROSECONDS
        waits[str(item[Attribute.TASK_KEY])].append(wait)

    def come(key: str) -> None:
        nonlocal most
        world.put(PAYLOAD, key=key)
        put[key] += 1
        most = max(most, table.waiting(table.host.time - microseconds(setting.deadline)))

    table.on_claim = claimed
    world = World(
        table,
        lambda _payload: table.host.sleep(SERVICE),
        lifetimes=Lifetimes(deadline=setting.deadline, success_retention=1),
        settings=WorkerSettings(
            in_flight=SLOTS, fair_share=setting.fair, adaptive_threshold=setting.threshold
        ),
    )
    for key, rate in RATES.items():
        moments = poisson(rate, seconds, random.Random(key))
        world.feed(zip(moments, repeat(key), strict=False), come)
    world.run(seconds + PATIENCE)
    quiet = [key for key in put if key != "flood"]
    waited = [wait for key in quiet for wait in waits[key]]
    started = sum(map(len, waits.values()))
    return Flood(
        fair_share=setting.fair,
        order="adaptive" if setting.threshold else "newest first",
        most_waiting=most,
        quiet_in_time=sum(wait <= PATIENCE for wait in waited) / sum(put[key] for key in quiet),
        quiet_wait_p95=quantiles(waited, n=20)[-1],
        flood_per_second=len(waits["flood"]) / seconds,
        slots_busy=started * SERVICE / (SLOTS * (seconds + PATIENCE)),
        read_units_per_task=table.read_units / started,
        read_units_per_second=table.read_units / (seconds + PATIENCE),
    )


if __name__ == "__main__":
    main()
