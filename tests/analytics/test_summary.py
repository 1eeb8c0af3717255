"""The numbers of a small queue, whole, as ``summary.json`` and the page's charts tell them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lifoq.basics.times import iso
from lifoq_analytics import passes
from lifoq_analytics.answers import buckets, outlook, percentiles, rankings, series, summary
from lifoq_analytics.answers.buckets import FLOWS, LEFT, Buckets, Span
from lifoq_analytics.answers.peak import Peak
from lifoq_analytics.columns import NEVER
from tests.analytics.exportfiles import full_line
from tests.analytics.items import BASE, SECOND, at, item, judged, observed

AS_OF = at(60)
TASKS = (
    item("done", "SUCCESS", firstTakenAt=5, takenAt=5, finishedAt=10) | {"replaced": 2},
    item("tried", "FAILURE", kind="sms", attempts=3, firstTakenAt=4, takenAt=20, finishedAt=23),
    item("works", "TAKEN", kind="sms", enqueuedAt=20, firstTakenAt=50, takenAt=50),
    item("retries", "PENDING", enqueuedAt=2, attempts=2, firstTakenAt=8, takenAt=30),
    item("waits", "PENDING", enqueuedAt=30, expiresAt=90),
    item("shed", "PENDING", expiresAt=40),
    item("lost", "PENDING", enqueuedAt=10, expiresAt=45),
    item("cancelled", "CANCELLED", finishedAt=12) | {"attempts": None},
    item("later", "PENDING", enqueuedAt=90),
)
JUDGED = judged(observed(*map(full_line, TASKS), full=60))
COUNTED = summary.count(JUDGED, as_of=AS_OF)
NOBODY = dict.fromkeys(("waiting", "taken", "succeeded", "failed", "cancelled", "shed"), 0)


def found() -> dict[str, Any]:
    measures = passes.measures(JUDGED, points=20 * SECOND)
    ranks = percentiles.ranks(percentiles.histogram(measures))
    return percentiles.pick(ranks, percentiles.values_in(measures, ranks))


def spread(p50: float | None, p95: float | None) -> dict[str, float | None]:
    return {"p50": p50, "p95": p95, "p99": p95, "max": p95}


def fresh(*shares: float | None) -> dict[str, float | None]:
    return dict(zip(("1", "10", "60", "600", "3600"), shares, strict=True))


def test_the_summary_of_a_small_queue_is_the_one_that_can_be_counted_by_hand():
    told = summary.build(
        counted=COUNTED,
        found=found(),
        peak=Peak(backlog=5, at=at(4)),
        window_from=BASE,
        as_of=AS_OF,
    )
    assert told == {
        "as_of": iso(AS_OF),
        "window": {"from": iso(BASE), "to": iso(AS_OF)},
        "tasks": {
            "created": 9,
            "waiting": 3,
            "taken": 1,
            "succeeded": 1,
            "failed": 1,
            "cancelled": 1,
            "shed": 2,
        },
        "conservation": {"accounted": 9, "difference": 0},
        "waiting": {"for_first_claim": 1, "not_due": 1, "retrying": 1},
        "shedding_rate": 2 / 6,
        "backlog": {"max": 5, "max_at": iso(at(4)), "end": 1},
        "oldest_waiting_seconds": 30.0,
        "longest_wait_seconds": 40.0,
        "deadline_seconds": {"min": 35.0, "max": 600.0},
        "shed_at": {"first": iso(at(40)), "last": iso(at(45))},
        "wait_seconds": spread(5.0, 30.0),
        "service_seconds": spread(3.0, 5.0),
        "sojourn_seconds": spread(10.0, 23.0),
        "attempts": {"mean": 7 / 4, "max": 3, "retried": 2, "retries": 3},
        "replaced": 2,
        "fresh_claims": fresh(0.0, 0.75, 1.0, 1.0, 1.0),
        "by_type": {
            "mail": NOBODY
            | {"created": 7, "waiting": 3, "succeeded": 1, "cancelled": 1, "shed": 2}
            | {
                "shedding_rate": 2 / 4,
                "oldest_waiting_seconds": 30.0,
                "wait_seconds": spread(5.0, 6.0),
                "retried": 1,
                "replaced": 2,
                "fresh_claims": fresh(0.0, 1.0, 1.0, 1.0, 1.0),
            },
            "sms": NOBODY
            | {"created": 2, "taken": 1, "failed": 1}
            | {
                "shedding_rate": 0.0,
                "oldest_waiting_seconds": None,
                "wait_seconds": spread(4.0, 30.0),
                "retried": 1,
                "replaced": 0,
                "fresh_claims": fresh(0.0, 0.5, 1.0, 1.0, 1.0),
            },
        },
    }


def test_the_summary_of_no_task_has_nothing_but_noughts_and_unknowns():
    counted = summary.count(JUDGED.slice(0, 0), as_of=AS_OF)
    peak = Peak(backlog=0, at=None)
    told = summary.build(counted=counted, found={}, peak=peak, window_from=BASE, as_of=AS_OF)
    assert told == {
        "as_of": iso(AS_OF),
        "window": {"from": iso(BASE), "to": iso(AS_OF)},
        "tasks": {"created": 0, **NOBODY},
        "conservation": {"accounted": 0, "difference": 0},
        "waiting": {"for_first_claim": 0, "not_due": 0, "retrying": 0},
        "shedding_rate": None,
        "backlog": {"max": 0, "max_at": None, "end": 0},
        "oldest_waiting_seconds": None,
        "longest_wait_seconds": None,
        "deadline_seconds": {"min": None, "max": None},
        "shed_at": {"first": None, "last": None},
        **{f"{name}_seconds": spread(None, None) for name in ("wait", "service", "sojourn")},
        "attempts": {"mean": None, "max": None, "retried": 0, "retries": 0},
        "replaced": 0,
        "fresh_claims": fresh(None, None, None, None, None),
        "by_type": {},
    }


def test_what_the_workers_were_busy_with_and_what_it_cost_follows_from_the_counts():
    everything = summary.total(COUNTED)
    busy = outlook.utilisation(everything, window=60 * SECOND, slots=4)
    assert busy == {
        "busy_slots": 8 / 60,
        "slots": 4,
        "share": 8 / 60 / 4,
        "arrivals_per_second": 8 / 60,
        "first_claims_per_second": 4 / 60,
    }
    unsaid = outlook.utilisation(everything, window=60 * SECOND, slots=None)
    assert unsaid == {**busy, "slots": None, "share": None}
    assert outlook.utilisation(everything, window=0, slots=4) == {
        **dict.fromkeys(busy),
        "slots": 4,
    }
    cost = outlook.cost(everything)
    assert cost["operations"] == {
        "put": 9,
        "claim": 7,
        "success": 1,
        "failure": 1,
        "cancellation": 1,
        "retry": 3,
    }
    assert (cost["write_units"], cost["usd"]) == (18 + 21 + 2 + 3 + 2 + 18, 64 * 0.625 / 1e6)


def test_the_charts_tell_the_waits_of_each_point_and_the_ages_that_tasks_reached():
    assert series.waits(found(), length=20 * SECOND) == [
        {"time": iso(at(0)), "p50": 5.0, "p95": 6.0, "p99": 6.0},
        {"time": iso(at(40)), "p50": 30.0, "p95": 30.0, "p99": 30.0},
    ]
    counted = series.count_ages(JUDGED, as_of=AS_OF)
    assert series.ages(series.add_ages([counted])) == [
        {"kind": "claimed", "bin": 6, "tasks": 3, "age": "< 10 s"},
        {"kind": "claimed", "bin": 8, "tasks": 1, "age": "< 1 min"},
        {"kind": "shed", "bin": 8, "tasks": 2, "age": "< 1 min"},
        {"kind": "waiting", "bin": 8, "tasks": 1, "age": "< 1 min"},
    ]
    assert [series.width(number) for number in (1, 300, 301, 601)] == [1, 1, 2, 3]


def test_each_bucket_tells_what_happened_in_it_and_how_the_queue_stood_at_its_end():
    """Totals and types are told. The shares of the work that tasks came in do not matter."""
    span = Span(size=20 * SECOND, start=at(0), as_of=at(50))
    tasks = judged(observed(*map(full_line, TASKS), full=60), as_of=50)
    shares = (tasks.slice(0, 4), tasks.slice(4))
    flows = buckets.add_flows([buckets.count_flows(share, span) for share in shares])
    stays = buckets.add_stays([buckets.count_stays(share, span) for share in shares], span)

    def told(table: pa.Table) -> dict[str, list[Any]]:
        columns = table.to_pydict()
        begins = [iso(at(seconds)) for seconds in (0, 20, 40)]
        assert [
            iso(begin) for begin in table["bucket_start"].cast(pa.int64()).to_pylist()
        ] == begins
        return {name: its for name, its in columns.items() if name != "bucket_start" and any(its)}

    in_order = stays.sort_by([("task_type", "ascending"), ("first", "ascending")])
    assert in_order.to_pydict() == {
        "task_type": ["mail", "mail", "sms"],
        "first": [0, 2, 1],
        "beyond": [2, 3, 2],
        "oldest": [at(0), at(30), at(20)],
    }  # others of the same type were put before the lost one left
    assert told(buckets.total(flows, stays, span).table(span)) == {
        "arrivals": [6, 2, 0],
        "arrivals_shed": [2, 0, 0],
        "first_claims": [3, 0, 1],
        "succeeded": [1, 0, 0],
        "failed": [0, 1, 0],
        "cancelled": [1, 0, 0],
        "shed": [0, 0, 2],
        "backlog": [2, 4, 1],
        "oldest_waiting_seconds": [20.0, 40.0, 20.0],
    }
    by_type = dict(buckets.by_type(flows, stays, span))
    assert {name: told(its.table(span, task_type=name)) for name, its in by_type.items()} == {
        "mail": {
            "task_type": ["mail"] * 3,
            "arrivals": [5, 1, 0],
            "arrivals_shed": [2, 0, 0],
            "first_claims": [2, 0, 0],
            "succeeded": [1, 0, 0],
            "cancelled": [1, 0, 0],
            "shed": [0, 0, 2],
            "backlog": [2, 3, 1],
            "oldest_waiting_seconds": [20.0, 40.0, 20.0],
        },
        "sms": {
            "task_type": ["sms"] * 3,
            "arrivals": [1, 1, 0],
            "first_claims": [1, 0, 1],
            "failed": [0, 1, 0],
            "backlog": [0, 1, 0],
            "oldest_waiting_seconds": [None, 20.0, None],
        },
    }
    never_waits = dict(buckets.by_type(flows, in_order.slice(0, 1), span))["sms"]
    assert never_waits.oldest.tolist() == [NEVER] * 3


@pytest.mark.parametrize(
    ("arrivals", "claims", "backlog", "clears", "shed"),
    [
        (600, 300, 7, None, 300 * 60.0),
        (300, 600, 7, 7 / 5, 0.0),
        (300, 300, 7, None, 0.0),
        (0, 300, 7, 7 / 5, 0.0),
        (300, 0, 7, None, 300 * 60.0),
        (600, 300, 0, 0.0, 0.0),
    ],
)
def test_the_forecast_is_when_the_line_is_empty_or_else_what_is_shed(
    arrivals, claims, backlog, clears, shed
):
    flows = {name: np.array([9_999, 0]) for name in (*FLOWS, LEFT)}
    flows |= {"arrivals": np.array([1, arrivals]), "first_claims": np.array([1, claims])}
    span = Span(size=60 * SECOND, start=BASE, as_of=at(120) - 1)
    found = Buckets(flows=flows, oldest=np.full(2, NEVER))
    told = outlook.forecast(found, span, backlog=backlog)
    assert told["arrivals_per_second"] == pytest.approx(arrivals / 60)
    assert told["first_claims_per_second"] == pytest.approx(claims / 60)
    assert told["clears_in_seconds"] == (None if clears is None else pytest.approx(clears))
    assert told["shed_per_hour"] == pytest.approx(shed)


@pytest.mark.parametrize(
    ("number", "recent", "before"),
    [
        *((1, (0, 1), (0, 1)), (2, (1, 2), (0, 1)), (39, (38, 39), (37, 38))),
        *((40, (38, 40), (38, 39)), (200, (190, 200), (190, 199)), (400, (390, 400), (389, 399))),
    ],
)
def test_one_bucket_in_twenty_is_recent_but_at_the_most_ten(number, recent, before):
    """The last bucket is one of them as soon as half of it is over."""
    spans = (Span(size=10, start=0, as_of=10 * number - missing) for missing in (5, 6))
    assert tuple(map(outlook.recent, spans)) == (recent, before)


def test_the_ten_commonest_failures_and_the_ten_oldest_tasks_are_told():
    """The share of the work that a task is in does not matter. Of equals, the first by name are
    told."""
    error = [*(f'{{"type": "E{n:02}"}}' for n in range(12)), '{"type": "E11"}', None]
    failed = [
        full_line(item(f"failed {n}", "FAILURE", takenAt=5, finishedAt=6) | {"error": its})
        for n, its in enumerate(error)
    ]
    waiting = [full_line(item(f"{n:02}", "PENDING", enqueuedAt=n // 2)) for n in range(12)]
    shares = [judged(observed(*its, full=60)) for its in (failed[:9], [*failed[9:], *waiting])]
    failures = rankings.add_failures([rankings.count_failures(share) for share in shares])
    assert [tuple(row.values()) for row in rankings.failure_reasons(failures)] == [
        *(("mail", "E11", 2), ("mail", "(none)", 1)),
        *(("mail", f"E{n:02}", 1) for n in range(8)),
    ]
    oldest = rankings.oldest_of([rankings.find_oldest(share, as_of=AS_OF) for share in shares])
    assert rankings.oldest_waiting(oldest, as_of=AS_OF) == [
        {
            "task_id": f"{n:02}",
            "task_type": "mail",
            "enqueued_at": iso(at(n // 2)),
            "age_seconds": 60.0 - n // 2,
            "attempts": 0,
        }
        for n in range(10)
    ]
