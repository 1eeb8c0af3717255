"""The report: how fast it is, beside DuckDB on the same files, and what it needs."""

import math
from typing import Final

import altair as alt

from analytics.passes import PARTITION_BYTES
from benchmarks.performance import charts
from benchmarks.performance.rows import Row, Rows, one
from benchmarks.performance.section import Benchmark, Chart, Findings, Goal, Results, Table
from benchmarks.performance.text import number

LARGE: Final = "large"
REPORT: Final = "with_spark"
DUCKDB: Final = "with_duckdb"
WAYS: Final = {
    REPORT: "the report",
    DUCKDB: "DuckDB",
    "with_inference": "Spark, inferred schema: a count alone",
}
SMALL_SECONDS: Final = 8
RATIO: Final = 2
LARGE_RATIO: Final = 1.5
LARGE_TASKS: Final = 20_000_000
CLUSTER_TASKS: Final = 2_000_000_000
CLUSTER_CORES: Final = 100
GB: Final = 1e9
HOUR: Final = 3_600
MEMORY_MB: Final = 6_000


def _findings(results: Results) -> Findings:
    large = results[LARGE]
    runs: Rows = [*results["runs"], *(large["runs"] if large else ())]
    most = max(run["tasks"] for run in results["runs"])
    report, duckdb = one(runs, way=REPORT, tasks=most), one(runs, way=DUCKDB, tasks=most)
    return Findings(
        meaning=(
            f"The report on {most:,} tasks is there after "
            f"{number(report['wall_seconds'])} s on two cores."
        ),
        summary=(
            f"The report on {most:,} tasks takes {number(report['processing_seconds'])} s beside "
            f"DuckDB's {number(duckdb['processing_seconds'])} s, "
            f"{number(_speed(report))} tasks/s, in {number(report['peak_mb'] / 1000)} GB. "
            f"{_beyond_the_start(runs, most)}"
        ),
        goals=_goals(runs, most),
        blocks=(
            _chart(runs),
            _table(runs),
            _steps(runs),
            _load(runs),
            *(_cluster(runs) if large else (f"{LARGE_TASKS:,} tasks: not run.",)),
        ),
    )


def _speed(run: Row) -> float:
    return float(run["tasks"] / run["processing_seconds"])


def _beyond(runs: Rows, tasks: int, measure: str) -> tuple[float, float]:
    """Of the report and of DuckDB, what remains without what the fewest tasks take: the start."""
    fewest = min(run["tasks"] for run in runs)
    report, duckdb = (
        one(runs, way=way, tasks=tasks)[measure] - one(runs, way=way, tasks=fewest)[measure]
        for way in (REPORT, DUCKDB)
    )
    return report, duckdb


def _ratio(runs: Rows, tasks: int, measure: str = "processing_seconds") -> float:
    report, duckdb = _beyond(runs, tasks, measure)
    return float(report / duckdb)


def _beyond_the_start(runs: Rows, tasks: int) -> str:
    fewest = min(run["tasks"] for run in runs)
    report, duckdb = _beyond(runs, tasks, "processing_seconds")
    return (
        f"Without what {fewest:,} tasks take, which is the start, it is {number(report)} s beside "
        f"{number(duckdb)} s: {number(report / duckdb)} times; in processor time "
        f"{number(_ratio(runs, tasks, 'cpu_seconds'))} times."
    )


def _load(runs: Rows) -> str:
    """How busy the machine was with other things, which stretches times but not ratios."""
    loads = [run["load_before"] for run in runs]
    return (
        f"Before these runs, others kept {number(min(loads))} to {number(max(loads))} processes "
        "of the machine's two cores waiting (load average). On a busy machine all times are "
        "longer, the report's most, since it needs both cores; processor time and ratios tell more."
    )


def _goals(runs: Rows, most: int) -> tuple[Goal, ...]:
    fewest = min(run["tasks"] for run in runs)
    small = one(runs, way=REPORT, tasks=fewest)
    ratio = _ratio(runs, most)
    large = [run for run in runs if (run["way"], run["tasks"]) == (REPORT, LARGE_TASKS)]
    return (
        Goal(
            text=f"a small report within {SMALL_SECONDS} s, from the command to the page",
            measured=f"{number(small['wall_seconds'])} s ({number(small['cpu_seconds'])} s of "
            f"processor time), {fewest:,} tasks",
            met=small["wall_seconds"] <= SMALL_SECONDS,
        ),
        Goal(
            text=f"{most:,} tasks in at most {RATIO} times DuckDB's time, beyond the start",
            measured=f"{number(ratio)} times",
            met=ratio <= RATIO,
        ),
        *(
            Goal(
                text=f"{LARGE_TASKS:,} tasks in at most {number(LARGE_RATIO)} times DuckDB's time",
                measured=f"{number(_ratio(runs, LARGE_TASKS))} times",
                met=_ratio(runs, LARGE_TASKS) <= LARGE_RATIO,
            )
            for _ in large
        ),
        *(
            Goal(
                text=f"{LARGE_TASKS:,} tasks within {number(MEMORY_MB / 1000)} GB",
                measured=f"{number(run['peak_mb'] / 1000)} GB",
                met=run["peak_mb"] <= MEMORY_MB,
            )
            for run in large
        ),
    )


def _chart(runs: Rows) -> Chart:
    rows = [
        {"tasks": run["tasks"], "seconds": run["processing_seconds"], "way": name}
        for way, name in WAYS.items()
        for run in runs
        if run["way"] == way
    ]
    return Chart(
        name="analytics-time",
        title="Processing time, the start of process and session aside",
        description="Seconds of processing over the number of tasks, for the report, DuckDB, and "
        "Spark with an inferred schema.",
        chart=charts.lines(
            rows,
            x=charts.x("tasks", "tasks", rows, log=True),
            y=alt.Y(
                "seconds:Q",
                title="seconds (logarithmic)",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g"),
            ),
            color=charts.color("way"),
        ),
    )


def _table(runs: Rows) -> Table:
    return Table.of(
        runs,
        title="By the number of tasks",
        columns={
            "tasks": "tasks",
            "way": lambda run: WAYS[run["way"]],
            "processing, s": "processing_seconds",
            "CPU, s": "cpu_seconds",
            "most memory, GB": lambda run: run["peak_mb"] / 1000,
            "tasks/s": lambda run: round(_speed(run)),
        },
    )


def _steps(runs: Rows) -> Table:
    """A step that names a number of files is one step at every size."""
    reports = [run for run in runs if run["way"] == REPORT]
    by_step: dict[str, dict[int, float]] = {}
    for run in reports:
        for step, taken in run["steps"].items():
            name = " ".join(word for word in step.split() if not word.isdigit())
            by_step.setdefault(name, {})[run["tasks"]] = taken
    return Table(
        title="The report's steps, seconds",
        columns=("step", *(f"{run['tasks']:,}" for run in reports)),
        rows=[
            (step, *(taken.get(run["tasks"]) for run in reports)) for step, taken in by_step.items()
        ],
    )


def _cluster(runs: Rows) -> tuple[Table | str, ...]:
    """The largest run, carried over; what it takes to start is left out."""
    measured = one(runs, way=REPORT, tasks=LARGE_TASKS)
    start = one(runs, way=REPORT, tasks=min(run["tasks"] for run in runs))
    times = CLUSTER_TASKS / LARGE_TASKS
    stored = measured["stored_bytes"] * times
    partitions = stored / PARTITION_BYTES
    core_seconds = (measured["cpu_seconds"] - start["cpu_seconds"]) * times
    shuffle = measured["traffic"]["shuffled_bytes"] * times
    each = CLUSTER_TASKS / partitions
    # The largest of many sums of independent draws, nearly normal each.
    largest = 1 + math.sqrt(2 * math.log(partitions) / each)
    rows = [
        ("exports, gzipped", stored / GB, "GB"),
        ("processor time", core_seconds / HOUR, "core-hours"),
        (f"time on {CLUSTER_CORES} cores", core_seconds / CLUSTER_CORES / 60, "minutes"),
        ("the shuffle: images by task id", shuffle / GB, "GB"),
        ("tables written", measured["traffic"]["written_bytes"] * times / GB, "GB"),
        ("partitions of the shuffle", round(partitions), ""),
        ("tasks in a partition", round(each), ""),
        ("bytes of the shuffle in a partition", shuffle / partitions / 1e6, "MB"),
        ("largest partition, times the mean, by chance", largest, ""),
    ]
    table = Table(
        title=f"What a cluster would do with {CLUSTER_TASKS:,} tasks: computed, not run",
        columns=("what", f"{times:g} times the run of {LARGE_TASKS:,}", ""),
        rows=rows,
    )
    assumed = (
        "Assumed: cores as fast as this machine's, all of them busy, which the merge is, since its "
        "partitions are many and even (task ids are hashed, and each task has a few lines); the "
        "bucket tables, percentiles and the page are of a size that does not grow with the tasks. "
        "Not in it: reading from S3, and moving the shuffle between machines."
    )
    return table, assumed


BENCHMARK: Final = Benchmark(
    name="analytics",
    title="The report",
    question="How fast is the Spark report on exports, is its memory bounded, and does its time "
    "grow with the tasks?",
    findings=_findings,
    variant=LARGE,
    every_time=False,
)
