"""The paths through the library whose every API call is struck by every fault."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from lifoq.errors import StoreUnavailable, WrongStatus
from lifoq.items.schema import Status
from lifoq.items.task import NewTask
from tests.faults.world import LEASE, Process, World


@dataclass(frozen=True, kw_only=True)
class End:
    """The end that a task must have, whatever single fault struck."""

    status: Status = Status.SUCCESS
    attempts: int = 1
    effects: int = 1
    """The number of times that its handler began; a killed process may cost one more, with its
    attempt."""
    if_killed: Status | None = None
    """Another end that it may have, if the process that was to move it was killed."""


@dataclass(frozen=True)
class Path:
    name: str
    arrange: Callable[[World], object]
    act: Callable[[Process], object]
    ends: dict[str, End]
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


def nothing(_: World) -> None: ...


def two_waiting(world: World) -> None:
    world.put("ok", "older", "newer")


def two_of_a_key(world: World) -> None:
    world.put("keyed", "older", "newer", key=world.run_id)


def two_apart(world: World) -> None:
    world.put("paced", "older", "newer", key=world.run_id)


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


def failed(*names: str) -> Callable[[World], None]:
    def arrange(world: World) -> None:
        world.put("broken", *names)
        world.operator.work()
        world.mended = True

    return arrange


def redrive(process: Process) -> None:
    try:
        process.insist(lambda: process.queue.redrive(process.world.id("a")))
    except WrongStatus as moved:
        assert moved.status == Status.PENDING  # noqa: PT017  (an unconfirmed one was applied)


def redrive_many(process: Process) -> None:
    process.insist(lambda: process.queue.redrive_many(task_type="broken"))


DONE: Final = End()
TWICE: Final = End(attempts=2, effects=2)
FAILED: Final = End(status=Status.FAILURE)
DAMAGED: Final = End(status=Status.FAILURE, attempts=1, effects=0)
DEAD_LETTERED: Final = End(status=Status.FAILURE, attempts=0, effects=0)
REDRIVEN: Final = End(attempts=1, effects=2, if_killed=Status.FAILURE)
NEWEST: Final = End(if_killed=Status.SUCCESS)
STOPPED: Final = End(status=Status.CANCELLED)
TOLD: Final = End(status=Status.CANCELLED, effects=0, if_killed=Status.SUCCESS)
WITHDRAWN: Final = End(status=Status.CANCELLED, attempts=0, effects=0, if_killed=Status.SUCCESS)

PATHS: Final = (
    Path("success", two_waiting, work, {"older": DONE, "newer": DONE}),
    Path("one at a time for a key", two_of_a_key, work, {"older": DONE, "newer": DONE}),
    Path("a rate for a key", two_apart, work, {"older": DONE, "newer": DONE}),
    Path("retry", putting("flaky"), work, {"a": TWICE}),
    Path("immediate retry", putting("impatient"), work, {"a": TWICE}),
    Path("failure", putting("broken"), work, {"a": FAILED}),
    Path(
        "out of attempts",
        putting("hopeless"),
        work,
        {"a": End(status=Status.FAILURE, attempts=2, effects=2)},
    ),
    Path("follow-ups", putting("parent"), work, {"a": DONE, "child": DONE, "nameless child": DONE}),
    Path("checkpoint", putting("steps"), work, {"a": DONE}),
    Path("heartbeat", putting("slow", "a", "b"), work, {"a": DONE, "b": DONE}),
    Path("timeout", putting("hanging", "a", "b"), work, {"a": TWICE, "b": TWICE}),
    Path("stale holder", putting("overtaken"), work, {"a": End(attempts=3, effects=2)}),
    Path(
        "promote and dead-letter",
        due_and_damaged,
        work,
        {"delayed": DONE, "healthy": DONE, "damaged": DAMAGED},
    ),
    Path("put", nothing, put_nameless, {"a": DONE}, by_producer=frozenset("a")),
    Path("idempotent put", nothing, put_with_id, {"a": DONE}, by_producer=frozenset("a")),
    Path("put over one that waits", an_older_put, put_newest, {"a": NEWEST}),
    Path("put over one that has ended", an_older_put_has_ended, put_newest, {"a": NEWEST}),
    Path("put over one that runs", a_put_that_is_replaced_while_it_runs, work, {"a": DONE}),
    Path("delayed put", nothing, put_delayed, {"a": DONE}, by_producer=frozenset("a")),
    Path(
        "put_many",
        nothing,
        put_many,
        {"a": DONE, "b": DONE, "c": DONE, "own": DONE},
        by_producer=frozenset({"a", "b", "c", "own"}),
    ),
    Path(
        "sweep",
        fallen_by_the_wayside,
        sweep,
        {
            "lost": End(attempts=2),
            "lost in its last attempt": End(status=Status.FAILURE, effects=0),
            "delayed": DONE,
            "damaged": DAMAGED,
            "damaged delay": DEAD_LETTERED,
            "out of reach": DEAD_LETTERED,
        },
    ),
    Path(
        "cancel",
        to_be_cancelled,
        cancel,
        {"pending": WITHDRAWN, "delayed": WITHDRAWN, "taken": TOLD, "other": DONE},
    ),
    Path("cancelled while it runs", putting("told", "a", "b"), work, {"a": STOPPED, "b": STOPPED}),
    Path("cancelled while it runs, unheard", putting("deaf"), work, {"a": STOPPED}),
    Path("redrive", failed("a"), redrive, {"a": REDRIVEN}),
    Path("redrive_many", failed("a", "b"), redrive_many, {"a": REDRIVEN, "b": REDRIVEN}),
)
