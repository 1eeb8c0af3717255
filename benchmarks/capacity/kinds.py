"""``python -m benchmarks.capacity.kinds``: lifoq's law in front of three kinds of downstream."""

from concurrent.futures import ProcessPoolExecutor
from typing import Final

import click

from benchmarks.capacity.results import Kind, Results
from benchmarks.record import recording
from lab.downstreams import KINDS, Backlog, times
from lifoq.worker.gates.adaptive.adaptive_concurrency import AdaptiveConcurrency

MOST: Final = 200
LAWS: Final = ("fixed", "gamma", "exponential", "Weibull", "mixture")
SECONDS: Final = {1: 1_200, 2: 900, 3: 600, 6: 360, 12: 270, 40: 270, 100: 180}
"""The length of a trial, by capacity: with few at a time, few attempts end in a second."""
CROWD: Final = [(kind, law, 12, 8) for kind in KINDS for law in ("exponential", "Weibull")]
"""Trials of eight workers. Each has to learn: one takes eight times as long to compute."""
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
        trials = [pool.submit(trial, *row) for row in rows]
        found.results = Results(kinds=tuple(each.result() for each in trials))


def trial(kind: str, law: str, capacity: int, workers: int) -> Kind:
    """Compare the law with the best fixed number: as many as the capacity, and at least one for
    each worker."""
    laws = [AdaptiveConcurrency(MOST) for _ in range(workers)]
    downstream = KINDS[kind](capacity)
    backlog = Backlog(downstream, times(law, f"{kind} {capacity} {workers}"), laws)
    spans = [backlog.passes(SECONDS[capacity] / SPANS) for _ in range(SPANS)][SEARCH:]
    best = downstream.speed(max(capacity, workers))
    whole = sum(spans[1:], spans[0])
    return Kind(
        kind=kind,
        times=law,
        capacity=capacity,
        workers=workers,
        goodput=whole.throughput / best,
        time=whole.time,
        least=min(span.throughput for span in spans) / best,
        longest=max(span.time for span in spans),
    )


if __name__ == "__main__":
    main()
