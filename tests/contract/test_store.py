"""What the store promises workers, the sweep and operators: transitions and their conditions."""

import pytest

from lifoq.errors import (
    Cancelled,
    DamagedTask,
    LeaseLost,
    NotClaimed,
    TaskNotFound,
    WrongStatus,
)
from lifoq.items.history import Ended
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import MAX_ITEM_BYTES, Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskError
from lifoq.tables.store import Store
from lifoq.testing.hosts import START, ManualHost
from tests.conftest import on_dynamodb_too

pytestmark = on_dynamodb_too

SECOND = 1_000_000
BOOM = TaskError(type="ValueError", message="boom")


def put(store: Store, task_id: str, **terms):
    return store.put(NewTask(task_type="a", payload={"n": 1}, task_id=task_id, **terms))


def claim(store: Store, task_id: str, claim_id: str = "claim-1", lease: float = 30):
    return store.claim(task_id, claim_id=claim_id, lease=lease)


def pending(store: Store) -> list[str]:
    return [row.task_id for row in store.candidates(limit=100).rows]


# Shedding at the deadline, where somebody waits to be told


TOKEN = "AAAAKgAAAAIAAAAA"  # noqa: S105 - of nobody


def token(text: str) -> dict[str, str]:
    return {"task_token": text}


@pytest.fixture
def telling(store: Store, host: ManualHost) -> Store:
    """The store of a queue that answers Step Functions, and tells nobody else."""
    return Store(store.table, lifetimes=Lifetimes(task_tokens=True), host=host)


def overdue(store: Store) -> list[str]:
    return store.past_deadline(limit=100)[0]


def test_a_task_is_found_at_its_deadline_where_somebody_waits_to_be_told(telling, store, host):
    put(telling, "told", deadline=10, task_token=TOKEN)
    put(telling, "untold", deadline=10)
    host.advance(10 - 1e-6)
    assert overdue(telling) == []
    assert not telling.shed("told")
    host.advance(1e-6)
    assert overdue(telling) == ["told"]
    assert telling.shed("told")
    assert store.get("told") is None
    assert overdue(telling) == []
    everybody = Store(store.table, lifetimes=Lifetimes(shed_at_deadline=True), host=host)
    put(everybody, "another", deadline=10)
    host.advance(10)
    assert overdue(everybody) == ["another"]


def test_a_task_is_found_at_its_deadline_however_it_came_to_wait_again(telling, host):
    def held(task_id: str):
        put(telling, task_id, **token(task_id))
        return claim(telling, task_id, task_id)

    telling.retry(held("given back"), BOOM, delay=0)
    telling.retry(held("backed off"), BOOM, delay=5)
    lost = held("lost")
    put(telling, "delayed", delay=5, deadline=3595, **token("delayed"))
    host.advance(31)
    telling.reclaim(lost, max_attempts=3)
    telling.promote("backed off")
    telling.promote("delayed")
    host.advance(3600 - 31 - 1e-6)
    assert overdue(telling) == []
    host.advance(1e-3)
    waiting = {"given back", "backed off", "lost", "delayed"}
    assert set(overdue(telling)) == waiting
    assert {telling.get(task_id).task_token for task_id in waiting} == waiting


def test_what_does_not_wait_is_not_found_at_its_deadline_and_not_shed(telling, host):
    def put_told(task_id: str):
        put(telling, task_id, deadline=10, task_token=task_id)
        return claim(telling, task_id, task_id)

    put_told("taken")
    telling.succeed(put_told("success"), "1")
    telling.fail(put_told("failure"), BOOM)
    put(telling, "cancelled", deadline=10, task_token=TOKEN)
    telling.cancel("cancelled")
    host.advance(10)
    assert overdue(telling) == []
    for task_id in ("taken", "success", "failure", "cancelled", "nobody's"):
        assert not telling.shed(task_id)
    assert telling.get("taken").status is Status.TAKEN


def test_a_token_goes_with_the_end_that_was_told(telling, host):
    put(telling, "t", task_token=TOKEN)
    telling.fail(claim(telling, "t"), BOOM)
    assert telling.get("t").task_token == TOKEN
    assert telling.redrive("t").task_token is None
    host.advance(3600)
    assert overdue(telling) == []


# Putting


def test_a_new_task_waits_with_its_deadline(store):
    task = put(store, "t")
    assert task == store.get("t")
    assert task.status is Status.PENDING
    assert task.payload == {"n": 1}
    assert task.task_created == task.enqueued_at == task.task_updated == START
    assert task.expires_at == START + 3600 * SECOND
    assert task.ttl == START // SECOND + 3600
    assert task.attempts == 0


def test_a_delayed_task_cannot_be_claimed_until_it_is_promoted(store, host):
    task = put(store, "t", delay=60)
    assert task.status is Status.DELAYED
    assert task.due_at == task.enqueued_at == START + 60 * SECOND
    assert task.expires_at == START + (60 + 3600) * SECOND
    assert (pending(store), store.due(limit=10)[0]) == ([], [])
    assert not store.promote("t")
    with pytest.raises(NotClaimed):
        claim(store, "t")
    host.advance(60)
    assert store.due(limit=10)[0] == ["t"]
    assert store.promote("t")
    assert not store.promote("t")
    task = store.get("t")
    assert (task.status, task.due_at) == (Status.PENDING, None)


def test_a_promotion_tells_the_row_as_the_index_then_shows_it(store, host):
    put(store, "retried")
    put(store, "t", delay=60, deadline=100)
    store.retry(claim(store, "retried"), BOOM, delay=1)
    host.advance(61)
    promoted = [store.promote("retried"), store.promote("t")]
    assert [row.created for row in promoted if row] == [START, START + 60 * SECOND]
    assert tuple(promoted) == store.candidates(limit=10).rows[::-1]


# Keys


def keys(store: Store) -> dict[str, str | None]:
    return {row.task_id: row.key for row in store.candidates(limit=100).rows}


def test_a_key_is_shown_by_the_index_and_by_the_task_on_all_its_ways(store, host):
    longest = "ü" * 128
    put(store, "without")
    store.put_many([NewTask(task_type="a", task_id="a", key=longest)])
    store.put(NewTask(task_type="a", task_id="b", key="k"))
    store.put(NewTask(task_type="a", task_id="c", key="later", delay=10))
    store.succeed(claim(store, "without"), "1", [NewTask(task_type="a", task_id="d", key="up")])
    assert keys(store) == {"a": longest, "b": "k", "d": "up"}

    back = store.retry(claim(store, "a"), BOOM, delay=0)
    assert back.key == longest
    store.fail(claim(store, "b"), BOOM)
    assert store.redrive("b").key == "k"
    host.advance(10)
    promoted = store.promote("c")
    assert promoted.key == "later"
    assert keys(store) == {"a": longest, "b": "k", "c": "later", "d": "up"}
    assert claim(store, "c").key == "later"


# Claiming


def test_a_claim_brings_the_task_and_counts_the_attempt(store, host):
    put(store, "t")
    host.advance(2)
    task = claim(store, "t", "mine", lease=30)
    assert task == store.get("t")
    assert (task.status, task.attempts, task.claim_id) == (Status.TAKEN, 1, "mine")
    assert task.first_taken_at == task.taken_at == START + 2 * SECOND
    assert task.lease_expires == START + 32 * SECOND
    assert task.task_created == START
    assert pending(store) == []


def test_ttl_cannot_delete_a_task_in_flight(store, host):
    put(store, "t", deadline=5)
    task = claim(store, "t")
    assert task.expires_at == START + 5 * SECOND
    assert task.ttl > host.now() // SECOND + 5 * 365 * 86_400
    store.retry(task, BOOM, delay=0)
    assert store.get("t").ttl == START // SECOND + 5  # it waits again


@pytest.mark.parametrize("put_at", [START, START + 999_999])
@pytest.mark.parametrize(
    ("late", "claimed"), [(-SECOND, True), (-1, True), (0, False), (1, False), (SECOND, False)]
)
def test_no_claim_comes_at_or_after_the_deadline(store, host, put_at, late, claimed):
    host.time = put_at
    put(store, "t", deadline=10)
    host.time = put_at + 10 * SECOND + late
    assert store.get("t").expired(host.time) is not claimed
    assert store.count_live(cap=10).value == claimed
    assert (store.waits_since(newest=True) is not None) is claimed
    if claimed:
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


@pytest.mark.parametrize(
    ("newest_first", "first", "rest"),
    [(True, ["t3", "t2", "t1"], []), (False, ["t0"], ["t1", "t2", "t3"])],
)
def test_a_look_goes_on_though_the_oldest_die_meanwhile(store, host, *, newest_first, first, rest):
    """What can be alive may begin behind the page's last row by the time of the next page."""
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


def test_a_success_keeps_the_result_and_leaves_the_index(store, host):
    put(store, "t")
    task = claim(store, "t")
    host.advance(3)
    store.succeed(task, '{"ok":true}')
    done = store.get("t")
    assert (done.status, done.result) == (Status.SUCCESS, {"ok": True})
    assert done.finished_at == START + 3 * SECOND
    assert (done.task_created, done.lease_expires) == (None, None)
    assert done.enqueued_at == START
    assert done.ttl == START // SECOND + 3 + 7 * 86_400


def test_a_failure_stays_in_the_index_for_the_operator(store):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    task = store.get("t")
    assert (task.status, task.error) == (Status.FAILURE, BOOM)
    assert [task_id for task_id, _ in store.browse(Status.FAILURE)] == ["t"]
    assert task.ttl == START // SECOND + 14 * 86_400


def test_a_retry_waits_outside_pending_and_returns_behind_newer_tasks(store, host):
    put(store, "poison")
    task = claim(store, "poison")
    store.retry(task, BOOM, delay=5)
    waiting = store.get("poison")
    assert (waiting.status, waiting.task_created) == (Status.DELAYED, None)
    assert waiting.expires_at == START + 3600 * SECOND
    assert waiting.ttl == START // SECOND + 3600
    assert waiting.error == BOOM
    host.advance(3)
    put(store, "newer")
    host.advance(3)
    assert store.promote("poison")
    assert pending(store) == ["newer", "poison"]
    assert claim(store, "poison", "again").attempts == 2


@pytest.mark.parametrize("delay", [0, 5])
def test_a_retry_that_does_not_count_gives_the_attempt_back(store, host, delay):
    put(store, "t")
    store.retry(claim(store, "t", "first"), BOOM, delay=delay)
    if delay:
        host.advance(delay)
        store.promote("t")
    task = claim(store, "t", "second")
    for _ in range(2):  # an answer that was lost
        store.retry(task, BOOM, delay=delay, counts=False)
    assert store.get("t").attempts == 1
    if delay:
        host.advance(delay)
        store.promote("t")
    assert claim(store, "t", "third").attempts == 2


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


@pytest.mark.parametrize("settle", SETTLES.values(), ids=SETTLES)
def test_a_settle_repeated_because_its_answer_was_lost_is_recognised(store, settle):
    put(store, "t")
    task = claim(store, "t")
    settle(store, task)
    settled = store.get("t")
    settle(store, task)
    assert store.get("t") == settled


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


# Chaining


def test_of_follow_ups_that_share_an_id_the_first_counts(store):
    put(store, "parent")
    task = claim(store, "parent")
    store.succeed(
        task,
        "null",
        [
            NewTask(task_type="b", payload=1, task_id="x"),
            NewTask(task_type="b", payload=2, task_id="x"),
            NewTask(task_type="b", task_id="parent"),
        ],
    )
    assert store.get("parent").status is Status.SUCCESS
    assert store.get("x").payload == 1
    assert pending(store) == ["x"]


# The sweep's part


def lose(store: Store, host: ManualHost, claim_id: str, *, max_attempts: int = 9) -> None:
    task = claim(store, "t", claim_id, lease=1)
    host.advance(2)
    store.reclaim(task, max_attempts=max_attempts)


def suspect(store: Store) -> bool:
    (row,) = store.candidates(limit=2).rows
    return row.suspect


def test_leases_lost_in_a_row_are_counted_and_make_a_task_suspect(store, host):
    put(store, "t")
    assert not suspect(store)
    for n in range(3):
        lose(store, host, f"lost-{n}")
        assert store.get("t").leases_lost == n + 1
        assert suspect(store)
    lose(store, host, "last", max_attempts=4)
    buried = store.get("t")
    assert (buried.status, buried.leases_lost) == (Status.FAILURE, 4)
    store.redrive("t")
    assert store.get("t").leases_lost == 0
    assert not suspect(store)


def test_a_sweep_that_saw_an_earlier_claim_does_not_end_the_later_one(store, host):
    put(store, "t")
    seen = claim(store, "t", "first", lease=1)
    host.advance(2)
    store.reclaim(seen, max_attempts=9)
    claim(store, "t", "second", lease=1)
    host.advance(2)
    assert store.reclaim(seen, max_attempts=9) is None
    assert store.get("t").claim_id == "second"


@pytest.mark.parametrize("settle", SETTLES.values(), ids=SETTLES)
def test_whoever_settles_a_suspect_clears_it(store, host, settle):
    put(store, "t")
    lose(store, host, "lost")
    task = claim(store, "t", "survives")
    assert task.leases_lost == 1
    settle(store, task)
    assert store.get("t").leases_lost == 0
    assert "leasesLost" not in store.table.get("t")


# Operators


def test_a_task_that_is_over_cannot_be_cancelled(store):
    put(store, "t")
    task = claim(store, "t")
    with pytest.raises(WrongStatus, match="TAKEN"):
        store.cancel("t", running=False)
    assert store.cancel("t").status is Status.TAKEN
    store.succeed(task, "1")  # all the same
    with pytest.raises(WrongStatus, match="SUCCESS"):
        store.cancel("t")
    with pytest.raises(TaskNotFound):
        store.cancel("nobody")


def once_seen(store: Store, monkeypatch: pytest.MonkeyPatch, then) -> None:
    """Let ``then`` happen right after the next look at a task."""
    look = store.table.get

    def look_and_lose(task_id):
        item = look(task_id)
        monkeypatch.undo()
        then()
        return item

    monkeypatch.setattr(store.table, "get", look_and_lose)


def test_a_task_that_is_claimed_between_look_and_cancel_stays_claimed(store, monkeypatch):
    put(store, "t")
    once_seen(store, monkeypatch, lambda: claim(store, "t"))
    with pytest.raises(WrongStatus, match="TAKEN"):
        store.cancel("t", running=False)
    assert store.get("t").cancel_asked is None


# Cancelling what runs


def to_be_cancelled(store: Store) -> Task:
    """Claimed, and cancelled since."""
    put(store, "t")
    task = claim(store, "t")
    store.cancel("t")
    return task


@pytest.mark.parametrize("again", ["checkpoint", "fail", "retry", "retry at once", "no room"])
def test_a_cancelled_task_is_neither_tried_again_nor_failed(store, host, again):
    task = to_be_cancelled(store)
    before = store.get("t")
    with pytest.raises(Cancelled):
        HOLDS[again](store, task)
    assert store.get("t") == before
    host.advance(1)
    assert store.end_cancelled(task, BOOM) is None
    ended = store.get("t")
    assert (ended.status, ended.attempts, ended.error) == (Status.CANCELLED, 1, BOOM)
    assert ended.ttl == START // SECOND + 1 + 7 * 86_400
    assert (ended.finished_at, ended.cancel_asked) == (START + SECOND, START)
    assert (ended.task_created, ended.lease_expires) == (None, None)
    assert [(past.ended, past.message) for past in ended.history] == [(Ended.CANCELLED, "boom")]
    store.end_cancelled(task, BOOM)  # recognised, where the answer was lost
    assert store.get("t") == ended == store.cancel("t")
    assert (pending(store), store.taken(limit=10, start=None)[0]) == ([], [])


def test_what_nobody_has_cancelled_does_not_end_as_cancelled(store):
    put(store, "t")
    with pytest.raises(LeaseLost):
        store.end_cancelled(claim(store, "t"))
    assert store.get("t").status is Status.TAKEN


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


def test_a_damaged_task_that_was_cancelled_and_is_redriven_runs_again(store):
    to_be_cancelled(store)
    store.condemn("t", seen=Status.TAKEN, reason="by hand")
    assert store.redrive("t").cancel_asked is None


def test_a_redriven_task_is_the_newest_with_new_attempts_and_deadline(store, host):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    host.advance(5 * 86_400)
    put(store, "other")
    task = store.redrive("t")
    assert (task.status, task.attempts) == (Status.PENDING, 0)
    assert task.enqueued_at == START
    assert task.first_taken_at == START
    assert task.task_created == host.now() + 1  # a microsecond after `other`
    assert task.expires_at == task.task_created + 3600 * SECOND
    assert task.ttl == host.now() // SECOND + 3601  # rounded up
    assert pending(store) == ["t", "other"]
    assert task.error == BOOM  # until its next end
    with pytest.raises(WrongStatus):
        store.redrive("t")


@pytest.mark.parametrize("act", ["redrive", "cancel"])
def test_a_task_that_vanishes_between_look_and_write_is_not_found(store, past, monkeypatch, act):
    put(store, "t")
    if act == "redrive":
        store.fail(claim(store, "t"), BOOM)
    once_seen(store, monkeypatch, lambda: past.remove("t"))
    with pytest.raises(TaskNotFound):
        getattr(store, act)("t")
    assert store.get("t") is None


@pytest.mark.parametrize("seen", [Status.PENDING, Status.TAKEN])
def test_a_condemned_item_is_a_failure_with_the_reason(store, seen):
    put(store, "t")
    if seen is Status.TAKEN:
        claim(store, "t")
    assert store.condemn("t", seen=seen, reason="payload is not JSON")
    task = store.get("t")
    assert (task.status, task.error.message) == (Status.FAILURE, "payload is not JSON")
    assert (task.claim_id, task.lease_expires, task.due_at) == (None, None, None)
    assert [task_id for task_id, _ in store.browse(Status.FAILURE)] == ["t"]
    assert not store.condemn("t", seen=seen, reason="again")


@pytest.mark.parametrize("attribute", ["payload", "taskType", "blob"])
def test_of_an_item_too_large_for_the_reason_a_tombstone_is_left(store, past, attribute):
    put(store, "t")
    full = dict(store.table.get("t"))
    full.pop(attribute, None)
    room = MAX_ITEM_BYTES - 100 - sum(len(k) + len(str(v)) for k, v in full.items())
    past.write({**full, attribute: "x" * room})
    assert store.condemn("t", seen=Status.PENDING, reason="y" * 900)
    assert [task_id for task_id, _ in store.browse(Status.FAILURE)] == ["t"]
    item = store.table.get("t")
    assert "y" * 900 in item["error"]
    assert item["taskType"] == ("" if attribute == "taskType" else "a")
    with pytest.raises(DamagedTask):
        store.redrive("t")
    assert not store.condemn("t", seen=Status.PENDING, reason="again")


@pytest.mark.parametrize("meanwhile", ["gone", "taken"])
def test_an_item_too_large_for_the_reason_that_has_moved_on_is_not_buried(
    store, past, monkeypatch, meanwhile
):
    put(store, "t")
    full = dict(store.table.get("t"))
    room = MAX_ITEM_BYTES - 100 - sum(len(k) + len(str(v)) for k, v in full.items())
    large = {**full, "blob": "x" * room}
    past.write(large)
    after = None if meanwhile == "gone" else {**large, "taskStatus": "TAKEN"}
    once_seen(store, monkeypatch, lambda: past.write(after) if after else past.remove("t"))
    assert not store.condemn("t", seen=Status.PENDING, reason="y" * 900)
    assert store.table.get("t") == after
