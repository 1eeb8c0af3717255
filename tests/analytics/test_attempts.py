"""What the report tells of past attempts."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from analytics import attempts, lines, tasks
from analytics.images import Origin, observe
from tests.analytics.exportfiles import full_line, incremental_line, marshal
from tests.analytics.items import at, item

Past = tuple[str, str | None]
LOST: Past = ("LEASE_EXPIRED", None)
FULL = Origin(file="f", full_at=at(60), window_from=None)
INCREMENTAL = Origin(file="f", full_at=None, window_from=at(0))
BY_HAND = b"{\n"
"""A line that has Python parse the block it is in."""


def entry(how: str, kind: str | None = None) -> dict[str, Any]:
    error = {} if kind is None else {"type": kind, "message": "m"}
    return {"attempt": 1, "taken": at(1), "ended": at(2), "how": how, **error}


def counted(*rows: tuple[str, Sequence[Past] | None]) -> pa.Table:
    """``rows``: task type, its past attempts."""
    past = [
        None if attempts is None else [{"how": how, "type": kind} for how, kind in attempts]
        for _, attempts in rows
    ]
    return attempts.count(
        pa.table(
            {
                "task_type": pa.array([kind for kind, _ in rows]).dictionary_encode(),
                "past_attempts": pa.array(past, attempts.PAST_ATTEMPTS),
            }
        )
    )


def test_past_attempts_are_counted_by_how_they_ended_and_why():
    boom: Past = ("RETRIED", "Boom")
    one = counted(("mail", None), ("mail", [boom, boom, ("FAILED", "Boom")]), ("sms", [boom]))
    other = counted(("mail", [boom, LOST]), ("mail", None))
    assert attempts.build(attempts.add([one, other])) == {
        "tasks": 3,
        "attempts": 6,
        "by_reason": [
            {"task_type": kind, "how": how, "reason": reason, "attempts": number}
            for kind, how, reason, number in (
                ("mail", "RETRIED", "Boom", 3),
                ("mail", "FAILED", "Boom", 1),
                ("mail", "LEASE_EXPIRED", "(none)", 1),
                ("sms", "RETRIED", "Boom", 1),
            )
        ],
    }


def test_the_ten_commonest_reasons_are_told_and_all_are_counted():
    found = attempts.build(counted(("mail", [("RETRIED", f"E{n:02}") for n in range(12)])))
    assert (found["attempts"], len(found["by_reason"])) == (12, attempts.LONGEST)
    nothing = attempts.build(counted(("mail", None)))
    assert nothing == {"tasks": 0, "attempts": 0, "by_reason": []}


@pytest.mark.parametrize("broken", [b"", BY_HAND])
@pytest.mark.parametrize("origin", [FULL, INCREMENTAL])
def test_histories_are_read_from_every_kind_of_line(origin, broken):
    tried = {**item("tried", "PENDING"), "history": [entry("RETRIED", "Boom"), entry(*LOST)]}
    fresh = item("fresh", "PENDING")
    texts = (
        [full_line(tried), full_line(fresh)]
        if origin is FULL
        else [
            incremental_line("tried", at(5), fresh, tried),
            incremental_line("fresh", at(5), fresh, None),
        ]
    )
    assert read(texts, origin, broken) == {
        "tried": [{"how": "RETRIED", "type": "Boom"}, {"how": "LEASE_EXPIRED", "type": None}],
        "fresh": None,
    }


@pytest.mark.parametrize("broken", [b"", BY_HAND])
@pytest.mark.parametrize(
    "history",
    [
        "text",
        {"L": [None]},
        {"L": [{"M": {"type": {"S": "Boom"}}}]},
        {"L": [{"M": {"how": {"S": "VANISHED"}}}]},
        {"L": [{"M": {"how": {"S": "\ud800"}}}]},
    ],
)
def test_a_damaged_history_is_none_and_its_task_counts(history, broken):
    texts = [
        {"Item": {**marshal(item("damaged", "PENDING")), "history": history}},
        full_line({**item("whole", "PENDING"), "history": [entry("RETRIED", "Boom")]}),
    ]
    assert read(texts, FULL, broken) == {
        "damaged": None,
        "whole": [{"how": "RETRIED", "type": "Boom"}],
    }


def read(texts: Sequence[Any], origin: Origin, broken: bytes) -> dict[str, Any]:
    """Past attempts by task."""
    block = b"".join(json.dumps(text).encode() + b"\n" for text in texts) + broken
    assert bool(lines.parse(block, full=origin is FULL).broken) == bool(broken)
    observed = observe(block, origin)
    assert observed.bad_lines.num_rows == bool(broken)
    judged = tasks.judge(tasks.merge(observed.observations), as_of=at(60))
    return {row["task_id"]: row["past_attempts"] for row in judged.to_pylist()}
