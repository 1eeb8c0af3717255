"""Scheduled exports of a queue's table, and the Spark report on them."""

from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from lifoq.errors import InvalidInput
from lifoq_cdk import known
from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.export_machine import FULL, INCREMENTAL, ExportMachine
from lifoq_cdk.findings import accept, accept_wildcard, allow
from lifoq_cdk.limits import EXPORT_WINDOW_MINUTES, VENDED_LOGS
from lifoq_cdk.metrics import total
from lifoq_cdk.queue import LifoQueue
from lifoq_cdk.schedule import Invocation, service_role
from lifoq_cdk.spark_job import FILES, SparkJob
from lifoq_cdk.state import EXPORTS_PREFIX
from lifoq_project.asset import Asset, build_report

LAG_MINUTES: Final = 10
"""Minutes between a window's end and its export: DynamoDB can export it some five minutes later."""
MINUTES_PER_HOUR: Final = 60
MINUTES_PER_DAY: Final = 24 * 60


class QueueReports(Construct):
    """The export machine, its schedules, and the Spark job.

    Reports lie in the queue's export bucket, under ``reports/DATE/report.html``.

    Examples:
        >>> reports = QueueReports(stack, "Reports", queue=queue, window=cdk.Duration.minutes(60))
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        queue: LifoQueue,
        window: cdk.Duration | None = None,
        report: Asset | None = None,
    ) -> None:
        """``window``: how much each export covers, by default an hour; it divides the day, and is
        no longer than the queue's deadline. ``report``: the job's package, if it is built already.

        Raises ``InvalidInput`` for another window.
        """
        super().__init__(scope, construct_id)
        self._queue = queue
        self._window_minutes = _window_minutes(window or cdk.Duration.hours(1), queue)
        self.dead_letters = DeadLetters(
            self, "DeadLetters", encryption_key=queue.state.encryption_key
        )
        self.job = SparkJob(self, "Report", queue=queue, report=report or build_report())
        self.machine_role = self._machine_role()
        self.machine = self._machine()
        self._schedule(
            "WindowSchedule",
            kind=INCREMENTAL,
            expression=window_expression(self._window_minutes),
        )
        self._schedule("FullSchedule", kind=FULL, expression=f"cron({LAG_MINUTES} 0 * * ? *)")
        self._watch()

    def _watch(self) -> None:
        board = self._queue.alarm_board(self)
        board.add_dead_letter_alarm(self.dead_letters)
        # The machine tells of failures itself; this is for those that it cannot tell of.
        board.add(
            "ExportOrReportFailed",
            meaning="An export, or the report on it, failed or did not end.",
            metric=total(
                "failed",
                *(
                    metric()
                    for metric in (
                        self.machine.metric_failed,
                        self.machine.metric_timed_out,
                        self.machine.metric_aborted,
                    )
                ),
            ),
            threshold=0,
        )

    def _machine_role(self) -> iam.Role:
        state = self._queue.state
        role = service_role(
            self, "ExportMachineRole", "states", f"lifoq {self._queue.queue_name}: exports"
        )
        allow(
            role,
            ["dynamodb:DescribeContinuousBackups", "dynamodb:ExportTableToPointInTime"],
            state.table.table_arn,
        )
        allow(
            role,
            ["dynamodb:DescribeExport"],
            f"{state.table.table_arn}/export/*",
            why="An export's id is DynamoDB's to choose; all of them are of this table.",
        )
        allow(
            role,
            ["s3:AbortMultipartUpload", "s3:PutObject", "s3:PutObjectAcl"],
            state.export_bucket.arn_for_objects(f"{EXPORTS_PREFIX}/*"),
            why=FILES,
        )
        accept_wildcard(role, "*", "Log delivery and X-Ray know no resources.")
        allow(
            role,
            ["glue:StartJobRun", "glue:GetJobRun", "glue:GetJobRuns", "glue:BatchStopJobRun"],
            self.job.arn,
        )
        allow(role, ["sns:Publish"], state.alarm_topic.topic_arn)
        return role

    def _machine(self) -> stepfunctions.StateMachine:
        queue, state = self._queue, self._queue.state
        log_group = queue.surroundings.log_group(
            self, "ExportMachineLogs", f"{VENDED_LOGS}states/lifoq/{queue.queue_name}/exports"
        )
        machine = ExportMachine(
            queue_name=queue.queue_name,
            window_minutes=self._window_minutes,
            partition=cdk.Aws.PARTITION,
            table_name=state.table.table_name,
            table_arn=state.table.table_arn,
            bucket=state.export_bucket.bucket_name,
            key_arn=state.encryption_key.key_arn if state.encryption_key else None,
            job_name=self.job.name,
            alarm_topic_arn=state.alarm_topic.topic_arn,
        )
        made = stepfunctions.StateMachine(
            self,
            "ExportMachine",
            role=self.machine_role,
            definition_body=stepfunctions.DefinitionBody.from_string(
                cdk.Stack.of(self).to_json_string(machine.definition())
            ),
            logs=stepfunctions.LogOptions(
                destination=log_group,
                level=stepfunctions.LogLevel.ALL,
                include_execution_data=True,
            ),
            tracing_enabled=queue.surroundings.tracing is lambda_.Tracing.ACTIVE,
        )
        accept(made, "AwsSolutions-SF2", "Tracing is a setting of the queue.")
        return made

    def _schedule(self, construct_id: str, *, kind: str, expression: str) -> None:
        Invocation(
            self,
            construct_id,
            target_arn=self.machine.state_machine_arn,
            action="states:StartExecution",
            expression=expression,
            description=f"lifoq {self._queue.queue_name}: {kind} export",
            event={"kind": kind, "scheduledAt": "<aws.scheduler.scheduled-time>"},
            dead_letters=self.dead_letters,
            max_event_age=cdk.Duration.minutes(self._window_minutes),
        )


def window_expression(minutes: int) -> str:
    """The schedule of windows of this length: a little after each window's end."""
    if minutes < MINUTES_PER_HOUR:
        return f"cron({LAG_MINUTES}/{minutes} * * * ? *)"
    if minutes < MINUTES_PER_DAY:
        return f"cron({LAG_MINUTES} 0/{minutes // MINUTES_PER_HOUR} * * ? *)"
    return f"cron({LAG_MINUTES} 0 * * ? *)"


def _window_minutes(window: cdk.Duration, queue: LifoQueue) -> int:
    known.check(window=window)
    minutes = window.to_minutes(integral=False)
    if minutes not in EXPORT_WINDOW_MINUTES:
        allowed = ", ".join(str(one) for one in EXPORT_WINDOW_MINUTES)
        raise InvalidInput("window", window.to_human_string(), f"must be minutes of {allowed}")
    if window.to_seconds() > queue.lifetimes.deadline:
        raise InvalidInput(
            "window",
            window.to_human_string(),
            f"is longer than the deadline of {queue.lifetimes.deadline:g} s, so that tasks shed "
            "within a window would leave no trace: shorten it, or lengthen the deadline",
        )
    return round(minutes)
