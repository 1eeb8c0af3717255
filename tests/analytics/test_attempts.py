"""The report's account of past attempts."""

import pytest

from lifoq_analytics.reading import attempts
from tests.analytics.exportfiles import full_line
from tests.analytics.items import item, judged, observed

BOOM = {"attempt": 1, "how": "RETRIED", "type": "Boom", "message": "m"}
LOST = {"attempt": 2, "how": "LEASE_EXPIRED"}
DAMAGED = (
    "text",
    {"L": 5},
    {"L": [None]},
    {"L": [{"M": {"type": {"S": "Boom"}}}]},
    {"L": [{"M": {"how": {"S": "VANISHED"}}}]},
    {"L": [{"M": {"how": {"S": "\ud800"}}}]},
)


@pytest.mark.parametrize("broken", [(), (b"{",)])
def test_past_attempts_are_counted_by_how_they_ended_and_why(broken):
    """Also in a block that Python parses. A damaged history is none, and its task counts."""
    lines = [full_line(item(f"whole-{n}", "PENDING") | {"history": [BOOM, LOST]}) for n in (1, 2)]
    lines += [full_line(item("other", "PENDING", kind="sms") | {"history": [BOOM]})]
    lines += [full_line(item(f"damaged-{n}", "PENDING")) for n in range(len(DAMAGED))]
    for line, history in zip(lines[3:], DAMAGED, strict=True):
        line["Item"]["history"] = history

    found = judged(observed(*lines, *broken, full=60))

    assert found.num_rows == len(lines)
    assert attempts.build(attempts.count(found)) == {
        "tasks": 3,
        "attempts": 5,
        "by_reason": [
            {"task_type": kind, "how": how, "reason": reason, "attempts": number}
            for kind, how, reason, number in (
                ("mail", "LEASE_EXPIRED", "(none)", 2),
                ("mail", "RETRIED", "Boom", 2),
                ("sms", "RETRIED", "Boom", 1),
            )
        ],
    }
    none = judged(observed(full_line(item("t", "PENDING")), full=60))
    assert attempts.build(attempts.count(none)) == {"tasks": 0, "attempts": 0, "by_reason": []}


def test_the_ten_commonest_ways_are_told_and_all_are_counted():
    history = [{**BOOM, "type": f"E{n:02}"} for n in range(12)] + [{**BOOM, "type": "E11"}]
    found = judged(observed(full_line(item("t", "PENDING") | {"history": history}), full=60))
    told = attempts.build(attempts.add([attempts.count(found), attempts.count(found)]))
    assert (told["tasks"], told["attempts"]) == (2, 26)
    reasons = [(one["reason"], one["attempts"]) for one in told["by_reason"]]
    assert reasons == [("E11", 4), *((f"E{n:02}", 2) for n in range(9))]
    assert found["past_attempts"].to_pylist() == [
        [{"how": "RETRIED", "type": one["type"]} for one in history]
    ]
    other = judged(observed(full_line(item("t", "PENDING") | {"history": []}), full=60))
    assert other["past_attempts"].to_pylist() == [None]
