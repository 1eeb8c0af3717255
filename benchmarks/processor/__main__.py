"""``python -m benchmarks.processor``: see README.md."""

from typing import Any, Final

import click

from benchmarks.processor.contenders import Writes, bare_loop, captured, work_off
from benchmarks.processor.ground import Ground, ground
from benchmarks.processor.split import call_costs, time_split
from benchmarks.ratios import ratio
from benchmarks.record import recording

Row = dict[str, Any]

GOAL: Final = 0.9
IN_FLIGHT: Final = (1, 4, 10, 32)
WARM_UP: Final = 800
"""Tasks, until Java has compiled what it runs."""
PROCESSOR: Final = "processor"
BARE: Final = "bare loop"


@click.command()
@click.option("--tasks", default=400, show_default=True, help="Tasks of one measurement.")
@click.option("--repeats", default=5, show_default=True, help="Measurements of each contender.")
def main(tasks: int, repeats: int) -> None:
    """Measure the processor with an empty handler beside a bare loop of its two writes."""
    with recording("processor", "python -m benchmarks.processor") as found, ground() as here:
        writes = captured(here)
        for contender in (BARE, PROCESSOR):
            _measure(here, writes, contender, tasks=WARM_UP, in_flight=4)
        runs: list[Row] = []
        for repeat in range(repeats):
            for in_flight in IN_FLIGHT:
                pair = (BARE, PROCESSOR) if repeat % 2 else (PROCESSOR, BARE)
                for contender in pair:
                    row = _measure(here, writes, contender, tasks=tasks, in_flight=in_flight)
                    runs.append({"in_flight": in_flight, "repeat": repeat, **row})
                    print(runs[-1], flush=True)
        found.results = {
            "goal_ratio": GOAL,
            "tasks": tasks,
            "ratios": [_ratio(runs, in_flight) for in_flight in IN_FLIGHT],
            "runs": runs,
            "parts": [row for n in IN_FLIGHT for row in time_split(here, tasks=tasks, in_flight=n)],
            "calls": call_costs(here, writes, tasks=tasks),
        }


def _measure(here: Ground, writes: Writes, contender: str, *, tasks: int, in_flight: int) -> Row:
    task_ids = here.fill(tasks)
    with here.spending() as spent:
        if contender == BARE:
            bare_loop(here, writes, task_ids, threads=in_flight)
        else:
            report = work_off(here, in_flight=in_flight)
    if contender == PROCESSOR and report.succeeded != tasks:
        raise RuntimeError(f"{report.succeeded} of {tasks} tasks succeeded: {report}")
    return {"contender": contender, **spent.per_task(tasks)}


def _ratio(runs: list[Row], in_flight: int) -> Row:
    these = [run for run in runs if run["in_flight"] == in_flight]
    return {"in_flight": in_flight, **ratio(these, ours=PROCESSOR, bare=BARE, goal=GOAL)}


if __name__ == "__main__":
    main()
