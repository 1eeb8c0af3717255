"""The store's promises to producers, above the table: put, refuse, tell and keep."""

import zlib
from datetime import UTC, datetime, timedelta
from unittest import mock

import pytest

from lifoq.api import answers
from lifoq.basics import jsontext
from lifoq.errors import DamagedTask, InvalidInput, QueueMisconfigured, StoreUnavailable
from lifoq.items.lifetimes import Lifetimes
from lifoq.items.task import NewTask
from lifoq.store.puts import PutOutcome
from lifoq.store.store import Store
from lifoq.testing.hosts import START
from tests.contract.test_store import BOOM, SECOND, TOKEN, claim, pending, put

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_token_of_a_put_that_may_be_replaced_is_refused(store):
    telling = Store(store.table, lifetimes=Lifetimes(task_tokens=True))
    with pytest.raises(InvalidInput, match="leave if_exists out"):
        put(telling, "t", task_token=TOKEN, if_exists="replace")


def put_by_another(store: Store, new: NewTask) -> None:
    parent = store.put(NewTask(task_type="a", traceparent=TRACE))
    store.succeed(claim(store, parent.task_id), "null", [new])


WAYS = {
    "put": lambda store, new: store.put(new),
    "put_many": lambda store, new: store.put_many([new]),
    "follow-up": put_by_another,
}
by_all_ways = pytest.mark.parametrize("put_new", WAYS.values(), ids=WAYS)


@by_all_ways
def test_all_terms_of_a_task_hold_to_their_limits(store, put_new):
    names = {"task_id": "ü" * 512, "task_type": "ü" * 128, "key": "ü" * 128}
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
    put_new(store, NewTask(**names, deadline=60, head_start=60, delay=0, traceparent=trace))
    (row,) = store.candidates(limit=9).rows
    assert (row.task_id, row.task_type, row.key) == tuple(names.values())
    assert (row.expires_at - row.since, row.head_start) == (60 * SECOND, 60 * SECOND)
    assert claim(store, row.task_id).traceparent == trace


def test_a_follow_up_is_in_the_trace_of_its_parent_and_a_newer_put_in_its_own(store):
    put_by_another(store, NewTask(task_type="a", task_id="heir"))
    assert store.get("heir").traceparent == TRACE
    put(store, "heir", if_exists="replace")
    assert "traceparent" not in store.table.get("heir")


DAY = 86_400
ENDS = {
    "shed": (10, lambda store: put(store, "t", deadline=10)),
    "shed while delayed": (15, lambda store: put(store, "t", delay=5, deadline=10)),
    "succeeded": (7 * DAY, lambda store: store.succeed(claim(store, put(store, "t").task_id), "1")),
    "failed": (14 * DAY, lambda store: store.fail(claim(store, put(store, "t").task_id), BOOM)),
    "cancelled": (7 * DAY, lambda store: store.cancel(put(store, "t").task_id)),
}


@pytest.mark.parametrize(("kept", "end"), ENDS.values(), ids=ENDS)
@by_all_ways
def test_an_id_is_in_use_until_its_task_is_gone_and_then_begins_anew_though_ttl_is_late(
    store, host, kept, end, put_new
):
    new = NewTask(task_type="b", payload="new", task_id="t")
    end(store)
    host.time += kept * SECOND - 1
    first = store.get("t")
    put_new(store, new)
    assert store.get("t") == first
    host.time += 1
    put_new(store, new)
    task = claim(store, "t", "anew")
    assert (task.payload, task.task_type, task.attempts) == ("new", "b", 1)
    assert task.enqueued_at >= host.now()
    assert (task.result, task.error, task.due_at) == (None, None, None)


def test_a_put_that_begins_anew_is_recognised_when_its_answer_was_lost(store, host, monkeypatch):
    put(store, "t", deadline=10)
    host.advance(10)
    write = store.table.put

    def twice(item, **terms):
        monkeypatch.undo()
        write(item, **terms)
        write(item, **terms)  # the client repeats it by itself

    monkeypatch.setattr(store.table, "put", twice)
    (outcome,) = store.put_many([NewTask(task_type="b", payload="new", task_id="t")])
    assert outcome.created
    assert outcome.task == store.get("t")
    assert outcome.task.payload == "new"
    again = store.put(NewTask(task_type="c", task_id="t"))  # the caller's own repeat
    assert again == outcome.task


def test_put_many_keeps_order_idempotence_and_outcomes_apart(store):
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


def refuse(store: Store, error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no write of a new item is confirmed."""
    for write in ("put", "put_batch"):
        monkeypatch.setattr(store.table, write, mock.Mock(side_effect=error))


@pytest.mark.parametrize(
    "error",
    [QueueMisconfigured("no longer permitted"), KeyError("what is this"), StoreUnavailable("gone")],
    ids=lambda error: type(error).__name__,
)
def test_put_many_tells_of_each_task_though_it_goes_wrong_midway(store, monkeypatch, error):
    def breaks(done):
        if done == 50:
            refuse(store, error, monkeypatch)

    outcomes = store.put_many([NewTask(task_type="a", payload=n) for n in range(110)], breaks)
    assert [o.task.payload for o in outcomes[:50] if o.task and o.created] == list(range(50))
    assert [(o.task, o.created, o.error) for o in outcomes[50:]] == [(None, False, error)] * 60
    assert len(pending(store)) == 50


def test_put_many_raises_only_where_nothing_was_written(store, monkeypatch):
    refuse(store, QueueMisconfigured("not permitted"), monkeypatch)
    with pytest.raises(QueueMisconfigured):
        store.put_many([NewTask(task_type="a")] * 30)
    refuse(store, KeyError("perhaps it was"), monkeypatch)
    outcomes = store.put_many([NewTask(task_type="a")] * 30)
    assert {type(o.error) for o in outcomes} == {KeyError}
    assert pending(store) == []


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [("a", "=.*is no NewTask; give NewTask"), (NewTask(task_type="a", payload={1}), ".payload")],
)
def test_put_many_writes_nothing_where_one_task_is_refused(store, bad, sentence):
    with pytest.raises(InvalidInput, match=r"tasks\[1\]" + sentence):
        store.put_many([NewTask(task_type="a"), bad])
    assert pending(store) == []


def test_a_checkpoint_is_measured_beside_the_payload_as_it_stands(store):
    payload = "ü" * 100_000
    store.put(NewTask(task_type="a", payload=payload, task_id="t"))
    task = claim(store, "t")
    room = 400 * 1024 - 8 * 1024 - 5 * 1024 - 200_002  # item, error, history and the rest, payload
    store.checkpoint(task, "x" * (room - 2), lease=30)
    with pytest.raises(InvalidInput, match=f"there is room for {room:,}"):
        store.checkpoint(task, "x" * (room - 1), lease=30)


# Long texts

LONG = {"readings": [{"sensor": f"temp-{n}", "value": n / 8} for n in range(200)]}


def test_long_texts_are_stored_compressed_and_read_back_as_they_were(store):
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


@pytest.mark.parametrize(
    ("damaged", "told"),
    [
        (b"no zlib", "payload"),
        (zlib.compress(b"{}" * 999)[:-5], "payload"),
        (zlib.compress(b'"\xff"'), "payload"),
        (zlib.compress(b"{"), "payload"),
        (zlib.compress(b" " * 1_000_000 + b"1"), "more than 409,600 bytes"),
    ],
)
def test_bytes_that_are_no_text_or_would_fill_the_memory_are_told(store, past, damaged, told):
    put(store, "t")
    past.write({**store.table.get("t"), "payload": damaged})
    with pytest.raises(DamagedTask, match=told):
        store.get("t")


# The door

LOOP: list[object] = []
LOOP.append(LOOP)
PAST = datetime.fromtimestamp(START / 1e6, UTC) - timedelta(seconds=1)


REFUSED = {
    "a type that is no string": ({"task_type": 7}, "task_type"),
    "an over-long type": ({"task_type": "x" * 257}, "257 bytes long, the limit is 256"),
    "an over-long key": ({"key": "ü" * 129}, "258 bytes long, the limit is 256"),
    "an empty id": ({"task_id": ""}, "task_id"),
    "an over-long id": ({"task_id": "ü" * 513}, "1,026 bytes long, the limit is 1,024"),
    "an id of half a pair": ({"task_id": "\ud800"}, "half a surrogate pair"),
    "a payload that is not JSON": ({"payload": {"a": [object()]}}, r"payload\.a\[0\].*object"),
    "a payload that contains itself": ({"payload": LOOP}, "contains itself"),
    "NaN": ({"payload": [1, float("nan")]}, r"payload\[1\]=nan"),
    "a key that is no string": ({"payload": {1: "a"}}, "keys must be strings"),
    "too many digits": ({"payload": 10**5000}, "send it as a string"),
    "a payload over the limit": ({"payload": "x" * 400_000}, "400,002 bytes.*389,120"),
    "a negative delay": ({"delay": -1}, "delay=-1: is negative"),
    "a deadline beyond all floats": ({"deadline": 10**400}, "ten years"),
    "a trace in capitals": (
        {"traceparent": TRACE.upper()},
        f"is no W3C traceparent, such as {TRACE}",
    ),
    "a trace of zeros": ({"traceparent": TRACE[:3] + 32 * "0" + TRACE[35:]}, "no W3C traceparent"),
    "a head start below zero": (
        {"head_start": -1},
        "negative; to let a task start later, give del",
    ),
    "a head start beyond the queue's deadline": (
        {"head_start": 3601},
        "deadline of 3600 s; shorten",
    ),
    "a head start beyond its own deadline": (
        {"head_start": 11, "deadline": 10},
        "deadline of 10 s",
    ),
    "a head start of no number": ({"head_start": float("nan")}, "head_start=nan: must be finite"),
    "a token that nobody would answer": ({"task_token": TOKEN}, r"^task_token=.*TaskEvents"),
    "two due times": ({"delay": 5, "due_at": datetime.now(UTC)}, "give one of the two"),
    "a due time without a zone": ({"due_at": datetime(2030, 1, 1)}, "time zone"),  # noqa: DTZ001
    "a deadline in the past": ({"deadline": PAST}, "it would never run"),
    "a deadline beyond the queue's": ({"deadline": 3601}, "the queue's deadline is 3600 s"),
    "a deadline before it is due": ({"delay": 60, "deadline": PAST}, "it would never run"),
}


@pytest.mark.parametrize(("terms", "sentence"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_with_a_sentence_and_nothing_is_written(store, terms, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        store.put(NewTask(**{"task_type": "a", **terms}))
    assert pending(store) == []
    assert store.due(limit=1)[0] == []


def test_a_put_of_several_that_failed_is_told_with_its_error_where_that_is_the_queues_own(store):
    gone, foreign = StoreUnavailable("no answer"), OSError("at /home/ada")
    task = store.put(NewTask(task_type="a", task_id="t"))
    told = {"type": "StoreUnavailable", "message": "no answer"}
    now = store.now()
    for outcome, expected in (
        (PutOutcome(task=None, error=gone), {"error": told}),
        (PutOutcome(task=None, error=foreign), {"error": {"type": "Unconfirmed"}}),
        (PutOutcome(task=None), {"error": {"type": "Unconfirmed"}}),
        (PutOutcome(task=task), {"task": answers.summary(task, now=now), "created": False}),
    ):
        assert answers.outcome(outcome, now=now) == expected
