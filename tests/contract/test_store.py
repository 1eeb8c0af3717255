"""The store's promises to workers, the sweep and operators: transitions and their conditions."""

from dataclasses import astuple, replace
from datetime import timedelta
from math import inf

import pytest
from botocore.exceptions import ClientError

from lifoq.errors import Cancelled, DamagedTask, LeaseLost, NotClaimed, TaskNotFound, WrongStatus
from lifoq.health import open_tasks_of_worker_groups, statistics, sweep_note
from lifoq.health.statistics import measure
from lifoq.items.attempt_history import Ended, PastAttempt
from lifoq.items.change import AtMost, Change, ConditionFailed, Equals, GreaterThan
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import MAX_ITEM_BYTES, STATUS_CREATED_INDEX, Attribute, Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.store import reads
from lifoq.store.reads import BROWSE_PAGE
from lifoq.store.store import Store
from lifoq.store.table_protocol import Span
from lifoq.testing.hosts import START, ManualHost
from tests.conftest import on_dynamodb_too
from tests.fixtures import PastTheLibrary

SECOND = 1_000_000
BOOM = TaskError(type="ValueError", message="boom")


def put(store: Store, task_id: str, **terms):
    return store.put(
        NewTask(**{"task_type": "a", "payload": {"n": 1}, "task_id": task_id, **terms})
    )


def claim(store: Store, task_id: str, claim_id: str = "claim-1", lease: float = 30):
    return store.claim(task_id, claim_id=claim_id, lease=lease)


def pending(store: Store) -> list[str]:
    return [row.task_id for row in store.candidates(limit=100).rows]


# Claiming


@on_dynamodb_too
def test_what_falls_due_is_promoted_and_told_as_the_index_then_shows_it(store, host):
    put(store, "retried", key="k", head_start=9)
    put(store, "t", delay=60, deadline=100, key="l")
    store.retry(claim(store, "retried"), BOOM, delay=60)
    assert not store.promote("t")
    with pytest.raises(NotClaimed):
        claim(store, "t")
    host.advance(60)
    assert set(store.due(limit=10)[0]) == {"retried", "t"}
    promoted = (store.promote("retried"), store.promote("t"))
    assert promoted == store.candidates(limit=10).rows[::-1]
    assert [(row.since, row.key) for row in promoted] == [(START, "k"), (START + 60 * SECOND, "l")]
    assert not store.promote("t")


@on_dynamodb_too
def test_what_is_overdue_comes_back_the_longest_overdue_first(telling, host):
    """The tasks that a sweep has no time for are then those that can wait best."""
    for delay in (2, 3, 1):
        put(telling, f"due {delay}", delay=delay)
        put(telling, f"shed {delay}", deadline=delay, task_token=TOKEN)
    host.advance(10)
    for overdue, name in ((telling.due, "due"), (telling.past_deadline, "shed")):
        first, start = overdue(limit=2)
        rest, _ = overdue(limit=2, start=start)
        assert first + rest == [f"{name} {delay}" for delay in (1, 2, 3)]


@pytest.mark.parametrize("early", [1, 0])
def test_no_claim_comes_at_or_after_the_deadline(store, host, early):
    host.time = START + 999_999
    put(store, "t", deadline=10)
    host.time += 10 * SECOND - early
    assert store.get("t").expired(host.time) == (not early)
    assert store.count_live(cap=10).value == early
    assert (store.waits_since(newest=True) is not None) == early
    if early:
        assert claim(store, "t").status is Status.TAKEN
    else:
        with pytest.raises(NotClaimed):
            claim(store, "t")
        assert store.get("t").status is Status.PENDING


def test_a_mountain_of_expired_tasks_is_not_even_looked_at(store, host):
    for n in range(12):
        put(store, f"old{n}")
    host.advance(3601)
    put(store, "new")
    page = store.candidates(limit=2)
    assert [row.task_id for row in page.rows] == ["new"]
    assert page.next is None


def test_behind_its_first_page_a_look_is_sent_all_but_the_expired(store, host):
    put(store, "old")
    host.advance(1)
    store.table.put({"taskId": "damaged", "taskStatus": "PENDING", "taskCreated": host.now()})
    host.advance(1)
    for n in range(12):
        put(store, f"brief{n}", deadline=10)
    host.advance(11)
    put(store, "new")
    first = store.candidates(limit=2)
    assert [row.task_id for row in first.rows] == ["new", "brief11"]
    behind = store.candidates(limit=100, start=first.next)
    assert [(row.task_id, row.damage is None) for row in behind.rows] == [
        ("damaged", False),
        ("old", True),
    ]
    assert behind.next is None


@on_dynamodb_too
@pytest.mark.parametrize(
    ("newest_first", "first", "rest"),
    [(True, ["t3", "t2", "t1"], []), (False, ["t0"], ["t1", "t2", "t3"])],
)
def test_a_look_goes_on_though_the_oldest_die_meanwhile(store, host, *, newest_first, first, rest):
    """The part that can be alive may begin behind the page's last row by the time of the next
    page."""
    for n in range(4):
        put(store, f"t{n}")
        host.advance(10)
    host.advance(3599 - 40)
    page = store.candidates(limit=len(first), newest_first=newest_first)
    assert [row.task_id for row in page.rows] == first
    host.advance(3)
    later = store.candidates(limit=10, start=page.next, newest_first=newest_first)
    assert [row.task_id for row in later.rows] == rest


# Settling


SETTLES = {
    "succeed": lambda store, task: store.succeed(task, "1"),
    "succeed with follow-ups": lambda store, task: store.succeed(
        task, "1", [NewTask(task_type="next", task_id="next")]
    ),
    "fail": lambda store, task: store.fail(task, BOOM),
    "retry": lambda store, task: store.retry(task, BOOM, delay=5),
    "retry at once": lambda store, task: store.retry(task, BOOM, delay=0),
    "no room": lambda store, task: store.retry(task, BOOM, delay=0, counts=False),
}


def lose(store: Store, host: ManualHost, claim_id: str = "lost") -> None:
    """The worker of a claim."""
    task = claim(store, "t", claim_id, lease=1)
    host.advance(2)
    store.reclaim(task, max_attempts=2)


@on_dynamodb_too
@pytest.mark.parametrize("settle", SETTLES.values(), ids=SETTLES)
def test_a_settle_clears_suspected_poison_and_is_recognised_where_its_answer_was_lost(
    store, host, settle
):
    put(store, "t", key="k", head_start=60)
    lose(store, host)
    (row,) = store.candidates(limit=2).rows
    assert row.suspected_poison
    task = claim(store, "t", "survives")
    assert task.leases_lost == 1
    waits_as = settle(store, task)
    shown = [row for row in store.candidates(limit=9).rows if row.task_id == "t"]
    assert shown == ([waits_as] if waits_as else [])
    settled = store.table.get("t")
    assert "leasesLost" not in settled
    settle(store, task)
    assert store.table.get("t") == settled


HOLDS = SETTLES | {
    "heartbeat": lambda store, task: store.extend(task, lease=30),
    "checkpoint": lambda store, task: store.checkpoint(task, 1, lease=30),
}


@pytest.mark.parametrize("act", HOLDS.values(), ids=HOLDS)
@pytest.mark.parametrize("claimed_again", [False, True])
def test_a_stale_holder_changes_nothing(store, host, act, claimed_again):
    put(store, "t")
    stale = claim(store, "t", "stale", lease=1)
    host.advance(2)
    assert store.reclaim(stale, max_attempts=5) is Status.PENDING
    if claimed_again:
        claim(store, "t", "current")
    before = store.get("t")
    with pytest.raises(LeaseLost):
        act(store, stale)
    assert store.get("t") == before
    assert store.get("next") is None


@on_dynamodb_too
def test_a_heartbeat_that_is_applied_late_does_not_shorten_the_lease(store, host):
    put(store, "t")
    task = claim(store, "t", lease=30)
    host.advance(20)
    store.extend(task, lease=30)
    host.advance(-10)
    store.extend(task, lease=30)
    store.checkpoint(task, {"page": 1}, lease=30)
    assert store.get("t").lease_expires == START + 50 * SECOND
    assert store.get("t").checkpoint == {"page": 1}
    host.advance(20)
    store.checkpoint(task, {"page": 2}, lease=30)
    assert store.get("t").lease_expires == START + 60 * SECOND


@pytest.mark.parametrize("by", ["its caller, who has gone", "an operator"])
def test_a_heartbeat_of_a_cancelled_task_says_so_and_keeps_its_lease(store, host, by):
    put(store, "t")
    if by != "an operator":
        store.want("t", until=START + 5 * SECOND)
    task = claim(store, "t")
    host.advance(5)
    if by == "an operator":
        store.cancel("t")
    told = "^task 't' was cancelled while it ran: stop working on it$"
    with pytest.raises(Cancelled, match=told):
        store.extend(task, lease=30)
    kept = store.get("t")
    assert (kept.cancel_asked, kept.lease_expires) == (START + 5 * SECOND, START + 35 * SECOND)


def test_what_is_gone_or_damaged_is_neither_claimed_nor_kept(store, past):
    for task_id in ("gone", "damaged"):
        put(store, task_id)
    task = claim(store, "gone")
    past.remove("gone")
    past.write({**store.table.get("damaged"), "expiresAt": "never"})
    for act, error in (
        (lambda: claim(store, "gone"), NotClaimed),
        (lambda: store.extend(task, lease=30), LeaseLost),
        (lambda: claim(store, "damaged"), DamagedTask),
    ):
        with pytest.raises(error):
            act()


def test_a_retry_in_less_than_a_second_waits_for_it(store):
    put(store, "t")
    assert store.retry(claim(store, "t"), BOOM, delay=0.5) is None
    assert store.get("t").due_at == START + SECOND // 2


# Chaining


@on_dynamodb_too
def test_of_follow_ups_that_share_an_id_the_first_counts(store):
    put(store, "parent")
    named = [("x", "first"), ("x", "second"), ("parent", "third")]
    heirs = [NewTask(task_type="b", payload=payload, task_id=name) for name, payload in named]
    store.succeed(claim(store, "parent"), "null", heirs)
    assert store.get("parent").status is Status.SUCCESS
    assert store.get("x").payload == "first"
    assert pending(store) == ["x"]


@on_dynamodb_too
def test_follow_ups_of_just_below_4_mb_are_put(store):
    """moto takes more."""
    put(store, "parent")
    heirs = [store.new_item(NewTask(task_type="a", task_id=f"t{n}")) for n in range(11)]
    change = Change(when=(), set={Attribute.TASK_UPDATED: 7})
    large = [{**heir, "payload": "x" * 381_000} for heir in heirs]
    store.table.update_and_put("parent", change, large)
    assert store.table.get("t10") == large[10]


# The sweep's part


@on_dynamodb_too
def test_leases_lost_in_a_row_are_counted_until_a_redrive(store, host):
    put(store, "t")
    lose(store, host, "first")
    lose(store, host, "last")
    buried = store.get("t")
    assert (buried.status, buried.leases_lost) == (Status.FAILURE, 2)
    assert store.redrive("t").leases_lost == 0


def test_a_sweep_that_saw_an_earlier_claim_does_not_end_the_later_one(store, host):
    put(store, "t")
    seen = claim(store, "t", "first", lease=1)
    host.advance(2)
    store.reclaim(seen, max_attempts=9)
    claim(store, "t", "second", lease=1)
    host.advance(2)
    assert store.reclaim(seen, max_attempts=9) is None
    assert store.get("t").claim_id == "second"


# Operators


def test_a_task_that_waits_is_cancelled_at_once_and_cannot_be_claimed(store):
    put(store, "t")
    assert store.cancel("t").status is Status.CANCELLED
    with pytest.raises(NotClaimed):
        claim(store, "t")
    assert store.get("t").status is Status.CANCELLED


def test_a_task_that_is_over_cannot_be_cancelled(store):
    put(store, "t")
    task = claim(store, "t")
    with pytest.raises(WrongStatus, match=r"TAKEN.*PENDING or DELAYED"):
        store.cancel("t", running=False)
    with pytest.raises(WrongStatus, match=r"TAKEN.*SUCCESS, FAILURE or CANCELLED"):
        store.delete("t")
    assert store.cancel("t").status is Status.TAKEN
    store.succeed(task, "1")  # all the same
    with pytest.raises(WrongStatus, match=r"SUCCESS.*PENDING, DELAYED or TAKEN"):
        store.cancel("t")
    with pytest.raises(TaskNotFound):
        store.cancel("nobody")


def once_seen(store: Store, monkeypatch: pytest.MonkeyPatch, then) -> None:
    """Let ``then`` happen right after the next look at a task."""
    get = store.table.get

    def get_and_lose(task_id):
        item = get(task_id)
        monkeypatch.undo()
        then()
        return item

    monkeypatch.setattr(store.table, "get", get_and_lose)


@on_dynamodb_too
@pytest.mark.parametrize("act", ["redrive", "cancel"])
def test_a_task_that_vanishes_between_look_and_write_is_not_found(store, past, monkeypatch, act):
    put(store, "t")
    if act == "redrive":
        store.fail(claim(store, "t"), BOOM)
    once_seen(store, monkeypatch, lambda: past.remove("t"))
    with pytest.raises(TaskNotFound):
        getattr(store, act)("t")
    assert store.get("t") is None


@pytest.mark.parametrize("act", ["redrive", "delete"])
def test_an_operator_who_is_not_answered_is_told_of_the_own_act_and_else_of_the_others(
    store, monkeypatch, act
):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    name = "delete" if act == "delete" else "update_and_get"
    write = getattr(store.table, name)

    def written_twice(*arguments, **terms):
        write(*arguments, **terms)  # the answer to this one was lost
        return write(*arguments, **terms)

    monkeypatch.setattr(store.table, name, written_twice)
    failed, told = store.get("t"), getattr(store, act)("t")
    assert told == (failed if act == "delete" else store.get("t"))
    monkeypatch.undo()
    with pytest.raises(TaskNotFound if act == "delete" else WrongStatus):
        getattr(store, act)("t")
    if act == "redrive":
        store.fail(claim(store, "t"), BOOM)
        once_seen(store, monkeypatch, lambda: Store(store.table, host=ManualHost()).redrive("t"))
        with pytest.raises(WrongStatus, match="PENDING"):
            store.redrive("t")


def test_a_task_that_is_claimed_between_look_and_cancel_stays_claimed(store, monkeypatch):
    put(store, "t")
    once_seen(store, monkeypatch, lambda: claim(store, "t"))
    with pytest.raises(WrongStatus, match="TAKEN"):
        store.cancel("t", running=False)
    assert store.get("t").cancel_asked is None


def test_only_what_runs_or_waits_and_is_not_shed_has_not_ended(store, host, past):
    for task_id in ("waits", "runs", "over", "damaged"):
        put(store, task_id)
    put(store, "shed", deadline=1)
    put(store, "due", delay=60)
    claim(store, "runs")
    store.succeed(claim(store, "over"), "1")
    past.write({**store.table.get("damaged"), "expiresAt": "never"})
    host.advance(2)
    asked = ["waits", "due", "runs", "over", "damaged", "shed", "nobody"]
    assert store.unended(asked) == {"waits", "due", "runs"}
    assert [task_id for task_id in asked if store.has_not_ended(task_id) is True] == asked[:3]


def test_what_waits_is_read_page_by_page_and_what_is_newer_is_counted(store, host, monkeypatch):
    monkeypatch.setattr(reads, "LARGEST_PAGE", 2)
    for n in range(5):
        put(store, f"t{n}")
        host.advance(1 / SECOND)
    for cap, numbers in ((6, [4, 3, 2, 1, 0]), (4, [4, 3, 2, 1])):
        waiting = [row.task_id for row in store.waiting(where=(), cap=cap)]
        assert waiting == [f"t{n}" for n in numbers]
    assert [store.count_newer(store.get(f"t{n}"), cap=9).value for n in range(5)] == [4, 3, 2, 1, 0]
    since = store.rows(Status.PENDING, live=True, first=store.get("t3").task_created, limit=9)
    assert [row["taskId"] for row in since.rows] == ["t4", "t3"]


@on_dynamodb_too
@pytest.mark.parametrize("bounds", [{"first": 3}, {"last": 1}, {"first": 3, "last": 4}])
def test_a_place_outside_of_a_span_is_refused(store, bounds):
    span = Span(index=STATUS_CREATED_INDEX, status=Status.PENDING, **bounds)
    start = {"taskId": "t", "taskStatus": "PENDING", "taskCreated": 2}
    with pytest.raises((ValueError, ClientError), match=r"outside of the span|range key predicate"):
        store.table.query(span, newest_first=True, limit=9, start=start)


def test_who_waits_longest_is_looked_for_page_by_page_within_reach(store, host, monkeypatch):
    for name in ("BROWSE_PAGE", "LARGEST_PAGE"):
        monkeypatch.setattr(reads, name, 2)
    for n, task_type in enumerate(["other"] * 4 + ["own"] * 2):
        put(store, f"t{n}", task_type=task_type)
        host.advance(1)
    own = (Equals(Attribute.TASK_TYPE, "own"),)
    looked = [store.waits_since(newest=False, where=own, reach=reach) for reach in (4, 5, inf)]
    assert looked == [None, START + 4 * SECOND, START + 4 * SECOND]


# Cancelling what runs


@on_dynamodb_too
@pytest.mark.parametrize("again", ["checkpoint", "fail", "retry", "retry at once", "no room"])
def test_a_cancelled_task_is_neither_tried_again_nor_failed(store, again):
    put(store, "t")
    task = claim(store, "t")
    with pytest.raises(LeaseLost):
        store.end_cancelled(task)  # nobody has cancelled it
    before = store.cancel("t")
    with pytest.raises(Cancelled):
        HOLDS[again](store, task)
    assert store.get("t") == before
    assert store.end_cancelled(task, BOOM) is None
    ended = store.get("t")
    assert (ended.status, ended.error) == (Status.CANCELLED, BOOM)
    assert [(past.ended, past.message) for past in ended.history] == [(Ended.CANCELLED, "boom")]
    store.end_cancelled(task, BOOM)  # recognised, where the answer was lost
    assert store.get("t") == ended == store.cancel("t")


@on_dynamodb_too
def test_a_damaged_task_that_was_cancelled_and_is_redriven_runs_again(store):
    put(store, "t")
    claim(store, "t")
    store.cancel("t")
    store.dead_letter("t", seen=Status.TAKEN, reason="by hand")
    assert store.redrive("t").cancel_asked is None


@on_dynamodb_too
@pytest.mark.parametrize("seen_before", [True, False])
@pytest.mark.parametrize("max_attempts", [1, 5])
def test_a_cancelled_task_whose_worker_is_lost_ends_as_cancelled(
    store, host, max_attempts, seen_before
):
    put(store, "t")
    seen = claim(store, "t")
    store.cancel("t")
    host.advance(31)
    seen = seen if seen_before else store.get("t")
    assert store.reclaim(seen, max_attempts=max_attempts) is Status.CANCELLED
    ended = store.get("t")
    assert (ended.status, ended.claim_id, ended.task_created) == (Status.CANCELLED, None, None)
    assert ended.history[-1].ended is Ended.LEASE_EXPIRED
    with pytest.raises(LeaseLost):
        store.end_cancelled(seen)


def test_a_redriven_task_is_the_newest_with_a_new_deadline_and_nobody_waits_for_it(telling, host):
    put(telling, "t", task_token=TOKEN)
    telling.fail(claim(telling, "t"), BOOM)
    assert telling.get("t").task_token == TOKEN
    host.advance(5 * 86_400)
    put(telling, "other")
    task = telling.redrive("t")
    assert task.task_created == host.now() + 1  # a microsecond after `other`
    assert task.expires_at == task.task_created + 3600 * SECOND
    assert pending(telling) == ["t", "other"]
    assert task.error == BOOM  # until its next end
    assert (task.attempts, task.task_token) == (0, None)
    with pytest.raises(WrongStatus):
        telling.redrive("t")


@on_dynamodb_too
@pytest.mark.parametrize("condition", [GreaterThan, AtMost])
def test_a_comparison_with_a_damaged_attribute_does_not_hold(store, condition):
    """moto compares them."""
    put(store, "t")
    change = Change(when=(condition(Attribute.TASK_TYPE, 1),), set={Attribute.TASK_UPDATED: 7})
    with pytest.raises(ConditionFailed):
        store.table.update("t", change)


@on_dynamodb_too
@pytest.mark.parametrize("seen", [Status.PENDING, Status.TAKEN])
def test_a_dead_lettered_item_is_a_failure_with_the_reason(store, seen):
    put(store, "t")
    if seen is Status.TAKEN:
        claim(store, "t")
    assert store.dead_letter("t", seen=seen, reason="payload is not JSON")
    task = store.get("t")
    assert (task.status, task.error.message) == (Status.FAILURE, "payload is not JSON")
    assert (task.claim_id, task.lease_expires, task.due_at) == (None, None, None)
    assert [task_id for task_id, _ in store.browse(Status.FAILURE)] == ["t"]
    assert not store.dead_letter("t", seen=seen, reason="again")


def fill(store: Store, past: PastTheLibrary, attribute: str = "blob") -> dict:
    """Write the task anew, so large that a reason finds no room in it."""
    full = {name: value for name, value in store.table.get("t").items() if name != attribute}
    room = MAX_ITEM_BYTES - 100 - sum(len(k) + len(str(v)) for k, v in full.items())
    full[attribute] = "x" * room
    past.write(full)
    return full


@on_dynamodb_too
@pytest.mark.parametrize("attribute", ["payload", "taskType", "blob"])
def test_of_an_item_too_large_for_the_reason_a_tombstone_is_left(store, past, attribute):
    put(store, "t")
    fill(store, past, attribute)
    assert store.dead_letter("t", seen=Status.PENDING, reason="y" * 900)
    assert [task_id for task_id, _ in store.browse(Status.FAILURE)] == ["t"]
    item = store.table.get("t")
    assert "y" * 900 in item["error"]
    assert item["taskType"] == ("" if attribute == "taskType" else "a")
    with pytest.raises(DamagedTask):
        store.redrive("t")
    assert not store.dead_letter("t", seen=Status.PENDING, reason="again")


@on_dynamodb_too
def test_an_item_too_large_for_the_reason_that_was_claimed_meanwhile_is_not_buried(
    store, past, monkeypatch
):
    put(store, "t")
    claimed = {**fill(store, past), "taskStatus": "TAKEN"}
    once_seen(store, monkeypatch, lambda: past.write(claimed))
    assert not store.dead_letter("t", seen=Status.PENDING, reason="y" * 900)
    assert store.table.get("t") == claimed


# A head start: the task stands where it would if it had come later, and nothing else moves


def place(task: Task) -> int:
    """By how many seconds it stands ahead of when it entered the queue."""
    assert task.task_created is not None
    return (task.task_created - task.enqueued_at) // SECOND


def test_a_task_goes_before_all_that_come_within_its_head_start(store, host):
    first = put(store, "worth more", head_start=timedelta(minutes=1))
    plain = put(store, "plain")
    assert (place(first), first.head_start) == (60, 60 * SECOND)
    assert first.expires_at - first.enqueued_at == plain.expires_at - plain.enqueued_at
    host.advance(59)
    put(store, "within")
    host.advance(2)
    put(store, "after")
    assert pending(store) == ["after", "worth more", "within", "plain"]
    assert store.get("worth more") == first


@on_dynamodb_too
def test_a_dead_letter_lies_by_its_age_and_a_redrive_gives_it_its_head_start_anew(store, host):
    for name in ("failed", "buried"):
        put(store, name, head_start=60)
    store.fail(claim(store, "failed", "a"), BOOM)
    lost = claim(store, "buried", "b")
    host.advance(4_000)
    assert store.reclaim(lost, max_attempts=1) is Status.FAILURE
    for name in ("failed", "buried"):
        assert place(store.get(name)) == 0
        redriven = store.redrive(name)
        assert place(redriven) == 4_060
        store.retry(claim(store, name, name), BOOM, delay=0)
        assert store.get(name).task_created == redriven.task_created


@on_dynamodb_too
def test_ages_count_from_when_a_task_entered_the_queue_behind_whatever_page_it_stands(store, host):
    put(store, "oldest, and ahead of all", head_start=3_600)
    host.advance(1)
    store.put_many([NewTask(task_type="a", head_start=1_800) for _ in range(BROWSE_PAGE)])
    host.advance(99)
    put(store, "plain")
    host.advance(100)
    put(store, "young, and ahead", head_start=300)
    host.advance(10)
    put(store, "newest")
    host.advance(5)
    found = measure(store, now=store.now())
    assert (round(found.newest_waiting_seconds), round(found.oldest_waiting_seconds)) == (5, 215)
    assert (
        round(open_tasks_of_worker_groups.measure(store, frozenset({"a"})).oldest_waiting_seconds)
        == 215
    )
    assert open_tasks_of_worker_groups.measure(store, frozenset({"b"})).oldest_waiting_seconds == 0


def test_open_tasks_of_a_group_wait_or_are_held_and_are_of_its_types(store, host):
    def told(task_type: str, **narrowed: int) -> tuple[int, float]:
        types = frozenset({task_type})
        found = open_tasks_of_worker_groups.measure(store, types, **narrowed)
        return found.number, found.oldest_waiting_seconds

    put(store, "waits")
    assert told("a") == (1, 0.0)
    put(store, "held")
    claim(store, "held")
    host.advance(3)
    for _ in range(3):
        store.put(NewTask(task_type="b"))
    assert (told("a"), told("b"), told("c")) == ((2, 3.0), (3, 0.0), (0, 0.0))
    store.cancel("held")
    store.end_cancelled(store.get("held"))
    assert told("a", cap=2) == (1, 3.0), "others are newer"


def test_the_types_of_groups_are_written_in_order_and_read_again():
    text = open_tasks_of_worker_groups.encode({"g": frozenset(("b", "a"))})
    assert text == '{"g": ["a", "b"]}'
    assert open_tasks_of_worker_groups.decode(text) == {"g": frozenset(("a", "b"))}


@on_dynamodb_too
def test_past_its_deadline_a_task_falls_back_and_is_counted_as_shed_all_the_same(store, host):
    put(store, "ahead", head_start=3_600)
    put(store, "claimed", head_start=3_600)
    rows = store.candidates(limit=2).rows
    claim(store, "claimed")
    assert not any(store.let_fall(row) for row in rows), "it lives, or runs"
    host.advance(3_600)
    assert [store.let_fall(row) for row in rows] == [False, True]
    task = store.get("ahead")
    assert (place(task), task.head_start, task.status) == (0, 0, Status.PENDING)
    assert not store.let_fall(rows[1])
    assert measure(store, now=store.now()).shed_lately.value == 1


@on_dynamodb_too
def test_when_a_task_was_shed_last_is_told_by_the_newest_that_are_past_their_deadline(
    store, host, monkeypatch
):
    monkeypatch.setattr(statistics, "LARGEST_PAGE", 2)
    for n in range(5):
        put(store, f"t{n}", deadline=100)
        host.advance(10)
    host.advance(100)
    assert round(measure(store, now=store.now()).last_shed_seconds or 0) == 10
    sweep_note.write(store, sweep_note.Note(shed=((store.now() - SECOND, 1),)))
    assert round(measure(store, now=store.now()).last_shed_seconds or 0) == 1
    for n in range(2):
        put(store, f"waits {n}")
    assert measure(store, now=store.now()).last_shed_seconds is None, "too many wait before them"


@on_dynamodb_too
def test_what_a_later_release_wrote_into_the_look_stays_whatever_becomes_of_the_task(store, host):
    later = {"headStart": 60 * SECOND, "later": {"n": [1]}}
    item = store.new_item(NewTask(task_type="a", task_id="t", head_start=60))
    store.table.put({**item, "preview": later})
    store.retry(claim(store, "t", "one"), BOOM, delay=60)
    host.advance(60)
    store.promote("t")
    store.fail(claim(store, "t", "two"), BOOM)
    store.redrive("t")
    assert store.table.get("t")["preview"] == later
    (row,) = store.candidates(limit=2).rows
    assert (row.head_start, row.preview) == (60 * SECOND, later)
    host.advance(3_600)
    assert not store.let_fall(replace(row, preview={"headStart": 60 * SECOND})), "it is an old row"
    assert store.let_fall(row)
    assert store.table.get("t")["preview"] == {"later": {"n": [1]}}
    assert place(store.get("t")) == 60
    host.advance(1)
    assert pending(store) == []


# The history of a task's attempts


def history(store: Store) -> tuple[PastAttempt, ...]:
    return store.get("t").history


def ends(store: Store) -> list[tuple[int, Ended]]:
    return [(past.attempt, past.ended) for past in history(store)]


def test_a_task_that_succeeds_at_once_has_no_history(store):
    put(store, "t")
    store.succeed(claim(store, "t"), "1")
    assert "history" not in store.table.get("t")


def test_each_attempt_that_fails_is_kept_with_its_times_and_its_error(store, host):
    put(store, "t")
    host.advance(1)
    store.retry(claim(store, "t", "one"), BOOM, delay=0)
    lost = claim(store, "t", "two", lease=1)
    host.advance(2)
    store.reclaim(lost, max_attempts=5)
    task = claim(store, "t", "three")
    host.advance(1)
    store.fail(task, TaskError(type="KeyError", message="'x'"))
    first, third = START + SECOND, START + 3 * SECOND
    attempts = [astuple(past) for past in history(store)]
    assert attempts[0] == (1, first, first, Ended.RETRIED, "ValueError", "boom")
    assert attempts[1][:5] == (2, first, third, Ended.LEASE_EXPIRED, "LeaseExpired")
    assert attempts[2] == (3, third, third + SECOND, Ended.FAILED, "KeyError", "'x'")


def test_attempts_that_do_not_count_take_one_place_between_others(store):
    put(store, "t")
    store.retry(claim(store, "t", "first"), BOOM, delay=0)
    for n in range(12):
        busy = TaskError(type="Busy", message=f"refused {n}")
        store.retry(claim(store, "t", f"busy-{n}"), busy, delay=0, counts=False)
    store.retry(claim(store, "t", "second"), BOOM, delay=0)
    assert ends(store) == [(1, Ended.RETRIED), (2, Ended.NOT_COUNTED), (2, Ended.RETRIED)]
    assert history(store)[1].message == "refused 11"


def test_the_latest_ten_attempts_are_kept(store):
    put(store, "t")
    for n in range(12):
        store.retry(claim(store, "t", f"claim-{n}"), BOOM, delay=0)
    assert [attempt for attempt, _ in ends(store)] == list(range(3, 13))


def test_an_error_is_kept_to_200_bytes_of_whole_characters(store):
    put(store, "t")
    store.fail(claim(store, "t"), TaskError(type="T" * 9, message="ü" * 500))
    (past,) = history(store)
    assert (past.error_type, past.message) == ("T" * 9, "ü" * 95)


ENTRY = {"attempt": 1, "ended": START, "how": "FAILED", "type": "E", "message": "m"}


@pytest.mark.parametrize(
    "damaged",
    [
        "text",
        ["text"],
        [{**ENTRY, "how": 1}],
        [{**ENTRY, "attempt": "1"}],
        [{**ENTRY, "ended": 10**19}],
        [{key: value for key, value in ENTRY.items() if key != "message"}],
    ],
)
def test_a_damaged_history_is_told(store, past, damaged):
    put(store, "t")
    past.write({**store.table.get("t"), "history": damaged})
    with pytest.raises(DamagedTask, match="history"):
        store.get("t")


# Shedding at the deadline, where somebody waits to be told

TOKEN = "AAAAKgAAAAIAAAAA"  # noqa: S105 - of nobody


@pytest.fixture
def telling(store: Store, host: ManualHost) -> Store:
    """The store of a queue that answers Step Functions, and tells nobody else."""
    return Store(store.table, lifetimes=Lifetimes(task_tokens=True), host=host)


@on_dynamodb_too
def test_what_waits_for_an_answer_is_shed_at_its_deadline_however_it_came_to_wait(telling, host):
    def told(task_id: str, **terms) -> Task:
        return put(telling, task_id, **terms, task_token=task_id)

    def held(task_id: str, lease: float = 3600) -> Task:
        return claim(telling, told(task_id).task_id, task_id, lease)

    def overdue() -> set[str]:
        return set(telling.past_deadline(limit=100)[0])

    telling.retry(held("given back"), BOOM, delay=0)
    telling.retry(held("backed off"), BOOM, delay=5)
    lost = held("lost", lease=30)
    told("delayed", delay=5, deadline=3595)
    waiting = {"given back", "backed off", "lost", "delayed"}
    held("taken")
    telling.succeed(held("success"), "1")
    telling.fail(held("failure"), BOOM)
    telling.cancel(told("cancelled").task_id)
    put(telling, "untold")
    host.advance(31)
    telling.reclaim(lost, max_attempts=3)
    telling.promote("backed off")
    telling.promote("delayed")

    host.time = START + 3600 * SECOND - 1
    assert overdue() == set()
    assert not telling.shed("given back")
    host.advance(1e-3)
    assert overdue() == waiting
    assert {telling.get(task_id).task_token for task_id in waiting} == waiting
    for task_id in ("taken", "success", "failure", "cancelled", "nobody's"):
        assert not telling.shed(task_id)
    assert telling.get("taken").status is Status.TAKEN
    assert all(telling.shed(task_id) for task_id in waiting)
    assert telling.get("given back") is None
