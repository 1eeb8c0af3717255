"""A queue as one construct: table, functions, topics, dead letters, alarms.

The loop: a change of the table runs the trigger, which publishes a kick to the processor's topic;
a processor that leaves tasks behind publishes a kick to the trigger's topic (the tail call).
Kicks carry no data, any of them may be lost, and the sweep replaces a lost one.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from aws_cdk import aws_ssm as ssm
from constructs import Construct

import lifoq
from lifoq import environment
from lifoq.client.connection import Connection, SharedLimits, parameter_name
from lifoq.ends.changes import Pattern, ends_with_token
from lifoq.environment import Variable
from lifoq.errors import InvalidInput
from lifoq.health import open_tasks_of_worker_groups
from lifoq.items.lifetimes import Lifetimes
from lifoq.metrics import Metric
from lifoq.operating import deployment
from lifoq.operating.deployment import Deployment
from lifoq.targets.configured import Target
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.known_types import Types
from lifoq.worker.settings import UnknownTypes, WorkerSettings
from lifoq_cdk import functions, known, limits
from lifoq_cdk.access import OPERATE, PUT, READ, REPLACE, WORK, Access
from lifoq_cdk.alarms import AlarmBoard, AlarmThresholds, add_events_alarm, add_queue_alarms
from lifoq_cdk.burn_rate import begun_in_time
from lifoq_cdk.dashboard import QueueDashboard
from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.function import QueueFunction, Surroundings
from lifoq_cdk.functions import ONCE, AsyncInvocation
from lifoq_cdk.metrics import QueueMetrics
from lifoq_cdk.queries import SavedQueries
from lifoq_cdk.schedule import Invocation
from lifoq_cdk.schedule_group import ScheduleGroup
from lifoq_cdk.state import QueueState, retention_of_objects
from lifoq_cdk.stream import StreamReading, follow
from lifoq_cdk.task_code import TaskCode
from lifoq_cdk.task_events import TaskEvents

T = TypeVar("T", Lifetimes, WorkerSettings)
LONGEST_NAME: Final = 100
TAKEN: Final = "lifoq:name"
"""Metadata of an application: a queue's name, and where it is."""


class LifoQueue(Construct):
    """A queue of tasks, newest first, and what works through it.

    Examples:
        >>> queue = LifoQueue(
        ...     stack, "Prices", tasks="thumbnails", deadline=cdk.Duration.minutes(10), in_flight=20
        ... )
        >>> grant = queue.grant_put(caller)
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        tasks: str | Path | TaskCode,
        targets: Mapping[str, Target] | None = None,
        queue_name: str | None = None,
        state: QueueState | None = None,
        deadline: cdk.Duration | None = None,
        success_retention: cdk.Duration | None = None,
        failure_retention: cdk.Duration | None = None,
        window: cdk.Duration | None = None,
        task_timeout: cdk.Duration | None = None,
        lease: cdk.Duration | None = None,
        heartbeat: cdk.Duration | None = None,
        in_flight: int = WorkerSettings.in_flight,
        max_attempts: int = WorkerSettings.max_attempts,
        backoff: Backoff | None = None,
        rate_limit_per_second: float | None = WorkerSettings.rate_limit,
        adaptive_threshold: cdk.Duration | None = None,
        shared_limits: bool | None = None,
        total_in_flight: int | None = WorkerSettings.total_in_flight,
        fair_share: bool = WorkerSettings.fair_share,
        types_elsewhere: Collection[str] = (),
        unknown_types: UnknownTypes = WorkerSettings.unknown_types,
        processor_concurrency: int = 1,
        sweep_interval: cdk.Duration | None = None,
        events: TaskEvents | None = None,
        large_payloads: bool = False,
        schedules: bool = False,
        stream: StreamReading | None = None,
        kicks: AsyncInvocation = ONCE,
        alarm_thresholds: AlarmThresholds | None = None,
        alarm_topic: sns.ITopic | sns.Topic | None = None,
        detailed_monitoring: bool = False,
        encryption_key: kms.IKey | kms.Key | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        tracing: lambda_.Tracing = lambda_.Tracing.DISABLED,
        removal_policy: cdk.RemovalPolicy | None = None,
    ) -> None:
        """``tasks``: the folder of task code, or ``TaskCode`` with what it needs around it.

        ``targets``: task types that are configured, not written, by their names.
        ``queue_name``: by which ``Queue.connect`` finds it; by default unique in the account.
        ``shared_limits``: whether rates and caps on tasks in flight hold over all workers together;
        by default where there are several: ``processor_concurrency``, ``types_elsewhere``, or
        ``LongTasks``.
        ``events``: who is told of each task's end; by default nobody.
        ``large_payloads``: whether payloads, results and checkpoints that no item holds go to a
        bucket.
        ``detailed_monitoring``: a dashboard of this queue, metrics also while they are 0, and
        further alarms, for some nine dollars a month. ``LifoqDashboard`` shows all queues at once.
        ``schedules``: whether clients may make schedules at run time, by ``queue.schedules``. The
        schedules go with the stack, or when this is switched off.
        ``state``: table, bucket and alarm topic that lie in another stack; by default they are made
        here, with ``alarm_topic``, ``encryption_key`` and ``removal_policy`` (RETAIN).

        What is left out has the default of ``Lifetimes`` and ``WorkerSettings``; there each setting
        is explained. Raises ``InvalidInput`` where settings cannot work.
        """
        given = {name: value for name, value in locals().items() if name not in ("self", "scope")}
        known.check(**given)
        super().__init__(scope, construct_id)
        self.queue_name = queue_name or _unique_name(self)
        _take_name(self, self.queue_name)
        self.lifetimes = _settings(
            Lifetimes,
            given,
            shed_at_deadline=events is not None and events.all_shed_at_deadline,
            task_tokens=events is not None and events.step_functions,
        )
        self.processor_concurrency = processor_concurrency
        self._shared_limits = shared_limits
        self.worker = _settings(
            WorkerSettings,
            given,
            rate_limit=rate_limit_per_second,
            types_elsewhere=frozenset(types_elsewhere),
            shared_limits=self._are_shared(types_elsewhere),
        )
        self.tasks = tasks if isinstance(tasks, TaskCode) else TaskCode(tasks)
        if targets:
            self.tasks = replace(self.tasks, targets={**self.tasks.targets, **targets})
        _check_times(self.worker, self.lifetimes)
        _check_timeouts(self.tasks.targets, self.worker)
        owned = {
            "alarm_topic": alarm_topic,
            "encryption_key": encryption_key,
            "removal_policy": removal_policy,
        }
        if state:
            _refuse_beside_state(large_payloads=large_payloads or None, **owned)
        self.state = state or self._own_state(large_payloads=large_payloads, **owned)
        _check_objects(self.state, self.lifetimes)
        self.surroundings = Surroundings(
            queue_name=self.queue_name,
            state=self.state,
            tasks=self.tasks,
            lifetimes=self.lifetimes,
            worker=self.worker,
            log_retention=log_retention,
            tracing=tracing,
            detailed_metrics=detailed_monitoring,
        )
        self.detailed_monitoring = detailed_monitoring
        self.alarm_thresholds = alarm_thresholds or AlarmThresholds()
        self._metrics = QueueMetrics(self.queue_name)
        self.sweep_minutes = limits.whole_minutes(sweep_interval or cdk.Duration.minutes(1))
        self._long_tasks: dict[str, tuple[str, ...]] = {}
        """Task types by the group of long workers that does them."""
        self._add_topics()
        self._add_functions(stream or StreamReading(), kicks, events)
        self.scheduled_tasks: QueueFunction | None = None
        self._schedules: ScheduleGroup | None = None
        if schedules:
            self._add_schedules()
        self._add_parameter()
        self._watch()
        self._add_deployment()

    # What others use.

    @property
    def table(self) -> dynamodb.Table:
        return self.state.table

    @property
    def alarm_topic(self) -> sns.ITopic:
        return self.state.alarm_topic

    @property
    def events_topic(self) -> sns.Topic:
        """The topic to which the end of each task is published: add subscriptions to it, with
        filter policies by ``status``, ``taskType`` and ``taskKey``. Raises InvalidInput where it
        was not asked for."""
        if self._events_topic is None:
            raise InvalidInput(
                "events", None, "publish to no topic: give the queue events=TaskEvents()"
            )
        return self._events_topic

    @property
    def publishes_events(self) -> bool:
        return self._events_topic is not None

    def grant_put(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` put tasks, look at them, and wait for their results.

        A Lambda function is also told which queue it is: its code says ``Queue.connect()``. A
        principal of another account (``iam.ArnPrincipal(role_arn)``) is let in by the table's own
        policy; it connects by the table's ARN, and its account must allow it the same.
        """
        return self._access(grantee).give(PUT)

    def grant_replace(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let the grantee put, also with ``if_exists="replace"``."""
        return self._access(grantee).give(REPLACE)

    def grant_call(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` call: put tasks, have them start at once, wait for their results, and
        withdraw them. So it may change any task, as for ``grant_replace``."""
        access = self._access(grantee)
        return access.give(REPLACE).combine(access.kick(self.process_tasks_topic))

    def grant_read(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` look: at tasks, at the line, at the queue's numbers."""
        return self._access(grantee).give(READ)

    def grant_work(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` run tasks: for ``lifoq work`` on machines of your own. What the task code
        needs beside is granted by itself."""
        return self._access(grantee).give(WORK)

    def grant_operate(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` look, cancel, redrive, purge and delete."""
        return self._access(grantee).give(OPERATE)

    def grant_schedule(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let ``grantee`` make, change, delete and list the schedules of the queue, at run time, by
        ``queue.schedules``. It needs no permission to put tasks. InvalidInput for a queue without
        ``schedules=True``, and for a principal of another account."""
        if self._schedules is None:
            problem = "is not switched on, so that there is nothing to grant: give schedules=True"
            raise InvalidInput("schedules", False, problem)  # noqa: FBT003 - the property's value
        return self._schedules.grant(grantee).combine(self._access(grantee).connect())

    def metric(
        self,
        metric: Metric,
        *,
        statistic: str | None = None,
        period: cdk.Duration | None = None,
        label: str | None = None,
    ) -> cloudwatch.Metric:
        """One of the queue's metrics, by the minute; ``lifoq.metrics`` explains each.

        By default a gauge and a duration by their maximum, an event by its sum.
        """
        return self._metrics.of(metric).with_(statistic=statistic, period=period, label=label)

    def metric_backlog(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.Metric:
        """The number of waiting tasks that could be claimed."""
        return self.metric(Metric.TASKS_PENDING, period=period, label=label)

    def metric_oldest_age(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.Metric:
        """The age of the oldest waiting task, in seconds."""
        return self.metric(Metric.OLDEST_WAITING_AGE, period=period, label=label)

    def metric_newest_age(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.Metric:
        """The age of the newest waiting task, in seconds: low as long as fresh work is done."""
        return self.metric(Metric.NEWEST_WAITING_AGE, period=period, label=label)

    def metric_shed(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.Metric:
        """The number of tasks that were shed."""
        return self.metric(Metric.TASKS_SHED, period=period, label=label)

    def metric_begun_in_time(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.MathExpression:
        """The share of tasks that began in time, in per cent of those that began or were shed in a
        period, by default an hour."""
        period = period or cdk.Duration.hours(1)
        return begun_in_time(self._metrics, period=period, label=label)

    def metric_succeeded(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.Metric:
        """The number of tasks that succeeded."""
        return self.metric(Metric.TASKS_SUCCEEDED, period=period, label=label)

    def metric_failed(
        self, *, period: cdk.Duration | None = None, label: str | None = None
    ) -> cloudwatch.Metric:
        """The number of tasks that ended in FAILURE."""
        return self.metric(Metric.TASKS_FAILED, period=period, label=label)

    # What is added to it.

    def show(
        self,
        role: str,
        function: QueueFunction,
        *,
        alarms: AlarmBoard,
        mappings: Sequence[lambda_.CfnEventSourceMapping] = (),
    ) -> None:
        """Have saved queries, `lifoq doctor` and the queue's dashboard, if it has one, know a
        function that was added to the queue. One of another stack is left out: the two stacks would
        each need the other first."""
        if cdk.Stack.of(function) is not cdk.Stack.of(self):
            return
        if self._dashboard:
            self._dashboard.add_function(role, function)
        self._queries.add(function.logs)
        self._deploy(
            functions={**self._deployed.functions, role: function.function_name},
            alarms=(*self._deployed.alarms, *alarms.names),
            mappings={**self._deployed.mappings, **{one.ref: role for one in mappings}},
        )

    def alarm_board(self, scope: Construct) -> AlarmBoard:
        """Make the board for the alarms of a construct that extends the queue."""
        return AlarmBoard(
            scope, "Alarms", topic=self.alarm_topic, detailed=self.detailed_monitoring
        )

    def show_workers(
        self,
        name: str,
        *,
        service: ecs.FargateService,
        log_group: logs.ILogGroup,
        most: int,
        alarms: AlarmBoard,
    ) -> None:
        """Show a group of long workers, ``most`` at a time; see ``show``."""
        if cdk.Stack.of(service) is not cdk.Stack.of(self):
            return
        if self._dashboard:
            self._dashboard.add_workers(name, service=service, most=most)
        place = f"{service.cluster.cluster_name}/{service.service_name}"
        self._deploy(
            alarms=(*self._deployed.alarms, *alarms.names),
            long_tasks={**self._deployed.long_tasks, name: place},
            log_groups=(*self._deployed.log_groups, log_group.log_group_name),
        )

    def leave_to(self, workers: str, types: Collection[str]) -> None:
        """Have the processor pass over task types that a group of long workers does, and the sweep
        measure what waits for it. InvalidInput where another group does one of them."""
        if workers in self._long_tasks:
            raise InvalidInput("construct_id", workers, "names a group already: choose another")
        for name, others in self._long_tasks.items():
            if both := sorted({*types} & {*others}):
                raise InvalidInput("types", both[0], f"is done by {name} already: take it from one")
        self._long_tasks[workers] = tuple(types)
        elsewhere = self.worker.types_elsewhere.union(types)
        Types(elsewhere=elsewhere)
        shared = self._are_shared(elsewhere)
        self.worker = replace(self.worker, types_elsewhere=elsewhere, shared_limits=shared)
        for variable, told in environment.of_worker(self.worker).items():
            for function in (self.processor, self.sweep):
                function.add_environment(variable, told)
        parameter = self.parameter.node.default_child
        if isinstance(parameter, ssm.CfnParameter):
            parameter.value = self._connection().encode()
        self.sweep.add_environment(
            Variable.LONG_TASKS.value, open_tasks_of_worker_groups.encode(self._long_tasks)
        )

    # What it is made of.

    def _are_shared(self, types_elsewhere: Collection[str]) -> bool:
        """True if limits hold over all workers together: as the user asked; if not asked, where
        there are several workers."""
        if self._shared_limits is not None:
            return self._shared_limits
        return self.processor_concurrency > 1 or bool(types_elsewhere)

    def _own_state(self, *, large_payloads: bool, **owned: Any) -> QueueState:
        kept = {name: value for name, value in owned.items() if value is not None}
        objects = retention_of_objects(self.lifetimes) if large_payloads else None
        return QueueState(self, "State", large_payload_retention=objects, **kept)

    def _add_topics(self) -> None:
        key = self.state.encryption_key
        self.dead_letters = DeadLetters(self, "DeadLetters", encryption_key=key)
        # A kick that finds the one processor busy until it is too old ends here. Under load that is
        # how kicks are coalesced, so it is kept apart from what somebody has to look at.
        self.spare_kicks = DeadLetters(
            self, "SpareKicks", encryption_key=key, retention=cdk.Duration.days(1)
        )
        self.trigger_topic = sns.Topic(self, "TriggerTopic", enforce_ssl=True, master_key=key)
        self.process_tasks_topic = sns.Topic(
            self, "ProcessTasksTopic", enforce_ssl=True, master_key=key
        )

    def _add_functions(
        self, stream: StreamReading, kicks: AsyncInvocation, events: TaskEvents | None
    ) -> None:
        make = partial(QueueFunction, self, surroundings=self.surroundings, asynchronous=kicks)
        self.trigger = make(
            functions.TRIGGER, topic=self.process_tasks_topic, dead_letters=self.dead_letters
        )
        _tell_when_it_was_created(self.trigger)
        self.processor = make(
            functions.PROCESSOR,
            topic=self.trigger_topic,
            timeout=cdk.Duration.seconds(
                limits.processor_timeout_seconds(
                    window=self.worker.window, task_timeout=self.worker.task_timeout
                )
            ),
            dead_letters=self.spare_kicks,
            # What protects the downstream: no more processors than this, however many kicks.
            reserved_concurrent_executions=self.processor_concurrency,
        )
        self.sweep = make(
            functions.SWEEP, topic=self.process_tasks_topic, dead_letters=self.dead_letters
        )
        if self.lifetimes.sweep_sheds:
            self.sweep.allow(["dynamodb:DeleteItem"], self.table.table_arn)
        self._sweep_schedule = Invocation(
            self,
            "SweepSchedule",
            target_arn=self.sweep.function_arn,
            action="lambda:InvokeFunction",
            expression=f"rate({self.sweep_minutes} minute{'s' * (self.sweep_minutes > 1)})",
            description=f"lifoq {self.queue_name}: sweep",
            dead_letters=self.dead_letters,
            max_event_age=cdk.Duration.minutes(self.sweep_minutes),
        )
        read = partial(follow, state=self.state, reading=stream, dead_letters=self.dead_letters)
        self._stream_mapping = read(self.trigger, functions.TRIGGER.stream)
        self._subscribe(self.trigger_topic, self.trigger)
        self._subscribe(self.process_tasks_topic, self.processor)
        self.task_events: QueueFunction | None = None
        self._events_topic: sns.Topic | None = None
        if events:
            self._add_events(events, make, read)

    def _add_schedules(self) -> None:
        """Add the function that puts the tasks of schedules which clients make, and their group."""
        self.scheduled_tasks = QueueFunction(
            self,
            functions.SCHEDULED_TASKS,
            surroundings=self.surroundings,
            dead_letters=self.dead_letters,
        )
        self._schedules = ScheduleGroup(
            self,
            "Schedules",
            function=self.scheduled_tasks,
            dead_letters=self.dead_letters,
            description=f"lifoq {self.queue_name}: schedules of clients",
        )

    def _add_events(
        self,
        events: TaskEvents,
        make: Callable[..., QueueFunction],
        read: Callable[[QueueFunction, Sequence[Pattern]], str],
    ) -> None:
        told = {Variable.QUEUE.value: self.queue_name}
        if events.topic:
            self._events_topic = sns.Topic(
                self, "TaskEventsTopic", enforce_ssl=True, master_key=self.state.encryption_key
            )
            told[Variable.EVENTS_TOPIC.value] = self._events_topic.topic_arn
        if events.step_functions:
            told[Variable.TASK_TOKENS.value] = "true"
        self.task_events = function = make(
            functions.TASK_EVENTS, environment=told, dead_letters=self.dead_letters
        )
        _tell_when_it_was_created(function)
        if self._events_topic:
            function.allow(["sns:Publish"], self._events_topic.topic_arn)
        if events.step_functions:
            function.allow(
                ["states:SendTaskFailure", "states:SendTaskSuccess"],
                "*",
                why="These know no resources; the token says which execution it is.",
            )
        ends = functions.TASK_EVENTS.stream if events.topic else ends_with_token()
        self._events_mapping = read(function, ends)

    def _subscribe(self, topic: sns.ITopic, function: QueueFunction) -> None:
        """Subscribe a function to a topic, with a queue for kicks that SNS could not hand over to
        Lambda at all."""
        topic.add_subscription(
            subscriptions.LambdaSubscription(function, dead_letter_queue=self.dead_letters)
        )

    def _connection(self) -> Connection:
        return Connection(
            table=self.table.table_name,
            lifetimes=self.lifetimes,
            bucket=self.state.large_bucket.bucket_name if self.state.large_bucket else None,
            topics={
                "process": self.process_tasks_topic.topic_arn,
                "trigger": self.trigger_topic.topic_arn,
                **({"events": self._events_topic.topic_arn} if self._events_topic else {}),
            },
            shared_limits=SharedLimits.of(self.worker),
            schedules=self._schedules.target if self._schedules else None,
        )

    def _add_parameter(self) -> None:
        self.parameter = ssm.StringParameter(
            self,
            "Connection",
            parameter_name=parameter_name(self.queue_name),
            description=f"How to reach the lifoq queue {self.queue_name}",
            string_value=self._connection().encode(),
        )

    def _add_deployment(self) -> None:
        """A parameter of its own: that of clients cannot name the functions, one of which may be
        let in as a client, too."""
        told, scheduled = self.task_events, self.scheduled_tasks
        self._deployed = Deployment(
            release=lifoq.__version__,
            functions={
                deployment.TRIGGER: self.trigger.function_name,
                deployment.PROCESSOR: self.processor.function_name,
                deployment.SWEEP: self.sweep.function_name,
                **({deployment.EVENTS: told.function_name} if told else {}),
                **({deployment.SCHEDULED_TASKS: scheduled.function_name} if scheduled else {}),
            },
            processors=self.processor_concurrency,
            stream_mapping=self._stream_mapping,
            schedules=(self._sweep_schedule.schedule_name,),
            alarms=tuple(self._alarms.names),
            alarm_topic=self.alarm_topic.topic_arn,
            dead_letters=self.dead_letters.queue_url,
            export_bucket=self.state.export_bucket.bucket_name,
            mappings={self._events_mapping: deployment.EVENTS} if told else {},
            log_groups=(self.processor.logs.log_group_name,),
        )
        self._deployment = ssm.StringParameter(
            self,
            "Deployment",
            parameter_name=deployment.parameter_name(self.queue_name),
            description=f"What the lifoq queue {self.queue_name} is made of",
            string_value=self._deployed.encode(),
            # Names of functions and alarms can be long: beyond 4 KB a parameter costs five cents.
            tier=ssm.ParameterTier.INTELLIGENT_TIERING,
        )

    def _deploy(self, **more: Any) -> None:
        """Have the parameter say more."""
        self._deployed = replace(self._deployed, **more)
        resource = self._deployment.node.default_child
        if isinstance(resource, ssm.CfnParameter):
            resource.value = self._deployed.encode()

    def _watch(self) -> None:
        watched: dict[str, QueueFunction] = {
            "trigger": self.trigger,
            "processor": self.processor,
            "sweep": self.sweep,
            **({"task events": self.task_events} if self.task_events else {}),
            **({"scheduled tasks": self.scheduled_tasks} if self.scheduled_tasks else {}),
        }
        self._alarms = board = self.alarm_board(self)
        board.add_dead_letter_alarm(self.dead_letters)
        board.add_function_alarms(list(watched.values()))
        unlimited = [one for one in watched.values() if one is not self.processor]
        board.add_event_alarms(unlimited)
        add_queue_alarms(
            board,
            metrics=self._metrics,
            thresholds=self.alarm_thresholds,
            deadline_seconds=self.lifetimes.deadline,
            sweep_minutes=self.sweep_minutes,
            processors=self.processor_concurrency,
            table=self.table,
            trigger=self.trigger,
            sweep=self.sweep,
            trigger_topic=self.trigger_topic,
        )
        if self.task_events:
            add_events_alarm(board, self.task_events, thresholds=self.alarm_thresholds)
        self._dashboard = self._overview(watched) if self.detailed_monitoring else None
        self._queries = SavedQueries(
            self,
            queue_name=self.queue_name,
            log_groups=[function.logs for function in watched.values()],
        )

    def _overview(self, functions: Mapping[str, QueueFunction]) -> QueueDashboard:
        return QueueDashboard(
            self,
            "Overview",
            metrics=self._metrics,
            deadline_seconds=self.lifetimes.deadline,
            table=self.table,
            functions=functions,
            topics={"processor": self.process_tasks_topic, "trigger": self.trigger_topic},
            queues={"dead letters": self.dead_letters, "spare kicks": self.spare_kicks},
        )

    def _access(self, grantee: iam.IGrantable) -> Access:
        return Access(
            queue_name=self.queue_name, state=self.state, parameter=self.parameter, grantee=grantee
        )


def _tell_when_it_was_created(function: QueueFunction) -> None:
    """Tell a function when it was created, by a group without schedules: CloudFormation tells that
    group's date, which no update moves, and no date of anything else that a queue has."""
    birth = scheduler.CfnScheduleGroup(function, "Birth")
    function.add_environment(Variable.DEPLOYED.value, birth.attr_creation_date)


def _unique_name(scope: Construct) -> str:
    """Return a name that is made of the stack's name and the construct's path in it."""
    return cdk.Names.unique_resource_name(
        scope, max_length=LONGEST_NAME, separator="-", allowed_special_characters="-"
    )


def _take_name(scope: Construct, name: str) -> None:
    """Parameters, log groups and metrics of a queue go by its name, in its account and region."""
    stack, stage = cdk.Stack.of(scope), cdk.Stage.of(scope) or scope.node.root
    place = f"{stack.account}/{stack.region}/{name}"
    if any((entry.type, entry.data) == (TAKEN, place) for entry in stage.node.metadata):
        problem = "is the name of another queue of this application: choose another one"
        raise InvalidInput("queue_name", name, problem)
    stage.node.add_metadata(TAKEN, place)


def _check_times(worker: WorkerSettings, lifetimes: Lifetimes) -> None:
    deadline, threshold = lifetimes.deadline, worker.adaptive_threshold
    if 2 * worker.heartbeat > worker.lease:
        problem = (
            f"is more than half the lease of {worker.lease:g} s, which would run out when one "
            "heartbeat is lost: shorten it, or lengthen the lease"
        )
        raise InvalidInput("heartbeat", worker.heartbeat, problem)
    for name in ("success_retention", "failure_retention"):
        if worker.lease > getattr(lifetimes, name):
            problem = f"is shorter than the lease of {worker.lease:g} s: lengthen it"
            raise InvalidInput(name, getattr(lifetimes, name), problem)
    if threshold is not None and threshold >= deadline:
        problem = (
            f"reaches the deadline of {deadline:g} s, so that the newest tasks would never come "
            "first: lower it, or leave it out for newest first always"
        )
        raise InvalidInput("adaptive_threshold", threshold, problem)
    if worker.backoff.min_seconds >= deadline:
        problem = (
            f"reaches the deadline of {deadline:g} s, so that no retry would come in time: lower it"
        )
        raise InvalidInput("backoff.min_seconds", worker.backoff.min_seconds, problem)


def _check_timeouts(targets: Mapping[str, Target], worker: WorkerSettings) -> None:
    for name, target in targets.items():
        if target.timeout > worker.task_timeout:
            problem = (
                f"is longer than the task timeout of {worker.task_timeout:g} s, after which the "
                "attempt is given up: shorten it, or raise task_timeout"
            )
            raise InvalidInput(f"targets.{name}.timeout", target.timeout, problem)


def _check_objects(state: QueueState, lifetimes: Lifetimes) -> None:
    kept, needed = state.large_payload_retention, retention_of_objects(lifetimes)
    if kept is not None and kept.to_seconds() < needed.to_seconds():
        raise InvalidInput(
            "large_payload_retention",
            kept.to_human_string(),
            "is shorter than a task can live, which its payload must outlive: give the state at "
            f"least {needed.to_human_string()}",
        )


def _settings(kind: type[T], given: Mapping[str, Any], **more: Any) -> T:
    """The library's settings, of the properties that have their fields' names; what is left out has
    the field's default."""
    named = {one.name: given.get(one.name) for one in fields(kind)}
    told = {name: _plain(value) for name, value in named.items() if value is not None}
    return kind(**{**told, **more})


def _plain(value: Any) -> Any:
    return value.to_seconds(integral=False) if isinstance(value, cdk.Duration) else value


def _refuse_beside_state(**props: object) -> None:
    for name, value in props.items():
        if value is not None:
            raise InvalidInput(name, value, "is the state's: give it to QueueState")
