"""Processor speed: tasks a second beside the bare writes that they cannot do without."""

from typing import Final

from benchmarks.performance import charts
from benchmarks.performance.beside import Beside
from benchmarks.performance.rows import one
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results, Table
from benchmarks.performance.text import number, span

BESIDE: Final = Beside(ours="processor", bare="bare loop", group="in_flight")


def _findings(results: Results) -> Findings:
    ratios = results["ratios"]
    best = max(ratios, key=lambda row: row["tasks_per_second"])
    return Findings(
        meaning=(
            f"One processor handles up to {number(best['tasks_per_second'])} short tasks a second "
            "on a core of this machine."
        ),
        summary=(
            f"With an empty handler the processor does {number(best['tasks_per_second'])} tasks/s "
            f"({best['in_flight']} in flight); a bare loop of the same two writes, of known ids "
            f"and with as many threads, does {number(best['bare_tasks_per_second'])}. The ratio of "
            f"the two is {span([row['ratio'] for row in ratios])} from one task in flight to "
            f"{ratios[-1]['in_flight']}."
        ),
        goals=[
            Goal(
                text=(
                    f"at least {number(results['goal_ratio'])} of the bare loop, "
                    f"{row['in_flight']} in flight"
                ),
                measured=number(row["ratio"]),
                met=row["goal_met"],
            )
            for row in ratios
        ],
        blocks=(
            _speed(results),
            BESIDE.figures(results),
            _difference(results),
            _parts(results),
            _calls(results),
        ),
    )


def _difference(results: Results) -> str:
    """Why it is not the bare loop's speed, as far as it was measured."""
    row = max(results["ratios"], key=lambda row: row["ratio"])
    more = row["client_cpu_ms_per_task"] - row["bare_client_cpu_ms_per_task"]
    look = one(results["calls"], call="look at ten")["client_cpu_ms"]
    looks = one(results["parts"], in_flight=row["in_flight"], part="query")["times_per_task"]
    return (
        f"What lies between: at {row['in_flight']} in flight a task takes {number(more)} ms of "
        f"processor time more than in the bare loop, {number(look * looks)} ms of it for its share "
        "of the looks at the queue, the rest for what the store renders and reads and for handing "
        "tasks from thread to thread under Python's one interpreter lock. With one in flight each "
        "task has a look of its own: a third call, though the settlement of the task before goes "
        "on beside it."
    )


def _speed(results: Results) -> Chart:
    return Chart(
        name="processor-speed",
        title="Tasks per second with an empty handler: medians as bars, each run as a dot",
        description="Tasks per second of the processor beside a bare loop, by tasks in flight.",
        chart=BESIDE.speeds(results, title="tasks in flight"),
    )


def _parts(results: Results) -> Chart:
    rows = [{**row, "in_flight": f"{row['in_flight']} in flight"} for row in results["parts"]]
    return Chart(
        name="processor-parts",
        title="Where a task's time goes: milliseconds, summed up over the threads",
        description="Milliseconds per task by part, from the query to the settlement, by tasks in "
        "flight.",
        chart=charts.bars(
            rows, bar="in_flight", value="ms_per_task", part="part", title="ms per task"
        ),
    )


def _calls(results: Results) -> Table:
    return Table.of(
        results["calls"],
        title="One call in one thread",
        columns={
            "call": "call",
            "through": "through",
            "CPU ms": "client_cpu_ms",
            "ms": "ms",
        },
    )


BENCHMARK: Final = Benchmark(
    name="processor",
    title="Processor speed",
    question="How many tasks a second does a processor do when the handler does nothing, and how "
    "much of that is the database's?",
    findings=_findings,
)
