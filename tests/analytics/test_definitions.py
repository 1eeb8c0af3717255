"""The report's definitions, to the microsecond: cases that random histories seldom meet."""

import re
from typing import Any

import numpy as np
import pyarrow as pa

from lifoq.basics.times import iso
from lifoq_analytics.answers import buckets, coverage, outlook, rankings, series, summary
from lifoq_analytics.answers.buckets import FLOWS, LEFT, Buckets, Span
from lifoq_analytics.answers.peak import Peak
from lifoq_analytics.columns import NEVER
from lifoq_analytics.judging import tasks
from lifoq_analytics.page import details
from lifoq_analytics.page.axes import Time
from lifoq_analytics.page.charts import Plots
from lifoq_analytics.reading.intake import Stretch
from tests.analytics.exportfiles import full_line, incremental_line
from tests.analytics.items import BASE, SECOND, at, item, judged, observed

AS_OF = at(60)
DONE = {"firstTakenAt": 5, "takenAt": 5, "finishedAt": 10}


def told(tasks: pa.Table) -> dict[str, Any]:
    return summary.build(
        counted=summary.count(tasks, as_of=AS_OF),
        found={},
        peak=Peak(backlog=5, at=BASE),
        window_from=BASE,
        as_of=AS_OF,
    )


def by_task(tasks: pa.Table, name: str) -> dict[str, Any]:
    values = tasks[name].cast(pa.string() if name == "outcome" else pa.int64())
    return dict(zip(tasks["task_id"].to_pylist(), values.to_pylist(), strict=True))


def outcomes(tasks: pa.Table) -> dict[str, Any]:
    return by_task(tasks, "outcome")


def test_the_bars_of_all_ages_are_parts_of_the_longest():
    of_age = {0: {"claimed": 1, "shed": 2, "waiting": 1}, 2: {"claimed": 1}}
    points = [
        {"bin": number, "age": f"age {number}", "kind": kind, "tasks": tasks}
        for number, kinds in of_age.items()
        for kind, tasks in kinds.items()
    ]
    longest, short = details.ages(points)
    assert [part.share for part in longest.parts] == [0.25, 0.5, 0.25]
    assert (short.name, short.cells, short.parts[0].share) == ("age 2", ("1",), 0.25)
    assert details.ages([]) == []


def test_what_arrives_at_the_reports_moment_is_in_it_and_what_comes_later_is_not_due():
    now, later = (
        full_line(item(f"at {moment}", "PENDING", enqueuedAt=moment)) for moment in (60, 60.000001)
    )
    found = judged(observed(now, later, full=60))
    oldest = rankings.find_oldest(found, as_of=AS_OF)
    span = Span(size=10 * SECOND, start=BASE, as_of=AS_OF)
    flows = buckets.count_flows(found, span)
    assert rankings.oldest_waiting(oldest, as_of=AS_OF)[0]["age_seconds"] == 0
    assert oldest["task_id"].to_pylist() == ["at 60"]
    assert series.ages(series.count_ages(found, as_of=AS_OF)) == [
        {"kind": "waiting", "bin": 0, "tasks": 1, "age": "< 10 ms"}
    ]
    assert dict(zip(flows["flow"].to_pylist(), flows["tasks"].to_pylist(), strict=True)) == {
        "arrivals": 1
    }
    assert buckets.count_stays(found, span)["oldest"].to_pylist() == [AS_OF]
    assert buckets.count_stays(judged(observed(later, full=60)), span).num_rows == 0
    assert told(found)["waiting"] == {"for_first_claim": 1, "not_due": 1, "retrying": 0}
    left = full_line(item("t", "CANCELLED", finishedAt=60))
    assert told(judged(observed(left, full=60)))["waiting"]["for_first_claim"] == 0


def test_a_claim_is_fresh_before_the_age_that_is_asked_for():
    waits = (0.999999, 1, 9.999999, 10)
    claimed = [
        full_line(item(f"{wait}", "SUCCESS", firstTakenAt=wait, takenAt=wait, finishedAt=20))
        for wait in waits
    ]
    found = told(judged(observed(*claimed, full_line(item("waits", "PENDING")), full=60)))
    shares = {"1": 0.25, "10": 0.75, "60": 1.0, "600": 1.0, "3600": 1.0}
    assert found["fresh_claims"] == found["by_type"]["mail"]["fresh_claims"] == shares


def test_a_sentence_says_the_ages_up_to_the_one_before_which_all_were_served():
    shares = {"1": 0.25, "10": None, "60": 0.75, "600": 1.0, "3600": 1.0}
    said = details.freshness({"fresh_claims": shares}).replace("\N{NO-BREAK SPACE}", " ")
    assert said == (
        "Of those that were served: 25 % before 1 s, 75 % before 1 min, 100 % before 10 min."
    )


def test_the_latest_image_counts_in_whichever_export_it_is():
    """A write of a full export's own moment is later. A window's old image is from before it: it
    is older than what a window inside of it saw, in which four puts were replaced, too."""
    waits, taken = item("tie", "PENDING"), item("tie", "TAKEN", firstTakenAt=40, takenAt=40)
    old, done = item("t", "PENDING"), item("t", "SUCCESS", **DONE) | {"replaced": 4}
    ended = item("edge", "SUCCESS", **DONE)
    found = judged(
        observed(incremental_line("tie", at(40), waits, taken), since=30),
        observed(full_line(waits), full=40),
        observed(incremental_line("t", at(11), old, done), since=9),
        observed(incremental_line("t", at(50), old, None), since=0),
        observed(incremental_line("edge", at(9), item("edge", "PENDING"), ended), since=0),
        observed(incremental_line("edge", at(50), item("edge", "PENDING"), None), since=9),
    )
    assert outcomes(found) == {"tie": "taken", "t": "succeeded", "edge": "succeeded"}
    assert (told(found)["replaced"], told(found)["tasks"]["created"]) == (4, 3)


def test_of_no_observation_there_is_no_task():
    nothing = observed(full_line(item("t", "PENDING")), full=60).observations.slice(0, 0)
    assert tasks.judge(tasks.merge(nothing), as_of=AS_OF).num_rows == 0


def test_an_id_that_was_used_again_is_its_latest_task():
    """Its first task's deletion is none of the second's, whichever moment one looks from."""
    first = item("again", "PENDING", expiresAt=70)
    second = item("again", "PENDING", enqueuedAt=150, expiresAt=900)
    seen = (
        observed(incremental_line("again", at(80), first, None), since=60),
        observed(incremental_line("again", at(150), None, second), since=120),
    )
    assert outcomes(judged(*seen, as_of=180)) == {"again": "waiting"}
    assert outcomes(judged(*seen, as_of=100)) == {}


def test_what_happens_at_the_very_moment_of_the_report_has_happened():
    deadline = item("waits", "PENDING", expiresAt=30)
    there = (
        deadline,
        item("retries", "PENDING", firstTakenAt=5, takenAt=5, expiresAt=30),
        item("done", "SUCCESS", firstTakenAt=5, takenAt=5, finishedAt=30),
        item("claimed", "SUCCESS", firstTakenAt=30, takenAt=30, finishedAt=50),
        item("arrives", "PENDING", enqueuedAt=30),
    )
    seen = observed(*map(full_line, there), full=60)
    now, before = judged(seen, as_of=30), judged(seen, as_of=29.999999)
    known = {"waits": "shed", "retries": "taken", "done": "succeeded", "claimed": "taken"}
    assert outcomes(now) == known | {"arrives": "waiting"}
    known = {"waits": "waiting", "retries": "taken", "done": "taken", "claimed": "waiting"}
    assert outcomes(before) == known
    assert by_task(now, "shed_at")["waits"] == by_task(now, "left_at")["waits"] == at(30)
    gone = observed(incremental_line("waits", at(40), deadline, None), since=35)
    for exports in ((gone,), (seen, gone)):  # deleted since: it was shed at its deadline
        assert by_task(judged(*exports, as_of=30), "shed_at")["waits"] == at(30)
        assert outcomes(judged(*exports, as_of=29.999999))["waits"] == "waiting"


def test_what_an_export_saw_a_microsecond_after_the_report_has_not_happened():
    taken = item("t", "TAKEN", firstTakenAt=30, takenAt=30)
    there = observed(full_line(taken), full=30)
    gone = observed(incremental_line("t", at(40), taken, None), since=30.000001)
    for seen in (there, gone):
        assert outcomes(judged(seen, as_of=30)) == {"t": "taken"}
        assert outcomes(judged(seen, as_of=29.999999)) == {"t": "waiting"}


def test_what_an_operator_deletes_before_its_deadline_is_shed_when_it_is_deleted():
    waits = item("waits", "PENDING", expiresAt=600)
    found = judged(observed(incremental_line("waits", at(40), waits, None), since=35), as_of=60)
    assert (outcomes(found), by_task(found, "shed_at")) == ({"waits": "shed"}, {"waits": at(40)})
    window = observed(incremental_line("waits", at(40), waits, None), since=35)
    assert outcomes(judged(window, as_of=40)) == {"waits": "shed"}
    assert outcomes(judged(window, as_of=39.999999)) == {"waits": "waiting"}
    still_there = observed(full_line(waits), full=40)  # and deleted in that microsecond
    assert outcomes(judged(still_there, window, as_of=60)) == {"waits": "shed"}


def test_sheddings_are_told_with_the_time_in_which_most_were_shed():
    deadlines = {"mail": (25, 29.999999, 30, 41), "sms": (22, 24, 26)}
    waits = [
        full_line(item(f"{kind}-{deadline}", "PENDING", kind=kind, expiresAt=deadline))
        for kind, its in deadlines.items()
        for deadline in its
    ]
    span = Span(size=10 * SECOND, start=at(13), as_of=AS_OF)
    flows = buckets.count_flows(judged(observed(*waits, full=60)), span)
    largest = rankings.largest_sheddings(flows, span)
    assert largest == [
        {"task_type": "sms", "bucket_start": iso(at(20)), "shed": 3},
        {"task_type": "mail", "bucket_start": iso(at(20)), "shed": 2},
        {"task_type": "mail", "bucket_start": iso(at(30)), "shed": 1},
        {"task_type": "mail", "bucket_start": iso(at(40)), "shed": 1},
    ]
    window = {"from": iso(BASE), "to": iso(AS_OF)}
    told = details.sheddings({"largest_sheddings": largest, "window": window})
    assert told.rows[:2] == [("sms", "01:00:20", "3"), ("mail", "01:00:20", "2")]


def test_tasks_at_work_stand_on_those_that_wait_in_the_chart_and_among_its_numbers():
    """Three come in, two are claimed, and one of these ends."""
    tasks = (
        item("waits", "PENDING"),
        item("done", "SUCCESS", enqueuedAt=5, firstTakenAt=15, takenAt=15, finishedAt=35),
        item("at work", "TAKEN", enqueuedAt=5, firstTakenAt=25, takenAt=25),
    )
    found = judged(observed(*map(full_line, tasks), full=60), as_of=49)
    span = Span(size=10 * SECOND, start=BASE, as_of=at(49))
    in_total = buckets.total(
        buckets.add_flows([buckets.count_flows(found, span)]),
        buckets.add_stays([buckets.count_stays(found, span)], span),
        span,
    )
    points = series.over_time(in_total, span, width=1)
    told = [(point["waiting"], point["claimed"]) for point in points]
    assert told == [(3, 0), (2, 1), (1, 2), (1, 1), (1, 1)]

    time = Time(start=span.start, end=span.as_of)
    numbers = details.moments(time, points, [], say=lambda moment: moment)
    assert details.MOMENT_COLUMNS[-2:] == ("waiting", "in work")
    assert [tuple(map(int, row.cells[-2:])) for row in numbers] == told

    at_work, waits = Plots(time, points, []).backlog().shapes
    assert (at_work.color, waits.color) == ("taken", "waiting")
    assert _edges(at_work.path) == ([0, 3, 3, 3, 2, 2], [0, 3, 2, 1, 1, 1])
    assert _edges(waits.path) == ([0, 3, 2, 1, 1, 1], [0] * 6)


def _edges(path: str) -> tuple[list[int], list[int]]:
    """Return the heights of the upper and the lower edge of an area, place by place, in a chart up
    to 3."""
    downs = [float(number) for number in re.findall(r"[0-9.]+", path)[1::2]]
    heights = [round(3 * (1 - down / 100)) for down in downs]
    middle = len(heights) // 2
    return heights[:middle], heights[middle:][::-1]


def test_what_exports_do_not_cover_is_told():
    stretches = [
        Stretch(start=a, end=b, full=a == b)
        for a, b in ((0, 660), (700, 750), (750, 800), (50, 50))
    ]
    found = coverage.of(stretches, shortest_deadline=50)
    assert found == {
        "from": iso(0),
        "to": iso(800),
        "starts_with_full_export": False,
        "gaps": [{"from": iso(660), "to": iso(700)}],
        "long_windows": [{"from": iso(0), "to": iso(660)}],
    }  # two that touch leave no gap, and one that is as long as a deadline hides nothing
    read = {"missing": [], "bad_rows": 1, "rows": 9}
    gap, long, first, bad = details.notes({"coverage": found, "input": read})
    assert gap.startswith("No export covers 1970-01-01 00:00:00 to 1970-01-01 00:00:00: what was")
    assert "is longer than the shortest shedding deadline" in long
    assert "do not begin with a full one" in first
    assert bad.startswith("1 of 9 lines are not tasks")
    none_bad = {**read, "bad_rows": 0}
    assert [*details.notes({"coverage": found, "input": none_bad})] == [gap, long, first]
    many = {**found, "long_windows": 7 * found["long_windows"]}
    told = details.notes({"coverage": many, "input": none_bad})
    assert told == [gap, *5 * [long], "So are 2 more windows.", first]


def test_rates_are_of_the_time_that_is_covered_and_a_bucket_is_now_once_half_of_it_is_over():
    flows = dict.fromkeys((*FLOWS, LEFT), np.zeros(2, int)) | {"arrivals": np.array([2, 6])}
    found = Buckets(flows=flows, oldest=np.full(2, NEVER))

    def forecast(as_of: int) -> dict[str, Any]:
        return outlook.forecast(found, Span(size=60, start=20, as_of=as_of), backlog=7)

    now, earlier = forecast(110), forecast(89)
    assert (now["from"], now["to"], now["arrivals_per_second"]) == (iso(60), iso(110), 6e6 / 50)
    assert (earlier["from"], earlier["to"]) == (iso(20), iso(60))
    nothing = forecast(20)
    assert (nothing["from"], nothing["to"], nothing["arrivals_per_second"]) == (*[iso(20)] * 2, 0)
    points = series.over_time(found, Span(size=60, start=20, as_of=110), width=1)
    assert [point["arrivals"] for point in points] == [2e6 / 40, 6e6 / 50]


def test_a_point_of_a_chart_has_rates_if_half_of_it_is_covered_and_one_alone_has_them_always():
    happened = {"arrivals": [2, 3, 1, 1], "first_claims": [0, 2, 0, 1], "succeeded": [0, 1, 0, 1]}
    happened |= {"arrivals_shed": [1, 1, 0, 0], "shed": [0, 1, 1, 0], LEFT: [0, 3, 1, 1]}
    flows = {name: np.array(happened.get(name, [0] * 4)) for name in (*FLOWS, LEFT)}
    found = Buckets(flows=flows, oldest=np.array([at(12), NEVER, at(30), NEVER]))
    span = Span(size=10 * SECOND, start=at(10), as_of=at(49))
    rates = {
        (0, 20): (2 / 10, 1 / 10, 0.0, 0.0),
        (20, 40): (4 / 20, 1 / 20, 2 / 20, 2 / 20),
        (40, 49): (None,) * 4,
    }
    lines = ((2, 0, 8.0), (2, 1, 10.0), (2, 1, None))
    assert series.over_time(found, span, width=2) == [
        {
            "time": iso(at(begin)),
            "until": iso(at(end)),
            **dict(zip(series.RATES, its, strict=True)),
            **dict(zip(("waiting", "claimed", "oldest_waiting_seconds"), line, strict=True)),
        }
        for ((begin, end), its), line in zip(rates.items(), lines, strict=True)
    ]
    (alone,) = series.over_time(found, span, width=360)
    assert [alone[name] for name in series.RATES] == [n / 3_600 for n in (7, 2, 3, 2)]


def test_a_failure_is_counted_by_the_type_of_its_error_or_what_there_is_of_it():
    for error, reason in (
        ('{"type": "KeyError", "message": "\'cents\'"}', "KeyError"),
        ('{"message": "no type"}', '{"message": "no type"}'),
        ("[1]", "[1]"),
        ("x" * 81, "x" * 80),
        ("", "(none)"),
    ):
        assert rankings.reason(error) == reason
