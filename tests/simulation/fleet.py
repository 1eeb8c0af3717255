"""Lambda and SNS: kicks that arrive late or never, processors at a fixed concurrency, and the
sweep's schedule. Beside them, processors that serve until they are stopped."""

import random
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.errors import StoreUnavailable
from lifoq.items.schema import Attribute, Status
from lifoq.store.store import Store
from lifoq.worker.known_types import Types
from lifoq.worker.processor import Processor
from lifoq.worker.run.loop import NOTE_PATIENCE, REMAINING_PATIENCE, Run
from lifoq.worker.run.report import ProcessUnusable, RunReport
from lifoq.worker.sweep.sweep import Sweeper
from tests.simulation.adaptive import judged
from tests.simulation.database import Connection, Database
from tests.simulation.handlers import TaskCode, adaptive, free, passed_over
from tests.simulation.history import Violation, Write
from tests.simulation.machine import Machine, Role
from tests.simulation.order import OrderRule
from tests.simulation.polls import Polls
from tests.simulation.replacing import replaces
from tests.simulation.scenario import Scenario
from tests.simulation.weights import WEIGHED
from tests.virtual.machine import Mailbox

SWEEP_EVERY: Final = 60.0
EVENT_AGE: Final = 60.0
"""Seconds after which a kick that found no free processor is dropped."""
RETRY_EVERY: Final = 2.0
"""Seconds between two attempts to hand over a kick."""
SEEN_AFTER: Final = 8.0
"""Seconds after which every copy of an index shows a change."""
LAST_PAUSE: Final = 1.0
"""Seconds before its end at which a run may give up on an outcome that is not confirmed."""
GIVES_BACK: Final = 3 * REMAINING_PATIENCE + NOTE_PATIENCE + 0.1
"""Seconds for which the end of a run waits at the most: for renewals that are under way, the last
ones, the answer whether tasks remain, and its note."""
MARGIN: Final = 10.0
"""Seconds between the end of a run and the function's timeout."""
SERVES: Final = (2.0, 40.0)
"""Seconds until a long worker is told to stop."""
GRACES: Final = (0.0, 2.0, 8.0)
"""Seconds for which what runs may go on then."""
AT_ONCE: Final = 1.0
"""Seconds in which it hands back what is left."""
STOPS_WITHIN: Final = 10.0
"""Seconds in which a worker that was stopped ends, whatever goes wrong, beside its grace and the
time for settling: it may wait for calls that are not answered, and to try the database again."""
WHOLE_HISTORY: Final = 365 * 86_400.0
"""Seconds, more than any history has: a worker that serves claims until it is stopped."""

HANDS_BACK: Final = "a worker that was stopped has handed back what was left"


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A function's instance: it may be used again for the next run."""

    machine: Machine
    processor: Processor
    polls: Polls


class Fleet:
    def __init__(self, scenario: Scenario, database: Database, code: TaskCode) -> None:
        self.scenario = scenario
        self.running: list[Worker] = []
        self.serving: list[Worker] = []
        """The workers that are there until they are stopped."""
        self.last_run = 0
        """When the last run ended; microseconds of the true clock."""
        self.sweep_every = scenario.sweep_every
        self.only_the_sweep_kicks = False
        self._database = database
        self._scheduler = database.scheduler
        self._code = code
        self._idle: list[Worker] = []
        self._made = 0
        self._is_calm = False
        self._cloud = Machine("cloud", Role.TTL, self._scheduler)
        self._kicks = Mailbox(self._cloud)
        self._records = Mailbox(self._cloud)
        database.on_write = self._stream
        self._cloud.spawn(self._trigger, "trigger")
        self._cloud.spawn(self._hand_over, "kicks")
        self._cloud.spawn(self._sweep_forever, "schedule")
        for number in range(scenario.long_workers):
            draw = random.Random(f"long worker {number} {scenario.seed}")
            self._cloud.spawn(partial(self._keep_serving, draw), "service")

    def calm(self) -> None:
        """From now on as deployed, but for kicks that may stay lost."""
        self._is_calm = True
        self.sweep_every = SWEEP_EVERY
        self.only_the_sweep_kicks = self.scenario.only_the_sweep_kicks

    def kick(self, why: str) -> None:
        lost = self._database.draw.random() < self._database.faults.lost_kick
        if lost or (self.only_the_sweep_kicks and why != "sweep"):
            self._database.trace.add(f"a kick by {why} is lost")
        else:
            self._kicks.put(self._scheduler.time)

    # The trigger function

    def _stream(self, write: Write) -> None:
        if write.becomes is Status.PENDING and write.was is not Status.PENDING:
            self._records.put(write)

    def _trigger(self) -> None:
        while True:
            if self._records.take(1_000) is not None:
                self._cloud.sleep(self._database.draw.uniform(0.05, 0.5))
                while self._records.take(0) is not None:
                    pass
                self.kick("trigger")

    # The processor function

    def _hand_over(self) -> None:
        waiting: list[int] = []
        while True:
            kick = self._kicks.take(RETRY_EVERY if waiting else 10)
            # A machine can crash by what an earlier run left on it, before the next one begins.
            self.running = [worker for worker in self.running if worker.machine.alive]
            if kick is not None:
                waiting.append(kick)
            youngest = self._scheduler.time - microseconds(EVENT_AGE)
            waiting = [kicked for kicked in waiting if kicked > youngest]
            while waiting and len(self.running) < self.scenario.processors:
                waiting.pop(0)
                self._invoke()

    def _invoke(self) -> None:
        worker = self._idle.pop() if self._idle else self._new_worker()
        worker.machine.resume()
        self.running.append(worker)
        worker.machine.spawn(lambda: self._run(worker), "run")

    def _new_worker(self, *, serves: bool = False) -> Worker:
        self._made += 1
        draw = self._database.draw
        skew = draw.uniform(-1, 1) * self.scenario.worker_skew
        machine = Machine(f"worker-{self._made}", Role.WORKER, self._scheduler, skew=skew)
        polls = Polls(
            machine,
            settings=self.scenario.worker,
            window=WHOLE_HISTORY if serves else self.scenario.worker.window,
            free_types=free(self.scenario),
            weighed_types=WEIGHED,
            adaptive_types=adaptive(self.scenario),
            order=OrderRule(self.scenario.worker.adaptive_threshold, self._database.trace.add),
            waits=self._database.waits,
            shown_since=self._database.shown_since,
            together=self._database.together,
            damaged=self._database.damaged,
            tell=self._database.trace.add,
        )
        with judged(machine):
            processor = Processor(
                self._store(machine, polls),
                self._code.registry(machine, polls.refused_types),
                self.scenario.worker,
                host=machine,
                draw=draw,
            )
        return Worker(machine=machine, processor=processor, polls=polls)

    def _store(self, machine: Machine, polls: Polls | None = None) -> Store:
        connection = Connection(self._database, machine, polls)
        return Store(connection, lifetimes=self.scenario.lifetimes, host=machine)

    def _run(self, worker: Worker) -> None:
        trace = self._database.trace
        trace.add("run begins")
        usable = True
        try:
            usable = self._run_and_check(worker)
        except StoreUnavailable as error:
            trace.add(f"run fails: {error}")
        finally:
            trace.add("run ends")
            if worker in self.running:
                self.running.remove(worker)
            self.last_run = self._scheduler.time
        if usable and self._database.draw.random() < 0.5:
            self._rest(worker.machine)  # threads that still run are frozen until the next run
            self._idle.append(worker)
        else:
            worker.machine.crash()

    def _run_and_check(self, worker: Worker) -> bool:
        """Run a worker's process, and return True if the process can be used again."""
        machine = worker.machine
        limit = self.scenario.run_lasts
        began, pauses, outages = machine.true_time(), machine.pauses, machine.outages
        worker.polls.begin()
        since = len(self._database.history.writes)
        told = RunReport()
        usable = True
        try:
            report = worker.processor.run(time_limit=limit + MARGIN, on_progress=told.add)
        except ProcessUnusable as error:
            usable, report = False, error.report
            self._database.trace.add(f"{machine.name} is replaced: {error}")
        if replace(report, remaining=False) != told:
            raise Violation(f"a run told of {told} on its way, and reports {report}")
        took = (machine.true_time() - began) / MICROSECONDS
        writes = [w for w in self._database.history.writes[since:] if w.machine == machine.name]
        self._check_counts(report, writes)
        if report.unsettled and took < limit - LAST_PAUSE:
            raise Violation(f"a run left {report.unsettled} tasks unsettled, with time left")
        if machine.pauses == pauses:
            self._check_remaining(report, took)
            if machine.outages == outages and usable:
                self._check_times(worker, report, took)
        self._check_tail_call(report, writes)
        return usable

    def _check_tail_call(self, report: RunReport, writes: list[Write]) -> None:
        if report.needs_another_run:
            if not any(w.becomes is Status.TAKEN and w.was is Status.PENDING for w in writes):
                raise Violation("a run that claimed nothing asks for another")
            self.kick("tail call")

    def _check_counts(self, report: RunReport, writes: list[Write]) -> None:
        """The report tells what was written; where an answer was lost for good, it tells less."""

        def count(was: Status, becomes: Status) -> int:
            return sum((w.was, w.becomes) == (was, becomes) for w in writes)

        taken = Status.TAKEN
        overtaken = sum(replaces(w) for w in writes)
        told = {
            "claimed": (report.claimed, count(Status.PENDING, taken)),
            "succeeded": (report.succeeded, count(taken, Status.SUCCESS) + overtaken),
            "failed": (report.failed, count(taken, Status.FAILURE) + overtaken),
            "retried": (
                report.retried,
                count(taken, Status.DELAYED) + count(taken, Status.PENDING),
            ),
            "cancelled": (report.cancelled, count(taken, Status.CANCELLED) + overtaken),
            "promoted": (report.promoted, count(Status.DELAYED, Status.PENDING)),
        }
        for name, (said, written) in told.items():
            if said > written:
                raise Violation(f"a run reports {said} {name}, it wrote {written}")
        ended = report.succeeded + report.failed + report.retried + report.cancelled
        if report.claimed != ended + report.leases_lost + report.unsettled:
            raise Violation(f"the counts of a run do not add up: {report}")

    def _check_times(self, worker: Worker, report: RunReport, took: float) -> None:
        """A run keeps its time, whatever becomes of its calls, and ends early only where the queue
        is empty, and was watched for as long as it lingers: half of that since its last outcome."""
        settings = self.scenario.worker
        if took > self.scenario.run_lasts + GIVES_BACK:
            raise Violation(f"a run took {took:.1f} s")
        if took >= settings.window:
            return
        if report.remaining:
            raise Violation("a run ended before its window, and says that tasks remain")
        worker.polls.assert_empty(ago=GIVES_BACK if settings.shared_limits else 0.0)
        idle = (worker.machine.true_time() - worker.polls.last_claim) / MICROSECONDS
        if took < settings.linger or idle < settings.linger / 2:
            raise Violation(f"a run believed the queue empty after {idle:.2f} s of {took:.2f} s")

    def _check_remaining(self, report: RunReport, took: float) -> None:
        """A run that had too little time for what waits asks for another."""
        if took < self.scenario.worker.window or report.claimed == 0:
            return
        now, seen = self._scheduler.time, microseconds(SEEN_AFTER)
        for task_id, item in self._database.waits.items():
            lives = item[Attribute.EXPIRES_AT] > now + seen
            settled = self._database.history.of_task[task_id][-1].time < now - seen
            if lives and settled and not report.needs_another_run:
                raise Violation("waits, but the run that ended asks for no other", task_id)

    # Processors that serve until they are stopped

    def _keep_serving(self, draw: random.Random) -> None:
        """One of them at a time; where it is stopped or lost, another follows, until the calm."""
        while not self._is_calm:
            worker = self._new_worker(serves=True)
            machine = worker.machine
            self.serving.append(worker)
            machine.spawn(partial(self._serve, worker), "serve")
            until = self._scheduler.time + microseconds(draw.uniform(*SERVES))
            while machine.alive and not self._is_calm and self._scheduler.time < until:
                self._cloud.sleep(1)
            if machine.alive:
                machine.spawn(partial(self._stop, worker, draw.choice(GRACES)), "SIGTERM")
            while machine.alive:
                self._cloud.sleep(1)
            self.serving.remove(worker)

    def _serve(self, worker: Worker) -> None:
        machine, processor, told = worker.machine, worker.processor, RunReport()
        run = processor._run

        def begins(**terms: Any) -> Run:
            worker.polls.begin()
            return run(**terms)

        processor._run = begins
        try:
            processor.serve(on_progress=told.add)
        except ProcessUnusable as error:
            self._database.trace.add(f"{machine.name} is replaced: {error}")
        writes = [w for w in self._database.history.writes if w.machine == machine.name]
        self._check_counts(told, writes)
        self._assert_left_nothing(machine)
        if any(map(_hands_back, writes)):
            self._database.trace.add(HANDS_BACK)
        machine.crash()

    def _stop(self, worker: Worker, grace: float) -> None:
        machine, pauses = worker.machine, worker.machine.pauses
        self._database.trace.add(f"{machine.name} is stopped, with {grace:g} s of grace")
        worker.polls.stops()
        worker.processor.stop(grace=grace)
        machine.sleep(grace + AT_ONCE)  # this strand is gone with the machine
        if not machine.faults:
            raise Violation(f"{machine.name} goes on after its grace, and no call went wrong")
        machine.sleep(grace + self.scenario.worker.settle_time + STOPS_WITHIN)
        if machine.pauses == pauses:
            raise Violation(f"{machine.name} goes on, though it was stopped")

    def _assert_left_nothing(self, machine: Machine) -> None:
        """Who was stopped has settled, or handed back, all but what had trouble."""
        for item in self._database.tasks():
            claim = self._database.history.claims.get(str(item.get(Attribute.CLAIM_ID)))
            taken = item[Attribute.TASK_STATUS] == Status.TAKEN
            if not taken or claim is None or claim.machine != machine.name:
                continue
            breaker = item[Attribute.CLAIM_ID] in machine.claim_faults or machine.outages
            if not (breaker or machine.pauses):
                raise Violation(f"is left TAKEN by {machine.name}, which is gone", claim.task_id)

    # The sweep function

    def _sweep_forever(self) -> None:
        """An instance that is still at work takes no other event: another is started."""
        idle: list[tuple[Machine, Sweeper]] = []
        while True:
            self._cloud.sleep(self.sweep_every)
            idle[:] = [(machine, sweeper) for machine, sweeper in idle if machine.alive]
            machine, sweeper = idle.pop() if idle else self._new_sweeper()
            machine.resume()
            machine.spawn(partial(self._sweep_and_rest, machine, sweeper, idle), "sweep")

    def _sweep_and_rest(
        self, machine: Machine, sweeper: Sweeper, idle: list[tuple[Machine, Sweeper]]
    ) -> None:
        self._sweep(machine, sweeper)
        self._rest(machine)
        idle.append((machine, sweeper))

    def _rest(self, machine: Machine) -> None:
        """Until the next invocation."""
        if self.scenario.freezes:
            machine.freeze()
        else:
            machine.suspend()

    def _new_sweeper(self) -> tuple[Machine, Sweeper]:
        self._made += 1
        skew = self._database.draw.uniform(-1, 1) * self.scenario.worker_skew
        machine = Machine(f"sweep-{self._made}", Role.SWEEP, self._scheduler, skew=skew)
        registry, settings = self._code.registry(machine), self.scenario.worker
        sweeper = Sweeper(
            self._store(machine),
            registry,
            max_attempts=settings.max_attempts,
            types=Types.of(registry, settings),
            host=machine,
        )
        return machine, sweeper

    def _sweep(self, machine: Machine, sweeper: Sweeper) -> None:
        began, faults = machine.now(), machine.faults
        try:
            report = sweeper.run()
        except StoreUnavailable as error:
            self._database.trace.add(f"sweep fails: {error}")
            return
        self._database.trace.add(f"swept: {report}")
        if report.dead_lettered and not self._database.damaged:
            raise Violation("the sweep dead-lettered a task that nobody had damaged")
        if report.finished and machine.faults == faults:
            self._assert_none_left(began)
        if strangers := set(report.unknown) - passed_over(self.scenario):
            raise Violation(f"the sweep takes {strangers} for task types that nobody knows")
        if report.needs_processor:
            self.kick("sweep")

    def _assert_none_left(self, began: int) -> None:
        """Nothing is left of what a sweep must end, if it was so when it began, as far as its index
        could tell: a lease that is over, or a task past its deadline, of which somebody waits to be
        told."""
        history = self._database.history
        lag = microseconds(self.scenario.faults.index_lag + 2 * self.scenario.worker_skew)
        for item in self._database.tasks():
            task_id, lease = str(item[Attribute.TASK_ID]), item.get(Attribute.LEASE_EXPIRES)
            latest = history.of_task[task_id][-1]
            since = latest if lease is None else history.claims[str(item[Attribute.CLAIM_ID])]
            if since.time + lag >= began:
                continue
            if lease is not None and lease < began:
                raise Violation("its lease is long over, and a sweep left it", task_id)
            told = item[Attribute.TASK_STATUS] == Status.PENDING and Attribute.DUE_AT in item
            if told and item[Attribute.EXPIRES_AT] + lag < began:
                raise Violation("is past its deadline, and a sweep left it", task_id)


def _hands_back(write: Write) -> bool:
    """Return True for a task that a stopped worker left; its attempt does not count (see
    ``rules``)."""
    error = str((write.after or {}).get(Attribute.ERROR))
    left = write.was is Status.TAKEN and write.becomes is Status.PENDING
    return left and "HandedBack" in error and "was stopped" in error
