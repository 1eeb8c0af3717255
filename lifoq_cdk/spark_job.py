"""The Spark job that reports on a day's exports."""

import json
from pathlib import Path
from typing import Any, Final

import aws_cdk as cdk
from aws_cdk import aws_glue as glue
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from lifoq_cdk.findings import accept, allow
from lifoq_cdk.queue import LifoQueue
from lifoq_cdk.schedule import service_role
from lifoq_cdk.state import EXPORTS_PREFIX, REPORTS_PREFIX
from lifoq_project.asset import Asset

HERE: Final = Path(__file__).parent
GLUE_VERSION: Final = "6.0"
"""Spark 4.1.1: the version that the report is tested with."""
TIMEOUT_MINUTES: Final = 60
FILES: Final = "The names of the files below are DynamoDB's and Spark's to choose."
MARKER: Final = "_$folder$"
"""Glue's S3 connector marks a folder by an object beside it, of the folder's name and this."""


class SparkJob(Construct):
    """The job, its role, and the log groups that it writes to."""

    def __init__(
        self, scope: Construct, construct_id: str, *, queue: LifoQueue, report: Asset
    ) -> None:
        super().__init__(scope, construct_id)
        self._queue = queue
        log_prefix = f"/lifoq/{queue.queue_name}/report"
        log_groups = [
            # Glue composes the name.
            queue.surroundings.log_group(self, f"{name.capitalize()}Logs", f"{log_prefix}/{name}")
            for name in ("error", "output")
        ]
        script = s3_assets.Asset(self, "Script", path=str(HERE / "report_job.py"))
        code = s3_assets.Asset(self, "Code", path=str(report.path), asset_hash=report.digest)
        packages = s3_assets.Asset(self, "Packages", path=str(HERE / "report-requirements.txt"))
        self.role = self._role([script, code, packages], log_groups)
        self.job = glue.CfnJob(
            self,
            "Job",
            description=f"lifoq {queue.queue_name}: report on a day's exports",
            role=self.role.role_arn,
            glue_version=GLUE_VERSION,
            worker_type="G.1X",
            number_of_workers=2,
            timeout=TIMEOUT_MINUTES,
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
                "--slots": str(queue.worker.in_flight * queue.processor_concurrency),
                "--about": json.dumps(_about(queue)),
                "--enable-metrics": "true",
                # Without it Glue writes to groups that all jobs of the account share, for ever.
                "--custom-logGroup-prefix": log_prefix,
                "--job-language": "python",
            },
        )
        accept(self.job, "AwsSolutions-GL1", "Its log groups are made here, with the queue's key.")
        accept(self.job, "AwsSolutions-GL3", "It has no bookmarks.")
        # A job must not start before its role may do anything, nor make its log groups itself.
        self.job.node.add_dependency(self.role, *log_groups)

    @property
    def name(self) -> str:
        return self.job.ref

    @property
    def arn(self) -> str:
        return cdk.Stack.of(self).format_arn(
            service="glue", resource="job", resource_name=self.name
        )

    def _role(self, assets: list[s3_assets.Asset], log_groups: list[logs.LogGroup]) -> iam.Role:
        bucket, stack = self._queue.state.export_bucket, cdk.Stack.of(self)
        role = service_role(self, "Role", "glue", f"lifoq {self._queue.queue_name}: Spark report")
        allow(
            role,
            ["s3:GetObject"],
            *(asset.bucket.arn_for_objects(asset.s3_object_key) for asset in assets),
        )
        code = assets[0].bucket
        allow(
            role,
            ["kms:Decrypt"],
            stack.format_arn(service="kms", resource="key", resource_name="*"),
            why="That of the bootstrap bucket, if it has any: no template knows which.",
            conditions={
                "StringEquals": {"kms:ViaService": f"s3.{stack.region}.amazonaws.com"},
                "StringLike": {
                    "kms:EncryptionContext:aws:s3:arn": [
                        code.bucket_arn,
                        code.arn_for_objects("*"),
                    ]
                },
            },
        )
        allow(role, ["s3:ListBucket"], bucket.bucket_arn)
        allow(
            role,
            ["s3:GetObject"],
            bucket.arn_for_objects(f"{EXPORTS_PREFIX}/*"),
            bucket.arn_for_objects(f"{EXPORTS_PREFIX}{MARKER}"),
            why=FILES,
        )
        allow(
            role,
            ["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
            bucket.arn_for_objects(f"{REPORTS_PREFIX}/*"),
            bucket.arn_for_objects(f"{REPORTS_PREFIX}{MARKER}"),
            why=FILES,
        )
        allow(
            role,
            ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
            *(group.log_group_arn for group in log_groups),
        )
        allow(
            role,
            ["cloudwatch:PutMetricData"],
            "*",
            why="Metrics know no resources; the condition names Glue's own.",
            conditions={"StringEquals": {"cloudwatch:namespace": "Glue"}},
        )
        return role


def _about(queue: LifoQueue) -> dict[str, Any]:
    """Return the facts about the queue that the report's page shows beside the exports."""
    oldest = queue.alarm_thresholds.oldest_waiting_seconds(queue.lifetimes.deadline)
    return {"queue": queue.queue_name, "alarms": {"oldest_waiting_seconds": oldest}}
