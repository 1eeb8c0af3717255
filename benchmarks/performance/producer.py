"""Producer speed: puts beside the bare writes of the same items."""

from typing import Final

from benchmarks.performance.processor import beside
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results, Table
from benchmarks.performance.text import number, span


def _findings(results: Results) -> Findings:
    ratios = results["ratios"]
    return Findings(
        summary="In one thread, "
        + " and ".join(
            f"`{row['call']}` puts {number(row['tasks_per_second'])} tasks/s, "
            f"{number(row['ratio'])} of what bare writes of such items do"
            for row in ratios
        )
        + ".",
        goals=[
            Goal(
                text=f"`{row['call']}` at least {number(results['goal_ratio'])} of bare writes",
                measured=number(row["ratio"]),
                met=row["goal_met"],
            )
            for row in ratios
        ],
        blocks=(_speed(results), _ratios(results)),
    )


def _speed(results: Results) -> Chart:
    medians = [
        {"call": row["call"], "contender": contender, "rate": row[key]}
        for contender, key in (
            ("lifoq", "tasks_per_second"),
            ("bare writes", "bare_tasks_per_second"),
        )
        for row in results["ratios"]
    ]
    return Chart(
        name="producer-speed",
        title="Tasks put per second by one thread: medians as bars, each run as a dot",
        description="Tasks per second of put and put_many, beside bare writes.",
        chart=beside(medians, results["runs"], group="call", title=None),
    )


def _ratios(results: Results) -> Table:
    return Table(
        title="The same in figures: medians, and processor time of this process",
        columns=(
            "call",
            "lifoq, tasks/s",
            "bare writes, tasks/s",
            "ratio",
            "least to most",
            "CPU ms per task",
            "bare writes'",
        ),
        rows=[
            (
                row["call"],
                row["tasks_per_second"],
                row["bare_tasks_per_second"],
                row["ratio"],
                span([row["ratio_min"], row["ratio_max"]]),
                row["client_cpu_ms_per_task"],
                row["bare_client_cpu_ms_per_task"],
            )
            for row in results["ratios"]
        ],
    )


BENCHMARK: Final = Benchmark(
    name="producer",
    title="Producer speed",
    question="How many tasks a second can one thread put, beside bare conditional and batch "
    "writes of the same items?",
    findings=_findings,
)
