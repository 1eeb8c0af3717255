"""What happens at the very moment that one counts up to."""

import json

import pyarrow as pa

from analytics import buckets, rankings, series, summary, tasks
from analytics.buckets import Span
from analytics.images import Origin, observe
from analytics.peak import Peak
from tests.analytics.exportfiles import Item, full_line
from tests.analytics.items import BASE, SECOND, at, item

AS_OF = at(60)
SPAN = Span(size=10 * SECOND, start=BASE, as_of=AS_OF)


def judged(*items: Item) -> pa.Table:
    block = b"".join(json.dumps(full_line(one)).encode() + b"\n" for one in items)
    observed = observe(block, Origin(file="f", full_at=AS_OF, window_from=None))
    return tasks.judge(tasks.merge(observed.observations), as_of=AS_OF)


def test_what_arrives_at_the_reports_moment_is_in_it_and_what_comes_later_is_not():
    found = judged(
        item("now", "PENDING", enqueuedAt=60), item("later", "PENDING", enqueuedAt=60.000001)
    )
    oldest = rankings.find_oldest(found, as_of=AS_OF)
    ages = series.ages(series.count_ages(found, as_of=AS_OF))
    flows = buckets.count_flows(found, SPAN)
    assert rankings.oldest_waiting(oldest, as_of=AS_OF)[0]["age_seconds"] == 0
    assert oldest["task_id"].to_pylist() == ["now"]
    assert ages == [{"kind": "waiting", "bin": 0, "tasks": 1, "age": "< 10 ms"}]
    assert dict(zip(flows["flow"].to_pylist(), flows["tasks"].to_pylist(), strict=True)) == {
        "arrivals": 1
    }
    assert buckets.count_stays(found, SPAN)["oldest"].to_pylist() == [AS_OF]


def test_a_claim_is_fresh_before_the_age_that_is_asked_for():
    waits = (0.999999, 1, 9.999999, 10)
    claimed = [
        item(f"t{wait}", "SUCCESS", firstTakenAt=wait, takenAt=wait, finishedAt=20)
        for wait in waits
    ]
    counted = summary.count(judged(*claimed, item("waits", "PENDING")), as_of=AS_OF)
    told = summary.build(
        counted=counted, found={}, peak=Peak(backlog=5, at=BASE), window_from=BASE, as_of=AS_OF
    )
    shares = {"1": 0.25, "10": 0.75, "60": 1.0, "600": 1.0, "3600": 1.0}
    assert told["fresh_claims"] == told["by_type"]["mail"]["fresh_claims"] == shares
