"""What the report tells by key."""

import pyarrow as pa

from analytics import keys
from analytics.page import details

SECOND = 1_000_000
Row = tuple[str | None, str, float | None]


def counted(*rows: Row) -> pa.Table:
    """``rows``: key, outcome, seconds until the first claim."""
    return keys.count(
        pa.table(
            {
                "task_key": pa.array([key for key, _, _ in rows], pa.string()),
                "outcome": pa.array([outcome for _, outcome, _ in rows]).dictionary_encode(),
                "wait_us": pa.array(
                    [None if wait is None else round(wait * SECOND) for _, _, wait in rows],
                    pa.int64(),
                ),
            }
        )
    )


FLOOD: list[Row] = [("flood", "shed", None)] * 3 + [("flood", "succeeded", 8.0)]
QUIET: list[Row] = [("quiet", "succeeded", 1.0), ("quiet", "taken", 3.0), ("new", "waiting", None)]


def test_keys_are_told_by_their_tasks_their_shed_ones_and_their_waits():
    one, other = counted(*FLOOD[:2], *QUIET), counted(*FLOOD[2:], (None, "succeeded", 100.0))
    found = keys.build(keys.add([one, other]))
    assert found is not None
    assert [(key["key"], key["tasks"], key["shed"]) for key in found["most_tasks"]] == [
        ("flood", 4, 3),
        ("quiet", 2, 0),
        ("new", 1, 0),
    ]
    assert [key["key"] for key in found["most_shed"]] == ["flood"]
    assert [
        (key["key"], key["mean_wait_seconds"], key["max_wait_seconds"])
        for key in found["longest_waits"]
    ] == [("flood", 8.0, 8.0), ("quiet", 2.0, 3.0)]
    assert found["keys"] == 3
    assert found["mean_wait_seconds"] == {"min": 2.0, "median": 2.0, "max": 8.0}


def test_the_page_shows_the_busiest_keys_and_how_evenly_they_waited():
    answers = {"by_key": keys.build(counted(*FLOOD, *QUIET))}
    assert details.keys(answers).rows[0] == (
        "flood",
        "4",
        "75\N{NO-BREAK SPACE}%",
        "8\N{NO-BREAK SPACE}s",
        "8\N{NO-BREAK SPACE}s",
    )
    assert (details.spread_over_keys(answers) or "").startswith("3\N{NO-BREAK SPACE}keys. ")


def test_without_keys_or_with_very_many_nothing_is_told():
    assert keys.build(counted((None, "succeeded", 1.0))) is None
    few, many = counted(*QUIET), counted(*[(f"k{n}", "shed", None) for n in range(keys.MOST + 1)])
    assert keys.build(few) is not None
    assert keys.build(keys.add([few, many])) is None
    assert details.keys({"by_key": None}).rows == []
    assert details.spread_over_keys({"by_key": None}) is None
