"""``python -m benchmarks.capacity.kinds``: lifoq's law in front of three kinds of downstream."""

from concurrent.futures import ProcessPoolExecutor
from statistics import fmean
from typing import Final

import click

from benchmarks.capacity.results import Kind, Results
from benchmarks.record import recording
from lab.downstreams import KINDS, Backlog, times
from lifoq.worker.gates.adaptive.capacity_search import CapacitySearch

MOST: Final = 200
LAWS: Final = ("fixed", "gamma", "exponential", "Weibull", "mixture")
SECONDS: Final = {1: 1_200, 2: 900, 3: 600, 6: 360, 12: 270, 40: 270, 100: 270}
"""The length of a trial, by capacity: with few at a time, few attempts end in a second."""
CROWD: Final = [(kind, law, 12, 8) for kind in KINDS for law in ("exponential", "Weibull")]
"""Trials of eight workers. Each has to learn: one takes eight times as long to compute."""
TRIALS: Final = 5
"""Trials of each row. Single ones lie far apart."""
SPANS: Final = 18
"""Equal spans of a trial."""
SEARCH: Final = 6
"""Spans that the first search may take; they are not counted."""


@click.command()
@click.option("--processes", default=1, show_default=True, help="Trials side by side.")
def main(processes: int) -> None:
    """Let lifoq's law find the capacity of downstreams of each kind, without the processor."""
    rows = [(kind, law, c, 1) for kind in KINDS for law in LAWS for c in SECONDS]
    rows += CROWD
    command = "python -m benchmarks.capacity.kinds"
    with (
        recording("capacity", command, variant="kinds") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        waiting = [[pool.submit(trial, *row, number=n) for n in range(TRIALS)] for row in rows]
        kinds = (together([each.result() for each in trials]) for trials in waiting)
        found.results = Results(kinds=tuple(kinds))


def trial(kind: str, law: str, capacity: int, workers: int, *, number: int) -> Kind:
    """Compare the law with the best fixed number: as many as the capacity, and at least one for
    each worker."""
    laws = [CapacitySearch(MOST) for _ in range(workers)]
    downstream = KINDS[kind](capacity)
    service = times(law, f"{kind} {capacity} {workers} {number}")
    backlog = Backlog(downstream, service, laws)
    spans = [backlog.passes(SECONDS[capacity] / SPANS) for _ in range(SPANS)][SEARCH:]
    best = downstream.speed(max(capacity, workers))
    whole = sum(spans[1:], spans[0])
    goodput = whole.throughput / best
    return Kind(
        kind=kind,
        times=law,
        capacity=capacity,
        workers=workers,
        goodput=goodput,
        worst=goodput,
        time=whole.time,
        slowest=whole.time,
        least=min(span.throughput for span in spans) / best,
        longest=max(span.time for span in spans),
    )


def together(trials: list[Kind]) -> Kind:
    """Return the trials of a row as one."""
    return trials[0].model_copy(
        update={
            "goodput": fmean(each.goodput for each in trials),
            "worst": min(each.worst for each in trials),
            "time": fmean(each.time for each in trials),
            "slowest": max(each.slowest for each in trials),
            "least": min(each.least for each in trials),
            "longest": max(each.longest for each in trials),
        }
    )


if __name__ == "__main__":
    main()
