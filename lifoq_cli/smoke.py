"""The command that tries a deployed queue, with tasks of a type of its own."""

import datetime as dt
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, Final

import click
from rich.console import Console
from rich.text import Text

from lifoq.basics.host import MICROSECONDS, SYSTEM, Host
from lifoq.basics.times import spoken
from lifoq.client.queue import Queue
from lifoq.errors import (
    LifoqError,
    NotClaimed,
    TaskCancelled,
    TaskNotFound,
    TaskShed,
    WaitTimeout,
    WrongStatus,
)
from lifoq.items.attempt_history import Ended
from lifoq.items.schema import SMOKE_TYPE, Status
from lifoq.items.task import NewTask, Task
from lifoq.items.task_error import TaskFailed
from lifoq.metrics import DIMENSION, NAMESPACE, Metric, service
from lifoq.operating.aws_calls import Account
from lifoq.operating.processing import Processing
from lifoq_cli import completion, moments, options, signals, statuses
from lifoq_cli.progress import progress
from lifoq_cli.session import Session

PATIENCE: Final = 90.0
"""Seconds for a task to end: where a kick is lost, the sweep comes once a minute."""
DELAY: Final = 2.0
DEADLINE: Final = 4.0
LEAST: Final = 120.0
"""The queue's own deadline, at the least: what is delayed may wait for the sweep, which comes once
a minute."""
QUIET: Final = 3.0
"""Seconds that a task is left alone, from which one sees that no processor runs."""
IN_LINE: Final = 20
"""Tasks whose order is looked at."""
LEASE: Final = 1.0
"""Seconds that a worker which is then lost holds its task for."""
METRICS_PATIENCE: Final = 300.0
"""Seconds for metrics to arrive: CloudWatch takes them from the logs, a minute or two late."""
METRICS_POLL: Final = 5.0
MINUTE: Final = 60


class Refused(LifoqError):
    """The queue is not in a state in which it can be tried."""


class Wrong(Exception):
    """Raised when the queue does not do what it promises."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    step: str
    well: bool
    what: str


@dataclass(kw_only=True)
class Trial:
    """A trial of a queue, step by step: each step says what it saw, or raises Wrong or
    LifoqError."""

    queue: Queue
    processing: Processing
    counted: Callable[[int], float]
    """Return the number of tasks that succeeded since a time in epoch microseconds, as CloudWatch
    has it."""
    host: Host = SYSTEM
    ids: list[str] = field(default_factory=list)
    """The ids of all tasks that it put."""
    succeeded: int = 0
    lost: str | None = None
    """The task that is held by a worker which does not live."""

    def __post_init__(self) -> None:
        self.began = self.host.now()

    def wakes(self) -> str:
        task = self._put(answer="seen")
        if (answer := self._result(task)) != "seen":
            raise Wrong(f"the result is {answer!r}")
        done = self._task(task)
        return f"a task was begun {_between(done.enqueued_at, done.first_taken_at)} after its put"

    def retries(self) -> str:
        task = self._put(retries=1)
        self._result(task)
        if (attempts := self._task(task).attempts) != 2:  # noqa: PLR2004 - a retry is the second
            raise Wrong(f"it took {attempts} attempts in place of 2")
        return "a task that asked for a retry succeeded at its second attempt"

    def delays(self) -> str:
        task = self._put(delay=DELAY)
        self._result(task)
        done = self._task(task)
        if done.first_taken_at is None or done.first_taken_at < done.enqueued_at:
            raise Wrong("it was begun before it was due")
        late = _between(done.enqueued_at, done.first_taken_at)
        return f"a task that was put for later was begun {late} after it was due"

    def cancels(self) -> str:
        task = self._put(delay=moments.HOUR / 2)
        self.queue.cancel(task)
        self._ends(task, TaskCancelled)
        return "a task that was cancelled is"

    def redrives(self) -> str:
        task = self._put(fails=True)
        self._ends(task, TaskFailed)
        first = self._task(task).finished_at
        self.queue.redrive(task)
        self._ends(task, TaskFailed)
        if self._task(task).finished_at == first:
            raise Wrong("it was not tried again")
        return "a task that failed was redriven, and tried again"

    def pauses(self) -> str:
        self.processing.pause("lifoq smoke", passing=True)
        until = self.host.now() + int(MICROSECONDS * (self.processing.longest_run_seconds + QUIET))
        while self.host.now() < until:
            probe = self._put()
            self.host.sleep(QUIET)
            if self._task(probe).status is Status.PENDING:
                return "no processor runs while it is paused"
        raise Wrong("tasks are begun all the same")

    def sheds_and_resumes(self) -> str:
        """While it is paused."""
        shed = self._put(deadline=DEADLINE)
        self.lost = self._put(answer="again")
        # This process is the worker: it claims the task, and is heard of no more.
        try:
            self.queue.store.claim(self.lost, claim_id=uuid.uuid4().hex, lease=LEASE)
        except NotClaimed as error:
            raise Wrong("a processor runs, though the queue is paused") from error
        line = self._put_line()
        self._ends(shed, TaskShed)
        self.processing.resume()
        for task in line:
            self._result(task)
        there = self.queue.get(shed)  # TTL may have deleted it by now
        if there is not None and there.attempts:
            raise Wrong("a task was begun after its deadline")
        taken = [self._task(task).first_taken_at or 0 for task in line]
        if taken[-1] > taken[0]:
            raise Wrong(f"of {IN_LINE} tasks the oldest was begun before the newest")
        return (
            f"of {IN_LINE} tasks that waited the newest was begun first, the oldest "
            f"{_between(taken[-1], taken[0])} later; one whose deadline had passed never was"
        )

    def recovers(self) -> str:
        """Check, after the processors go on, that a task whose worker was lost runs again."""
        if self.lost is None:
            raise Wrong("no task was claimed that could be lost, since the queue was not paused")
        self._result(self.lost)
        task = self._task(self.lost)
        if [past.ended for past in task.history] != [Ended.LEASE_EXPIRED]:
            raise Wrong("the end of its first lease was not noted")
        late = _between(task.history[0].ended_at, task.taken_at)
        return (
            "a task whose worker was lost was taken back when its lease was over, and begun again "
            f"{late} later"
        )

    def measures(self) -> str:
        begun = self.host.now()
        while (found := self.counted(self.began)) < self.succeeded:
            if self.host.now() - begun > METRICS_PATIENCE * MICROSECONDS:
                raise Wrong(
                    f"CloudWatch counts {found:g} tasks that succeeded, of {self.succeeded}; "
                    "see the logs of the processor"
                )
            self.host.sleep(METRICS_POLL)
        return f"CloudWatch has the {self.succeeded} tasks that succeeded"

    def clean_up(self) -> int:
        """Delete whatever was put; how many are left."""
        left = 0
        for task_id in self.ids:
            try:
                task = self.queue.get(task_id)
                if task is not None and task.waiting:
                    self.queue.cancel(task_id)
                if task is not None:
                    self.queue.delete(task_id)
            except TaskNotFound:
                continue
            except WrongStatus:  # it is being worked on
                left += 1
        return left

    def _put(
        self, *, delay: float | None = None, deadline: float | None = None, **payload: Any
    ) -> str:
        task_id = self._new_id()
        self.queue.put(SMOKE_TYPE, payload, task_id=task_id, delay=delay, deadline=deadline)
        return task_id

    def _put_line(self) -> list[str]:
        ids = [self._new_id() for _ in range(IN_LINE)]
        self.queue.put_many(
            [NewTask(task_type=SMOKE_TYPE, payload={}, task_id=task_id) for task_id in ids]
        )
        return ids

    def _new_id(self) -> str:
        self.ids.append(f"smoke-{uuid.uuid4().hex[:12]}")
        return self.ids[-1]

    def _task(self, task_id: str) -> Task:
        task = self.queue.get(task_id)
        if task is None:
            raise TaskNotFound(task_id)
        return task

    def _result(self, task_id: str) -> Any:
        result = self.queue.wait(task_id, timeout=PATIENCE)
        self.succeeded += 1
        return result

    def _ends(self, task_id: str, how: type[LifoqError]) -> None:
        try:
            result = self._result(task_id)
        except how:
            return
        raise Wrong(f"it succeeded, with {result!r}")


def _between(earlier: int | None, later: int | None) -> str:
    if earlier is None or later is None:
        raise Wrong("it was never begun")
    return spoken((later - earlier) / MICROSECONDS)


STEPS: Final[dict[str, Callable[[Trial], str]]] = {
    "wake": Trial.wakes,
    "retry": Trial.retries,
    "delay": Trial.delays,
    "cancel": Trial.cancels,
    "redrive": Trial.redrives,
    "pause": Trial.pauses,
    "order, deadline, resume": Trial.sheds_and_resumes,
    "lost worker": Trial.recovers,
    "metrics": Trial.measures,
}


@click.command()
@click.argument("name", metavar="[NAME]", required=False, shell_complete=completion.queues)
@options.asks
@click.pass_obj
def smoke(session: Session, name: str | None) -> None:
    """Try a deployed queue with tasks of its own, for some minutes.

    It shows what happens on your account: a wake-up, a retry, a delay, a cancellation, a redrive,
    a pause, the order, the deadline, that processing goes on, that the task of a lost worker runs
    again, and that metrics arrive. The queue is paused meanwhile,
    for some seconds once its processors have ended, and the alarm on failures may ring. In the end
    its tasks are deleted. Exit status 3 where something was not as promised.
    """
    if name is not None:
        session.given["queue"] = (name,)
    queue = session.queue
    if not isinstance(queue, Queue) or session.tables:
        raise click.UsageError("one queue is tried at a time: name it, --queue NAME")
    processing = Processing.connect(session.names[0], **session.client_arguments)
    if (deadline := queue.store.lifetimes.deadline) < LEAST:
        raise Refused(
            f"the deadline of {session.names[0]} is {deadline:g} s: what waits for the sweep would "
            f"be shed; a queue can be tried from {LEAST:g} s on"
        )
    if processing.is_paused:
        raise Refused(_paused(session.names[0], processing, now=session.now))
    question = f"Put some {IN_LINE + 10} tasks into {session.names[0]}, and pause it for a moment?"
    if not session.confirm(question):
        return
    seen = []
    counted = partial(_counted, Account(**session.client_arguments), session.names[0])
    trial = Trial(queue=queue, processing=processing, counted=counted)
    with _left_as_it_was(session, trial):
        for one in _tried(trial):
            seen.append(one)
            if not session.as_json:
                _print(session.console, one)
    session.answer([asdict(one) for one in seen], lambda _: None)
    if not all(one.well for one in seen):
        raise click.exceptions.Exit(statuses.BAD_NEWS)


def _counted(account: Account, name: str, since: int) -> float:
    """Tasks that succeeded from the minute of ``since`` (epoch microseconds) on. Raises what
    ``Account.call`` raises."""
    start = dt.datetime.fromtimestamp(since // MICROSECONDS // MINUTE * MINUTE, dt.UTC)
    metric = {
        "Namespace": NAMESPACE,
        "MetricName": Metric.TASKS_SUCCEEDED.value,
        "Dimensions": [{"Name": DIMENSION, "Value": service(name)}],
    }
    answer = account.call(
        "cloudwatch",
        "get_metric_data",
        MetricDataQueries=[
            {"Id": "done", "MetricStat": {"Metric": metric, "Period": MINUTE, "Stat": "Sum"}}
        ],
        StartTime=start,
        EndTime=start + dt.timedelta(days=1),
    )
    return sum(sum(result["Values"]) for result in answer["MetricDataResults"])


def _tried(trial: Trial) -> Iterator[Seen]:
    for step, look in STEPS.items():
        try:
            with progress(f"trying: {step}"):
                seen = Seen(step=step, well=True, what=look(trial))
            yield seen
        except (Wrong, WaitTimeout, TaskFailed, TaskCancelled, TaskShed, TaskNotFound) as error:
            yield Seen(step=step, well=False, what=str(error))


def _paused(name: str, processing: Processing, *, now: int) -> str:
    note = processing.note
    if note is None:
        return f"{name} is paused: lifoq resume --queue {name}"
    return note.told(name, now=now)


@contextmanager
def _left_as_it_was(session: Session, trial: Trial) -> Iterator[None]:
    """Undo the pause and delete the tasks, however the trial ends. Exits with the signal's own
    status where one ended it."""

    def undo() -> None:
        try:
            if trial.processing.is_paused:
                trial.processing.resume()
        except LifoqError:
            name = session.title
            session.tell(f"{name} may still be paused: lifoq resume --queue {name}")
            raise
        if left := trial.clean_up():
            session.tell(f"{left} tasks are being worked on, and could not be deleted yet")

    with signals.raised():
        try:
            try:
                yield
            finally:
                undo()
        except signals.Signalled as ended:
            # The one signal that is raised may have come while the end was being undone.
            undo()
            with suppress(OSError):  # a terminal that was closed shows nothing any more
                session.tell(f"{ended}: {session.title} is as it was before")
            raise click.exceptions.Exit(ended.status) from ended


def _print(console: Console, one: Seen) -> None:
    mark = ("✓ ", "green") if one.well else ("✗ ", "red")
    console.print(Text.assemble(mark, (one.step, "bold"), console.render_str(f": {one.what}")))
