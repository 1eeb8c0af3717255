"""``python -m benchmarks.capacity``: how near each law comes to what a downstream can do."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Final

import click

from benchmarks.capacity.downstream import PATIENCE, Done, Downstream
from benchmarks.capacity.laws import Aimd, Fixed, Gradient2, Hill, Law, Lifoq, Vegas
from benchmarks.capacity.results import Change, Results, Shared, Steady
from benchmarks.record import recording

MOST: Final = 256
FIRST: Final = 4.0
SERVERS: Final = (1, 4, 16, 64)
TIMES: Final = ("fixed", "uniform", "exponential", "log-normal", "two kinds")
WARM: Final = 200.0
"""Mean services that are not counted."""
LENGTH: Final = 700.0
SEEDS: Final = (1, 2, 3)
CHANGED_AT: Final = 300.0
AFTER: Final = 150.0
GONE: Final = 60.0
SPAN: Final = 30.0
BIT: Final = 5.0

LAWS: Final[Mapping[str, Callable[[int], Law]]] = {
    "lifoq": lambda _servers: Lifoq(MOST),
    "half": lambda servers: Fixed(limit=max(1, servers // 2), most=MOST),
    "double": lambda servers: Fixed(limit=2 * servers, most=MOST),
    "Gradient2": lambda _servers: Gradient2(limit=FIRST, most=MOST),
    "Vegas": lambda _servers: Vegas(limit=FIRST, most=MOST),
    "AIMD by latency": lambda _servers: Aimd(limit=FIRST, most=MOST),
    "hill climbing": lambda _servers: Hill(limit=FIRST, most=MOST),
}


@click.command()
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
def main(processes: int) -> None:
    """Let each law find the capacity of modelled downstreams."""
    with (
        recording("capacity", "python -m benchmarks.capacity") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        rows = [(times, servers, law) for times in TIMES for servers in SERVERS for law in LAWS]
        cases = [
            (times, servers, change)
            for times in ("fixed", "exponential")
            for servers in SERVERS[1:]
            for change in ("halve", "double", "are gone, and return")
        ]
        crowds = [
            (times, servers, workers)
            for times in ("fixed", "exponential", "log-normal")
            for servers, workers in ((16, 2), (64, 8))
        ]
        steadies = [pool.submit(steady, *row) for row in rows]
        changes = [pool.submit(changed, *case) for case in cases]
        shares = [pool.submit(shared, *crowd) for crowd in crowds]
        found.results = Results(
            steady=[future.result() for future in steadies],
            changes=[future.result() for future in changes],
            shared=[future.result() for future in shares],
        )


def steady(times: str, servers: int, law: str) -> Steady:
    """Compare a law with the best fixed number, which is that of the servers, on the same times."""
    ours, best = list[Done](), list[Done]()
    for seed in SEEDS:
        ours += _counted([LAWS[law](servers)], servers, times, seed)
        best += _counted([Fixed(limit=servers, most=MOST)], servers, times, seed)
    return Steady(
        times=times,
        servers=servers,
        law=law,
        goodput=_good(ours) / _good(best),
        time=_mean_time(ours) / _mean_time(best),
    )


def changed(times: str, servers: int, change: str) -> Change:
    """Follow lifoq's law after a change. Fractions of what the servers can do then."""
    back = CHANGED_AT + (GONE if change.startswith("are gone") else 0)
    then = {"halve": servers // 2, "double": servers * 2}.get(change, servers)
    downstream = Downstream([Lifoq(MOST)], servers, times, f"{times} {servers}")
    gone = [(CHANGED_AT, 0)] if back > CHANGED_AT else []
    downstream.run(back + AFTER + SPAN, [*gone, (back, then)])
    parts = list(_parts(downstream.done, back, then))
    width = int(SPAN / BIT)
    spans = [sum(parts[i : i + width]) / width for i in range(len(parts) - width)]
    return Change(
        times=times,
        servers=servers,
        change=change,
        recovered=next((BIT * i for i, part in enumerate(spans) if part >= 0.9), None),  # noqa: PLR2004
        below_half=BIT * sum(part < 1 / 2 for part in parts),
    )


def shared(times: str, servers: int, workers: int) -> Shared:
    """Let workers that cannot speak to each other find their parts."""
    done = [
        each
        for seed in SEEDS
        for each in _counted([Lifoq(MOST) for _ in range(workers)], servers, times, seed)
    ]
    indexes = list[float]()
    for seed in SEEDS:
        found = _counted([Lifoq(MOST) for _ in range(workers)], servers, times, seed)
        parts = Counter(each.worker for each in found).values()
        indexes.append(sum(parts) ** 2 / (workers * sum(part**2 for part in parts)))
    return Shared(
        times=times,
        servers=servers,
        workers=workers,
        goodput=_good(done) / (len(SEEDS) * (LENGTH - WARM) * servers),
        time=_mean_time(done),
        fairness=sum(indexes) / len(indexes),
    )


def _counted(laws: list[Law], servers: int, times: str, seed: int) -> list[Done]:
    downstream = Downstream(laws, servers, times, f"{times} {servers} {seed}")
    downstream.run(LENGTH)
    return [done for done in downstream.done if done.at >= WARM]


def _parts(done: list[Done], since: float, servers: int) -> Iterator[float]:
    good = Counter(int((d.at - since) / BIT) for d in done if d.at >= since and d.time <= PATIENCE)
    return map(partial(_part, good, servers), range(int((AFTER + SPAN) / BIT)))


def _part(good: Counter[int], servers: int, bit: int) -> float:
    return good[bit] / (BIT * servers)


def _good(done: list[Done]) -> int:
    return sum(each.time <= PATIENCE for each in done)


def _mean_time(done: list[Done]) -> float:
    return sum(each.time for each in done) / len(done)


if __name__ == "__main__":
    main()
