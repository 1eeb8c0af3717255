"""Producer speed: puts beside the bare writes of the same items."""

from typing import Final

from benchmarks.performance.beside import Beside
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results
from benchmarks.performance.text import number

BESIDE: Final = Beside(ours="lifoq", bare="bare writes", group="call")


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
        blocks=(_speed(results), BESIDE.figures(results)),
    )


def _speed(results: Results) -> Chart:
    return Chart(
        name="producer-speed",
        title="Tasks put per second by one thread: medians as bars, each run as a dot",
        description="Tasks per second of put and put_many, beside bare writes.",
        chart=BESIDE.speeds(results, title=None),
    )


BENCHMARK: Final = Benchmark(
    name="producer",
    title="Producer speed",
    question="How many tasks a second can one thread put, beside bare conditional and batch "
    "writes of the same items?",
    findings=_findings,
)
