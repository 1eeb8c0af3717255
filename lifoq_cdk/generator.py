"""A generator of tasks: recurring ones on a schedule, and load for trials."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import aws_cdk as cdk
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from lifoq.basics import jsontext
from lifoq.basics.host import microseconds
from lifoq.basics.numbers import LONGEST, check_rate, check_seconds
from lifoq.errors import InvalidInput
from lifoq.items.put_terms import Door, at
from lifoq.items.task import IfExists, NewTask, accept
from lifoq.schedules.event import event_of, task_id
from lifoq.schedules.when import check_expression, check_time_zone
from lifoq_cdk import known, limits
from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.function import QueueFunction
from lifoq_cdk.functions import CREATE_TASKS, INSISTENT, AsyncInvocation
from lifoq_cdk.queue import LifoQueue
from lifoq_cdk.schedule import Invocation

Profile = Literal["constant", "burst", "sine"]
MINUTE: Final = cdk.Duration.minutes(1)


@dataclass(frozen=True, kw_only=True)
class RecurringTask:
    """A task that is put by a schedule, with an id of its time: once, however often Lambda or the
    scheduler try.

    Examples:
        >>> clean = RecurringTask(name="nightly", task_type="clean", schedule="cron(0 3 * * ? *)")
        >>> generator = QueueGenerator(stack, "Generator", queue=queue, recurring=[clean])
    """

    name: str
    """The task's name: the beginning of its id."""
    task_type: str
    """The type of the task."""
    schedule: scheduler.ScheduleExpression | str
    """The schedule in EventBridge Scheduler's words: ``rate(1 hour)``, ``cron(0 3 * * ? *)``."""
    payload: Any = None
    key: str | None = None
    """The person or thing that the task is for, such as a customer or a device."""
    if_exists: IfExists = "keep"
    """The rule for an id that is in use. With ``"replace"`` the task's id is its name alone, so
    that its newest run counts: one that waits is replaced, and after one that is TAKEN the task
    runs again."""
    deadline: cdk.Duration | None = None
    """The time that the task may wait before it is shed; the queue's deadline by default."""
    head_start: cdk.Duration | None = None
    """A priority: the task stands where it would if it had come so much later."""
    max_attempts: int | None = None
    """The number of attempts that the task has, in place of its type's own number."""
    timeout: cdk.Duration | None = None
    """The time that one attempt may take, in place of its type's own time."""
    weight: int | None = None
    """The units that the task weighs, such as tokens: limits in units count them."""
    time_zone: cdk.TimeZone | str = cdk.TimeZone.ETC_UTC

    def __post_init__(self) -> None:
        if isinstance(self.schedule, str):
            check_expression("schedule", self.schedule)
        if isinstance(self.time_zone, str):
            check_time_zone(self.time_zone)
        accept(NewTask(**self._terms()), now=0, longest_deadline=microseconds(LONGEST))

    @property
    def task_id(self) -> str:
        """The id of each run's task; of all of them, where the newest run counts."""
        return task_id(self.name, self.if_exists)

    def check(self, longest: float) -> None:
        """Raise InvalidInput where the task does not fit a queue whose deadline is ``longest``
        seconds."""
        for name in ("deadline", "head_start"):
            length = getattr(self, name)
            if length and length.to_seconds(integral=False) > longest:
                problem = f"is longer than the queue's deadline of {longest:g} s; shorten it"
                raise InvalidInput(name, str(length), problem)

    def event(self) -> dict[str, Any]:
        """Return what its schedule invokes the function with."""
        return event_of(NewTask(**self._terms()))

    def _terms(self) -> dict[str, Any]:
        """Return the terms of its put, without those that have their default."""
        found = {"payload": self.payload}
        for term in at(Door.RECURRING):
            value = getattr(self, term.name)
            if isinstance(value, cdk.Duration):
                known.check(**{term.name: value})
                value = value.to_seconds(integral=False)
            if value != term.default:
                found[term.name] = value
        return found


@dataclass(frozen=True, kw_only=True)
class Load:
    """Load for trials: each minute, tasks for ``seconds`` of it.

    Examples:
        >>> load = Load(task_type="price.refresh", tasks_per_second=20, payload={"sku": "4711"})
        >>> generator = QueueGenerator(stack, "Generator", queue=queue, load=load)
    """

    task_type: str
    """The type of the tasks."""
    tasks_per_second: float
    """Tasks per second: throughout, or between the peaks."""
    payload: Any = None
    """The payload of each task."""
    profile: Profile = "constant"
    """The course of the load: ``constant``; ``burst``, with the peak in the first half of each
    ``period``; or ``sine``, up to the peak and back."""
    peak_tasks_per_second: float | None = None
    """Tasks per second at the peak."""
    period: cdk.Duration | None = None
    """The time from one peak to the next."""
    seconds: float = 60
    """Seconds of each minute in which tasks are put."""
    enabled: bool = True
    """False to deploy it switched off."""

    def __post_init__(self) -> None:
        if self.profile not in (profiles := get_args(Profile)):
            raise InvalidInput("profile", self.profile, f"must be one of {', '.join(profiles)}")
        jsontext.encode(self.payload, "payload")
        check_rate("tasks_per_second", self.tasks_per_second)
        check_seconds("seconds", self.seconds)
        if self.seconds > MINUTE.to_seconds():
            raise InvalidInput("seconds", self.seconds, "must be a minute at the most")
        peak, shape = self.peak_tasks_per_second, (self.peak_tasks_per_second, self.period)
        if self.profile == "constant" and shape != (None, None):
            problem = "means nothing to the profile 'constant': choose 'burst' or 'sine', or remove"
            raise InvalidInput("peak_tasks_per_second, period", shape, f"{problem} it")
        if self.profile != "constant" and (peak is None or self.period is None):
            problem = "needs peak_tasks_per_second and period, too"
            raise InvalidInput("profile", self.profile, problem)
        if peak is not None:
            check_rate("peak_tasks_per_second", peak)
            if peak < self.tasks_per_second:
                problem = f"is below tasks_per_second ({self.tasks_per_second:g}): swap them"
                raise InvalidInput("peak_tasks_per_second", peak, problem)

    def event(self) -> dict[str, Any]:
        known.check(tasks_per_second=self.tasks_per_second, period=self.period)
        load: dict[str, Any] = {
            "profile": self.profile,
            "tasksPerSecond": self.tasks_per_second,
            "seconds": self.seconds,
        }
        if self.period is not None:
            load["peakTasksPerSecond"] = self.peak_tasks_per_second
            load["periodSeconds"] = self.period.to_seconds(integral=False)
        return {"taskType": self.task_type, "payload": self.payload, "load": load}


class QueueGenerator(Construct):
    """``CreateTasksFunction`` and the schedules that run it.

    Examples:
        >>> hourly = RecurringTask(name="hourly", task_type="price.list", schedule="rate(1 hour)")
        >>> generator = QueueGenerator(stack, "Generator", queue=queue, recurring=[hourly])
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: LifoQueue,
        recurring: Sequence[RecurringTask] = (),
        load: Load | None = None,
        asynchronous: AsyncInvocation = INSISTENT,
    ) -> None:
        super().__init__(scope, construct_id)
        self._queue = queue
        self.dead_letters = DeadLetters(
            self, "DeadLetters", encryption_key=queue.state.encryption_key
        )
        self.create_tasks = QueueFunction(
            self,
            CREATE_TASKS,
            surroundings=queue.surroundings,
            timeout=cdk.Duration.seconds(
                limits.generator_timeout_seconds(load.seconds if load else 0)
            ),
            dead_letters=self.dead_letters,
            asynchronous=asynchronous,
        )
        self._watch()
        for task in recurring:
            self._recur(task)
        self.load_schedule = self._load(load) if load else None

    def _watch(self) -> None:
        board = self._queue.alarm_board(self)
        board.add_dead_letter_alarm(self.dead_letters)
        board.add_function_alarms([self.create_tasks])
        board.add_event_alarms([self.create_tasks])

    def _recur(self, task: RecurringTask) -> None:
        queue = self._queue
        task.check(queue.lifetimes.deadline)
        if task.if_exists == "replace":
            table = queue.table.table_arn
            self.create_tasks.allow(["dynamodb:GetItem", "dynamodb:UpdateItem"], table)
        zone = task.time_zone
        expression = task.schedule
        Invocation(
            self,
            f"Schedule-{task.name}",
            target_arn=self.create_tasks.function_arn,
            action="lambda:InvokeFunction",
            expression=expression if isinstance(expression, str) else expression.expression_string,
            time_zone=zone if isinstance(zone, str) else zone.timezone_name,
            description=f"lifoq {queue.queue_name}: {task.name}",
            event=task.event(),
            dead_letters=self.dead_letters,
            # Later than the deadline, the task would be shed on arrival.
            max_event_age=task.deadline or cdk.Duration.seconds(queue.lifetimes.deadline),
        )

    def _load(self, load: Load) -> Invocation:
        return Invocation(
            self,
            "LoadSchedule",
            target_arn=self.create_tasks.function_arn,
            action="lambda:InvokeFunction",
            expression="rate(1 minute)",
            description=f"lifoq {self._queue.queue_name}: load",
            event=load.event(),
            dead_letters=self.dead_letters,
            max_event_age=MINUTE,
            enabled=load.enabled,
        )
