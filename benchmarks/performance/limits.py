"""Limits: order and reads where one of two types is at its limit, and late heartbeats."""

from typing import Final

from benchmarks.performance.rows import Row, Rows, one
from benchmarks.performance.section import Benchmark, Findings, Goal, Results, Table
from benchmarks.performance.text import number, span

CONTROL: Final = "before"
BEFORE: Final = (
    "*Before* is commit `fda5936`, whose run called the database in the thread that decides, and "
    "read the backlog anew at each look."
)
MOST_BEHIND: Final = 2
"""Newer tasks that wait where one is taken, in the middle of all starts."""


def _findings(results: Results) -> Findings:
    order, late = results["order"], results["heartbeats"]
    deepest = max(row["waiting"] for row in order)
    rows = [row["rows_per_start"] for row in order if row["waiting"] == deepest]
    behind = max(row["newer_median"] for row in order)
    run_twice = max(row["run_twice"] for row in late)
    return Findings(
        summary="Where one of two types is at its limit, half of the tasks that start have "
        f"{f'at most {number(behind)}' if behind else 'no'} newer ones waiting beside them; "
        f"a start reads {span(rows)} rows "
        f"of the index where {deepest:,} tasks wait. A heartbeat that is answered late makes "
        f"{run_twice or 'no'} task run twice.",
        goals=[
            Goal(
                text=f"median of newer tasks at a start at most {MOST_BEHIND}, whatever is limited",
                measured=number(behind),
                met=behind <= MOST_BEHIND,
            ),
            Goal(
                text="no task runs twice where one heartbeat is answered late",
                measured=number(run_twice),
                met=run_twice == 0,
            ),
        ],
        blocks=(
            _order(order, (results[CONTROL] or {}).get("order", [])),
            BEFORE,
            _heartbeats(late, (results[CONTROL] or {}).get("heartbeats", [])),
        ),
    )


def _order(order: Rows, before: Rows) -> Table:
    def then(row: Row, key: str) -> float | None:
        found = [b for b in before if (b["limit"], b["waiting"]) == (row["limit"], row["waiting"])]
        return found[0][key] if found else None

    return Table.of(
        order,
        title="Newer tasks that wait when a task is claimed, and rows of the index read per start",
        columns={
            "limit": "limit",
            "tasks that wait": "waiting",
            "starts": "starts",
            "newer: median": "newer_median",
            "before": lambda row: then(row, "newer_median"),
            "newer: most": "newer_max",
            "before ": lambda row: then(row, "newer_max"),
            "rows per start": "rows_per_start",
            "before  ": lambda row: then(row, "rows_per_start"),
        },
    )


def _heartbeats(rows: Rows, before: Rows) -> Table:
    def then(row: Row, key: str) -> int | None:
        late = row["answered_after_seconds"]
        return one(before, answered_after_seconds=late)[key] if before else None

    return Table.of(
        rows,
        title="Ten tasks of 50 s, leases of 30 s; one heartbeat is answered late",
        columns={
            "answered after (s)": "answered_after_seconds",
            "leases run out": "leases_run_out",
            "before": lambda row: then(row, "leases_run_out"),
            "tasks run twice": "run_twice",
            "before ": lambda row: then(row, "run_twice"),
            "all done after (s)": "seconds_until_all_are_done",
            "before  ": lambda row: then(row, "seconds_until_all_are_done"),
        },
    )


BENCHMARK: Final = Benchmark(
    name="limits",
    title="Limits and late answers",
    question="With one of two task types at its limit, how new is the task that the next free slot "
    "takes, and how much is read for it? What does one late heartbeat cost?",
    findings=_findings,
    variant=CONTROL,
)
