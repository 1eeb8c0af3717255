"""Cold start: how long a function takes before its first event, and what of it is our own."""

from typing import Final

from benchmarks.performance import charts
from benchmarks.performance.section import Benchmark, Chart, Findings, Results, Table
from benchmarks.performance.text import number, span


def _findings(results: Results) -> Findings:
    start, (package, *_) = results["start"], results["package"]
    return Findings(
        summary=(
            f"A function is ready after {span([row['start_ms'] for row in start])} ms, of which "
            f"{span([row['boto3_ms'] for row in start])} ms are boto3 and its clients, and "
            f"{span([row['own_ms'] for row in start])} ms its own code with the library and "
            f"Powertools. The package has {number(package['zipped_kb'] / 1000)} MB, zipped."
        ),
        blocks=(_starts(results), _start_table(results), _memory(results), _package(results)),
    )


def _starts(results: Results) -> Chart:
    rows = [
        {"function": row["function"], "part": part, "ms": row[key]}
        for row in results["start"]
        for part, key in (("boto3 and its clients", "boto3_ms"), ("own", "own_ms"))
    ]
    return Chart(
        name="coldstart-parts",
        title="Until the handler is ready",
        description="Milliseconds until each function's handler is ready: boto3's part, and the "
        "function's own.",
        chart=charts.bars(
            rows, bar="function", value="ms", part="part", title="milliseconds, median"
        ),
    )


def _start_table(results: Results) -> Table:
    return Table(
        title="The same in figures",
        columns=(
            "function",
            "ready after, ms",
            "least to most, ms",
            "boto3, ms",
            "own, ms",
            "with bytecode, ms",
            "modules",
            "source read, KB",
        ),
        rows=[
            (
                row["function"],
                row["start_ms"],
                span([row["start_ms_least"], row["start_ms_most"]]),
                row["boto3_ms"],
                row["own_ms"],
                row["with_bytecode_ms"],
                row["modules"],
                row["asset_source_kb"],
            )
            for row in results["start"]
        ],
    )


def _memory(results: Results) -> Table:
    return Table(
        title="Memory",
        columns=("function", "after the start, MB", "most at work, MB", "configured, MB"),
        rows=[
            (row["function"], row["after_start_mb"], row["peak_at_work_mb"], row["limit_mb"])
            for row in results["memory"]
        ],
    )


def _package(results: Results) -> Table:
    return Table(
        title="What the package holds",
        columns=("part", "unpacked, KB"),
        rows=[(row["part"], row["unpacked_kb"]) for row in results["package"]],
    )


BENCHMARK: Final = Benchmark(
    name="coldstart",
    title="Cold start",
    question="How long does a function take before its first event, how large is the package, and "
    "how much memory do the functions need?",
    findings=_findings,
)
