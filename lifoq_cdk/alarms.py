"""When somebody should look. Each alarm has its section in ``docs/runbook.md``, by its name."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from lifoq.basics.numbers import check_count
from lifoq.errors import InvalidInput
from lifoq.health.headline import State
from lifoq.metrics import Metric
from lifoq_cdk.burn_rate import (
    LONG,
    burn_rate,
    burns_too_fast,
    check_objective,
    in_words,
    pairs_in_words,
)
from lifoq_cdk.metrics import MINUTE, QueueMetrics, of_table, refused, total

RUNBOOK: Final = "docs/runbook.md in lifoq's repository"
RUNBOOK_CONTEXT: Final = "lifoq:runbook"
"""The name in the application's ``cdk.json`` of the address at which your own people read the
runbook, such as ``https://docs.example.com/docs/runbook/``."""
DEPLOYMENT_ROUNDS: Final = 5
"""Rounds, each of two sweeps, for which a deployment may take: with a sweep a minute, a worker may
be deployed ten minutes after its producer."""

_ABOVE: Final = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
_AT_LEAST: Final = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
_BELOW: Final = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds:
    """The bounds beyond which somebody should look.

    Examples:
        >>> bounds = AlarmThresholds(begun_in_time=0.95, failures_per_minute=10)
        >>> queue = LifoQueue(stack, "Prices", tasks="thumbnails", alarm_thresholds=bounds)
    """

    oldest_waiting_percent_of_deadline: float = 80
    """The age of the oldest waiting task, as a percentage of the queue's deadline."""
    begun_in_time: float | None = 0.99
    """The share of tasks that should begin before their deadline, over 30 days. None: there is no
    alarm on it."""
    fewest_shed: int = 10
    """Tasks that must have been shed in an hour for that alarm to ring; with detailed monitoring,
    in an hour or in six."""
    failures_per_minute: float = 0
    """Tasks that go to FAILURE in a minute."""
    idle_rounds_per_minute: float = 300
    """Tail calls a minute, for each processor that may run at a time. A run makes one at the end of
    its window, if tasks are left."""
    iterator_age: cdk.Duration = MINUTE
    """The age of a change of the table before a function reads it: the task events function, and
    the trigger with detailed monitoring."""

    def __post_init__(self) -> None:
        if self.begun_in_time is not None:
            check_objective("begun_in_time", self.begun_in_time)
        check_count("fewest_shed", self.fewest_shed)

    def oldest_waiting_seconds(self, deadline_seconds: float) -> float:
        return deadline_seconds * self.oldest_waiting_percent_of_deadline / 100


class AlarmBoard(Construct):
    """Alarms that tell ``topic`` when they begin and when they end.

    CloudWatch bills an alarm by the metrics that it reads. Unless the queue has detailed
    monitoring, there is one alarm for each reason to look, and none that says the same again.
    """

    def __init__(
        self, scope: Construct, construct_id: str, *, topic: sns.ITopic, detailed: bool
    ) -> None:
        super().__init__(scope, construct_id)
        self.detailed = detailed
        """True if there are alarms, too, on what others tell a little later."""
        self._action = actions.SnsAction(topic)
        self._runbook = _runbook(self)
        self.names: list[str] = []
        """The names of its alarms."""

    def add(
        self,
        name: str,
        *,
        meaning: str,
        metric: cloudwatch.IMetric,
        threshold: float,
        comparison: cloudwatch.ComparisonOperator = _ABOVE,
        minutes: int = 1,
        silence: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
        section: str | None = None,
    ) -> None:
        """Add an alarm that rings when ``metric`` has been so for ``minutes`` in a row.

        A metric that is 0 is not sent. By NOT_BREACHING that is what silence means, but where
        periods are silent, CloudWatch looks for values a few periods further back. So an alarm may
        end some minutes late, and its ``minutes`` may have silent ones in between.

        ``silence``: what it means that the metric tells nothing. Where that is MISSING, the alarm
        rings by it, but not before the metric has told something. ``section``: the runbook's, if it
        has not the alarm's name.
        """
        alarm = cloudwatch.Alarm(
            self,
            name,
            alarm_description=f"{meaning} See {self._section(section or name)}",
            metric=metric,
            threshold=threshold,
            comparison_operator=comparison,
            evaluation_periods=minutes,
            treat_missing_data=silence,
        )
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        if silence is cloudwatch.TreatMissingData.MISSING:
            # A new alarm begins without data, and only what changes is told: silence in a queue
            # that has just been deployed rings nobody.
            alarm.add_insufficient_data_action(self._action)
        self.names.append(alarm.alarm_name)

    def add_composite(self, name: str, *, meaning: str, rule: cloudwatch.IAlarmRule) -> None:
        """Add an alarm that rings by the states of others, which tell nobody themselves."""
        alarm = cloudwatch.CompositeAlarm(
            self,
            name,
            alarm_description=f"{meaning} See {self._section(name)}",
            alarm_rule=rule,
        )
        # CloudFormation names it by its stack, as it does the others.
        resource = alarm.node.default_child
        if isinstance(resource, cloudwatch.CfnCompositeAlarm):
            resource.alarm_name = None
        alarm.add_alarm_action(self._action)
        alarm.add_ok_action(self._action)
        self.names.append(alarm.alarm_name)

    def _section(self, name: str) -> str:
        words = re.sub(r"(?<!^)(?=[A-Z])", " ", name).capitalize()
        if self._runbook is None:
            return f"{RUNBOOK}, section {words}."
        # Without a full stop: it would become a part of the link.
        return f"{self._runbook}#{words.lower().replace(' ', '-')}"

    def add_dead_letter_alarm(self, dead_letters: sqs.IQueue) -> None:
        """Add the alarm of a dead-letter queue."""
        self.add(
            "DeadLetters",
            meaning="An event could not be handled and was put aside.",
            metric=dead_letters.metric_approximate_number_of_messages_visible(
                period=MINUTE, statistic=cloudwatch.Stats.MAXIMUM
            ),
            threshold=0,
        )

    def add_function_alarms(self, functions: Sequence[lambda_.IFunction]) -> None:
        """Add the alarms that every function has."""
        self.add(
            "FunctionErrors",
            meaning="A function failed or timed out.",
            metric=total("errors", *(f.metric_errors() for f in functions)),
            threshold=0,
        )

    def add_event_alarms(self, functions: Sequence[lambda_.IFunction]) -> None:
        """Add, with detailed monitoring, the alarms of functions that are invoked by events, and
        whose concurrency is not reserved. Without it other alarms tell: an event that Lambda drops
        is a dead letter, and where the account's concurrency is used up, no sweep runs either.

        The processor is not among them: at a reserved concurrency a kick that finds it busy is
        throttled, and dropped in the end; under load that is how kicks are coalesced.
        """
        if not self.detailed:
            return
        self.add_throttle_alarm(functions)
        self.add(
            "DroppedEvents",
            meaning="Lambda gave up on an event.",
            metric=total(
                "dropped",
                *(
                    f.metric("AsyncEventsDropped", statistic=cloudwatch.Stats.SUM)
                    for f in functions
                ),
            ),
            threshold=0,
        )

    def add_throttle_alarm(self, functions: Sequence[lambda_.IFunction]) -> None:
        """Add the alarm of functions that cannot start."""
        self.add(
            "Throttles",
            meaning="The account's concurrency is used up.",
            metric=total("throttles", *(f.metric_throttles() for f in functions)),
            threshold=0,
            minutes=3,
        )


def add_queue_alarms(
    board: AlarmBoard,
    *,
    metrics: QueueMetrics,
    thresholds: AlarmThresholds,
    deadline_seconds: float,
    sweep_minutes: int,
    processors: int,
    table: dynamodb.ITable,
    trigger: lambda_.IFunction,
    sweep: lambda_.IFunction,
    trigger_topic: sns.ITopic,
) -> None:
    """Add the alarms that tell whether the queue does its work."""
    board.add(
        "OldestWaiting",
        meaning=State.BEHIND.sentence,
        metric=metrics.most(Metric.OLDEST_WAITING_AGE),
        threshold=thresholds.oldest_waiting_seconds(deadline_seconds),
        minutes=3,
    )
    _add_burn_rate(board, metrics=metrics, thresholds=thresholds)
    board.add(
        "TaskFailures",
        meaning=State.FAILING.sentence,
        metric=metrics.count(Metric.TASKS_FAILED),
        threshold=thresholds.failures_per_minute,
    )
    board.add(
        "Stalled",
        meaning=State.STALLED.sentence,
        # The sweep waits and judges; twice its interval always holds one of its answers.
        metric=metrics.most(Metric.STALLED).with_(period=cdk.Duration.minutes(2 * sweep_minutes)),
        threshold=1,
        comparison=_AT_LEAST,
    )
    board.add(
        "UnknownTypes",
        meaning=f"{State.WITHOUT_WORKER.sentence} The sweep's log names it.",
        metric=metrics.most(Metric.TASKS_OF_UNKNOWN_TYPES).with_(
            period=cdk.Duration.minutes(2 * sweep_minutes)
        ),
        threshold=0,
        minutes=DEPLOYMENT_ROUNDS,
    )
    board.add(
        "SweepMissing",
        meaning="The sweep does not run: lost kicks and expired leases stay.",
        # Lambda's own count, which costs nothing. A sweep that runs and fails, FunctionErrors
        # tells. CloudWatch looks back over some periods before it says that there is no data.
        metric=sweep.metric_invocations(period=cdk.Duration.minutes(2 * sweep_minutes)),
        threshold=1,
        comparison=_BELOW,
        silence=cloudwatch.TreatMissingData.MISSING,
    )
    board.add(
        "RunawayLoop",
        meaning="Processor and trigger call each other far more often than there is work.",
        # A tail call comes once in a window. Idle runs need no count: each watches the queue for a
        # fifth of a second, so a processor makes 300 a minute at the most, whatever wakes it.
        metric=trigger_topic.metric_number_of_messages_published(period=MINUTE),
        threshold=thresholds.idle_rounds_per_minute * processors,
        minutes=3,
    )
    if board.detailed:
        board.add(
            "IteratorAge",
            meaning="The trigger lags behind the table's stream.",
            metric=iterator_age(trigger),
            threshold=thresholds.iterator_age.to_milliseconds(),
            minutes=3,
        )
    board.add(
        "TableThrottled",
        meaning="DynamoDB throttles the table or an index: the queue is at its ceiling.",
        metric=total(
            "throttled",
            *of_table(table, "ReadThrottleEvents").values(),
            *of_table(table, "WriteThrottleEvents").values(),
        )
        if board.detailed
        # A claim and an outcome, each an update: it is refused where the table or one of its
        # indexes cannot take it, and the processor makes the most of a queue's writes.
        else refused(table, "UpdateItem"),
        threshold=0,
        minutes=3,
    )


def _add_burn_rate(
    board: AlarmBoard, *, metrics: QueueMetrics, thresholds: AlarmThresholds
) -> None:
    """Add the alarm on tasks that are shed faster than the objective allows."""
    objective, fewest = thresholds.begun_in_time, thresholds.fewest_shed
    if objective is None:
        return
    if board.detailed:
        board.add_composite(
            "BurnRate",
            meaning=f"{State.OVERLOADED.sentence} {pairs_in_words(objective)}",
            rule=burns_too_fast(board, metrics=metrics, objective=objective, fewest_shed=fewest),
        )
        return
    # CloudFormation does not make an alarm of a composite one under the same logical id.
    board.add(
        "BurnRateHour",
        section="BurnRate",
        meaning=f"{State.OVERLOADED.sentence} {in_words(LONG, objective)}",
        metric=burn_rate(metrics, window=LONG.window, objective=objective, least=fewest),
        threshold=LONG.burn_rate,
    )


def add_events_alarm(
    board: AlarmBoard, task_events: lambda_.IFunction, *, thresholds: AlarmThresholds
) -> None:
    """Add the alarm on ends that are told late to those who asked for them."""
    board.add(
        "EventsLate",
        meaning="Ends of tasks are told late: the function lags behind the table's stream.",
        metric=iterator_age(task_events),
        threshold=thresholds.iterator_age.to_milliseconds(),
        minutes=3,
    )


def iterator_age(function: lambda_.IFunction, label: str | None = None) -> cloudwatch.Metric:
    """Return the age of the oldest record of a function's last batch, in milliseconds."""
    return function.metric(
        "IteratorAge", label=label, statistic=cloudwatch.Stats.MAXIMUM, period=MINUTE
    )


def _runbook(scope: Construct) -> str | None:
    """Return the address of the runbook, if the application names one. Raises InvalidInput."""
    found = scope.node.try_get_context(RUNBOOK_CONTEXT)
    if found is None or (isinstance(found, str) and found.startswith(("http://", "https://"))):
        return found
    raise InvalidInput(
        RUNBOOK_CONTEXT, found, "must be the address of a page, such as https://example.com/runbook"
    )
