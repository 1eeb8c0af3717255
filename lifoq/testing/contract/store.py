"""What the store promises producers, workers and the sweep, on every table."""

import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from lifoq.basics import jsontext
from lifoq.errors import (
    Cancelled,
    DamagedTask,
    InvalidInput,
    ItemTooLarge,
    LeaseLost,
    NotClaimed,
    QueueMisconfigured,
    StoreUnavailable,
    TaskNotFound,
    WrongStatus,
)
from lifoq.items.history import Ended
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.schema import MAX_ITEM_BYTES, Status
from lifoq.items.task import NewTask, Task, TaskError
from lifoq.tables.store import Store
from lifoq.tables.table import Table
from lifoq.testing.fixtures import PastTheLibrary, noise
from lifoq.testing.hosts import START, ManualHost

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
    """Of a queue that answers Step Functions, and tells nobody else."""
    return Store(store.table, lifetimes=Lifetimes(task_tokens=True), host=host)


def overdue(store: Store) -> list[str]:
    return store.past_deadline(limit=100)[0]


def test_a_task_is_found_at_its_deadline_where_somebody_waits_to_be_told(
    telling: Store, store: Store, host: ManualHost
):
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


def test_a_task_is_found_at_its_deadline_however_it_came_to_wait_again(
    telling: Store, host: ManualHost
):
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


def test_what_does_not_wait_is_not_found_at_its_deadline_and_not_shed(
    telling: Store, host: ManualHost
):
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


def test_a_token_of_a_put_that_may_be_replaced_is_refused(telling: Store):
    with pytest.raises(InvalidInput, match="leave if_exists out"):
        put(telling, "t", task_token=TOKEN, if_exists="replace")


def test_a_put_that_replaces_is_found_at_its_own_deadline(telling: Store, host: ManualHost):
    put(telling, "t", deadline=10, task_token=TOKEN)
    host.advance(5)
    put(telling, "t", deadline=10, if_exists="replace")
    assert telling.get("t").task_token is None
    host.advance(10)
    assert overdue(telling) == []
    everybody = Store(telling.table, lifetimes=Lifetimes(shed_at_deadline=True), host=host)
    put(everybody, "u", deadline=10)
    host.advance(5)
    put(everybody, "u", deadline=10, if_exists="replace")
    host.advance(9)
    assert overdue(everybody) == []
    host.advance(1)
    assert overdue(everybody) == ["u"]


def test_a_token_goes_with_the_end_that_was_told(telling: Store, host: ManualHost):
    put(telling, "t", task_token=TOKEN)
    telling.fail(claim(telling, "t"), BOOM)
    assert telling.get("t").task_token == TOKEN
    assert telling.redrive("t").task_token is None
    host.advance(3600)
    assert overdue(telling) == []


def test_a_token_that_nobody_would_answer_is_refused(store: Store):
    with pytest.raises(InvalidInput, match=r"never be answered.*TaskEvents") as refused:
        put(store, "t", task_token=TOKEN)
    assert refused.value.field == "task_token"
    assert store.get("t") is None


# Putting


def test_a_new_task_waits_with_its_deadline(store: Store):
    task = put(store, "t")
    assert task == store.get("t")
    assert task.status is Status.PENDING
    assert task.payload == {"n": 1}
    assert task.task_created == task.enqueued_at == task.task_updated == START
    assert task.expires_at == START + 3600 * SECOND
    assert task.ttl == START // SECOND + 3600
    assert task.attempts == 0


def test_a_second_put_of_an_id_returns_the_first_task_as_it_is_by_then(store: Store):
    first = put(store, "t")
    claim(store, "t")
    second = store.put(NewTask(task_type="b", payload="other", task_id="t"))
    assert (second.task_type, second.payload) == (first.task_type, first.payload)
    assert second.status is Status.TAKEN


def shed(store: Store, host: ManualHost) -> None:
    put(store, "t", deadline=10)
    host.advance(10)


def shed_while_delayed(store: Store, host: ManualHost) -> None:
    put(store, "t", delay=5, deadline=10)
    host.advance(15)


def done_and_retained(store: Store, host: ManualHost) -> None:
    put(store, "t")
    store.succeed(claim(store, "t"), "1")
    host.advance(7 * 86_400)


def failed_and_retained(store: Store, host: ManualHost) -> None:
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    host.advance(14 * 86_400)


@pytest.mark.parametrize("end", [shed, shed_while_delayed, done_and_retained, failed_and_retained])
@pytest.mark.parametrize("way", ["put", "put_many", "follow-up"])
def test_an_id_whose_task_is_gone_but_not_deleted_begins_anew(
    store: Store, host: ManualHost, end, way
):
    end(store, host)
    new = NewTask(task_type="b", payload="new", task_id="t")
    if way == "put":
        store.put(new)
    elif way == "put_many":
        (outcome,) = store.put_many([new])
        assert outcome.created
    else:
        put(store, "parent")
        store.succeed(claim(store, "parent"), "null", [new])
    task = claim(store, "t", "anew")
    assert (task.payload, task.task_type, task.attempts) == ("new", "b", 1)
    assert task.enqueued_at >= host.now()
    assert (task.result, task.error, task.due_at) == (None, None, None)


@pytest.mark.parametrize("end", [shed, done_and_retained])
def test_until_its_very_end_a_task_keeps_its_id(store: Store, host: ManualHost, end):
    end(store, host)
    host.time -= 1 if end is shed else SECOND
    first = store.get("t")
    assert store.put(NewTask(task_type="b", task_id="t")) == first


def test_a_task_in_flight_keeps_its_id_beyond_its_deadline(store: Store, host: ManualHost):
    put(store, "t", deadline=10)
    claim(store, "t")
    host.advance(11)
    assert store.put(NewTask(task_type="b", task_id="t")).status is Status.TAKEN


def lose_the_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next put is applied, and its answer lost; the client repeats it by itself."""
    write = store.table.put

    def twice(item, **terms):
        monkeypatch.undo()
        write(item, **terms)
        write(item, **terms)

    monkeypatch.setattr(store.table, "put", twice)


def test_a_put_that_begins_anew_is_recognised_when_its_answer_was_lost(
    store: Store, host: ManualHost, monkeypatch: pytest.MonkeyPatch
):
    shed(store, host)
    lose_the_answer(store, monkeypatch)
    (outcome,) = store.put_many([NewTask(task_type="b", payload="new", task_id="t")])
    assert outcome.created
    assert outcome.task == store.get("t")
    assert outcome.task.payload == "new"
    again = store.put(NewTask(task_type="c", task_id="t"))  # the caller's own repeat
    assert again == outcome.task


@pytest.mark.parametrize("delay", [0, 0.0, timedelta(0)])
def test_a_delay_of_zero_is_none(store: Store, delay):
    task = put(store, "t", delay=delay)
    assert (task.status, task.due_at, task.enqueued_at) == (Status.PENDING, None, START)
    assert claim(store, "t").status is Status.TAKEN


def test_names_of_exactly_the_permitted_length_are_taken(store: Store):
    task_id, task_type = "ü" * 512, "ü" * 128
    store.put(NewTask(task_type=task_type, task_id=task_id))
    task = claim(store, task_id)
    assert (task.task_id, task.task_type) == (task_id, task_type)
    store.succeed(task, "1")
    assert store.get(task_id).status is Status.SUCCESS


def test_a_random_id_is_drawn_where_none_is_given(store: Store):
    one, two = (store.put(NewTask(task_type="a")) for _ in range(2))
    assert one.task_id != two.task_id


def test_put_many_keeps_order_idempotence_and_outcomes_apart(store: Store):
    put(store, "old")
    progress: list[int] = []
    new = [NewTask(task_type="a", payload=n) for n in range(60)]
    new[10] = NewTask(task_type="a", payload=10, task_id="mine")
    new[20] = NewTask(task_type="a", payload="again", task_id="old")
    new[30] = NewTask(task_type="a", payload="again", task_id="mine")
    outcomes = store.put_many(new, progress.append)
    assert [n for n, outcome in enumerate(outcomes) if not outcome.created] == [20, 30]
    assert [o.task.payload for o in outcomes if o.task][:3] == [0, 1, 2]
    assert progress[-1] == 60
    assert progress == sorted(progress)
    assert len(pending(store)) == 59
    assert store.candidates(limit=1).rows[0].task_id == outcomes[59].task.task_id


class Fragile:
    """A table at which the calls that write new items fail, from one on."""

    def __init__(self, table: Table, *, fails_at: int, error: Exception, calls: int = 10**6):
        self._table = table
        self._fails = range(fails_at, fails_at + calls)
        self._error = error
        self._writes = 0

    def __getattr__(self, name: str):
        return getattr(self._table, name)

    def _write(self, method: str, *arguments, **terms):
        number, self._writes = self._writes, self._writes + 1
        if number in self._fails:
            raise self._error
        return getattr(self._table, method)(*arguments, **terms)

    def put(self, item, **terms):
        self._write("put", item, **terms)

    def put_batch(self, items):
        return self._write("put_batch", items)


@pytest.mark.parametrize(
    "error",
    [QueueMisconfigured("no longer permitted"), KeyError("what is this"), StoreUnavailable("gone")],
    ids=lambda error: type(error).__name__,
)
def test_put_many_tells_of_each_task_though_it_goes_wrong_midway(
    store: Store, host: ManualHost, error: Exception
):
    fragile = Store(Fragile(store.table, fails_at=2, error=error), host=host)
    outcomes = fragile.put_many([NewTask(task_type="a", payload=n) for n in range(110)])
    assert [o.task.payload for o in outcomes[:50] if o.task and o.created] == list(range(50))
    assert [(o.task, o.created, o.error) for o in outcomes[50:]] == [(None, False, error)] * 60
    assert len(pending(store)) == 50


def test_put_many_that_goes_wrong_within_a_batch_keeps_what_was_written_of_it(
    store: Store, host: ManualHost
):
    class LeavesHalf(Fragile):
        def put_batch(self, items):
            return [*super().put_batch(items[:12]), *items[12:]]

    error = QueueMisconfigured("no longer permitted")
    fragile = Store(LeavesHalf(store.table, fails_at=4, error=error), host=host)
    outcomes = fragile.put_many([NewTask(task_type="a", payload=n) for n in range(25)])
    assert [o.created for o in outcomes] == [True] * 15 + [False] * 10
    assert {o.error for o in outcomes[15:]} == {error}
    assert len(pending(store)) == 15


def test_put_many_raises_only_where_nothing_was_written(store: Store, host: ManualHost):
    refusing = Fragile(store.table, fails_at=0, error=QueueMisconfigured("not permitted"))
    with pytest.raises(QueueMisconfigured):
        Store(refusing, host=host).put_many([NewTask(task_type="a")] * 30)
    odd = Fragile(store.table, fails_at=0, error=KeyError("perhaps it was"))
    outcomes = Store(odd, host=host).put_many([NewTask(task_type="a")] * 30)
    assert {type(o.error) for o in outcomes} == {KeyError}
    assert pending(store) == []


def test_put_many_goes_on_behind_a_batch_that_was_not_confirmed(store: Store, host: ManualHost):
    fails = Fragile(store.table, fails_at=1, calls=26, error=StoreUnavailable("for a moment"))
    outcomes = Store(fails, host=host).put_many([NewTask(task_type="a")] * 75)
    assert [o.created for o in outcomes] == [True] * 25 + [False] * 25 + [True] * 25


def test_put_many_tells_new_tasks_from_old_ones_though_answers_are_lost(
    store: Store, host: ManualHost
):
    class LosesAnswers(Fragile):
        """Writes are applied, and not confirmed at first; a worker is quick to claim them."""

        def put(self, item, **terms):
            super().put(item, **terms)
            self._table.put(
                item, **terms
            )  # as a client does that repeats the call: ConditionFailed

        def put_batch(self, items):
            self._table.put_batch(items)
            claim(store, str(items[0]["taskId"]))
            raise StoreUnavailable("applied, but the answer is lost")

    put(store, "old")
    host.advance(1)
    new = [NewTask(task_type="a"), NewTask(task_type="a"), NewTask(task_type="a", task_id="mine")]
    loses = Store(LosesAnswers(store.table, fails_at=10**6, error=KeyError()), host=host)
    outcomes = loses.put_many([*new, NewTask(task_type="a", task_id="old")])
    assert [o.created for o in outcomes] == [True, True, True, False]
    assert [o.task.status for o in outcomes if o.task][:2] == [Status.TAKEN, Status.PENDING]
    assert [o.error for o in outcomes] == [None] * 4


def test_put_many_tells_that_an_id_is_in_use_by_what_is_no_task(store: Store):
    store.table.put_batch([{"taskId": "odd", "taskStatus": "PENDING"}])
    outcomes = store.put_many([NewTask(task_type="a", task_id=i) for i in ("odd", "mine")])
    assert isinstance(outcomes[0].error, DamagedTask)
    assert outcomes[1].created


@pytest.mark.parametrize("tasks", [[1], ["a"], [None], [{"task_type": "a"}]])
def test_put_many_takes_new_tasks_alone(store: Store, tasks):
    with pytest.raises(InvalidInput, match=r"tasks\[1\]=.*is no NewTask; give NewTask"):
        store.put_many([NewTask(task_type="a"), *tasks])
    assert pending(store) == []


def test_put_many_writes_nothing_where_one_task_is_refused(store: Store):
    with pytest.raises(InvalidInput, match=r"tasks\[1\]\.payload"):
        store.put_many([NewTask(task_type="a"), NewTask(task_type="a", payload={1, 2})])
    assert pending(store) == []


def test_a_delayed_task_cannot_be_claimed_until_it_is_promoted(store: Store, host: ManualHost):
    task = put(store, "t", delay=60)
    assert task.status is Status.DELAYED
    assert task.due_at == task.enqueued_at == START + 60 * SECOND
    assert task.expires_at == START + (60 + 3600) * SECOND
    assert pending(store) == []
    assert store.due(limit=10)[0] == []
    with pytest.raises(NotClaimed):
        claim(store, "t")
    host.advance(60)
    assert store.due(limit=10)[0] == ["t"]
    assert store.promote("t")
    task = store.get("t")
    assert (task.status, task.due_at) == (Status.PENDING, None)


def test_a_due_task_enters_at_its_due_time_in_the_lifo_order(store: Store, host: ManualHost):
    put(store, "delayed", due_at=datetime.fromtimestamp(START / 1e6 + 10, UTC))
    host.advance(5)
    put(store, "before")
    host.advance(10)
    put(store, "after")
    store.promote("delayed")
    assert pending(store) == ["after", "delayed", "before"]


def test_a_promotion_tells_the_row_as_the_index_then_shows_it(store: Store, host: ManualHost):
    put(store, "retried")
    put(store, "t", delay=60, deadline=100)
    store.retry(claim(store, "retried"), BOOM, delay=1)
    host.advance(61)
    promoted = [store.promote("retried"), store.promote("t")]
    assert [row.created for row in promoted if row] == [START, START + 60 * SECOND]
    assert tuple(promoted) == store.candidates(limit=10).rows[::-1]


def test_a_promotion_comes_not_before_time_and_only_once(store: Store, host: ManualHost):
    put(store, "t", delay=60)
    assert not store.promote("t")
    host.advance(61)
    assert store.promote("t")
    assert not store.promote("t")
    assert not store.promote("nobody")


# Keys


def keys(store: Store) -> dict[str, str | None]:
    return {row.task_id: row.key for row in store.candidates(limit=100).rows}


def test_a_key_is_shown_by_the_index_and_by_the_task_on_all_its_ways(
    store: Store, host: ManualHost
):
    longest = "ü" * 128
    put(store, "without")
    store.put_many([NewTask(task_type="a", task_id="a", key=longest)])
    store.put(NewTask(task_type="a", task_id="b", key="k"))
    store.put(NewTask(task_type="a", task_id="c", key="later", delay=10))
    store.succeed(claim(store, "without"), "1", [NewTask(task_type="a", task_id="d", key="up")])
    assert keys(store) == {"a": longest, "b": "k", "d": "up"}

    back = store.retry(claim(store, "a"), BOOM, delay=0)
    assert back is not None
    assert back.key == longest
    store.fail(claim(store, "b"), BOOM)
    assert store.redrive("b").key == "k"
    host.advance(10)
    promoted = store.promote("c")
    assert promoted is not None
    assert promoted.key == "later"
    assert keys(store) == {"a": longest, "b": "k", "c": "later", "d": "up"}
    assert claim(store, "c").key == "later"


def test_a_key_that_is_no_string_is_damage(store: Store, past: PastTheLibrary):
    past.write({**store.new_item(NewTask(task_type="a", task_id="t")), "taskKey": 7})
    (row,) = store.candidates(limit=1).rows
    assert row.damage == "taskKey is not a string"


# Claiming


def test_the_newest_task_comes_first(store: Store):
    for n in range(5):
        put(store, f"t{n}")
    assert pending(store) == ["t4", "t3", "t2", "t1", "t0"]


def test_a_claim_brings_the_task_and_counts_the_attempt(store: Store, host: ManualHost):
    put(store, "t")
    host.advance(2)
    task = claim(store, "t", "mine", lease=30)
    assert task == store.get("t")
    assert (task.status, task.attempts, task.claim_id) == (Status.TAKEN, 1, "mine")
    assert task.first_taken_at == task.taken_at == START + 2 * SECOND
    assert task.lease_expires == START + 32 * SECOND
    assert task.task_created == START
    assert pending(store) == []


def test_ttl_cannot_delete_a_task_in_flight(store: Store, host: ManualHost):
    put(store, "t", deadline=5)
    task = claim(store, "t")
    assert task.expires_at == START + 5 * SECOND
    assert task.ttl > host.now() // SECOND + 5 * 365 * 86_400


def test_a_task_is_claimed_once(store: Store):
    put(store, "t")
    claim(store, "t", "first")
    with pytest.raises(NotClaimed):
        claim(store, "t", "second")
    assert store.get("t").claim_id == "first"


def test_a_claim_repeated_under_its_own_id_is_recognised(store: Store):
    put(store, "t")
    first = claim(store, "t", "mine")
    again = claim(store, "t", "mine")
    assert again == first
    assert store.get("t").attempts == 1


@pytest.mark.parametrize("put_at", [START, START + 999_999])
@pytest.mark.parametrize(
    ("late", "claimed"), [(-SECOND, True), (-1, True), (0, False), (1, False), (SECOND, False)]
)
def test_no_claim_comes_at_or_after_the_deadline(
    store: Store, host: ManualHost, put_at, late, claimed
):
    host.time = put_at
    put(store, "t", deadline=10)
    host.time = put_at + 10 * SECOND + late
    assert store.get("t").expired(host.time) is not claimed
    assert store.count_live(cap=10).value == claimed
    assert (store.end_of_line(newest=True) is not None) is claimed
    if claimed:
        assert claim(store, "t").status is Status.TAKEN
    else:
        with pytest.raises(NotClaimed):
            claim(store, "t")
        assert store.get("t").status is Status.PENDING


def test_a_mountain_of_expired_tasks_is_not_even_looked_at(store: Store, host: ManualHost):
    for n in range(12):
        put(store, f"old{n}")
    host.advance(3601)
    put(store, "new")
    page = store.candidates(limit=2)
    assert [row.task_id for row in page.rows] == ["new"]
    assert page.next is None


def test_behind_its_first_page_a_look_is_sent_all_but_the_expired(store: Store, host: ManualHost):
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


def test_a_look_from_the_oldest_end_goes_through_the_same_tasks(store: Store, host: ManualHost):
    for n in range(3):
        put(store, f"old{n}")
    host.advance(3602)
    for n in range(5):
        put(store, f"new{n}")
    found, start = [], None
    while True:
        page = store.candidates(limit=2, start=start, newest_first=False)
        found += [(row.task_id, row.created) for row in page.rows]
        start = page.next
        if start is None:
            break
    assert found == [(f"new{n}", store.get(f"new{n}").task_created) for n in range(5)]


@pytest.mark.parametrize(
    ("newest_first", "first", "rest"),
    [(True, ["t3", "t2", "t1"], []), (False, ["t0"], ["t1", "t2", "t3"])],
)
def test_a_look_goes_on_though_the_oldest_die_meanwhile(
    store: Store, host: ManualHost, *, newest_first: bool, first: list[str], rest: list[str]
):
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


def test_every_live_task_is_within_the_bound(store: Store, host: ManualHost):
    host.time = START + 999_999  # the last microsecond of a second
    put(store, "t")
    host.time += 3600 * SECOND - 1  # the last before expiry
    assert pending(store) == ["t"]
    assert claim(store, "t").status is Status.TAKEN


# Settling


def test_a_success_keeps_the_result_and_leaves_the_index(store: Store, host: ManualHost):
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


def test_a_failure_stays_in_the_index_for_the_operator(store: Store):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    task = store.get("t")
    assert (task.status, task.error) == (Status.FAILURE, BOOM)
    assert [task_id for task_id, _ in store.browse(Status.FAILURE)] == ["t"]
    assert task.ttl == START // SECOND + 14 * 86_400


def test_a_retry_waits_outside_pending_and_returns_behind_newer_tasks(
    store: Store, host: ManualHost
):
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


def test_an_immediate_retry_goes_straight_back(store: Store, host: ManualHost):
    put(store, "t")
    host.advance(2)
    store.retry(claim(store, "t"), BOOM, delay=0)
    task = store.get("t")
    assert (task.status, task.task_created) == (Status.PENDING, START)
    assert task.ttl == task.expires_at // SECOND


@pytest.mark.parametrize("delay", [0, 5])
def test_a_retry_that_does_not_count_gives_the_attempt_back(store: Store, host: ManualHost, delay):
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


def test_an_uncounted_retry_of_a_stale_holder_changes_nothing(store: Store, host: ManualHost):
    put(store, "t")
    stale = claim(store, "t", "stale", lease=1)
    host.advance(2)
    store.reclaim(stale, max_attempts=5)
    with pytest.raises(LeaseLost):
        store.retry(stale, BOOM, delay=0, counts=False)
    assert store.get("t").attempts == 1


SETTLES = {
    "succeed": lambda store, task: store.succeed(task, "1"),
    "succeed with follow-ups": lambda store, task: store.succeed(
        task, "1", [NewTask(task_type="next", task_id="next")]
    ),
    "fail": lambda store, task: store.fail(task, BOOM),
    "retry": lambda store, task: store.retry(task, BOOM, delay=5),
    "retry at once": lambda store, task: store.retry(task, BOOM, delay=0),
}


@pytest.mark.parametrize("settle", SETTLES.values(), ids=SETTLES)
def test_a_settle_repeated_because_its_answer_was_lost_is_recognised(store: Store, settle):
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
def test_a_stale_holder_changes_nothing(store: Store, host: ManualHost, act, claimed_again):
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


def test_a_heartbeat_moves_the_lease(store: Store, host: ManualHost):
    put(store, "t")
    task = claim(store, "t", lease=30)
    host.advance(20)
    store.extend(task, lease=30)
    assert store.get("t").lease_expires == START + 50 * SECOND


def test_a_heartbeat_that_is_applied_late_does_not_shorten_the_lease(
    store: Store, host: ManualHost
):
    put(store, "t")
    task = claim(store, "t", lease=30)
    host.advance(20)
    store.extend(task, lease=30)
    host.advance(-10)
    store.extend(task, lease=30)
    store.checkpoint(task, {"page": 1}, lease=30)
    assert store.get("t").lease_expires == START + 50 * SECOND
    assert store.get("t").checkpoint == {"page": 1}


def test_a_checkpoint_is_handed_to_the_next_attempt(store: Store, host: ManualHost):
    put(store, "t")
    task = claim(store, "t", lease=30)
    assert task.checkpoint is None
    host.advance(20)
    store.checkpoint(task, {"page": 3}, lease=30)
    assert store.get("t").lease_expires == START + 50 * SECOND
    store.retry(task, BOOM, delay=0)
    assert claim(store, "t", "second").checkpoint == {"page": 3}


# Chaining


def test_follow_ups_come_with_their_parents_success(store: Store):
    put(store, "parent")
    task = claim(store, "parent")
    store.succeed(
        task,
        "null",
        [NewTask(task_type="b", payload=1), NewTask(task_type="c", task_id="c", delay=5)],
    )
    assert store.get("parent").status is Status.SUCCESS
    assert [store.get(task_id).task_type for task_id in pending(store)] == ["b"]
    assert store.get("c").status is Status.DELAYED


def test_a_follow_up_that_is_there_already_is_not_put_twice(store: Store):
    existing = put(store, "c")
    put(store, "parent")
    task = claim(store, "parent")
    store.succeed(task, "null", [NewTask(task_type="b"), NewTask(task_type="x", task_id="c")])
    assert store.get("parent").status is Status.SUCCESS
    assert store.get("c") == existing
    assert len(pending(store)) == 2


def test_of_follow_ups_that_share_an_id_the_first_counts(store: Store):
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


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER_TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


def test_a_task_stays_in_its_trace_whatever_happens_to_it(store: Store, host: ManualHost):
    put(store, "t", traceparent=TRACE)
    store.retry(claim(store, "t"), BOOM, delay=5)
    host.advance(5)
    store.promote("t")
    store.fail(claim(store, "t", "second"), BOOM)
    store.redrive("t")
    assert claim(store, "t", "third").traceparent == TRACE


def test_a_newer_put_brings_its_own_trace_and_a_task_without_has_no_attribute(store: Store):
    put(store, "t", traceparent=TRACE)
    assert store.table.get("t")["traceparent"] == TRACE
    put(store, "t", if_exists="replace")
    assert "traceparent" not in store.table.get("t")


def test_follow_ups_are_in_the_trace_of_their_parent_unless_they_name_their_own(store: Store):
    put(store, "parent", traceparent=TRACE)
    follow_ups = [
        NewTask(task_type="b", task_id="heir"),
        NewTask(task_type="b", task_id="own", traceparent=OTHER_TRACE),
    ]
    store.succeed(claim(store, "parent"), "null", follow_ups)
    assert store.get("heir").traceparent == TRACE
    assert store.get("own").traceparent == OTHER_TRACE


@pytest.mark.parametrize(
    "wrong",
    ["", 7, TRACE.upper(), TRACE + "-00", "ff" + TRACE[2:], TRACE[:3] + 32 * "0" + TRACE[35:]],
)
def test_what_is_no_traceparent_is_refused_with_an_example(store: Store, wrong):
    with pytest.raises(InvalidInput, match=f"is no W3C traceparent, such as {TRACE}") as refused:
        put(store, "t", traceparent=wrong)
    assert refused.value.field == "traceparent"
    assert store.get("t") is None


def test_a_bad_follow_up_is_refused_before_anything_is_written(store: Store):
    put(store, "parent")
    task = claim(store, "parent")
    with pytest.raises(InvalidInput, match="task_type"):
        store.succeed(task, "null", [NewTask(task_type="b"), NewTask(task_type="")])
    assert store.get("parent").status is Status.TAKEN
    assert pending(store) == []


@pytest.mark.parametrize(
    ("follow_up", "sentence"),
    [
        ("x", r"follow_ups\[1\]='x': is no NewTask"),
        (NewTask(task_type="b", delay=10**400), r"follow_ups\[1\]\.delay=1000"),
        (NewTask(task_type="b", payload=object()), r"follow_ups\[1\]\.payload"),
    ],
)
def test_a_follow_up_that_is_none_is_named(store: Store, follow_up, sentence):
    put(store, "parent")
    task = claim(store, "parent")
    with pytest.raises(InvalidInput, match=sentence):
        store.succeed(task, "null", [NewTask(task_type="b"), follow_up])
    assert store.get("parent").status is Status.TAKEN
    assert pending(store) == []


@pytest.mark.parametrize(
    ("result", "follow_ups"),
    [('"' + "x" * 409_700 + '"', [1]), ("1", [380_000] * 14)],
    ids=["an oversized success", "4 MB of follow-ups"],
)
def test_a_success_that_finds_no_room_leaves_the_task_to_its_holder(
    store: Store, result, follow_ups
):
    put(store, "parent")
    task = claim(store, "parent")
    new = [NewTask(task_type="b", payload=noise(size)) for size in follow_ups]
    with pytest.raises(ItemTooLarge):
        store.succeed(task, result, new)
    assert pending(store) == []
    store.fail(task, BOOM)
    assert store.get("parent").status is Status.FAILURE


def test_a_transaction_refused_twice_still_ends(store: Store):
    # Not a loop without end: a round drops the follow-ups that were found in place.
    put(store, "parent")
    task = claim(store, "parent")
    follow_ups = [NewTask(task_type="b", task_id=f"f{n}") for n in range(5)]
    for new in follow_ups:
        store.put(new)
    store.succeed(task, "null", follow_ups)
    assert store.get("parent").status is Status.SUCCESS


# The sweep's part


def test_due_tasks_are_seen_page_by_page(store: Store, host: ManualHost):
    for n in range(5):
        put(store, f"t{n}", delay=n + 1)
    host.advance(5)
    seen, start = [], None
    while True:
        ids, start = store.due(limit=2, start=start)
        seen += ids
        if start is None:
            break
    assert seen == [f"t{n}" for n in range(5)]


def test_an_expired_lease_brings_the_task_back_where_it_was(store: Store, host: ManualHost):
    put(store, "t")
    host.advance(1)
    put(store, "newer")
    task = claim(store, "t", lease=10)
    host.advance(11)
    assert store.reclaim(task, max_attempts=5) is Status.PENDING
    back = store.get("t")
    assert (back.status, back.claim_id, back.lease_expires) == (Status.PENDING, None, None)
    assert back.ttl == back.expires_at // SECOND
    assert back.error.type == "LeaseExpired"
    assert pending(store) == ["newer", "t"]


def test_an_expired_lease_after_the_last_attempt_is_a_failure(store: Store, host: ManualHost):
    put(store, "t")
    task = claim(store, "t", lease=10)
    host.advance(11)
    assert store.reclaim(task, max_attempts=1) is Status.FAILURE
    assert store.get("t").error.type == "LeaseExpired"


def lose(store: Store, host: ManualHost, claim_id: str, *, max_attempts: int = 9) -> None:
    task = claim(store, "t", claim_id, lease=1)
    host.advance(2)
    store.reclaim(task, max_attempts=max_attempts)


def suspect(store: Store) -> bool:
    (row,) = store.candidates(limit=2).rows
    return row.suspect


def test_leases_lost_in_a_row_are_counted_and_make_a_task_suspect(store: Store, host: ManualHost):
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


@pytest.mark.parametrize("settle", SETTLES.values(), ids=SETTLES)
def test_whoever_settles_a_suspect_clears_it(store: Store, host: ManualHost, settle):
    put(store, "t")
    lose(store, host, "lost")
    task = claim(store, "t", "survives")
    assert task.leases_lost == 1
    settle(store, task)
    assert store.get("t").leases_lost == 0
    assert "leasesLost" not in store.table.get("t")


def test_a_lease_that_still_holds_is_left_alone(store: Store, host: ManualHost):
    put(store, "t")
    task = claim(store, "t", lease=10)
    host.advance(10)
    assert store.reclaim(task, max_attempts=5) is None
    assert store.get("t").status is Status.TAKEN


def test_a_heartbeat_between_look_and_reclaim_keeps_the_claim(store: Store, host: ManualHost):
    put(store, "t")
    seen = claim(store, "t", lease=10)
    host.advance(11)
    store.extend(seen, lease=10)
    assert store.reclaim(seen, max_attempts=5) is None
    assert store.get("t").claim_id == "claim-1"


def test_a_reclaim_of_an_older_claim_leaves_the_newer_alone(store: Store, host: ManualHost):
    put(store, "t")
    old = claim(store, "t", "old", lease=10)
    host.advance(11)
    store.reclaim(old, max_attempts=5)
    claim(store, "t", "new", lease=1)
    host.advance(2)
    assert store.reclaim(old, max_attempts=5) is None
    assert store.get("t").claim_id == "new"


def test_what_is_taken_is_seen_page_by_page(store: Store):
    for n in range(5):
        put(store, f"t{n}")
        claim(store, f"t{n}", f"claim-{n}")
    seen, start = [], None
    while True:
        items, start = store.taken(limit=2, start=start)
        seen += [item["taskId"] for item in items]
        if start is None:
            break
    assert sorted(seen) == [f"t{n}" for n in range(5)]


# Operators


@pytest.mark.parametrize("delay", [None, 60])
def test_a_waiting_task_can_be_cancelled(store: Store, delay):
    put(store, "t", delay=delay)
    task = store.cancel("t")
    assert task.status is Status.CANCELLED
    assert (task.task_created, task.due_at) == (None, None)
    assert pending(store) == []
    assert store.due(limit=10)[0] == []
    assert store.cancel("t") == task  # once more changes nothing


def test_a_task_that_is_over_cannot_be_cancelled(store: Store):
    put(store, "t")
    task = claim(store, "t")
    with pytest.raises(WrongStatus, match="TAKEN"):
        store.cancel("t", running=False)
    store.succeed(task, "1")
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


def test_a_task_that_is_claimed_between_look_and_cancel_stays_claimed(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
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


def test_a_task_that_runs_stays_taken_until_its_worker_has_heard_that_it_is_cancelled(
    store: Store, host: ManualHost
):
    put(store, "t")
    task = claim(store, "t")
    host.advance(1)
    told = store.cancel("t")
    assert (told.status, told.cancel_asked) == (Status.TAKEN, START + SECOND)
    assert (told.claim_id, told.lease_expires) == (task.claim_id, task.lease_expires)
    host.advance(1)
    assert store.cancel("t") == told == store.get("t")  # once more changes nothing


def test_a_heartbeat_of_a_cancelled_task_says_so_and_holds_it_all_the_same(
    store: Store, host: ManualHost
):
    task = to_be_cancelled(store)
    host.advance(20)
    with pytest.raises(Cancelled, match="'t' was cancelled while it ran"):
        store.extend(task, lease=30)
    assert store.get("t").lease_expires == START + 50 * SECOND
    host.advance(10)
    store.extend(task, lease=30, cancelled=True)
    assert store.get("t").lease_expires == START + 60 * SECOND


def test_a_cancelled_task_keeps_no_checkpoint(store: Store):
    task = to_be_cancelled(store)
    before = store.get("t")
    with pytest.raises(Cancelled):
        store.checkpoint(task, "half", lease=30)
    assert store.get("t") == before


AGAIN: dict[str, Callable[[Store, Task], object]] = {
    "failure": lambda store, task: store.fail(task, BOOM),
    "a delayed retry": lambda store, task: store.retry(task, BOOM, delay=5),
    "an immediate retry": lambda store, task: store.retry(task, BOOM, delay=0),
    "no room": lambda store, task: store.retry(task, BOOM, delay=0, counts=False),
}


@pytest.mark.parametrize("again", AGAIN.values(), ids=AGAIN)
def test_a_cancelled_task_is_neither_tried_again_nor_failed(store: Store, host: ManualHost, again):
    task = to_be_cancelled(store)
    before = store.get("t")
    with pytest.raises(Cancelled):
        again(store, task)
    assert store.get("t") == before
    host.advance(1)
    assert store.end_cancelled(task, BOOM) is None
    ended = store.get("t")
    assert (ended.status, ended.attempts, ended.error) == (Status.CANCELLED, 1, BOOM)
    assert (ended.finished_at, ended.cancel_asked) == (START + SECOND, START)
    assert (ended.task_created, ended.lease_expires) == (None, None)
    assert [(past.ended, past.message) for past in ended.history] == [(Ended.CANCELLED, "boom")]
    store.end_cancelled(task, BOOM)  # recognised, where the answer was lost
    assert store.get("t") == ended == store.cancel("t")
    assert (pending(store), store.taken(limit=10, start=None)[0]) == ([], [])


def test_a_cancelled_task_whose_work_was_done_by_then_has_succeeded(store: Store):
    task = to_be_cancelled(store)
    store.succeed(task, "1")
    ended = store.get("t")
    assert (ended.status, ended.result, ended.cancel_asked) == (Status.SUCCESS, 1, START)
    with pytest.raises(WrongStatus, match="SUCCESS"):
        store.cancel("t")


def test_what_nobody_has_cancelled_does_not_end_as_cancelled(store: Store):
    put(store, "t")
    with pytest.raises(LeaseLost):
        store.end_cancelled(claim(store, "t"))
    assert store.get("t").status is Status.TAKEN


@pytest.mark.parametrize("seen_before", [True, False])
@pytest.mark.parametrize("max_attempts", [1, 5])
def test_a_cancelled_task_whose_worker_is_lost_ends_as_cancelled(
    store: Store, host: ManualHost, max_attempts, seen_before
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


@pytest.mark.parametrize(
    "end", [lambda s, t: s.succeed(t, "1"), lambda s, t: s.fail(t, BOOM)], ids=["success", "fail"]
)
def test_an_end_between_look_and_cancel_comes_first(
    store: Store, monkeypatch: pytest.MonkeyPatch, end
):
    put(store, "t")
    task = claim(store, "t")
    once_seen(store, monkeypatch, lambda: end(store, task))
    with pytest.raises(WrongStatus, match=r"SUCCESS|FAILURE"):
        store.cancel("t")
    assert store.get("t").cancel_asked is None


def test_a_retry_between_look_and_cancel_is_cancelled_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    put(store, "t")
    task = claim(store, "t")
    once_seen(store, monkeypatch, lambda: store.retry(task, BOOM, delay=5))
    assert store.cancel("t").status is Status.CANCELLED


def test_a_damaged_task_that_was_cancelled_and_is_redriven_runs_again(store: Store):
    to_be_cancelled(store)
    store.condemn("t", seen=Status.TAKEN, reason="by hand")
    assert store.redrive("t").cancel_asked is None


def test_a_failure_that_another_operator_redrives_first_is_redriven_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)

    def another():
        store.redrive("t")
        claim(store, "t", "theirs")

    once_seen(store, monkeypatch, another)
    with pytest.raises(WrongStatus, match="TAKEN"):
        store.redrive("t")
    assert store.get("t").claim_id == "theirs"


def test_a_redriven_task_is_the_newest_with_new_attempts_and_deadline(
    store: Store, host: ManualHost
):
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
    with pytest.raises(WrongStatus):
        store.redrive("t")


def test_a_redriven_task_keeps_its_error_until_its_next_end(store: Store):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    assert store.redrive("t").error == BOOM
    task = claim(store, "t", "again")
    assert task.error == BOOM
    store.succeed(task, "1")
    assert store.get("t").error is None


@pytest.mark.parametrize("act", ["redrive", "cancel"])
def test_a_task_that_vanishes_between_look_and_write_is_not_found(
    store: Store, past: PastTheLibrary, monkeypatch: pytest.MonkeyPatch, act: str
):
    put(store, "t")
    if act == "redrive":
        store.fail(claim(store, "t"), BOOM)
    once_seen(store, monkeypatch, lambda: past.remove("t"))
    with pytest.raises(TaskNotFound):
        getattr(store, act)("t")
    assert store.get("t") is None


@pytest.mark.parametrize("delay", [0, 5])
def test_a_redriven_task_that_fails_again_stays_within_reach(store: Store, host: ManualHost, delay):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    host.advance(5 * 86_400)
    store.redrive("t")
    store.retry(claim(store, "t", "again"), BOOM, delay=delay)
    host.advance(10)
    if delay:
        store.promote("t")
    assert pending(store) == ["t"]


def test_a_redriven_task_whose_worker_is_lost_stays_within_reach(store: Store, host: ManualHost):
    put(store, "t")
    store.fail(claim(store, "t"), BOOM)
    host.advance(5 * 86_400)
    store.redrive("t")
    task = claim(store, "t", "again", lease=1)
    host.advance(10)
    store.reclaim(task, max_attempts=5)
    assert pending(store) == ["t"]


@pytest.mark.parametrize("seen", [Status.PENDING, Status.TAKEN])
def test_a_condemned_item_is_a_failure_with_the_reason(store: Store, seen):
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
def test_of_an_item_too_large_for_the_reason_a_tombstone_is_left(
    store: Store, past: PastTheLibrary, attribute
):
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
    store: Store, past: PastTheLibrary, monkeypatch: pytest.MonkeyPatch, meanwhile
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


@pytest.mark.parametrize("delay", [0, 5])
def test_a_task_that_waits_for_its_next_attempt_has_no_lease(store: Store, delay):
    put(store, "t")
    store.retry(claim(store, "t"), BOOM, delay=delay)
    assert store.get("t").lease_expires is None


def test_a_checkpoint_is_measured_beside_the_payload_as_it_stands(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    payload = "ü" * 100_000
    store.put(NewTask(task_type="a", payload=payload, task_id="t"))
    task = claim(store, "t")
    encoded = []
    encode = jsontext.encode

    def watched(value, field):
        encoded.append(field)
        return encode(value, field)

    monkeypatch.setattr(jsontext, "encode", watched)
    room = 400 * 1024 - 8 * 1024 - 5 * 1024 - 200_002  # item, error, history and the rest, payload
    store.checkpoint(task, "x" * (room - 2), lease=30)
    with pytest.raises(InvalidInput, match=f"there is room for {room:,}"):
        store.checkpoint(task, "x" * (room - 1), lease=30)
    assert encoded == ["checkpoint", "checkpoint"]


# Long texts

LONG = {"readings": [{"sensor": f"temp-{n}", "value": n / 8} for n in range(200)]}


def test_long_texts_are_stored_compressed_and_read_back_as_they_were(store: Store):
    store.put(NewTask(task_type="a", payload=LONG, task_id="t"))
    task = claim(store, "t")
    store.checkpoint(task, [LONG, 1], lease=30)
    assert (task.payload, task.payload_bytes) == (LONG, len(jsontext.encode(LONG, "payload")))
    store.succeed(task, jsontext.encode([LONG, 2], "result"))
    item = store.table.get("t")
    for name in ("payload", "checkpoint", "result"):
        assert isinstance(item[name], bytes)
        assert len(item[name]) < task.payload_bytes / 4
    (done,) = store.read(["t"])
    assert done == store.get("t")
    assert (done.payload, done.checkpoint, done.result) == (LONG, [LONG, 1], [LONG, 2])


def test_a_long_text_that_was_stored_as_it_is_can_be_read(store: Store, past: PastTheLibrary):
    put(store, "t")
    past.write({**store.table.get("t"), "payload": jsontext.encode(LONG, "payload")})
    assert claim(store, "t").payload == LONG


@pytest.mark.parametrize(
    "damaged",
    [b"no zlib", zlib.compress(b"{}" * 999)[:-5], zlib.compress(b'"\xff"'), zlib.compress(b"{")],
)
def test_bytes_that_are_no_text_are_told(store: Store, past: PastTheLibrary, damaged):
    put(store, "t")
    past.write({**store.table.get("t"), "payload": damaged})
    with pytest.raises(DamagedTask, match="payload"):
        store.get("t")


def test_a_few_bytes_that_would_fill_the_memory_are_not_unpacked(
    store: Store, past: PastTheLibrary
):
    put(store, "t")
    past.write({**store.table.get("t"), "payload": zlib.compress(b" " * 50_000_000 + b"1")})
    with pytest.raises(DamagedTask, match="more than 409,600 bytes"):
        store.get("t")


# The door

PAST = datetime.fromtimestamp(START / 1e6, UTC) - timedelta(seconds=1)
REFUSED = {
    "an empty type": ({"task_type": ""}, "task_type"),
    "a type that is no string": ({"task_type": 7}, "task_type"),
    "an over-long type": ({"task_type": "x" * 257}, "257 bytes long, the limit is 256"),
    "an empty key": ({"key": ""}, "key=''"),
    "a task key that is no string": ({"key": 7}, "key=7"),
    "an over-long key": ({"key": "ü" * 129}, "258 bytes long, the limit is 256"),
    "a key of half a pair": ({"key": "\ud800"}, "half a surrogate pair"),
    "an empty id": ({"task_id": ""}, "task_id"),
    "an id that is no string": ({"task_id": 7}, "task_id"),
    "an over-long id": ({"task_id": "ü" * 513}, "1,026 bytes long, the limit is 1,024"),
    "an id of half a pair": ({"task_id": "\ud800"}, "half a surrogate pair"),
    "a payload that is not JSON": ({"payload": {"a": [object()]}}, r"payload\.a\[0\].*object"),
    "bytes": ({"payload": b"x"}, "bytes is not JSON"),
    "NaN": ({"payload": [1, float("nan")]}, r"payload\[1\]=nan"),
    "infinity": ({"payload": {"x": float("inf")}}, r"payload\.x=inf"),
    "a key that is no string": ({"payload": {1: "a"}}, "keys must be strings"),
    "half a pair in the payload": ({"payload": "\udfff"}, "half a surrogate pair"),
    "too many digits": ({"payload": 10**5000}, "send it as a string"),
    "a payload over the limit": ({"payload": "x" * 400_000}, "400,002 bytes.*389,120"),
    "a negative delay": ({"delay": -1}, "delay=-1: is negative"),
    "a delay that is no number": ({"delay": "5"}, "delay='5'"),
    "a delay of NaN": ({"delay": float("nan")}, "delay=nan"),
    "a delay beyond all floats": ({"delay": 10**400}, "ten years"),
    "a delay beyond all digits": ({"delay": 10**5000}, "delay=<int>.*ten years"),
    "a deadline beyond all floats": ({"deadline": 10**400}, "ten years"),
    "a delay in milliseconds": ({"delay": 1e12}, "ten years"),
    "a true delay": ({"delay": True}, "delay=True"),
    "two due times": ({"delay": 5, "due_at": datetime.now(UTC)}, "give one of the two"),
    "a due time without a zone": ({"due_at": datetime(2030, 1, 1)}, "time zone"),  # noqa: DTZ001
    "a due time that is a number": ({"due_at": 1_800_000_000}, "due_at"),
    "a deadline of zero": ({"deadline": 0}, "it would never run"),
    "a deadline in the past": ({"deadline": PAST}, "it would never run"),
    "a deadline beyond the queue's": ({"deadline": 3601}, "the queue's deadline is 3600 s"),
    "a deadline before it is due": ({"delay": 60, "deadline": PAST}, "it would never run"),
}


@pytest.mark.parametrize(("terms", "sentence"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_with_a_sentence_and_nothing_is_written(store: Store, terms, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        store.put(NewTask(**{"task_type": "a", **terms}))
    assert pending(store) == []
    assert store.due(limit=1)[0] == []


def test_a_payload_that_contains_itself_is_refused(store: Store):
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(InvalidInput, match="contains itself"):
        store.put(NewTask(task_type="a", payload=loop))
