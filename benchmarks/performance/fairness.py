"""Fairness: what one key that floods the queue does to the others."""

from typing import Final

from benchmarks.performance.rows import Row
from benchmarks.performance.section import Benchmark, Findings, Goal, Results, Table
from benchmarks.performance.text import number, percent

SQS: Final = (
    "Beside it, [SQS's fair queues]"
    "(https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/"
    "sqs-fair-queues.html) as AWS describes them: a tenant is a message group; one that holds a "
    "large share of the messages in flight, or of the processing time, is noisy while others wait; "
    "messages of the others are then returned first, and the noisy one gets what capacity is left. "
    "AWS states no bound on the others' wait. lifoq's rule is the same in kind: who has used more "
    "slot time than an even share comes after those who have not."
)


def _findings(results: Results) -> Findings:
    (setting,) = results["setting"]
    rows = results["floods"]
    with_it = [row for row in rows if row["fair_share"]]
    without = [row for row in rows if not row["fair_share"]]
    worst = min(with_it, key=_in_time)
    most = max(with_it, key=lambda row: float(row["read_units_per_second"]))
    goal = setting["goal_in_time_share"]
    return Findings(
        meaning=(
            "A customer that floods the queue delays itself; the tasks of the others start as if "
            "it were not there."
        ),
        summary=(
            f"With fair shares at least {percent(_in_time(worst))} of the quiet keys' tasks start "
            f"within {number(setting['patience_seconds'])} s, without them at most "
            f"{percent(max(map(_in_time, without)))}. The processor then reads "
            f"{number(most['read_units_per_second'])} units a second at the most."
        ),
        goals=[
            Goal(
                text=f"at least {percent(goal)} of the quiet keys' tasks in time",
                measured=percent(_in_time(worst)),
                met=_in_time(worst) >= goal,
            )
        ],
        blocks=(
            Table.of(
                rows,
                title="One key floods, twenty ask for little",
                columns={
                    "fair share": lambda row: "on" if row["fair_share"] else "off",
                    "order": _order,
                    "waiting at most": "most_waiting",
                    "quiet: in time": lambda row: percent(_in_time(row)),
                    "quiet: wait p95, s": "quiet_wait_p95_seconds",
                    "flood: started a second": "flood_started_per_second",
                    "slots busy": lambda row: percent(row["slots_busy_share"]),
                    "queries a task": "queries_per_task",
                    "rows a task": "rows_per_task",
                    "read units a task": "read_units_per_task",
                    "read units a second": "read_units_per_second",
                },
            ),
            "The wait is of those that started.",
            SQS,
        ),
    )


def _in_time(row: Row) -> float:
    return float(row["quiet_in_time_share"])


def _order(row: Row) -> str:
    return "newest first" if row["adaptive_threshold_seconds"] is None else "adaptive"


BENCHMARK: Final = Benchmark(
    name="fairness",
    title="Fairness",
    question="One key floods the queue: how many of the other keys' tasks start in time, with fair "
    "shares and without?",
    findings=_findings,
)
