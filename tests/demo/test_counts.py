"""Where every task of the demo is, though the table forgets those it shed; what a terminal shows
of it; and that a report that tells something else is found out."""

import io
import json

import pytest
from rich.console import Console

from demo.ledger import MICROS, Counts, Ledger
from demo.load import Phase
from demo.verdict import Report, contradictions
from demo.view import View
from lifoq.items.schema import OWN_PREFIX

START = 1_790_000_000 * MICROS
DEADLINE = 10 * MICROS


def at(seconds):
    return START + round(seconds * MICROS)


def item(task_id, status="PENDING", *, put=0.0, first_taken=None, finished=None):
    """A task that was put so many seconds after the start, as DynamoDB JSON."""
    found = {
        "taskId": {"S": task_id},
        "taskStatus": {"S": status},
        "enqueuedAt": {"N": str(at(put))},
        "expiresAt": {"N": str(at(put) + DEADLINE)},
    }
    for name, moment in (("firstTakenAt", first_taken), ("finishedAt", finished)):
        if moment is not None:
            found[name] = {"N": str(at(moment))}
    return found


def test_every_task_is_counted_once_by_where_it_is():
    statuses = ("PENDING", "DELAYED", "TAKEN", "SUCCESS", "SUCCESS", "FAILURE", "CANCELLED")
    ledger = Ledger()
    ledger.observe(
        [
            *(item(str(number), status) for number, status in enumerate(statuses)),
            {"taskId": {"S": f"{OWN_PREFIX}starts"}},
        ]
    )
    snapshot = ledger.snapshot(at(1))
    assert snapshot.counts == Counts(waiting=2, taken=1, succeeded=2, failed=1, cancelled=1, shed=0)
    assert (snapshot.counts.created, snapshot.delayed) == (7, 1)


def test_what_is_gone_or_waits_past_its_deadline_was_shed_unless_it_had_ended():
    ledger = Ledger()
    unfinished = [item(status, status) for status in ("PENDING", "DELAYED", "TAKEN")]
    ledger.observe([*unfinished, item("done", "SUCCESS"), item("runs", "TAKEN"), item("old")])
    ledger.observe([item("runs", "TAKEN"), item("old")])
    before, after = ledger.snapshot(at(9.9)).counts, ledger.snapshot(at(10)).counts
    assert (before.shed, before.waiting) == (3, 1)
    assert (after.created, after.shed, after.succeeded, after.taken) == (6, 4, 1, 1)


def test_a_stretch_holds_what_happened_from_its_start_up_to_its_end():
    ledger = Ledger()
    ledger.observe(
        [
            item("before", "SUCCESS", put=9.9, first_taken=9.95, finished=9.99),
            item("at its start", "SUCCESS", put=10, first_taken=10.5, finished=11),
            item("inside", "SUCCESS", put=12, first_taken=12.25, finished=19.9),
            item("at its end", "SUCCESS", put=20, first_taken=20, finished=21),
            item("shed inside", put=5),
            item("shed at its end", put=10.1),
        ]
    )
    stretch = ledger.between(at(10), at(20))
    assert (stretch.arrivals, stretch.succeeded, stretch.shed) == (3, 2, 1)
    assert stretch.waits == (0.25, 0.5)
    assert stretch.shedding_rate == pytest.approx(1 / 3)
    assert stretch.load == 1.5


COUNTS = {"waiting": 0, "taken": 0, "succeeded": 6, "failed": 1, "cancelled": 0, "shed": 3}
NOTHING = dict.fromkeys(COUNTS, 0)


@pytest.mark.parametrize(
    ("told", "seen", "sentences"),
    [
        ({}, {}, []),
        ({"created": 11}, {}, ["11 were created"]),
        ({}, {"succeeded": 5, "shed": 4}, ["6 succeeded, the table", "3 shed, the table showed 4"]),
        (NOTHING | {"created": 0}, NOTHING, ["No task was created."]),
        ({"taken": 2, "shed": 1}, {"taken": 2, "shed": 1}, ["0 waiting and 2 taken tasks"]),
    ],
)
def test_a_report_that_does_not_tell_what_happened_is_found_out(tmp_path, told, seen, sentences):
    summary = tmp_path / "summary.json"
    summary.write_text(json.dumps({"tasks": {"created": 10} | COUNTS | told}))
    found = list(contradictions(Report.read(summary), Counts(**COUNTS | seen)))
    assert [part in sentence for part, sentence in zip(sentences, found, strict=True)] == (
        [True] * len(found)
    )


@pytest.mark.parametrize("terminal", [True, False])
def test_what_is_seen_while_it_runs_is_a_frame_or_a_plain_line_for_many_looks(terminal):
    ledger, output = Ledger(), io.StringIO()
    ledger.observe([item("a"), item("b", "SUCCESS", put=1, first_taken=1, finished=2)])
    phase = Phase(name="overload", tasks_per_second=25, seconds=40)
    console = Console(file=output, force_terminal=terminal, color_system=None, width=120, height=40)
    with View(console, phases=(phase,), deadline_seconds=10) as view:
        for second in range(3, 6):
            view.show(phase, second, ledger.snapshot(at(second)))
    shown = output.getvalue()
    for part in ("overload", "0.4/s", "0.2/s"):
        assert part in shown
    assert ("1 waiting" in shown, shown.count("\n") > 1) == (terminal, terminal)
