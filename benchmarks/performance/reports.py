"""The newest report of a device: a storm of puts, kept and replaced; and large payloads."""

from typing import Final

from benchmarks.performance.section import Benchmark, Findings, Goal, Results, Table
from benchmarks.performance.text import number

SIZE: Final = 4_096
"""Bytes of the payload that the goal is about."""


def _findings(results: Results) -> Findings:
    storm = {row["policy"]: row for row in results["storm"]}
    replaced = storm["an id for each device, replaced"]
    plain = storm["without ids"]
    large = next(row for row in results["large"] if row["payload_bytes"] >= SIZE)
    gain = replaced["useful_checks_per_second"] / plain["useful_checks_per_second"]
    return Findings(
        meaning="Where devices report faster than they can be checked, to let the newest report "
        f"replace the one that waits gives {number(gain)} times as many useful checks.",
        summary=f"Of {number(plain['checks'])} checks without ids "
        f"{number(plain['useful_checks'])} are of a report that is still the latest; with "
        f'`if_exists="replace"` {number(replaced["useful_checks"])} of '
        f"{number(replaced['checks'])}, at {number(replaced['write_units_per_useful_check'])} "
        f"write units each instead of {number(plain['write_units_per_useful_check'])}. A task with "
        f"4 KB of JSON takes {number(large['write_units'])} write units, as it is stored "
        f"compressed; {number(large['write_units_as_it_is'])} otherwise.",
        goals=[
            Goal(
                text=f"at most {number(results['goal_write_units'])} write units for a task with "
                "4 KB of ordinary JSON",
                measured=number(large["write_units"]),
                met=large["write_units"] <= results["goal_write_units"],
            )
        ],
        blocks=(
            Table.of(
                results["storm"],
                title=f"{number(results['devices'])} devices report "
                f"{number(results['reports_per_device'])} times each, "
                f"{number(results['reports_per_second'])} reports a second; "
                f"{number(results['checks_per_second_at_the_most'])} checks a second at the most",
                columns={
                    "reports have": "policy",
                    "checks": "checks",
                    "of them useful": "useful_checks",
                    "useful checks/s": "useful_checks_per_second",
                    "devices whose last report was checked": (
                        "devices_whose_last_report_was_checked"
                    ),
                    "s until nothing waits": "seconds_until_all_was_checked",
                    "write units per useful check": "write_units_per_useful_check",
                },
            ),
            Table.of(
                results["large"],
                title="A task that succeeds at once, by the size of its payload",
                columns={
                    "bytes of JSON": "payload_bytes",
                    "stored": "stored_bytes",
                    "write units": "write_units",
                    "write units, as it is": "write_units_as_it_is",
                    "µs to compress": "pack_microseconds",
                    "µs to read": "unpack_microseconds",
                },
            ),
        ),
    )


BENCHMARK: Final = Benchmark(
    name="reports",
    title="The newest report of a device",
    question="Each device reports ten times while its reports wait: how many checks are of use, "
    "and what do they cost? And what does a large payload cost?",
    findings=_findings,
)
