"""A stage's configuration: typed, with units in the names, and refused when it cannot work.

The stages live in ``cdk.json`` under the context key ``stages``; ``-c stage=NAME`` chooses one and
``-c overrides='{"deadline_seconds": 600}'`` changes single settings of it.
"""

import difflib
import re
import reprlib
import zoneinfo
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from lifoq.basics import jsontext
from lifoq.basics.numbers import LONGEST
from lifoq.errors import InvalidInput
from lifoq.ingest.mapping import IngestMapping
from lifoq.items.lifetimes import Lifetimes
from lifoq.targets import configured, function, https
from lifoq.worker import backoff
from lifoq.worker.settings import UnknownTypes, WorkerSettings
from lifoq_cdk import limits
from lifoq_cdk.workers import WorkerScaling

MINUTE: Final = 60
DAY: Final = 24 * 60 * MINUTE

WORKER: Final = WorkerSettings()
LIFETIMES: Final = Lifetimes()
"""The library's own defaults are the stages'."""

DEFAULT_STAGE: Final = "dev"
STAGE_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")

LogRetentionDays = Literal[1, 3, 7, 14, 30, 90, 180, 365, 731]
"""A useful few of the periods that CloudWatch Logs knows."""

ExportWindowMinutes = Literal[15, 20, 30, 60, 120, 180, 240, 360, 480, 720, 1440]
"""DynamoDB allows 15 minutes to 24 hours; these cut the day into windows that do not overlap."""


def _known_time_zone(name: str) -> str:
    # Empty where Python has no time zone database, as in some slim containers: AWS judges then.
    known = zoneinfo.available_timezones()
    if known and name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        remedy = f"did you mean {close[0]}" if close else "choose one such as Europe/Berlin or UTC"
        raise ValueError(f"is no time zone: {remedy}")
    return name


def _json(value: Any) -> Any:
    try:
        jsontext.encode(value, "it")
    except InvalidInput as error:
        raise ValueError(f"cannot be sent: {error.field} {error.problem}") from error
    return value


Seconds = Annotated[float, Field(gt=0, le=LONGEST)]
PerSecond = Annotated[float, Field(gt=0)]
TimeZone = Annotated[str, AfterValidator(_known_time_zone)]
Payload = Annotated[Any, AfterValidator(_json)]
SecretName = Annotated[str, Field(pattern=r"^[A-Za-z0-9/_+=.@-]{1,512}$")]
RoleArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:iam::\d{12}:role/[\w+=,.@/-]+$")]
QueueArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:sqs:[a-z0-9-]+:\d{12}:[\w-]+(\.fifo)?$")]
TopicArn = Annotated[str, Field(pattern=r"^arn:[a-z-]+:sns:[a-z0-9-]+:\d{12}:[\w-]+$")]
TaskType = Annotated[str, Field(min_length=1, max_length=256)]
ScheduleName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9-]{0,47}$")]
ScheduleExpression = Annotated[
    str, Field(pattern=r"^(rate\([1-9]\d* (minutes?|hours?|days?)\)|cron\([^()]+\))$")
]


class ConfigurationError(ValueError):
    """The configuration cannot be deployed; the message says which key, what it holds, what to do.

    Several problems are several lines.
    """


class Settings(BaseModel):
    """What all groups of settings share: nothing unknown, nothing converted, nothing changed."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Backoff(Settings):
    """How long a failed task waits for its next attempt."""

    growth: Literal["exponential", "linear", "fixed"] = "exponential"
    min_seconds: Seconds = WORKER.backoff.min_seconds
    max_seconds: Seconds = WORKER.backoff.max_seconds

    def schedule(self) -> backoff.Backoff:
        """As the library knows it."""
        if self.growth == "fixed":
            return backoff.Backoff.fixed(self.min_seconds)
        return backoff.Backoff(
            growth=self.growth, min_seconds=self.min_seconds, max_seconds=self.max_seconds
        )


class Stream(Settings):
    """How the table's stream is handed to the trigger."""

    batch_size: Annotated[int, Field(ge=1, le=10_000)] = 1000
    batching_window_seconds: Annotated[int, Field(ge=0, le=300)] = 0
    retry_attempts: Annotated[int, Field(ge=0, le=10_000)] = 3
    max_record_age_seconds: Annotated[int, Field(ge=60, le=604_800)] = 3600


class AsyncInvocation(Settings):
    """How long, and how often, Lambda tries an event that nobody waits for."""

    # A kick that is old or failed is worth nothing: the sweep makes up for it within a minute.
    max_event_age_seconds: Annotated[int, Field(ge=60, le=21_600)] = 60
    retry_attempts: Annotated[int, Field(ge=0, le=2)] = 0


class ScheduleInvocation(AsyncInvocation):
    """The same for the generator: nothing makes up for a recurring task that is not put."""

    max_event_age_seconds: Annotated[int, Field(ge=60, le=21_600)] = 3600
    retry_attempts: Annotated[int, Field(ge=0, le=2)] = 2


class Schedule(Settings):
    """A recurring task."""

    name: ScheduleName
    task_type: TaskType
    payload: Payload = None
    expression: ScheduleExpression
    time_zone: TimeZone = "UTC"


class Load(Settings):
    """A load profile for trials: every minute, tasks for ``seconds`` of it."""

    task_type: TaskType
    payload: Payload = None
    profile: Literal["constant", "burst", "sine"] = "constant"
    tasks_per_second: Annotated[float, Field(gt=0, le=500)]
    peak_tasks_per_second: Annotated[float, Field(gt=0, le=500)] | None = None
    period_seconds: Seconds | None = None
    seconds: Annotated[float, Field(gt=0, le=MINUTE)] = MINUTE
    enabled: bool = False


class Alarms(Settings):
    """When somebody should look."""

    email: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")] | None = None
    oldest_waiting_percent_of_deadline: Annotated[float, Field(gt=0, lt=100)] = 80
    shed_per_minute: Annotated[float, Field(ge=0)] = 0
    failures_per_minute: Annotated[float, Field(ge=0)] = 0
    idle_rounds_per_minute: Annotated[float, Field(gt=0)] = 300
    iterator_age_seconds: Seconds = 60


class TaskEvents(Settings):
    """Who is told of each task's end."""

    topic: bool = True
    step_functions: bool = False
    shed_at_deadline: bool = True


class TargetTerms(Settings):
    """Under which the tasks of a configured type run; None leaves a term to the stage."""

    max_attempts: int | None = None
    in_flight: int | None = None
    rate_limit_per_second: float | None = None
    per_key: int | None = None

    def of_library(self) -> dict[str, Any]:
        """As the library calls them, those of a target among them."""
        told = {"timeout_seconds": "timeout", "rate_limit_per_second": "rate_limit"}
        return {told.get(name, name): value for name, value in self.model_dump().items()}


class HttpsTarget(TargetTerms):
    """A task type that is an HTTPS request."""

    url: str
    method: str = https.HttpsTarget.method
    headers: dict[str, str] = {}
    secret_headers: dict[str, SecretName] = {}
    timeout_seconds: Seconds = https.HttpsTarget.timeout
    retry_statuses: list[int] = list(https.RETRIED)
    answer_bytes: int = https.HttpsTarget.answer_bytes
    allowed_networks: list[str] = []


class LambdaTarget(TargetTerms):
    """A task type that is the run of a Lambda function."""

    function_arn: str
    timeout_seconds: Seconds = function.LambdaTarget.timeout
    answer_bytes: int = function.LambdaTarget.answer_bytes


class Target(Settings):
    """A task type that is configured: one of the two."""

    https: HttpsTarget | None = None
    function: LambdaTarget | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.https is None) == (self.function is None):
            raise ValueError("must be either https or function: give one of them")
        self.as_library()
        return self

    def as_library(self) -> configured.Target:
        """As the library knows it. InvalidInput where it cannot work."""
        if self.https is not None:
            settings = self.https.of_library()
            for name in ("retry_statuses", "allowed_networks"):
                settings[name] = tuple(settings[name])
            return https.HttpsTarget(**settings)
        if self.function is not None:
            return function.LambdaTarget(**self.function.of_library())
        raise ValueError("must be either https or function: give one of them")


class Analytics(Settings):
    """Scheduled exports of the table, and the Spark job that reads them."""

    window_minutes: ExportWindowMinutes = 60
    export_retention_days: Annotated[int, Field(ge=2)] = 35
    report_retention_days: Annotated[int, Field(ge=2)] = 400


def _expression(text: str) -> str:
    try:
        IngestMapping(payload=text)
    except InvalidInput as error:
        raise ValueError(error.problem) from error
    return text


Expression = Annotated[str, AfterValidator(_expression)]
DEFAULTS: Final = IngestMapping()


class MessageMapping(Settings):
    """Where in a message the terms of its task are."""

    task_type: Expression = DEFAULTS.task_type
    payload: Expression = DEFAULTS.payload
    task_id: Expression = DEFAULTS.task_id
    key: Expression = DEFAULTS.key
    deadline: Expression = DEFAULTS.deadline
    delay: Expression = DEFAULTS.delay
    traceparent: Expression = DEFAULTS.traceparent
    if_exists: Expression = DEFAULTS.if_exists


class Events(Settings):
    """Events of the default bus; each part that is given has to match."""

    source: list[str] = []
    detail_type: list[str] = []
    detail: dict[str, Payload] = {}

    @model_validator(mode="after")
    def _asks_for_something(self) -> Self:
        if not (self.source or self.detail_type or self.detail):
            raise ValueError("would match every event of the account: give source or detail_type")
        return self


class Broker(Settings):
    """A queue of an Amazon MQ broker."""

    arn: Annotated[str, Field(pattern=r"^arn:[a-z-]+:mq:[a-z0-9-]+:\d{12}:broker:\S+$")]
    queue: Annotated[str, Field(min_length=1, max_length=1000)]
    secret: SecretName
    virtual_host: str | None = None


class Ingest(Settings):
    """Whose messages become tasks."""

    queue_arns: list[QueueArn] = []
    topic_arns: list[TopicArn] = []
    events: list[Events] = []
    brokers: list[Broker] = []
    mapping: MessageMapping = MessageMapping()


class Api(Settings):
    """The queue over HTTP: how many requests it takes, of all callers together."""

    requests_per_second: PerSecond = 100
    burst: Annotated[int, Field(ge=1)] = 200


class LongTasks(Settings):
    """Task types that workers on Fargate do, and how many of those there may be."""

    types: Annotated[list[TaskType], Field(min_length=1, max_length=100)]
    repository: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:[._/-][a-z0-9]+)*$")]
    tag: Annotated[str, Field(pattern=r"^[\w][\w.-]{0,127}$")]
    cpu: Annotated[int, Field(ge=256, le=16_384)] = 1024
    memory_mb: Annotated[int, Field(ge=512, le=122_880)] = 2048
    spot: bool = False
    min_workers: Annotated[int, Field(ge=0)] = WorkerScaling.min_workers
    max_workers: Annotated[int, Field(ge=1)] = WorkerScaling.max_workers
    in_flight: Annotated[int, Field(ge=1, le=200)] = WorkerScaling.in_flight
    backlog_per_worker: Annotated[int, Field(ge=1)] | None = WorkerScaling.backlog_per_worker
    longest_wait_seconds: Seconds | None = None

    @model_validator(mode="after")
    def _can_scale(self) -> Self:
        self.scaling()
        return self

    def scaling(self) -> WorkerScaling:
        """As the construct knows it, but for the longest wait. Raises InvalidInput."""
        return WorkerScaling(
            min_workers=self.min_workers,
            max_workers=self.max_workers,
            in_flight=self.in_flight,
            backlog_per_worker=self.backlog_per_worker,
        )


class StageConfig(Settings):
    """All that distinguishes one deployment of the queue from another."""

    name: str

    deadline_seconds: Seconds = LIFETIMES.deadline
    window_seconds: Seconds = WORKER.window
    task_timeout_seconds: Seconds = WORKER.task_timeout
    lease_seconds: Seconds = WORKER.lease
    heartbeat_seconds: Seconds = WORKER.heartbeat
    in_flight: Annotated[int, Field(ge=1, le=200)] = WORKER.in_flight
    page: Annotated[int, Field(ge=1, le=1000)] = WORKER.page
    max_attempts: Annotated[int, Field(ge=1, le=1000)] = WORKER.max_attempts
    backoff: Backoff = Backoff()
    rate_limit_per_second: PerSecond | None = WORKER.rate_limit
    adaptive_threshold_seconds: Seconds | None = WORKER.adaptive_threshold
    shared_limits: bool | None = None
    total_in_flight: Annotated[int, Field(ge=1)] | None = WORKER.total_in_flight
    fair_share: bool = WORKER.fair_share
    types_elsewhere: Annotated[list[str], Field(max_length=100)] = []
    unknown_types: UnknownTypes = WORKER.unknown_types
    retention_success_days: Annotated[float, Field(gt=0, le=3650)] = (
        LIFETIMES.success_retention / DAY
    )
    retention_failure_days: Annotated[float, Field(gt=0, le=3650)] = (
        LIFETIMES.failure_retention / DAY
    )
    processor_concurrency: Annotated[int, Field(ge=1, le=1000)] = 1
    processor_memory_mb: Annotated[int, Field(ge=128, le=10_240)] = 512
    sweep_minutes: Annotated[int, Field(ge=1, le=60)] = 1
    stream: Stream = Stream()
    async_invocation: AsyncInvocation = AsyncInvocation()
    schedule_invocation: ScheduleInvocation = ScheduleInvocation()

    schedules: list[Schedule] = []
    load: Load | None = None
    task_environment: dict[str, str] = {}
    task_secrets: dict[str, SecretName] = {}
    targets: dict[TaskType, Target] = {}
    producer_role_arns: list[RoleArn] = []
    ingest: Ingest | None = None
    events: TaskEvents | None = None
    large_payloads: bool = False
    api: Api | None = None
    long_tasks: dict[ScheduleName, LongTasks] = {}
    analytics: Analytics | None = None
    alarms: Alarms = Alarms()

    log_retention_days: LogRetentionDays = 30
    tracing: bool = False
    customer_managed_key: bool = False
    protected: bool = False
    tags: dict[str, str] = {}

    @property
    def processor_timeout_seconds(self) -> int:
        """The processor's Lambda timeout: a task claimed in the window's last moment can end."""
        return limits.processor_timeout_seconds(
            window=self.window_seconds, task_timeout=self.task_timeout_seconds
        )

    @property
    def generator_timeout_seconds(self) -> int:
        """The generator's Lambda timeout: the longest load it is asked to make."""
        return limits.generator_timeout_seconds(self.load.seconds if self.load else 0)

    @property
    def lifetimes(self) -> Lifetimes:
        return Lifetimes(
            deadline=self.deadline_seconds,
            success_retention=self.retention_success_days * DAY,
            failure_retention=self.retention_failure_days * DAY,
        )

    @property
    def limits_are_shared(self) -> bool:
        """Whether limits hold over all workers together."""
        return limits.are_shared(
            self.shared_limits,
            processors=self.processor_concurrency,
            types_elsewhere=self.types_elsewhere,
        )

    @property
    def worker(self) -> WorkerSettings:
        """How the processor works."""
        return WorkerSettings(
            window=self.window_seconds,
            task_timeout=self.task_timeout_seconds,
            lease=self.lease_seconds,
            heartbeat=self.heartbeat_seconds,
            in_flight=self.in_flight,
            page=self.page,
            max_attempts=self.max_attempts,
            backoff=self.backoff.schedule(),
            rate_limit=self.rate_limit_per_second,
            adaptive_threshold=self.adaptive_threshold_seconds,
            shared_limits=self.limits_are_shared,
            total_in_flight=self.total_in_flight,
            fair_share=self.fair_share,
            types_elsewhere=frozenset(self.types_elsewhere),
            unknown_types=self.unknown_types,
        )

    @model_validator(mode="after")
    def _works_together(self) -> Self:
        for problem in (
            *self._timing_problems(),
            *self._invocation_problems(),
            *self._load_problems(),
            *self._schedule_problems(),
            *self._environment_problems(),
            *self._target_problems(),
            *self._events_problems(),
            *self._analytics_problems(),
        ):
            raise ValueError(problem)
        return self

    def _timing_problems(self) -> list[str]:
        problems = []
        if self.processor_timeout_seconds > limits.LONGEST_RUN_SECONDS:
            most = limits.LONGEST_RUN_SECONDS - limits.PROCESSOR_MARGIN_SECONDS
            problems.append(
                f"window_seconds ({self.window_seconds:g}) and task_timeout_seconds "
                f"({self.task_timeout_seconds:g}) do not fit Lambda's "
                f"{limits.LONGEST_RUN_SECONDS} seconds: lower one until they add up to at most "
                f"{most}"
            )
        if 2 * self.heartbeat_seconds > self.lease_seconds:
            problems.append(
                f"heartbeat_seconds ({self.heartbeat_seconds:g}) lets a lease_seconds "
                f"({self.lease_seconds:g}) run out when one heartbeat is lost: make the heartbeat "
                "at most half the lease"
            )
        for key in ("retention_success_days", "retention_failure_days"):
            days = getattr(self, key)
            if self.lease_seconds > days * DAY:
                problems.append(
                    f"lease_seconds ({self.lease_seconds:g}) is longer than {key} ({days:g}): "
                    "shorten the lease or keep tasks longer"
                )
        if self.total_in_flight is not None and not self.limits_are_shared:
            problems.append(
                f"total_in_flight ({self.total_in_flight}) holds over all workers together: "
                "add shared_limits: true"
            )
        if self.backoff.min_seconds > self.backoff.max_seconds:
            problems.append(
                f"backoff.min_seconds ({self.backoff.min_seconds:g}) is more than "
                f"backoff.max_seconds ({self.backoff.max_seconds:g}): swap them"
            )
        threshold = self.adaptive_threshold_seconds
        if threshold is not None and threshold >= self.deadline_seconds:
            problems.append(
                f"adaptive_threshold_seconds ({threshold:g}) reaches deadline_seconds "
                f"({self.deadline_seconds:g}), so that the newest tasks would never come first: "
                "lower it, or leave it out for newest first always"
            )
        if self.backoff.min_seconds >= self.deadline_seconds:
            problems.append(
                f"backoff.min_seconds ({self.backoff.min_seconds:g}) reaches deadline_seconds "
                f"({self.deadline_seconds:g}), so that no retry would come in time: lower it"
            )
        return problems

    def _invocation_problems(self) -> list[str]:
        problems = []
        for key, timeout in (
            ("async_invocation", self.processor_timeout_seconds),
            ("schedule_invocation", self.generator_timeout_seconds),
        ):
            invocation: AsyncInvocation = getattr(self, key)
            needed = limits.event_age_needed_seconds(
                retry_attempts=invocation.retry_attempts, timeout_seconds=timeout
            )
            if invocation.max_event_age_seconds < needed:
                problems.append(
                    f"{key}.max_event_age_seconds ({invocation.max_event_age_seconds}) is too "
                    f"short for {key}.retry_attempts ({invocation.retry_attempts}), since Lambda "
                    "waits one minute before the first retry and two before the second: raise it "
                    f"to at least {needed}, or lower the retries"
                )
        return problems

    def _load_problems(self) -> list[str]:
        load = self.load
        if load is None:
            return []
        problems = []
        shape = {
            "load.peak_tasks_per_second": load.peak_tasks_per_second,
            "load.period_seconds": load.period_seconds,
        }
        for key, value in shape.items():
            if load.profile == "constant" and value is not None:
                problems.append(
                    f"{key} ({value:g}) means nothing to load.profile 'constant': remove it, or "
                    "choose 'burst' or 'sine'"
                )
            if load.profile != "constant" and value is None:
                problems.append(f"load.profile '{load.profile}' needs {key}: set it")
        peak = load.peak_tasks_per_second
        if peak is not None and peak < load.tasks_per_second:
            problems.append(
                f"load.peak_tasks_per_second ({peak:g}) is below load.tasks_per_second "
                f"({load.tasks_per_second:g}): swap them"
            )
        return problems

    def _schedule_problems(self) -> list[str]:
        names = [schedule.name for schedule in self.schedules]
        return [
            f"schedules has the name '{name}' twice, and tasks are told apart by it: rename one"
            for name in sorted({name for name in names if names.count(name) > 1})
        ]

    def _environment_problems(self) -> list[str]:
        variables = {"task_environment": self.task_environment, "task_secrets": self.task_secrets}
        twice = [
            f"task_secrets.{name} is in task_environment, too: rename one"
            for name in sorted(set(self.task_environment) & set(self.task_secrets))
        ]
        return twice + [
            f"{group}.{name} is not for task code to set: choose a name of letters, "
            "digits and '_' that does not begin with LIFOQ_, POWERTOOLS_, AWS_, LAMBDA_ or _"
            for group, names in variables.items()
            for name in names
            if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]+", name)
            or name.startswith(("LIFOQ_", "POWERTOOLS_", "AWS_", "LAMBDA_"))
        ]

    def _target_problems(self) -> list[str]:
        targets = {name: target.as_library() for name, target in self.targets.items()}
        problems = [
            f"targets.{name}: timeout_seconds ({target.timeout:g}) is longer than "
            f"task_timeout_seconds ({self.task_timeout_seconds:g}), after which the attempt is "
            "given up: shorten it, or raise task_timeout_seconds"
            for name, target in targets.items()
            if target.timeout > self.task_timeout_seconds
        ]
        try:
            configured.encode(targets)
        except InvalidInput as error:
            problems.append(str(error))
        return problems

    def _events_problems(self) -> list[str]:
        if self.events is None or self.events.topic or self.events.step_functions:
            return []
        problem = (
            "events.topic and events.step_functions are both false, so that nobody is told: set "
            "one of them, or set events to null"
        )
        return [problem]

    def _analytics_problems(self) -> list[str]:
        if self.analytics is None:
            return []
        window = self.analytics.window_minutes
        if window * MINUTE > self.deadline_seconds:
            problem = (
                f"analytics.window_minutes ({window}) is longer than deadline_seconds "
                f"({self.deadline_seconds:g}), so that tasks shed within a window would leave no "
                "trace: shorten the window, lengthen the deadline, or set analytics to null"
            )
            return [problem]
        return []


def load_stage(
    name: str, stages: Mapping[str, Mapping[str, Any]], overrides: str | None = None
) -> StageConfig:
    """The configuration of the stage ``name``, with ``overrides`` (JSON text) laid over it.

    Raises ``ConfigurationError``.
    """
    if name not in stages:
        raise ConfigurationError(
            f"The stage '{name}' is unknown: choose one of {', '.join(sorted(stages))} with "
            "'-c stage=NAME', or add it to 'stages' in cdk.json."
        )
    if not STAGE_NAME.fullmatch(name):
        raise ConfigurationError(
            f"The stage name '{name}' cannot become part of stack names: use at most 20 lower-case "
            "letters, digits and '-', beginning with a letter."
        )
    settings = _merged(stages[name], _parsed(overrides) if overrides else {})
    if "name" in settings:
        raise ConfigurationError(
            f"Stage '{name}': name ({settings['name']!r}) is no setting: a stage's name is its key "
            "in 'stages'; remove it."
        )
    try:
        return StageConfig.model_validate({**settings, "name": name})
    except ValidationError as error:
        raise ConfigurationError(_sentences(name, error)) from error


def _parsed(overrides: str) -> Mapping[str, Any]:
    try:
        settings = jsontext.decode(overrides)
    except RecursionError as error:
        raise ConfigurationError(
            f"overrides ({_shown(overrides)}) is nested too deeply: flatten it."
        ) from error
    except ValueError as error:
        raise ConfigurationError(
            f"overrides ({_shown(overrides)}) is not JSON ({error}): pass an object such as "
            """'{"deadline_seconds": 600}'."""
        ) from error
    if not isinstance(settings, dict):
        raise ConfigurationError(
            f"overrides ({_shown(overrides)}) is not a JSON object: pass one such as "
            """'{"deadline_seconds": 600}'."""
        )
    return settings


def _merged(settings: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """``overrides`` win; groups of settings are merged key by key."""
    merged = dict(settings)
    for key, value in overrides.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(below, value)
        else:
            merged[key] = value
    return merged


def _sentences(stage: str, error: ValidationError) -> str:
    return "\n".join(f"Stage '{stage}': {_sentence(problem)}." for problem in error.errors())


def _sentence(problem: Any) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    value = _shown(problem["input"])
    match problem["type"]:
        case "value_error" if not key:  # of settings together, which names them itself
            return str(problem["ctx"]["error"])
        case "value_error":
            return f"{key} ({value}) {problem['ctx']['error']}"
        case "extra_forbidden":
            return f"unknown setting {key} ({value}): {_remedy_for_unknown(problem['loc'])}"
        case "missing":
            return f"{key} is missing: set it"
        case _:
            expectation = problem["msg"][0].lower() + problem["msg"][1:]
            return f"{key} ({value}) is refused: {expectation}"


def _shown(value: Any) -> str:
    """As Python writes it, cut where it is long or deep."""
    cut = reprlib.Repr()
    cut.maxstring = cut.maxother = cut.maxlong = 80
    return cut.repr(value)


def _remedy_for_unknown(location: tuple[str | int, ...]) -> str:
    known = _known_settings(location[:-1])
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    if close:
        return f"did you mean {close[0]}"
    return f"remove it; known here are {', '.join(known)}"


def _known_settings(group: tuple[str | int, ...]) -> list[str]:
    groups: dict[str, type[Settings]] = {
        "backoff": Backoff,
        "stream": Stream,
        "async_invocation": AsyncInvocation,
        "schedule_invocation": ScheduleInvocation,
        "schedules": Schedule,
        "load": Load,
        "alarms": Alarms,
        "ingest": Ingest,
        "api": Api,
        "ingest.mapping": MessageMapping,
        "ingest.events": Events,
        "ingest.brokers": Broker,
        "events": TaskEvents,
        "targets": Target,
        "targets.https": HttpsTarget,
        "targets.function": LambdaTarget,
        "long_tasks": LongTasks,
        "analytics": Analytics,
    }
    names = [part for part in group if isinstance(part, str)]
    if names[:1] in (["targets"], ["long_tasks"]):
        del names[1]  # a task type, or the workers' name
    name = ".".join(names)
    model = groups[name] if name else StageConfig
    return [name for name in model.model_fields if model is not StageConfig or name != "name"]
