"""The paths through the library whose every API call is struck by every fault."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from lifoq.errors import StoreUnavailable, WrongStatus
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from tests.faults.world import LEASE, Process, World


@dataclass(frozen=True, kw_only=True)
class End:
    """How a task must end, whatever single fault struck."""

    status: Status = Status.SUCCESS
    attempts: int = 1
    effects: int = 1
    """How often its handler began; a killed process may cost one more, with its attempt."""
    if_killed: Status | None = None
    """How it may end, too, where the process that was to move it was killed."""


@dataclass(frozen=True, kw_only=True)
class Path:
    name: str
    act: Callable[[Process], object]
    ends: dict[str, End]
    arrange: Callable[[World], object] = field(default=lambda _: None)
    by_producer: frozenset[str] = frozenset()
    """Tasks that ``act`` puts: absent where the producer was killed, or heard no confirmation."""


def putting(task_type: str, *names: str) -> Callable[[World], None]:
    return lambda world: world.put(task_type, *(names or "a"))


def work(process: Process) -> None:
    try:
        report = process.work()
    except StoreUnavailable:
        return  # only where it claimed nothing; the next kick starts a run
    world = process.world
    if not world.claimed_again:
        assert report.leases_lost == world.overtaken, "it did not recognise its own write"


def sweep(process: Process) -> None:
    try:
        process.sweep()
    except StoreUnavailable:
        return  # the next sweep goes on


def two_waiting(world: World) -> None:
    world.put("ok", "older", "newer")


def due_and_damaged(world: World) -> None:
    world.put("ok", "delayed", delay=5)
    world.put("ok", "healthy")
    world.operator.host.sleep(6)
    world.put_damaged("damaged", payload="{")


def fallen_by_the_wayside(world: World) -> None:
    """One of each kind that the sweep looks after."""
    world.put("ok", "lost")
    world.put("once", "lost in its last attempt")
    world.put("ok", "delayed", delay=5)
    for name in ("lost", "lost in its last attempt"):
        world.operator.store.claim(world.id(name), claim_id=f"{world.id(name)}-c", lease=LEASE)
    world.operator.host.sleep(LEASE + 1)
    world.put_damaged("damaged", taskStatus="TAKEN", attempts=1)
    world.put_damaged("damaged delay", taskStatus="DELAYED", taskCreated=None, dueAt=1, payload="{")
    world.put_damaged("out of reach", taskCreated=1)


def put_with_id(process: Process) -> None:
    world = process.world
    put = process.insist(
        lambda: process.queue.put("ok", {"name": "a"}, task_id=world.id("a")),
    )
    again = process.insist(
        lambda: process.queue.put("ok", {"name": "other"}, task_id=world.id("a")),
    )
    assert put.task_id == again.task_id
    assert again.payload == {"name": "a"}


def put_newest(process: Process) -> None:
    world = process.world
    process.insist(
        lambda: process.queue.put("ok", {"name": "a"}, task_id=world.id("a"), if_exists="replace")
    )


def an_older_put(world: World) -> None:
    world.operator.queue.put("ok", {"name": "older"}, task_id=world.id("a"))
    world.operator.host.sleep(1)  # else the two are as new as each other


def an_older_put_has_ended(world: World) -> None:
    an_older_put(world)
    world.operator.work()


def a_put_that_is_replaced_while_it_runs(world: World) -> None:
    world.operator.queue.put("outdated", {"name": "older"}, task_id=world.id("a"))


def put_delayed(process: Process) -> None:
    process.insist(
        lambda: process.queue.put("ok", {"name": "a"}, task_id=process.world.id("a"), delay=5)
    )


def put_nameless(process: Process) -> None:
    try:
        process.queue.put("ok", {"name": "a"})
    except StoreUnavailable:
        process.world.unconfirmed.add("a")


def put_many(process: Process) -> None:
    world = process.world
    tasks = [NewTask(task_type="ok", payload={"name": name}) for name in "abc"]
    tasks.append(NewTask(task_type="ok", payload={"name": "own"}, task_id=world.id("own")))
    for task, outcome in zip(tasks, process.queue.put_many(tasks), strict=True):
        if outcome.error is not None:
            world.unconfirmed.add(task.payload["name"])
        else:
            assert outcome.created, f"said to have been there before: {task}"


def cancel(process: Process) -> None:
    for name in ("pending", "delayed"):
        cancelled = process.insist(lambda name=name: process.queue.cancel(process.world.id(name)))
        assert cancelled.status is Status.CANCELLED
    name = process.world.id("taken")
    told = process.insist(lambda: process.queue.cancel(name))
    assert (told.status, told.cancel_asked is None) == (Status.TAKEN, False)


def to_be_cancelled(world: World) -> None:
    world.put("ok", "taken")
    world.operator.store.claim(world.id("taken"), claim_id=f"{world.run_id}-c", lease=LEASE)
    world.put("ok", "pending", "other")
    world.put("ok", "delayed", delay=5)


def one_failed(world: World) -> None:
    world.put("broken", "a")
    world.operator.work()
    world.mended = True


def redrive(process: Process) -> None:
    try:
        process.insist(lambda: process.queue.redrive(process.world.id("a")))
    except WrongStatus as moved:
        assert moved.status == Status.PENDING  # noqa: PT017  (an unconfirmed one was applied)


def two_failed(world: World) -> None:
    world.put("broken", "a", "b")
    world.operator.work()
    world.mended = True


def redrive_many(process: Process) -> None:
    process.insist(lambda: process.queue.redrive_many(task_type="broken"))


CONDEMNED: Final = End(status=Status.FAILURE, attempts=0, effects=0)
REDRIVEN: Final = End(attempts=1, effects=2, if_killed=Status.FAILURE)
NEWEST: Final = End(if_killed=Status.SUCCESS)
STOPPED: Final = End(status=Status.CANCELLED)
TOLD: Final = End(status=Status.CANCELLED, effects=0, if_killed=Status.SUCCESS)
WITHDRAWN: Final = End(status=Status.CANCELLED, attempts=0, effects=0, if_killed=Status.SUCCESS)

PATHS: Final = (
    Path(name="success", arrange=two_waiting, act=work, ends={"older": End(), "newer": End()}),
    Path(
        name="one at a time for a key",
        arrange=lambda world: world.put("keyed", "older", "newer", key=world.run_id),
        act=work,
        ends={"older": End(), "newer": End()},
    ),
    Path(name="retry", arrange=putting("flaky"), act=work, ends={"a": End(attempts=2, effects=2)}),
    Path(
        name="immediate retry",
        arrange=putting("impatient"),
        act=work,
        ends={"a": End(attempts=2, effects=2)},
    ),
    Path(
        name="failure",
        arrange=putting("broken"),
        act=work,
        ends={"a": End(status=Status.FAILURE)},
    ),
    Path(
        name="out of attempts",
        arrange=putting("hopeless"),
        act=work,
        ends={"a": End(status=Status.FAILURE, attempts=2, effects=2)},
    ),
    Path(
        name="follow-ups",
        arrange=putting("parent"),
        act=work,
        ends={"a": End(), "child": End(), "nameless child": End()},
    ),
    Path(name="checkpoint", arrange=putting("steps"), act=work, ends={"a": End()}),
    Path(
        name="heartbeat",
        arrange=putting("slow", "a", "b"),
        act=work,
        ends={"a": End(), "b": End()},
    ),
    Path(
        name="timeout",
        arrange=putting("hanging", "a", "b"),
        act=work,
        ends={"a": End(attempts=2, effects=2), "b": End(attempts=2, effects=2)},
    ),
    Path(
        name="stale holder",
        arrange=putting("overtaken"),
        act=work,
        ends={"a": End(attempts=3, effects=2)},
    ),
    Path(
        name="promote and condemn",
        arrange=due_and_damaged,
        act=work,
        ends={
            "delayed": End(),
            "healthy": End(),
            "damaged": End(status=Status.FAILURE, attempts=1, effects=0),
        },
    ),
    Path(name="put", act=put_nameless, ends={"a": End()}, by_producer=frozenset("a")),
    Path(name="idempotent put", act=put_with_id, ends={"a": End()}, by_producer=frozenset("a")),
    Path(name="put over one that waits", arrange=an_older_put, act=put_newest, ends={"a": NEWEST}),
    Path(
        name="put over one that has ended",
        arrange=an_older_put_has_ended,
        act=put_newest,
        ends={"a": NEWEST},
    ),
    Path(
        name="put over one that runs",
        arrange=a_put_that_is_replaced_while_it_runs,
        act=work,
        ends={"a": End()},
    ),
    Path(name="delayed put", act=put_delayed, ends={"a": End()}, by_producer=frozenset("a")),
    Path(
        name="put_many",
        act=put_many,
        ends={"a": End(), "b": End(), "c": End(), "own": End()},
        by_producer=frozenset({"a", "b", "c", "own"}),
    ),
    Path(
        name="sweep",
        arrange=fallen_by_the_wayside,
        act=sweep,
        ends={
            "lost": End(attempts=2),
            "lost in its last attempt": End(status=Status.FAILURE, effects=0),
            "delayed": End(),
            "damaged": End(status=Status.FAILURE, attempts=1, effects=0),
            "damaged delay": CONDEMNED,
            "out of reach": CONDEMNED,
        },
    ),
    Path(
        name="cancel",
        arrange=to_be_cancelled,
        act=cancel,
        ends={"pending": WITHDRAWN, "delayed": WITHDRAWN, "taken": TOLD, "other": End()},
    ),
    Path(
        name="cancelled while it runs",
        arrange=putting("told", "a", "b"),
        act=work,
        ends={"a": STOPPED, "b": STOPPED},
    ),
    Path(
        name="cancelled while it runs, unheard",
        arrange=putting("deaf"),
        act=work,
        ends={"a": STOPPED},
    ),
    Path(name="redrive", arrange=one_failed, act=redrive, ends={"a": REDRIVEN}),
    Path(
        name="redrive_many",
        arrange=two_failed,
        act=redrive_many,
        ends={"a": REDRIVEN, "b": REDRIVEN},
    ),
)
