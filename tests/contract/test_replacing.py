"""The store's promises about puts that replace."""

from unittest.mock import Mock

import pytest

from lifoq.errors import DamagedTask, InvalidInput, LeaseLost
from lifoq.items.attempt_history import Ended
from lifoq.items.change import Change, ConditionFailed, Item
from lifoq.items.schema import Status
from lifoq.items.task import NewTask, Task
from lifoq.store.store import Store
from lifoq.testing.hosts import START, ManualHost
from tests.conftest import on_dynamodb_too
from tests.contract.test_store import BOOM, SECOND, SETTLES, once_seen, pending
from tests.fixtures import noise


def new(payload: object, **terms) -> NewTask:
    return NewTask(
        **{"task_type": "a", "task_id": "t", "if_exists": "replace", "payload": payload, **terms}
    )


def keep(store: Store, payload: object = "kept", **terms) -> Task:
    return store.put(new(payload, if_exists="keep", **terms))


def replacing(store: Store) -> Task:
    return store.put(new("first"))


def claim(store: Store, claim_id: str = "claim-1", lease: float = 30) -> Task:
    return store.claim("t", claim_id=claim_id, lease=lease)


def found(store: Store) -> Task:
    task = store.get("t")
    assert task is not None
    return task


# While it waits


@on_dynamodb_too
@pytest.mark.parametrize("first", [keep, replacing])
@pytest.mark.parametrize("delay", [None, 60])
def test_a_waiting_task_takes_over_the_newest_put(store, host, first, delay):
    first(store)
    host.advance(10)
    store.put(NewTask(task_type="a", task_id="other"))
    host.advance(10)
    task = store.put(new("newest", task_type="b", key="k", deadline=5, delay=delay))
    assert task == found(store)
    assert (task.payload, task.task_type, task.key, task.replaced) == ("newest", "b", "k", 1)
    entered = START + 20 * SECOND + (delay or 0) * SECOND
    assert (task.enqueued_at, task.expires_at) == (entered, entered + 5 * SECOND)
    assert task.ttl == entered // SECOND + 5
    assert pending(store) == (["other"] if delay else ["t", "other"])
    if delay:
        host.advance(delay)
        assert store.due(limit=2)[0] == ["t"]
        store.promote("t")
    assert claim(store).payload == "newest"


@on_dynamodb_too
def test_a_task_that_is_replaced_between_look_and_promotion_is_not_promoted_as_the_older_put(
    store, host, monkeypatch
):
    def replaced() -> None:
        store.put(new("second", delay=1))
        host.advance(1)

    store.put(new("first", delay=5))
    host.advance(5)
    once_seen(store, monkeypatch, replaced)
    assert not store.promote("t")
    assert store.promote("t").created == host.now()


# While it runs

ENDED = {
    "succeed": Ended.SUCCEEDED,
    "succeed with follow-ups": Ended.SUCCEEDED,
    "fail": Ended.FAILED,
    "retry": Ended.RETRIED,
    "retry at once": Ended.RETRIED,
    "no room": Ended.NOT_COUNTED,
}


@pytest.mark.parametrize("end", ENDED)
@pytest.mark.parametrize(
    ("table", "first"),
    [("memory", keep), ("memory", replacing), ("dynamodb-local", replacing)],
    indirect=["table"],
)
def test_a_put_while_it_runs_is_next_whatever_the_outcome(store, host, first, end):
    first(store)
    task = claim(store)
    host.advance(1)
    during = store.put(new("second", deadline=50))
    assert (during.status, during.payload) == (Status.TAKEN, task.payload)
    assert (during.parked.payload, during.parked.status) == ("second", Status.PENDING)
    row = SETTLES[end](store, task)
    assert (row,) == store.candidates(limit=5).rows[-1:]
    after = found(store)
    assert (after.status, after.payload, after.attempts) == (Status.PENDING, "second", 0)
    assert after.replaced == 0, "the first put was run"
    assert after.expires_at - after.task_created == 50 * SECOND
    assert [(past.attempt, past.ended) for past in after.history] == [(1, ENDED[end])]
    assert (store.get("next") is not None) is (end == "succeed with follow-ups")
    SETTLES[end](store, task)  # its answer was lost
    assert found(store) == after
    assert claim(store, "again").payload == "second"


@pytest.mark.parametrize(
    ("meanwhile", "left"),
    [
        (lambda store: store.cancel("t", running=False), (Status.SUCCESS, "first", 0)),
        (lambda store: store.put(new("third")), (Status.PENDING, "third", 1)),
    ],
    ids=["is withdrawn", "is replaced"],
)
def test_an_end_that_meets_a_parked_put_is_written_though_that_has_changed_by_then(
    store, host, monkeypatch, meanwhile, left
):
    store.put(new("first"))
    task = claim(store)
    host.advance(1)
    store.put(new("second"))
    update, first_refusal = store.table.update, iter([meanwhile])

    def refused(task_id: str, change: Change) -> None:
        try:
            update(task_id, change)
        except ConditionFailed:
            for happens in first_refusal:
                happens(store)
            raise

    monkeypatch.setattr(store.table, "update", refused)
    store.succeed(task, "1")
    after = found(store)
    assert (after.status, after.payload, after.replaced, after.parked) == (*left, None)


@on_dynamodb_too
@pytest.mark.parametrize("while_it_runs", [True, False])
def test_a_lost_worker_takes_no_newer_put_with_it_which_is_suspected_poison(
    store, host, while_it_runs
):
    store.put(new("first"))
    task = claim(store, lease=1)
    if while_it_runs:
        store.put(new("second"))
    host.advance(2)
    assert store.reclaim(task, max_attempts=5) is Status.PENDING
    if not while_it_runs:
        store.put(new("second"))
    (row,) = store.candidates(limit=2).rows
    assert row.suspected_poison
    after = found(store)
    assert (after.payload, after.attempts) == ("second", 0)
    with pytest.raises(LeaseLost):
        store.succeed(task, "1")
    assert found(store) == after


@on_dynamodb_too
def test_a_put_that_finds_no_room_beside_the_run_is_refused(store):
    store.put(new(noise(300_000)))
    task = claim(store)
    with pytest.raises(InvalidInput, match="finds no room beside"):
        store.put(new(noise(300_001)))
    store.succeed(task, "1")
    assert found(store).status is Status.SUCCESS


# Which is the newest


def succeeded(store: Store) -> None:
    store.succeed(claim(store, "another"), "1")


def newer(store: Store, _host: ManualHost, **terms) -> None:
    store.put(new("newer", **terms))


def run_anew(store: Store, host: ManualHost) -> None:
    newer(store, host)
    store.succeed(store.get("t"), "1")
    claim(store, "again")


def ended_anew(store: Store, host: ManualHost) -> None:
    newer(store, host)
    succeeded(store)


def shed_anew(store: Store, host: ManualHost) -> None:
    newer(store, host, deadline=5)
    host.advance(6)


@pytest.mark.parametrize(
    ("seen", "meanwhile"),
    [
        (keep, newer),
        (lambda store: (keep(store), claim(store)), newer),
        (lambda store: (keep(store), claim(store)), run_anew),
        (lambda store: (keep(store), claim(store), store.put(new("parked"))), newer),
        (lambda store: (keep(store), succeeded(store)), ended_anew),
        (lambda store: keep(store, deadline=5), shed_anew),
    ],
    ids=["waits", "runs", "has run", "runs, and another is parked", "has ended", "was shed"],
)
@pytest.mark.parametrize(
    ("table", "since_it_looked"),
    [("memory", True), ("memory", False), ("dynamodb-local", True)],
    indirect=["table"],
)
def test_an_older_put_that_arrives_late_replaces_nothing_newer(
    store, host, monkeypatch, seen, meanwhile, since_it_looked
):
    seen(store)
    host.advance(10)
    late = store.new_item(new("late"))
    host.advance(1 / SECOND)
    write, there = store.table.update_and_get, []

    def refused(task_id: str, change: Change) -> Item:
        try:
            return write(task_id, change)
        except ConditionFailed:
            monkeypatch.undo()
            meanwhile(store, host)
            there.append(found(store))
            raise

    if since_it_looked:
        monkeypatch.setattr(store.table, "update_and_get", refused)
    else:
        meanwhile(store, host)
        there.append(found(store))
    assert store.put_item(late) == (*there, False)
    assert [found(store)] == there


@pytest.mark.parametrize("kind", ["new", "over a waiting one", "over a kept one", "over an end"])
def test_a_put_whose_answer_was_lost_recognises_itself(store, host, kind):
    if kind == "over a waiting one":
        store.put(new("first"))
    elif kind != "new":
        keep(store)
    if kind == "over an end":
        succeeded(store)
    item = store.new_item(new("mine"))
    first = store.put_item(item)
    assert store.put_item(item) == first
    task = claim(store, "again")
    assert store.put_item(item)[0] == task
    store.succeed(task, "1")
    assert store.put_item(item)[0].result == 1


# Beside other operations


def lost(store: Store, host: ManualHost, task: Task) -> None:
    host.advance(31)
    store.reclaim(task, max_attempts=5)


@on_dynamodb_too
@pytest.mark.parametrize(
    "end",
    [
        lambda store, _, task: store.end_cancelled(task),
        lambda store, _, task: store.succeed(task, "1"),
        lost,
    ],
    ids=["stops", "succeeds", "is lost"],
)
def test_cancel_withdraws_the_run_and_what_is_parked_but_not_what_is_put_later(store, host, end):
    store.put(new("first"))
    task = claim(store)
    host.advance(1)
    store.put(new("dropped"))
    alone = store.cancel("t", running=False)
    assert (alone.parked, alone.cancel_asked, alone.task_updated) == (None, None, START + SECOND)
    store.put(new("second"))
    host.advance(1)
    told = store.cancel("t")
    assert (told.parked, told.cancel_asked) == (None, START + 2 * SECOND)
    host.advance(1)
    assert store.cancel("t") == told
    store.put(new("third"))
    end(store, host, task)
    left = found(store)
    assert (left.status, left.payload, left.cancel_asked) == (Status.PENDING, "third", None)
    assert len(left.history) == 1
    store.retry(claim(store, "again"), BOOM, delay=0)
    assert found(store).status is Status.PENDING


@pytest.mark.parametrize(
    ("terms", "sentence"),
    [
        ({"if_exists": "newest"}, "if_exists='newest': must be 'keep' or 'replace'"),
        ({"task_id": None}, "give a task_id of your own"),
    ],
)
def test_what_cannot_replace_is_refused(store, terms, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        store.put(new(1, **terms))
    keep(store)
    with pytest.raises(InvalidInput, match=r"follow_ups\[0\]\.if_exists"):
        store.succeed(claim(store), "1", [new(1, task_id="next")])
    assert store.get("next") is None
    assert found(store).status is Status.TAKEN


DAMAGES = [{"putAt": "now"}, {"parked": {}, "parkedAt": START}, {"parkedAt": START}]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_put_over_what_is_no_task_is_told_so(store, host, past, damage):
    keep(store)
    past.write({**store.table.get("t"), **damage})
    host.advance(1)
    with pytest.raises(DamagedTask):
        store.put(new(1))
    (outcome,) = store.put_many([new(1)])
    assert (outcome.task, type(outcome.error)) == (None, DamagedTask)


def test_a_put_that_was_refused_by_what_is_gone_by_now_is_made_again(store, monkeypatch):
    def refused(*_terms):
        monkeypatch.undo()
        raise ConditionFailed(None)

    monkeypatch.setattr(store.table, "update_and_get", refused)
    assert store.put(new("first")).payload == "first"
    assert found(store).replaced == 0


def test_to_replace_what_waits_takes_one_write(store, monkeypatch):
    store.put(new(0))
    for call in ("get", "put", "update", "replace"):
        monkeypatch.setattr(store.table, call, None)
    write = Mock(wraps=store.table.update_and_get)
    monkeypatch.setattr(store.table, "update_and_get", write)
    assert store.put(new(1)).replaced == 1
    assert store.put(new("another", task_id="u")).replaced == 0
    assert write.call_count == 2


def test_put_many_replaces_too_in_the_order_of_its_tasks(store):
    keep(store)
    outcomes = store.put_many([new(1), NewTask(task_type="a"), new(2), new(0, task_id="u")])
    assert [outcome.created for outcome in outcomes] == [False, True, False, True]
    assert (found(store).payload, found(store).replaced) == (2, 2)
