"""Scheduled exports of the table, and the Spark report on them."""

import aws_cdk as cdk
from constructs import Construct

from lifoq_cdk import QueueReports
from lifoq_cdk.asset import Asset
from stacks.config import Analytics, StageConfig
from stacks.queue import QueueStack


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
        queue: QueueStack,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: exports and the report on them",
            termination_protection=stage.protected,
        )
        reports = QueueReports(
            self,
            "Default",
            queue=queue.queue,
            window=cdk.Duration.minutes(analytics.window_minutes),
            report=report,
        )
        cdk.CfnOutput(self, "ExportMachineArn", value=reports.machine.state_machine_arn)
        cdk.CfnOutput(self, "ReportJobName", value=reports.job.name)
