"""The report's account of keys."""

import pyarrow as pa

from lifoq_analytics.answers import keys
from lifoq_analytics.page import details
from tests.analytics.exportfiles import full_line
from tests.analytics.items import item, judged, observed

Row = tuple[str, str, float | None]
FLOOD: list[Row] = [("flood", "PENDING", None)] * 3 + [("flood", "SUCCESS", 8)]
QUIET: list[Row] = [("quiet", "SUCCESS", 1), ("quiet", "TAKEN", 3), ("new", "CANCELLED", None)]


def counted(*rows: Row) -> pa.Table:
    """``rows``: key, status long past the deadline, seconds until the first claim."""
    items = [
        item(f"{number}", status, **({} if wait is None else {"firstTakenAt": wait}))
        | {"taskKey": key}
        for number, (key, status, wait) in enumerate(rows)
    ]
    seen = observed(*map(full_line, items), full=900)
    return keys.count(judged(seen, as_of=900))


def test_keys_are_told_by_their_tasks_their_shed_ones_and_their_waits():
    found = keys.build(keys.add([counted(*FLOOD[:2], *QUIET), counted(*FLOOD[2:])]))
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
    assert found["mean_wait_seconds"] == {"min": 2.0, "median": 2.0, "max": 8.0}
    shown = details.keys({"by_key": found}).rows[0]
    assert " ".join(shown).split() == ["flood", "4", "75", "%", "8", "s", "8", "s"]
    assert (details.spread_over_keys({"by_key": found}) or "").startswith("3\N{NO-BREAK SPACE}keys")


def test_without_keys_or_with_very_many_nothing_is_told():
    assert keys.build(keys.count(judged(observed(full_line(item("t", "TAKEN")), full=60)))) is None
    most = counted(*[(f"k{n}", "PENDING", None) for n in range(keys.MOST)])
    assert keys.build(keys.add([most])) is not None
    too_many = keys.add([counted(*QUIET), most])
    assert keys.build(too_many) is None
    assert keys.build(keys.add([too_many, counted(*QUIET)])) is None
    assert details.keys({"by_key": None}).rows == []
    assert details.spread_over_keys({"by_key": None}) is None


def test_of_an_even_number_of_keys_the_median_is_the_lower_of_the_middle_two():
    waits = {"a": 4, "b": 1, "c": 3, "d": 2, "e": 5}
    for number, median in ((4, 2.0), (5, 3.0)):
        rows: list[Row] = [(key, "SUCCESS", waits[key]) for key in sorted(waits)[:number]]
        found = keys.build(counted(*rows))
        assert found is not None
        assert found["mean_wait_seconds"] == {"min": 1.0, "median": median, "max": float(number)}
    many = keys.build(counted(*((f"k{n:02}", "PENDING", None) for n in range(12))))
    assert many is not None
    assert [key["key"] for key in many["most_tasks"]] == [f"k{n:02}" for n in range(10)]
    assert many["mean_wait_seconds"] == {"min": None, "median": None, "max": None}
    assert many["most_tasks"][0] == {
        "key": "k00",
        "tasks": 1,
        "shed": 1,
        "mean_wait_seconds": None,
        "max_wait_seconds": None,
    }
    assert many["longest_waits"] == []
