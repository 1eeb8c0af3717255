"""The ledger knows where every task is, though the table forgets those it shed."""

import pytest

from demo.ledger import MICROS, Counts, Ledger
from lifoq.items.schema import OWN_PREFIX

START = 1_790_000_000 * MICROS
DEADLINE = 10 * MICROS


def item(task_id, status="PENDING", *, at=0.0, first_taken=None, finished=None):
    """A task that was put ``at`` seconds after the start, as DynamoDB JSON."""
    enqueued = START + round(at * MICROS)
    found = {
        "taskId": {"S": task_id},
        "taskStatus": {"S": status},
        "enqueuedAt": {"N": str(enqueued)},
        "expiresAt": {"N": str(enqueued + DEADLINE)},
    }
    for name, moment in (("firstTakenAt", first_taken), ("finishedAt", finished)):
        if moment is not None:
            found[name] = {"N": str(START + round(moment * MICROS))}
    return found


def at(seconds):
    return START + round(seconds * MICROS)


def test_every_task_is_counted_once_by_where_it_is():
    ledger = Ledger()
    ledger.observe(
        [
            item("a"),
            item("b", "DELAYED"),
            item("c", "TAKEN"),
            item("d", "SUCCESS"),
            item("e", "SUCCESS"),
            item("f", "FAILURE"),
            item("g", "CANCELLED"),
            {"taskId": {"S": f"{OWN_PREFIX}starts"}},
        ]
    )
    snapshot = ledger.snapshot(at(1))
    assert snapshot.counts == Counts(waiting=2, taken=1, succeeded=2, failed=1, cancelled=1, shed=0)
    assert snapshot.counts.created == 7
    assert snapshot.delayed == 1


def test_what_is_gone_or_waits_past_its_deadline_was_shed_unless_it_had_ended():
    ledger = Ledger()
    unfinished = [item(status, status) for status in ("PENDING", "DELAYED", "TAKEN")]
    ledger.observe([*unfinished, item("done", "SUCCESS"), item("runs", "TAKEN"), item("old")])
    ledger.observe([item("runs", "TAKEN"), item("old")])
    before, after = ledger.snapshot(at(9.9)).counts, ledger.snapshot(at(10)).counts
    assert (before.shed, before.waiting) == (3, 1)
    assert (after.created, after.shed, after.succeeded, after.taken) == (6, 4, 1, 1)


def test_ages_are_those_of_the_tasks_that_wait():
    ledger = Ledger()
    ledger.observe([item("a", "TAKEN"), item("b", at=1), item("c", at=2.5), item("d", "SUCCESS")])
    snapshot = ledger.snapshot(at(4))
    assert snapshot.newest_waiting == 1.5
    assert snapshot.oldest_waiting == 3


def test_rates_are_averages_over_the_last_five_seconds():
    ledger = Ledger()
    ledger.observe(
        [
            *(item(f"{n}", "SUCCESS", at=n, first_taken=n, finished=n + 0.5) for n in range(10)),
            *(item(f"late {n}", at=n - 10) for n in range(8)),
        ]
    )
    snapshot = ledger.snapshot(at(10))
    assert snapshot.arrival_rate == 1
    assert snapshot.service_rate == 1
    assert snapshot.shed_rate == 0.6


def test_a_stretch_holds_what_happened_from_its_start_up_to_its_end():
    ledger = Ledger()
    ledger.observe(
        [
            item("before", "SUCCESS", at=9.9, first_taken=9.95, finished=9.99),
            item("at its start", "SUCCESS", at=10, first_taken=10.5, finished=11),
            item("inside", "SUCCESS", at=12, first_taken=12.25, finished=19.9),
            item("at its end", "SUCCESS", at=20, first_taken=20, finished=21),
            item("shed inside", at=5),
            item("shed at its end", at=10.1),
        ]
    )
    stretch = ledger.between(at(10), at(20))
    assert stretch.arrivals == 3
    assert stretch.succeeded == 2
    assert stretch.waits == (0.25, 0.5)
    assert stretch.shed == 1
    assert stretch.shedding_rate == pytest.approx(1 / 3)
    assert stretch.load == 1.5
