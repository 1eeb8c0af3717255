"""The promises of every table to the store, whichever engine is behind it."""

from dataclasses import replace
from decimal import Decimal
from functools import partial

import pytest

from lifoq.errors import ItemTooLarge
from lifoq.items.change import (
    MOST_VALUES,
    AtMost,
    Change,
    ConditionFailed,
    Equals,
    Exists,
    GreaterThan,
    Not,
    OneOf,
    StatusIn,
    StatusIs,
    TransactionRefused,
    UnfitAttribute,
)
from lifoq.items.schema import DUE_INDEX, STATUS_CREATED_INDEX, Attribute, Preview, Status
from lifoq.store.table_protocol import Span
from lifoq.store.worker_writes import MAX_FOLLOW_UPS
from tests.conftest import every_table

pytestmark = every_table

PENDING = Span(index=STATUS_CREATED_INDEX, status=Status.PENDING)


def item(task_id, created=1, **more):
    return {
        "taskId": task_id,
        "taskStatus": "PENDING",
        "taskCreated": created,
        "expiresAt": 100,
        "taskType": "a",
        "payload": "{}",
        **more,
    }


def ids(page):
    return [row["taskId"] for row in page.rows]


def all_rows(read, *, limit):
    """Return the rows of all pages that ``read`` gives, each from where the one before ended."""
    rows, page = [], None
    while page is None or page.next is not None:
        page = read(limit=limit, start=page and page.next)
        assert len(page.rows) <= limit
        rows += page.rows
    return rows


# Writing items, and where none may be written


def test_an_item_reads_back_as_it_was_written(table):
    nested = [{"key": "k", "size": 7, "share": Decimal("0.5")}, None, True, b"\x00"]
    written = item("a", created=1_800_000_000_123_456, payload='{"text":"naïve 🐢"}', error=nested)
    table.put(written)
    assert table.get("a") == written
    assert table.get("b") is None


def test_a_second_put_of_an_id_changes_nothing_and_shows_the_first(table):
    table.put(item("a", payload="1"))
    with pytest.raises(ConditionFailed) as refused:
        table.put(item("a", payload="2"))
    assert refused.value.item == item("a", payload="1")
    assert table.get("a") == item("a", payload="1")


OVER = (
    (StatusIn(frozenset({Status.PENDING, Status.DELAYED})), AtMost(Attribute.EXPIRES_AT, 100)),
    (StatusIs(Status.SUCCESS), AtMost(Attribute.TTL, 7)),
)


GONE = ({}, {"taskStatus": "DELAYED"}, {"taskStatus": "SUCCESS", "ttl": 7})
IN_USE = ({"expiresAt": 101}, {"taskStatus": "TAKEN"}, {"taskStatus": "SUCCESS", "ttl": 8})


@pytest.mark.parametrize("way", ["put", "replace", "update_and_put"])
def test_an_item_is_written_over_one_that_is_gone_and_over_no_other(table, way):
    def write(after, there):
        if way == "put":
            table.put(after, over=OVER)
        elif way == "replace":
            table.replace(after, when=OVER["ttl" in there])
        else:
            beside = item(f"beside {after['taskId']}")
            table.update_and_put(
                "parent",
                Change(when=(), set={}, increment=Attribute.ATTEMPTS),
                [after, beside],
                over=OVER,
            )

    table.put(item("parent"))
    for number, there in enumerate((*GONE, *IN_USE)):
        before = item(f"t{number}", **there)
        after = item(f"t{number}", payload="2", expiresAt=999)
        table.put(before)
        if there in GONE:
            write(after, there)
            assert table.get(f"t{number}") == after
            continue
        with pytest.raises((ConditionFailed, TransactionRefused)) as refused:
            write(after, there)
        assert table.get(f"t{number}") == before
        assert table.get(f"beside t{number}") is None
        if way == "update_and_put":
            assert (refused.value.update_refused, refused.value.taken_ids) == (
                False,
                {f"t{number}"},
            )
        else:
            assert refused.value.item == before
    transactions = {"attempts": len(GONE)} if way == "update_and_put" else {}
    assert table.get("parent") == item("parent", **transactions)


def test_an_item_is_deleted_only_where_the_conditions_hold(table):
    when = (StatusIs(Status.PENDING), AtMost(Attribute.EXPIRES_AT, 100))
    for there in (item("a", expiresAt=101), item("b", taskStatus="TAKEN")):
        table.put(there)
        with pytest.raises(ConditionFailed) as refused:
            table.delete(there["taskId"], when=when)
        assert refused.value.item == table.get(there["taskId"]) == there
    table.put(item("c"))
    table.delete("c", when=when)
    assert table.get("c") is None
    assert ids(table.query(PENDING, newest_first=True, limit=10)) == ["a"]


def test_nothing_is_replaced_changed_or_deleted_where_nothing_is(table):
    for write in (
        lambda: table.replace(item("a"), when=()),
        lambda: table.update("a", Change(when=(), set={Attribute.TASK_UPDATED: 7})),
        lambda: table.delete("a", when=(StatusIs(Status.PENDING),)),
    ):
        with pytest.raises(ConditionFailed) as refused:
            write()
        assert refused.value.item is None
        assert table.get("a") is None


def test_a_batch_writes_all_its_items(table):
    items = [item(f"t{n:02}", created=n + 1) for n in range(25)]
    assert table.put_batch(items) == []
    found = table.get_many([f"t{n:02}" for n in range(30)])
    assert sorted(found, key=lambda one: one["taskId"]) == items


# Changes


CONDITIONS = [
    (StatusIs(Status.PENDING), True),
    (StatusIs(Status.TAKEN), False),
    (Exists(Attribute.PAYLOAD), True),
    (Exists(Attribute.RESULT), False),
    (Equals(Attribute.TASK_TYPE, "a"), True),
    (Equals(Attribute.TASK_TYPE, "b"), False),
    (Equals(Attribute.CLAIM_ID, "x"), False),
    (OneOf(Attribute.TASK_TYPE, frozenset({"a", *map(str, range(MOST_VALUES - 1))})), True),
    (OneOf(Attribute.TASK_TYPE, frozenset({"b", "c"})), False),
    (GreaterThan(Attribute.EXPIRES_AT, 99), True),
    (GreaterThan(Attribute.EXPIRES_AT, 100), False),
    (GreaterThan(Attribute.LEASE_EXPIRES, 0), False),
    (AtMost(Attribute.EXPIRES_AT, 100), True),
    (AtMost(Attribute.EXPIRES_AT, 99), False),
    (AtMost(Attribute.LEASE_EXPIRES, 10), False),
]


@pytest.mark.parametrize("negated", [False, True])
def test_a_change_applies_only_where_its_condition_holds(table, negated):
    for number, (condition, holds) in enumerate(CONDITIONS):
        there = item(f"t{number}")
        table.put(there)
        when = (Not(condition) if negated else condition,)
        change = Change(when=when, set={Attribute.TASK_UPDATED: 7})
        if holds is not negated:
            table.update(there["taskId"], change)
            changed = {**there, "taskUpdated": 7}
            assert table.get(there["taskId"]) == changed, when
            assert table.update_and_get(there["taskId"], change) == changed, when
        else:
            for apply in (table.update, table.update_and_get):
                with pytest.raises(ConditionFailed) as refused:
                    apply(there["taskId"], change)
                assert refused.value.item == table.get(there["taskId"]) == there, when


def test_a_change_sets_sets_once_increments_and_removes(table):
    table.put(item("a"))
    change = Change(
        when=(),
        set={Attribute.TASK_STATUS: "TAKEN"},
        set_once={Attribute.FIRST_TAKEN_AT: 5, Attribute.PAYLOAD: "other"},
        increment=Attribute.ATTEMPTS,
        remove=(Attribute.TASK_CREATED, Attribute.RESULT),
    )
    expected = item("a") | {"taskStatus": "TAKEN", "firstTakenAt": 5, "attempts": 1}
    del expected["taskCreated"]
    assert table.update_and_get("a", change) == expected
    again = table.update_and_get(
        "a",
        Change(
            when=(), set={}, set_once={Attribute.FIRST_TAKEN_AT: 9}, increment=Attribute.ATTEMPTS
        ),
    )
    assert (again["firstTakenAt"], again["attempts"]) == (5, 2)


def test_an_increment_of_what_is_no_number_is_refused(table):
    table.put(item("a", attempts="many"))
    with pytest.raises(UnfitAttribute):
        table.update("a", Change(when=(), set={}, increment=Attribute.ATTEMPTS))
    assert table.get("a") == item("a", attempts="many")


def test_an_item_that_would_outgrow_the_limit_is_refused(table):
    table.put(item("a", payload="x" * 200_000))
    with pytest.raises(ItemTooLarge):
        table.update("a", Change(when=(), set={Attribute.RESULT: "y" * 220_000}))
    assert "result" not in (table.get("a") or {})


# What a look at an index shows, page by page


def test_a_query_returns_a_span_of_a_status_inclusively_from_either_end(table):
    for n in (3, 1, 2):
        table.put(item(f"t{n}", created=n))
    table.put(item("other", created=2, taskStatus="TAKEN"))
    for first, last, expected in (
        (2, None, ["t3", "t2"]),
        (None, 2, ["t2", "t1"]),
        (2, 2, ["t2"]),
        (None, None, ["t3", "t2", "t1"]),
    ):
        span = replace(PENDING, first=first, last=last)
        assert ids(table.query(span, newest_first=True, limit=10)) == expected
        assert ids(table.query(span, newest_first=False, limit=10)) == expected[::-1]


LATER = {"headStart": 5, "of a later release": ["x", {"y": 1}]}


def test_index_rows_hold_only_what_is_projected(table):
    table.put(item("a", payload="secret", preview=LATER))
    (row,) = table.query(PENDING, newest_first=True, limit=1).rows
    assert row == {
        "taskId": "a",
        "taskStatus": "PENDING",
        "taskCreated": 1,
        "expiresAt": 100,
        "taskType": "a",
        "preview": LATER,
    }


def test_the_index_of_what_is_due_holds_only_that_and_has_room_for_a_later_field_too(table):
    table.put(item("a", taskStatus="DELAYED", dueAt=7, preview=LATER))
    table.put(item("b", taskStatus="DELAYED"))
    due = Span(index=DUE_INDEX, status=Status.DELAYED)
    (row,) = table.query(due, newest_first=False, limit=2).rows
    assert row == {"taskId": "a", "taskStatus": "DELAYED", "dueAt": 7, "preview": LATER}


def test_rows_are_left_out_by_a_field_of_the_look_whatever_is_in_its_place(table):
    for number, shown in enumerate((LATER, {"headStart": None}, {}, {"x": 1}, "headStart", 7)):
        table.put(item(f"t{number}", preview=shown))
    table.put(item("none"))
    span = replace(PENDING, where=(Exists(Preview.HEAD_START),))
    assert sorted(ids(table.query(span, newest_first=True, limit=9))) == ["t0", "t1"]
    span = replace(PENDING, where=(Not(Exists(Preview.HEAD_START)),))
    rest = sorted(ids(table.query(span, newest_first=True, limit=9)))
    assert rest == ["none", "t2", "t3", "t4", "t5"]


def test_pages_follow_each_other_without_gap_or_overlap(table):
    for n in range(7):
        table.put(item(f"t{n}", created=n // 2 + 1))  # equal sort keys, too
    span = replace(PENDING, first=1, last=4)
    for limit in (1, 2):
        rows = all_rows(partial(table.query, span, newest_first=True), limit=limit)
        assert [row["taskCreated"] for row in rows] == [4, 3, 3, 2, 2, 1, 1]
        assert len({row["taskId"] for row in rows}) == 7


FRACTIONS = ("-1E+100", "-2.5", "-0.1", "0", "1E-100", "1.5", "2", "1E+38", "9.9E+125")


def test_pages_go_on_behind_any_number_that_an_index_can_hold(table):
    numbers = [Decimal(text) for text in FRACTIONS]
    for number in numbers:
        found = {"taskCreated": number, "dueAt": number}
        table.put({"taskId": f"t{number}", "taskStatus": "PENDING", **found})
    for index, sort_key in ((STATUS_CREATED_INDEX, "taskCreated"), (DUE_INDEX, "dueAt")):
        span = Span(index=index, status=Status.PENDING)
        for newest_first in (True, False):
            rows = all_rows(partial(table.query, span, newest_first=newest_first), limit=1)
            assert [row[sort_key] for row in rows] == sorted(numbers, reverse=newest_first)
        assert table.count(replace(span, first=-1, last=1), cap=100).value == 3


def test_a_scan_meets_every_item_once(table):
    items = [item(f"t{number}") for number in range(5)]
    table.put_batch(items)
    met = all_rows(table.scan, limit=2)
    assert sorted(met, key=lambda one: one["taskId"]) == items


def test_a_filter_hides_rows_but_not_what_is_behind_them(table):
    for n in range(1, 5):
        table.put(item(f"t{n}", created=n, expiresAt=n))
    span = replace(PENDING, where=(AtMost(Attribute.EXPIRES_AT, 2),))
    page = table.query(span, newest_first=True, limit=2)
    assert ids(page) == []
    assert page.next is not None
    assert ids(table.query(span, newest_first=True, limit=2, start=page.next)) == ["t2", "t1"]


def test_a_count_stops_at_its_cap_and_says_so(table):
    for n in range(1, 6):
        table.put(item(f"t{n}", created=n, expiresAt=n))
    assert (table.count(PENDING, cap=10).value, table.count(PENDING, cap=10).capped) == (5, False)
    capped = table.count(PENDING, cap=3)
    assert (capped.value, capped.capped) == (3, True)
    old = replace(PENDING, where=(AtMost(Attribute.EXPIRES_AT, 2),))
    numbers = [table.count(old, cap=3, newest_first=newest) for newest in (True, False)]
    assert [(one.value, one.capped) for one in numbers] == [(0, True), (2, True)]


# Transactions


def test_a_transaction_whose_condition_fails_writes_nothing(table):
    table.put(item("a"))
    with pytest.raises(TransactionRefused) as refused:
        table.update_and_put(
            "a",
            Change(when=(StatusIs(Status.TAKEN),), set={Attribute.TASK_STATUS: "SUCCESS"}),
            [item("b")],
        )
    assert refused.value.update_refused
    assert refused.value.current == item("a")
    assert refused.value.taken_ids == frozenset()
    assert table.get("a") == item("a")
    assert table.get("b") is None


@pytest.mark.parametrize(
    ("result", "follow_ups"),
    {
        "an update beyond 400 KB": ("x" * 420_000, [10]),
        "an item beyond 400 KB": ("x", [10, 420_000]),
        "4 MB in all": ("x" * 380_000, [381_000] * 11),
        "a request beyond all bounds": ("x", [380_000] * 45),
    }.values(),
)
def test_a_transaction_that_is_too_large_writes_nothing(table, result, follow_ups):
    table.put(item("a"))
    change = Change(when=(StatusIs(Status.PENDING),), set={Attribute.RESULT: result})
    items = [item(f"t{n}", payload="x" * size) for n, size in enumerate(follow_ups)]
    with pytest.raises(ItemTooLarge):
        table.update_and_put("a", change, items)
    assert table.get("a") == item("a")
    assert [table.get(f"t{n}") for n in range(len(items))] == [None] * len(items)


def test_as_many_follow_ups_as_are_allowed_fit_one_transaction(table):
    table.put(item("a"))
    change = Change(set={Attribute.RESULT: "1"}, when=(Exists(Attribute.PAYLOAD),))
    table.update_and_put("a", change, [item(f"t{n}") for n in range(MAX_FOLLOW_UPS)])
    assert len(table.get_many([f"t{n}" for n in range(MAX_FOLLOW_UPS)])) == 99
