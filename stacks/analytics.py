"""Scheduled exports of the table, and the Spark report on them."""

import aws_cdk as cdk
from constructs import Construct

from lifoq_cdk import QueueReports
from lifoq_cdk.asset import Asset
from lifoq_cdk.state import EXPORTS_PREFIX, REPORTS_PREFIX
from stacks.config import Analytics, StageConfig
from stacks.nag import acknowledge, acknowledge_dead_letters, import_of
from stacks.queue import QueueStack
from stacks.state import StateStack


class AnalyticsStack(cdk.Stack):
    """Exports and reports of the queue that ``queue`` deploys."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: StageConfig,
        analytics: Analytics,
        report: Asset,
        state: StateStack,
        queue: QueueStack,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: exports and the report on them",
            termination_protection=stage.protected,
        )
        self._state = state
        self._reports = QueueReports(
            self,
            "Default",
            queue=queue.queue,
            window=cdk.Duration.minutes(analytics.window_minutes),
            report=report,
        )
        self._acknowledge()
        cdk.CfnOutput(self, "ExportMachineArn", value=self._reports.machine.state_machine_arn)
        cdk.CfnOutput(self, "ReportJobName", value=self._reports.job.name)

    def _acknowledge(self) -> None:
        reports = self._reports
        acknowledge_dead_letters(reports.dead_letters)
        for rule, reason in (
            ("GL1", "Its log groups are made here, with the stage's key where it has one."),
            ("GL3", "It has no bookmarks."),
        ):
            acknowledge(reports.job.job, rule, reason)
        acknowledge(reports.machine, "SF2", "Tracing is a setting of the stage.")
        acknowledge(
            reports.job.role,
            "IAM5[Resource::*]",
            "Metrics know no resources; the condition names Glue's own.",
        )
        acknowledge(
            reports.machine_role,
            "IAM5[Resource::*]",
            "Log delivery and tracing of a state machine know no resources.",
        )
        table = import_of(self._state, self._state.state.table.table_arn)
        acknowledge(
            reports.machine_role,
            f"IAM5[Resource::{table}/export/*]",
            "An export's id is DynamoDB's to choose; all of them are of this table.",
        )
        bucket = import_of(self._state, self._state.state.export_bucket.bucket_arn)
        for role, prefixes in (
            (reports.machine_role, [EXPORTS_PREFIX]),
            (reports.job.role, [EXPORTS_PREFIX, REPORTS_PREFIX]),
        ):
            for prefix in prefixes:
                acknowledge(
                    role,
                    f"IAM5[Resource::{bucket}/{prefix}/*]",
                    "The names of the files below are DynamoDB's and Spark's to choose.",
                )
