"""A report that does not tell what happened is found out."""

import io
import json

from rich.console import Console

from demo.ledger import Counts, Stretch
from demo.verdict import Report, contradictions, print_overload

COUNTS = {"waiting": 0, "taken": 0, "succeeded": 6, "failed": 1, "cancelled": 0, "shed": 3}
SECONDS = {"p50": 0.1, "p95": 1.25, "p99": 2, "max": 3}


def report(tmp_path, **changes):
    path = tmp_path / "summary.json"
    path.write_text(
        json.dumps(
            {
                "tasks": {"created": 10} | COUNTS | changes,
                "shedding_rate": 0.3,
                "longest_wait_seconds": 12,
                "backlog": {"max": 4, "max_at": "2026-01-01T00:00:00Z", "end": 0},
                "wait_seconds": SECONDS,
                "service_seconds": SECONDS,
                "sojourn_seconds": dict.fromkeys(SECONDS),
            }
        )
    )
    return Report.read(path)


def test_a_report_that_agrees_with_the_table_is_not_contradicted(tmp_path):
    assert list(contradictions(report(tmp_path), Counts(**COUNTS))) == []


def test_counts_that_do_not_add_up_are_named(tmp_path):
    (sentence,) = contradictions(report(tmp_path, created=11), Counts(**COUNTS))
    assert "11 were created" in sentence
    assert "succeeded 6" in sentence


def test_a_number_that_the_table_did_not_show_is_named(tmp_path):
    ledger = Counts(**COUNTS | {"succeeded": 5, "shed": 4})
    assert list(contradictions(report(tmp_path), ledger)) == [
        "The report says 6 succeeded, the table showed 5.",
        "The report says 3 shed, the table showed 4.",
    ]


def test_a_run_without_tasks_or_with_tasks_left_at_its_end_is_no_success(tmp_path):
    nothing, left = dict.fromkeys(COUNTS, 0), {"waiting": 1, "taken": 2, "succeeded": 3}
    found = list(contradictions(report(tmp_path, created=0, **nothing), Counts(**nothing)))
    assert found == ["No task was created."]
    found = list(contradictions(report(tmp_path, **left), Counts(**COUNTS | left)))
    assert found == ["1 waiting and 2 taken tasks were left at the end."]


def test_the_overload_stands_beside_theory():
    output = io.StringIO()
    stretch = Stretch(
        seconds=10, arrivals=250, succeeded=100, first_claims=100, shed=150, waits=(0.1, 0.2, 0.9)
    )
    print_overload(Console(file=output, width=200), stretch, oldest_waiting=10, refused=2)
    text = output.getvalue()
    assert "ρ = 2.50" in text
    assert "shedding rate 0.600" in text
    assert "1 − 1/ρ = 0.600" in text
    assert "0.20 s (p50)" in text
