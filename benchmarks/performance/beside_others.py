"""Beside other queues: who starts fresh tasks under overload, and what becomes of the others."""

from collections.abc import Sequence
from typing import Final

from benchmarks.performance.rows import Row
from benchmarks.performance.section import Benchmark, Findings, Results, Table
from benchmarks.performance.text import number, percent

OURS: Final = "lifoq"
SERVERS: Final = (
    "lifoq's server is DynamoDB Local here, a Java process on the same machine; the others' is "
    "Redis. On AWS DynamoDB takes no processor time of yours, and some milliseconds more a call."
)


def _findings(results: Results) -> Findings:
    (setting,), rows = results["setting"], results["contenders"]
    (ours,) = (row for row in rows if row["contender"] == OURS)
    others = [row for row in rows if row["contender"] != OURS]
    least, most = min(others, key=_idle), max(others, key=_idle)
    return Findings(
        meaning=(
            "Other queues can serve the newest first, too, and lose less time between two tasks; "
            "what is lifoq's own is that nothing has to be kept running, and that each task is "
            "accounted for."
        ),
        summary=(
            f"Where {number(setting['puts_per_second'])} tasks a second are put and half of them "
            f"can be done, lifoq starts {percent(ours['in_time_share'])} of them within "
            f"{number(setting['patience_seconds'])} s of their put; {_shares(others)}. "
            f"Between two tasks a slot is idle for {number(_idle(ours))} ms, from "
            f"{number(_idle(least))} ms ({least['contender']}) to {number(_idle(most))} ms "
            f"({most['contender']}) with the others."
        ),
        blocks=(
            Table.of(
                rows,
                title=(
                    f"{number(setting['seconds'])} s of overload, deadline "
                    f"{number(setting['deadline_seconds'])} s, {setting['slots']} slots"
                ),
                columns={
                    "queue": "contender",
                    "in time": lambda row: percent(row["in_time_share"]),
                    "downstream busy": lambda row: percent(row["busy_share"]),
                    "of use": lambda row: percent(row["useful_share"]),
                    "idle per task, ms": "idle_ms_per_task",
                    "CPU per task, ms": "cpu_ms_per_task",
                    "server's CPU, ms": "server_cpu_ms_per_task",
                    "put": "put",
                    "ran": "ran",
                    "shed": _shed,
                    "without a trace": "without_trace",
                },
            ),
            SERVERS,
        ),
    )


def _shares(rows: Sequence[Row]) -> str:
    return ", ".join(f"{row['contender']}: {percent(row['in_time_share'])}" for row in rows)


def _idle(row: Row) -> float:
    return float(row["idle_ms_per_task"])


def _shed(row: Row) -> str:
    return f"{row['shed']} {row['shed_as']}" if row["shed"] else "none is known of"


BENCHMARK: Final = Benchmark(
    name="beside_others",
    title="Beside other queues",
    question="Twice as many tasks arrive as can be done: how many start within 2 s of their put, "
    "in lifoq, RQ, BullMQ and Celery, and what becomes of the others?",
    findings=_findings,
    every_time=False,
)
