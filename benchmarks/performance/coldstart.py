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
    return Table.of(
        results["start"],
        title="The same in figures",
        columns={
            "function": "function",
            "ready after, ms": "start_ms",
            "least to most, ms": lambda row: span([row["start_ms_least"], row["start_ms_most"]]),
            "boto3, ms": "boto3_ms",
            "own, ms": "own_ms",
            "with bytecode, ms": "with_bytecode_ms",
            "modules": "modules",
            "source read, KB": "asset_source_kb",
        },
    )


def _memory(results: Results) -> Table:
    return Table.of(
        results["memory"],
        title="Memory",
        columns={
            "function": "function",
            "after the start, MB": "after_start_mb",
            "most at work, MB": "peak_at_work_mb",
            "configured, MB": "limit_mb",
        },
    )


def _package(results: Results) -> Table:
    return Table.of(
        results["package"],
        title="What the package holds",
        columns={"part": "part", "unpacked, KB": "unpacked_kb"},
    )


BENCHMARK: Final = Benchmark(
    name="coldstart",
    title="Cold start",
    question="How long does a function take before its first event, how large is the package, and "
    "how much memory do the functions need?",
    findings=_findings,
)
