"""Scheduled exports of the table and the Spark report on them."""

import json
from pathlib import Path
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from aws_cdk import aws_stepfunctions as stepfunctions
from constructs import Construct

from lifoq_cdk.alarms import AlarmBoard
from lifoq_cdk.asset import Asset
from lifoq_cdk.dead_letters import DeadLetters
from lifoq_cdk.export_machine import FULL, INCREMENTAL, ExportMachine
from lifoq_cdk.function import RETENTION
from lifoq_cdk.metrics import MINUTE, total
from lifoq_cdk.nag import acknowledge, import_of
from lifoq_cdk.schedule import Invocation
from lifoq_cdk.state import EXPORTS_PREFIX, REPORTS_PREFIX, StateStack
from stacks.config import Analytics, StageConfig

HERE: Final = Path(__file__).parent
GLUE_VERSION: Final = "6.0"
"""Spark 4.1.1: the version that the report is tested with."""
LAG_MINUTES: Final = 10
"""After a window's end: DynamoDB can export it some five minutes later."""
JOB_TIMEOUT_MINUTES: Final = 60
MINUTES_PER_HOUR: Final = 60
SECONDS_PER_MINUTE: Final = 60
MINUTES_PER_DAY: Final = 24 * 60


class AnalyticsStack(cdk.Stack):
    """The export machine, its schedules, and the Spark job."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: StageConfig,
        analytics: Analytics,
        report: Asset,
        state: StateStack,
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"lifoq {stage.name}: exports and the report on them",
            termination_protection=stage.protected,
        )
        self._stage = stage
        self._analytics = analytics
        self._state = state
        self._key = state.key
        self.dead_letters = DeadLetters(self, "DeadLetters", key=self._key, retention_days=14)
        self.job = self._job(report)
        self.machine = self._machine()
        self._schedule(
            "WindowSchedule",
            kind=INCREMENTAL,
            expression=window_expression(analytics.window_minutes),
        )
        self._schedule("FullSchedule", kind=FULL, expression=f"cron({LAG_MINUTES} 0 * * ? *)")
        self._watch()
        cdk.CfnOutput(self, "ExportMachineArn", value=self.machine.state_machine_arn)
        cdk.CfnOutput(self, "ReportJobName", value=self.job.ref)

    def _watch(self) -> None:
        board = AlarmBoard(self, "Alarms", topic=self._state.alarm_topic)
        board.add_dead_letter_alarm(self.dead_letters)
        # The machine tells of failures itself; this is for those that it cannot tell of.
        board.add(
            "ExportOrReportFailed",
            meaning="An export, or the report on it, failed or did not end.",
            metric=total(
                "failed",
                *(
                    metric(period=MINUTE)
                    for metric in (
                        self.machine.metric_failed,
                        self.machine.metric_timed_out,
                        self.machine.metric_aborted,
                    )
                ),
            ),
            threshold=0,
        )

    def _job(self, report: Asset) -> glue.CfnJob:
        script = s3_assets.Asset(self, "ReportScript", path=str(HERE / "report_job.py"))
        code = s3_assets.Asset(self, "ReportCode", path=str(report.path), asset_hash=report.digest)
        packages = s3_assets.Asset(
            self, "ReportPackages", path=str(HERE / "report-requirements.txt")
        )
        role = self._job_role([script, code, packages])
        job = glue.CfnJob(
            self,
            "ReportJob",
            description=f"lifoq {self._stage.name}: report on a day's exports",
            role=role.role_arn,
            glue_version=GLUE_VERSION,
            worker_type="G.1X",
            number_of_workers=2,
            timeout=JOB_TIMEOUT_MINUTES,
            max_retries=0,  # The machine retries, and tells.
            # Two reports on one day would write to the same place.
            execution_property=glue.CfnJob.ExecutionPropertyProperty(max_concurrent_runs=1),
            command=glue.CfnJob.JobCommandProperty(
                name="glueetl", python_version="3", script_location=script.s3_object_url
            ),
            default_arguments={
                "--extra-py-files": code.s3_object_url,
                # Locked with hashes; Glue's own pip chooses what fits its Python.
                "--additional-python-modules": packages.s3_object_url,
                "--python-modules-installer-option": "-r",
                "--slots": str(self._stage.in_flight * self._stage.processor_concurrency),
                "--about": json.dumps(self._about()),
                "--enable-metrics": "true",
                "--enable-continuous-cloudwatch-log": "true",
                "--job-language": "python",
            },
        )
        # A job must not start before its role may do anything.
        job.node.add_dependency(role)
        for rule, what in (
            ("GL1", "Its log lines"),
            ("GL3", "Its bookmarks, which it has none of,"),
        ):
            acknowledge(job, rule, f"{what} carry no payload; CloudWatch and S3 encrypt at rest.")
        return job

    def _about(self) -> dict[str, Any]:
        """What the report's page tells of the queue beside what the exports show."""
        stage = self._stage
        alarm = stage.deadline_seconds * stage.alarms.oldest_waiting_percent_of_deadline / 100
        return {
            "queue": "lifoq",
            "stage": stage.name,
            "alarms": {"oldest_waiting_seconds": alarm},
        }

    def _job_role(self, assets: list[s3_assets.Asset]) -> iam.Role:
        bucket = self._state.export_bucket
        role = iam.Role(
            self,
            "ReportJobRole",
            description=f"lifoq {self._stage.name}: Spark report",
            assumed_by=iam.ServicePrincipal(
                "glue.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            ),
        )
        _allow(
            role,
            ["s3:GetObject"],
            *(asset.bucket.arn_for_objects(asset.s3_object_key) for asset in assets),
        )
        _allow(role, ["s3:ListBucket"], bucket.bucket_arn)
        _allow(role, ["s3:GetObject"], bucket.arn_for_objects(f"{EXPORTS_PREFIX}/*"))
        _allow(
            role,
            ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
            bucket.arn_for_objects(f"{REPORTS_PREFIX}/*"),
        )
        _allow(
            role,
            ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
            self.format_arn(
                service="logs",
                resource="log-group",
                resource_name="/aws-glue/*",
                arn_format=cdk.ArnFormat.COLON_RESOURCE_NAME,
            ),
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringEquals": {"cloudwatch:namespace": "Glue"}},
            )
        )
        if self._key:
            self._key.grant(role, "kms:Decrypt", "kms:GenerateDataKey")
        self._acknowledge_prefixes(role, EXPORTS_PREFIX, REPORTS_PREFIX)
        acknowledge(
            role,
            "IAM5[Resource::arn:<AWS::Partition>:logs:<AWS::Region>:<AWS::AccountId>:"
            "log-group:/aws-glue/*]",
            "Glue makes its log groups itself, below this name.",
        )
        acknowledge(
            role, "IAM5[Resource::*]", "Metrics know no resources; the condition names Glue's own."
        )
        return role

    def _acknowledge_prefixes(self, role: iam.Role, *prefixes: str) -> None:
        bucket_import = import_of(self._state, self._state.export_bucket.bucket_arn)
        for prefix in prefixes:
            acknowledge(
                role,
                f"IAM5[Resource::{bucket_import}/{prefix}/*]",
                "The names of the files below this prefix are DynamoDB's and Spark's to choose.",
            )

    def _machine(self) -> stepfunctions.StateMachine:
        log_group = logs.LogGroup(
            self,
            "ExportMachineLogs",
            retention=RETENTION[self._stage.log_retention_days],
            encryption_key=self._key,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        role = iam.Role(
            self,
            "ExportMachineRole",
            description=f"lifoq {self._stage.name}: exports",
            assumed_by=iam.ServicePrincipal(
                "states.amazonaws.com",
                conditions={"StringEquals": {"aws:SourceAccount": self.account}},
            ),
        )
        table, bucket = self._state.table, self._state.export_bucket
        _allow(
            role,
            ["dynamodb:DescribeContinuousBackups", "dynamodb:ExportTableToPointInTime"],
            table.table_arn,
        )
        _allow(role, ["dynamodb:DescribeExport"], f"{table.table_arn}/export/*")
        _allow(
            role,
            ["s3:PutObject", "s3:AbortMultipartUpload"],
            bucket.arn_for_objects(f"{EXPORTS_PREFIX}/*"),
        )
        _allow(
            role,
            ["glue:StartJobRun", "glue:GetJobRun", "glue:GetJobRuns", "glue:BatchStopJobRun"],
            self.format_arn(service="glue", resource="job", resource_name=self.job.ref),
        )
        _allow(role, ["sns:Publish"], self._state.alarm_topic.topic_arn)
        if self._key:
            self._key.grant(role, "kms:Decrypt", "kms:GenerateDataKey")
        self._acknowledge_prefixes(role, EXPORTS_PREFIX)
        acknowledge(
            role,
            f"IAM5[Resource::{import_of(self._state, table.table_arn)}/export/*]",
            "An export's id is DynamoDB's to choose; all of them are of this table.",
        )
        acknowledge(
            role,
            "IAM5[Resource::*]",
            "Log delivery and tracing of a state machine know no resources.",
        )
        machine = ExportMachine(
            stage=self._stage.name,
            window_minutes=self._analytics.window_minutes,
            partition=self.partition,
            table_name=table.table_name,
            table_arn=table.table_arn,
            bucket=bucket.bucket_name,
            key_arn=self._key.key_arn if self._key else None,
            job_name=self.job.ref,
            alarm_topic_arn=self._state.alarm_topic.topic_arn,
        )
        return stepfunctions.StateMachine(
            self,
            "ExportMachine",
            role=role,
            definition_body=stepfunctions.DefinitionBody.from_string(
                self.to_json_string(machine.definition())
            ),
            logs=stepfunctions.LogOptions(
                destination=log_group,
                level=stepfunctions.LogLevel.ALL,
                include_execution_data=True,
            ),
            tracing_enabled=True,
        )

    def _schedule(self, construct_id: str, *, kind: str, expression: str) -> None:
        Invocation(
            self,
            construct_id,
            target_arn=self.machine.state_machine_arn,
            action="states:StartExecution",
            expression=expression,
            description=f"lifoq {self._stage.name}: {kind} export",
            event={"kind": kind, "scheduledAt": "<aws.scheduler.scheduled-time>"},
            dead_letters=self.dead_letters,
            key=self._key,
            max_event_age_seconds=self._analytics.window_minutes * SECONDS_PER_MINUTE,
        )


def window_expression(minutes: int) -> str:
    """The schedule of windows of this length: a little after each window's end."""
    if minutes < MINUTES_PER_HOUR:
        return f"cron({LAG_MINUTES}/{minutes} * * * ? *)"
    if minutes < MINUTES_PER_DAY:
        return f"cron({LAG_MINUTES} 0/{minutes // MINUTES_PER_HOUR} * * ? *)"
    return f"cron({LAG_MINUTES} 0 * * ? *)"


def _allow(role: iam.Role, actions: list[str], *resources: str) -> None:
    role.add_to_policy(iam.PolicyStatement(actions=actions, resources=list(resources)))
