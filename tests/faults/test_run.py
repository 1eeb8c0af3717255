"""Slow calls, limits of several types, task code that misbehaves: what a run makes of them, in
virtual time."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lifoq import (
    Backoff,
    Busy,
    Context,
    Done,
    NewTask,
    Processor,
    ProcessUnusable,
    Queue,
    Registry,
    Retry,
    RunReport,
    Status,
    Store,
    StoreUnavailable,
    Sweeper,
    WorkerSettings,
)
from lifoq.basics.host import MICROSECONDS, OutOfThreads
from lifoq.items.change import Change, Item
from lifoq.items.schema import STATUS_CREATED_INDEX, Attribute
from lifoq.tables.memory import MemoryTable
from lifoq.tables.table import Cursor, Page, Span
from lifoq.testing.fixtures import noise
from lifoq.testing.hosts import START
from tests.virtual.machine import Machine
from tests.virtual.scheduler import Scheduler

CALL: float = 0.005
"""Seconds that a call takes."""
SLOW: float = 25.0
"""The longest that one may take within the client's limits."""


class Table(MemoryTable):
    """Each call takes its time; ``slow`` says which take very long."""

    def __init__(self, world: "World") -> None:
        super().__init__()
        self._world = world
        self.slow: Callable[[str, str, Change | None], bool] = lambda *_: False
        self.rows_read = 0

    def _takes(self, what: str, task_id: str = "", change: Change | None = None) -> None:
        self._world.sleep(SLOW if self.slow(what, task_id, change) else CALL)

    def update(self, task_id: str, change: Change) -> None:
        self._takes("update", task_id, change)
        super().update_and_get(task_id, change)

    def update_and_get(self, task_id: str, change: Change) -> Item:
        self._takes("update", task_id, change)
        return super().update_and_get(task_id, change)

    def query(
        self, span: Span, *, newest_first: bool, limit: int, start: Cursor | None = None
    ) -> Page:
        page = super().query(span, newest_first=newest_first, limit=limit, start=start)
        if (span.index, span.status) == (STATUS_CREATED_INDEX, Status.PENDING):
            self.rows_read += len(page.rows)
        self._takes("look" if start is None else "look behind")
        return page


class World:
    """A queue, whose workers are machines under a virtual clock."""

    def __init__(self, seed: int = 0) -> None:
        self.scheduler = Scheduler(random.Random(seed), start=START)
        self.draw = random.Random(seed)
        self.machines = 0
        self.table = Table(self)
        self.registry = Registry()
        self.machine = self.new_machine()
        self.queue = Queue(Store(self.table, host=self.machine), host=self.machine)
        self.begun: list[tuple[float, Any]] = []
        """When which payload's handler began; seconds from the start."""

    def new_machine(self) -> Machine:
        self.machines += 1
        return Machine(f"machine-{self.machines}", self.scheduler)

    def sleep(self, seconds: float) -> None:
        self.scheduler.sleep(seconds)

    @property
    def seconds(self) -> float:
        return (self.scheduler.time - START) / MICROSECONDS

    def handle(self, name: str, seconds: float = 0.0, **terms: Any) -> None:
        """A task type whose tasks take so long."""

        def work(payload: Any, _context: Context) -> None:
            self.begun.append((self.seconds, payload))
            self.sleep(seconds)

        self.registry.task(name, **terms)(work)

    def put(self, task_type: str, payload: Any = None, **terms: Any) -> str:
        return self.queue.put(task_type, payload, **terms).task_id

    def put_many(self, task_type: str, number: int) -> list[str]:
        outcomes = self.queue.put_many(
            [NewTask(task_type=task_type, payload=n) for n in range(number)]
        )
        return [outcome.task.task_id for outcome in outcomes if outcome.task]

    def processor(
        self, machine: Machine | None = None, *, only_registered: bool = False, **settings: Any
    ) -> Processor:
        host = machine or self.machine
        return Processor(
            Store(self.table, host=host),
            self.registry,
            WorkerSettings(**settings),
            host=host,
            draw=self.draw,
            only_registered=only_registered,
        )

    def statuses(self, task_ids: list[str]) -> Counter[str]:
        return Counter(str(self.table.get(i)[Attribute.TASK_STATUS]) for i in task_ids)  # type: ignore[index]


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.scheduler.close()


# Frozen between runs


def test_what_a_run_leaves_behind_grows_older_while_its_process_is_frozen(world: World):
    """At a task in ten seconds, one a minute waits for no token."""
    world.handle("a", rate_limit=0.1)
    world.handle("any other, so that no run waits for a token to end")
    processor = world.processor(window=20)
    for minute in range(3):
        world.sleep(60 * minute - world.seconds)
        world.machine.resume()
        world.put("a", minute)
        assert processor.run().succeeded == 1
        world.machine.freeze()
    assert [round(at - 60 * minute, 1) for at, minute in world.begun] == [0, 0, 0]


# Slow calls


def test_a_heartbeat_that_is_answered_late_costs_no_other_task_its_lease(world: World):
    struck: set[str] = set()

    def slow(_what: str, task_id: str, change: Change | None) -> bool:
        first = not struck and change is not None and set(change.set) == {Attribute.LEASE_EXPIRES}
        struck.update([task_id] if first else [])
        return first

    world.table.slow = slow
    world.handle("long", 50)
    ids = world.put_many("long", 10)
    leases: list[float] = []

    def watch() -> None:
        while True:
            world.sleep(1)
            for item in world.table.items():
                if item[Attribute.TASK_STATUS] == Status.TAKEN:
                    left = (item[Attribute.LEASE_EXPIRES] - world.scheduler.time) / MICROSECONDS
                    leases.append(left)

    world.new_machine().spawn(watch, "watch")
    report = world.processor(task_timeout=100).run()
    assert len(struck) == 1
    assert min(leases) > 0  # the struck task's, too: its next heartbeat is sent in time
    assert world.statuses(ids) == {"SUCCESS": 10}
    assert (report.succeeded, report.leases_lost) == (10, 0)


def test_an_error_of_a_heartbeat_that_nobody_understands_ends_the_run_after_its_tasks(
    world: World,
):
    def strange(_what: str, _task_id: str, change: Change | None) -> bool:
        if change is not None and set(change.set) == {Attribute.LEASE_EXPIRES}:
            raise LookupError("what is this")
        return False

    world.table.slow = strange
    world.handle("long", 15)
    ids = world.put_many("long", 2)
    with pytest.raises(LookupError, match="what is this"):
        world.processor().run()
    assert world.statuses(ids) == {"SUCCESS": 2}


def test_a_look_that_is_answered_late_keeps_what_waits_waiting_for_a_second(world: World):
    looks: list[float] = []

    def slow(what: str, _task_id: str, _change: Change | None) -> bool:
        looks.append(world.seconds) if what == "look" else None
        return what == "look" and len(looks) == 1

    world.table.slow = slow
    world.handle("a")
    world.put("a")
    world.processor().run()
    (began, _), *_ = world.begun
    assert began < 1.5


def test_a_look_that_fails_is_repeated_at_once(world: World):
    def throttled(what: str, _task_id: str, _change: Change | None) -> bool:
        if what == "look" and world.seconds < CALL:
            raise StoreUnavailable("throttled")
        return False

    world.table.slow = throttled
    world.handle("a")
    world.put("a")
    world.processor().run()
    (began, _), *_ = world.begun
    assert began < 0.3


def test_a_claim_that_is_answered_late_keeps_the_other_slots_at_work(world: World):
    late: list[str] = []

    def slow(_what: str, task_id: str, change: Change | None) -> bool:
        claims = change is not None and Attribute.CLAIM_ID in change.set
        late.extend([task_id] if claims and not late else [])
        return claims and late == [task_id]

    world.table.slow = slow
    world.handle("a", 0.1)
    world.put_many("a", 41)
    world.processor(in_flight=4).run()
    began = sorted(at for at, _ in world.begun)
    assert len(began) == 41
    assert began[39] < 40 * 0.25 / 3  # as fast as three slots are, though the fourth is held up


# Order and limits


def test_with_one_type_at_its_limit_the_newest_is_taken_and_little_is_read(world: World):
    world.handle("limited", 0.2, in_flight=2)
    world.handle("idle", 0.2)
    world.put_many("limited", 2_000)
    places: list[int] = []

    def arrive() -> None:
        while True:
            world.sleep(0.15)
            world.put("limited", "new")

    claims = world.table.update_and_get

    def watched(task_id: str, change: Change) -> Item:
        if Attribute.CLAIM_ID in change.set:
            mine = world.table.get(task_id) or {}
            newer = [
                item
                for item in world.table.items()
                if item[Attribute.TASK_STATUS] == Status.PENDING
                and item[Attribute.TASK_CREATED] > mine[Attribute.TASK_CREATED]
            ]
            places.append(len(newer))
        return claims(task_id, change)

    world.table.update_and_get = watched  # type: ignore[method-assign]
    world.new_machine().spawn(arrive, "client")
    world.table.rows_read = 0
    report = world.processor(window=10).run()
    assert report.claimed > 80
    assert sorted(places)[len(places) // 2] <= 2
    assert max(places) <= 4
    assert world.table.rows_read / report.claimed < 150  # of 2,000: read through every two seconds


def test_a_task_that_may_start_is_found_behind_any_number_that_must_not(world: World):
    world.handle("limited", 30, in_flight=1)
    world.handle("free")
    world.put("free", "found")
    world.put_many("limited", 3_000)
    world.processor(window=5).run()
    assert [payload for _, payload in world.begun if payload == "found"] == ["found"]
    assert next(at for at, payload in world.begun if payload == "found") < 1


@pytest.mark.parametrize("threshold", [None, 1_000])
@pytest.mark.parametrize("flood", ["flood", None], ids=["of a key", "of none"])
def test_with_fair_shares_a_flood_delays_itself_alone(
    world: World, threshold: float | None, flood: str | None
):
    quiet = {"quiet", "flood", None} - {flood}
    order: list[tuple[str | None, int]] = []

    @world.registry.task("a")
    def work(payload: int, context: Context) -> None:
        order.append((context.key, payload))
        world.sleep(0.01)

    for n in range(5):
        for key in quiet:
            world.put("a", n, key=key)
    for n in range(150):
        world.put("a", n, key=flood)
    report = world.processor(in_flight=1, fair_share=True, adaptive_threshold=threshold).run()
    assert report.succeeded == 160
    served = [key for key, _ in order[:30]]
    assert all(served.count(key) == 5 for key in quiet)
    for key in (*quiet, flood):
        numbers = [payload for of, payload in order if of == key]
        assert numbers == sorted(numbers, reverse=threshold is None)


# Task code


class CannotBeDescribed(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class LacksItsAfter(Retry):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize("error", [CannotBeDescribed, LacksItsAfter])
def test_whatever_task_code_raises_is_an_outcome(world: World, error: type[Exception]):
    @world.registry.task("bad", max_attempts=1)
    def bad(_payload: Any, _context: Context) -> None:
        raise error

    world.handle("healthy", 0.01)
    healthy, broken = world.put_many("healthy", 100), world.put_many("bad", 20)
    report = world.processor().run()
    assert world.statuses(healthy) == {"SUCCESS": 100}
    assert world.statuses(broken) == {"FAILURE": 20}
    assert {world.queue.get(i).error.type for i in broken} == {error.__name__}  # type: ignore[union-attr]
    assert report.failed == 20


@pytest.mark.parametrize(
    ("follow_ups", "reason"),
    [
        (["x"], "must be a NewTask"),
        (5, "must be a list of NewTask"),
        ([NewTask(task_type="healthy", delay=10**400)], "delay"),
        ([NewTask(task_type="healthy", payload=noise(380_000))] * 14, "a transaction takes"),
    ],
)
def test_follow_ups_that_cannot_be_put_fail_the_task_with_the_reason(
    world: World, follow_ups: Any, reason: str
):
    @world.registry.task("parent")
    def parent(_payload: Any, _context: Context) -> Done:
        return Done(follow_ups=follow_ups)

    world.handle("healthy")
    task_id = world.put("parent")
    report = world.processor().run()
    task = world.queue.get(task_id)
    assert task is not None
    assert task.error is not None
    assert (task.status, report.failed, report.unsettled) == (Status.FAILURE, 1, 0)
    assert reason in task.error.message
    assert len(world.table.items()) == 1


def test_a_refusal_for_lack_of_room_is_no_attempt(world: World):
    opens_at = 30.0

    @world.registry.task("a", max_attempts=3)
    def refused(_payload: Any, _context: Context) -> None:
        if world.seconds < opens_at:
            raise Busy("429")

    ids = world.put_many("a", 20)
    for _ in range(10):
        world.processor(window=20).run()
        world.sleep(1)
    tasks = [world.queue.get(task_id) for task_id in ids]
    assert {(t.status, t.attempts) for t in tasks if t} == {(Status.SUCCESS, 1)}


@pytest.mark.parametrize("error", [Retry("later", after=100), ValueError("no")])
def test_a_task_that_could_not_be_tried_again_in_time_fails_at_once(world: World, error: Exception):
    @world.registry.task("a", backoff=Backoff.fixed(100))
    def fails(_payload: Any, _context: Context) -> None:
        raise error

    task_id = world.put("a", deadline=60)
    world.processor().run()
    task = world.queue.get(task_id)
    assert task is not None
    assert task.error is not None
    assert (task.status, task.attempts) == (Status.FAILURE, 1)
    assert "deadline would have passed" in task.error.message
    assert str(error) in task.error.message


@pytest.mark.parametrize("seed", range(10))
def test_healthy_tasks_get_past_newer_ones_that_fail_again_and_again(seed: int):
    world = World(seed)

    @world.registry.task("poison")
    def poison(_payload: Any, _context: Context) -> None:
        world.sleep(0.4)
        raise ValueError("poison")

    world.handle("healthy", 0.4)
    healthy = world.put_many("healthy", 20)
    world.put_many("poison", 10)
    world.processor(in_flight=4).run()
    done = [world.queue.get(task_id) for task_id in healthy]
    assert max((t.finished_at or 0) - START for t in done if t) <= 4 * MICROSECONDS
    world.scheduler.close()


@pytest.mark.parametrize(
    ("after", "settings", "attempts", "longest"),
    [
        (4.0, {}, 2, 5.5),
        (6.0, {}, 1, 0.5),  # the sweep's matter
        (4.0, {"window": 3.5}, 1, 0.5),
        (4.0, {"linger": 0}, 1, 0.5),
    ],
)
def test_a_run_with_nothing_else_to_do_waits_for_its_own_retry_where_that_is_due_soon(
    world: World, after: float, settings: dict[str, float], attempts: int, longest: float
):
    @world.registry.task("a", backoff=Backoff.fixed(after))
    def fails_once(_payload: Any, context: Context) -> None:
        if context.attempt == 1:
            raise ConnectionError

    task_id = world.put("a")
    report = world.processor(**settings).run()
    task = world.queue.get(task_id)
    assert task is not None
    assert (task.attempts, report.retried, report.succeeded) == (attempts, 1, attempts - 1)
    assert world.seconds <= longest


def test_a_run_waits_no_longer_for_its_own_retry_once_somebody_else_has_taken_it(world: World):
    @world.registry.task("a", backoff=Backoff.fixed(2))
    def fails(_payload: Any, _context: Context) -> None:
        raise ConnectionError

    def cancels() -> None:
        world.sleep(1)
        world.queue.cancel(task_id)

    task_id = world.put("a")
    world.new_machine().spawn(cancels, "cancels")
    assert world.processor().run().claimed == 1
    assert world.seconds <= 3.5


# Processes


def test_handlers_that_hang_keep_their_slots_over_all_runs_of_a_process(world: World):
    world.handle("hangs", 10_000, timeout=2)
    world.put_many("hangs", 40)
    processor = world.processor(in_flight=5, window=10, task_timeout=5, max_attempts=1)
    for _ in range(8):
        with pytest.raises(ProcessUnusable, match="all slots are taken by handlers that hang"):
            processor.run()
    assert len(world.begun) == 5


def test_a_type_whose_slots_all_hang_makes_the_process_unusable_and_the_others_go_on(world: World):
    world.handle("hangs", 10_000, in_flight=1, timeout=2)
    world.handle("healthy", 0.1)
    healthy = world.put_many("healthy", 50)
    world.put("hangs")
    with pytest.raises(ProcessUnusable, match="task type hangs") as unusable:
        world.processor(task_timeout=5).run()
    assert world.statuses(healthy) == {"SUCCESS": 50}
    assert unusable.value.report.succeeded == 50


class Threadless(Machine):
    """Gives no thread from the so many-th on."""

    left = 1_000

    def spawn(self, work: Callable[[], None], name: str) -> None:
        if self.left == 0:
            raise OutOfThreads("can't start new thread")
        self.left -= 1
        super().spawn(work, name)


@pytest.mark.parametrize("threads", [0, 1, 2, 5, 9])
def test_a_process_without_threads_says_so_and_loses_no_task(world: World, threads: int):
    world.handle("a", 1)
    ids = world.put_many("a", 20)
    machine = Threadless("poor", world.scheduler)
    machine.left = threads
    with pytest.raises(ProcessUnusable, match="no thread can be started") as unusable:
        world.processor(machine).run()
    report: RunReport = unusable.value.report
    assert report.remaining
    assert world.statuses(ids)["SUCCESS"] == report.succeeded
    for _ in range(3):
        world.sleep(60)
        Sweeper(
            Store(world.table, host=world.machine),
            world.registry,
            max_attempts=5,
            host=world.machine,
        ).run()
        world.processor().run()
    assert world.statuses(ids) == {"SUCCESS": 20}


def test_a_task_that_kills_its_process_is_put_aside_and_its_neighbours_survive(world: World):
    alive: list[Machine] = []

    @world.registry.task("killer")
    def killer(_payload: Any, _context: Context) -> None:
        world.sleep(0.5)
        alive[-1].kill()

    world.handle("neighbour", 2)
    neighbours = world.put_many("neighbour", 5)
    killing = world.put("killer")
    neighbours += world.put_many("neighbour", 4)
    for _ in range(40):
        alive.append(world.new_machine())
        processor = world.processor(alive[-1])
        alive[-1].spawn(processor.run, "run")
        world.sleep(61)
        Sweeper(
            Store(world.table, host=world.machine),
            world.registry,
            max_attempts=5,
            host=world.machine,
        ).run()
    assert world.statuses(neighbours) == {"SUCCESS": 9}
    killed = world.queue.get(killing)
    assert killed is not None
    assert (killed.status, killed.attempts) == (Status.FAILURE, 5)


# Clocks


@pytest.mark.parametrize("step", [-30, 30])
def test_a_step_of_the_clock_changes_no_duration(world: World, step: int):
    world.handle("a", 0.1)
    world.put_many("a", 500)

    def turn() -> None:
        world.sleep(2)
        world.machine.skew = step * MICROSECONDS

    world.new_machine().spawn(turn, "turns the clock")
    world.processor(in_flight=1, window=6).run()
    assert 5.9 < world.seconds < 6.5


def test_what_is_told_on_the_way_adds_up_to_the_report(world: World):
    world.handle("a", 1)
    world.put_many("a", 100)
    told: list[RunReport] = []
    report = world.processor(in_flight=4).run(on_progress=told.append)
    assert [len(part.waits) for part in told] == [part.claimed for part in told]
    assert sum(part.claimed for part in told) == report.claimed == 100
    assert sum(part.succeeded for part in told) == report.succeeded == 100
    assert len(told) >= 5  # of 25 s


def test_a_claim_that_is_refused_late_ends_no_run_by_what_was_seen_before(world: World):
    world.handle("a")
    gone = world.put("a")
    claims: list[str] = []

    def slow(what: str, task_id: str, _change: Change | None) -> bool:
        first = what == "update" and task_id == gone and not claims
        claims.extend([task_id] if first else [])
        return first or (what == "look" and 0.3 < world.seconds < SLOW)

    def meanwhile() -> None:
        world.sleep(0.05)
        world.queue.cancel(gone)
        world.sleep(1)
        world.put("a")

    world.table.slow = slow
    world.new_machine().spawn(meanwhile, "meanwhile")
    report = world.processor(in_flight=2).run()
    assert (report.claimed, report.succeeded, report.remaining) == (1, 1, False)
