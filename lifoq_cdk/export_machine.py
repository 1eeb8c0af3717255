"""The state machine that exports one window of the table and has Spark report on its day.

In Amazon's States Language with JSONata, because EventBridge Scheduler cannot compute a window's
times and DynamoDB does not wait for an export.

Windows are cut from the UTC day, not from the time of the run: a late, repeated or retried run
exports exactly the same window, and a window never crosses midnight.
"""

from dataclasses import dataclass
from typing import Any, Final

from lifoq_cdk.state import EXPORTS_PREFIX, REPORTS_PREFIX

MINUTE: Final = 60
DAY: Final = 24 * 60 * MINUTE

LOOK_AGAIN_SECONDS: Final = 30
SUBJECT: Final = 99
"""Characters, of a mail that SNS sends."""
MACHINE_TIMEOUT_SECONDS: Final = 3 * 60 * MINUTE
"""An export or a job that takes longer than this is a failure to be told."""

INCREMENTAL: Final = "incremental"
FULL: Final = "full"


@dataclass(frozen=True, kw_only=True)
class ExportMachine:
    """The names and ARNs that the machine works with, as text or as tokens of a template."""

    queue_name: str
    window_minutes: int
    partition: str
    table_name: str
    table_arn: str
    bucket: str
    key_arn: str | None
    job_name: str
    alarm_topic_arn: str

    def definition(self) -> dict[str, Any]:
        """The machine, in the States Language.

        Its input: ``{"kind": "incremental" | "full", "scheduledAt": ISO time}``. An incremental
        run exports the last window that had ended by then; a full one the table as the day began.
        """
        return {
            "Comment": "Exports one window of the table, and reports on its day",
            "QueryLanguage": "JSONata",
            "StartAt": "Choose window",
            "TimeoutSeconds": MACHINE_TIMEOUT_SECONDS,
            "States": {
                **self._choosing_the_window(),
                **self._exporting(),
                **self._reporting(),
                **self._failing(),
            },
        }

    def _choosing_the_window(self) -> dict[str, Any]:
        return {
            "Choose window": {
                "Type": "Pass",
                "Assign": {
                    "kind": "{% $states.input.kind %}",
                    "span": _span(self.window_minutes),
                },
                "Next": "Which kind?",
            },
            "Which kind?": {
                "Type": "Choice",
                "Choices": [
                    {
                        "Condition": "{% $kind in ['full', 'incremental'] %}",
                        "Next": "Look at history",
                    }
                ],
                "Default": "Unknown kind",
            },
            "Look at history": self._call(
                "dynamodb:describeContinuousBackups",
                {"TableName": self.table_name},
                assign={"history": f"{{% {_HISTORY} %}}"},
                then="Is it recorded?",
            ),
            # DynamoDB exports what it can restore: that begins when PITR was switched on, and
            # ends some minutes ago.
            "Is it recorded?": {
                "Type": "Choice",
                "Choices": [
                    {
                        "Condition": "{% $not($exists($history.earliest)) %}",
                        "Next": "Not recorded",
                    },
                    {
                        "Condition": "{% $toMillis($history.earliest) > $toMillis($span.from) %}",
                        "Next": "Table is younger",
                    },
                    {
                        "Condition": "{% $toMillis($history.latest) < $toMillis($span.to) %}",
                        "Next": "Wait for history",
                    },
                    {"Condition": "{% $kind = 'full' %}", "Next": "Export table"},
                ],
                "Default": "Export window",
            },
            "Wait for history": _wait("Look at history"),
            "Table is younger": {"Type": "Succeed"},
        }

    def _exporting(self) -> dict[str, Any]:
        return {
            "Export table": self._export(
                {"ExportType": "FULL_EXPORT", "ExportTime": "{% $span.from %}"}
            ),
            "Export window": self._export(
                {
                    "ExportType": "INCREMENTAL_EXPORT",
                    "IncrementalExportSpecification": {
                        "ExportFromTime": "{% $span.from %}",
                        "ExportToTime": "{% $span.to %}",
                        "ExportViewType": "NEW_AND_OLD_IMAGES",
                    },
                }
            ),
            "Wait for export": _wait("Look at export"),
            "Look at export": self._call(
                "dynamodb:describeExport",
                {"ExportArn": "{% $exportArn %}"},
                assign={"export": "{% $states.result.ExportDescription %}"},
                then="Is it exported?",
            ),
            "Is it exported?": {
                "Type": "Choice",
                "Choices": [
                    {
                        "Condition": "{% $export.ExportStatus = 'IN_PROGRESS' %}",
                        "Next": "Wait for export",
                    },
                    {
                        "Condition": "{% $export.ExportStatus != 'COMPLETED' %}",
                        "Next": "Export failed",
                    },
                    {"Condition": "{% $kind = 'full' %}", "Next": "Done"},
                ],
                "Default": "Report on the day",
            },
        }

    def _export(self, what: dict[str, Any]) -> dict[str, Any]:
        arguments = {
            "TableArn": self.table_arn,
            "ExportFormat": "DYNAMODB_JSON",
            "S3Bucket": self.bucket,
            "S3Prefix": f"{{% '{EXPORTS_PREFIX}/' & $span.day %}}",
            # A retry whose first request arrived after all gets that one's export.
            "ClientToken": "{% $kind & '-' & $span.from & '-' & $span.to %}",
            **what,
        }
        if self.key_arn:
            arguments |= {"S3SseAlgorithm": "KMS", "S3SseKmsKeyId": self.key_arn}
        return self._call(
            "dynamodb:exportTableToPointInTime",
            arguments,
            assign={"exportArn": "{% $states.result.ExportDescription.ExportArn %}"},
            then="Wait for export",
        )

    def _reporting(self) -> dict[str, Any]:
        folders = {"--exports": EXPORTS_PREFIX, "--out": REPORTS_PREFIX}
        return {
            "Report on the day": {
                "Type": "Task",
                "Resource": f"arn:{self.partition}:states:::glue:startJobRun.sync",
                "Arguments": {
                    "JobName": self.job_name,
                    "Arguments": {
                        option: f"{{% 's3://{self.bucket}/{prefix}/' & $span.day & '/' %}}"
                        for option, prefix in folders.items()
                    },
                },
                # The report of the window before may still be at work on the same day.
                "Retry": [
                    {
                        "ErrorEquals": ["Glue.ConcurrentRunsExceededException"],
                        "IntervalSeconds": 60,
                        "BackoffRate": 1.5,
                        "MaxAttempts": 8,
                    },
                    {"ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 60, "MaxAttempts": 1},
                ],
                "Catch": [_CATCH],
                "Next": "Done",
            },
            "Done": {"Type": "Succeed"},
        }

    def _failing(self) -> dict[str, Any]:
        return {
            "Unknown kind": _problem(
                "UnknownKind", "'kind must be full or incremental, not ' & $string($kind)"
            ),
            "Not recorded": _problem(
                "NotRecorded",
                "'point-in-time recovery of the table is off, and nothing can be exported: switch "
                "it on'",
            ),
            "Export failed": _problem(
                "DynamoDb", "$export.FailureCode & ': ' & $export.FailureMessage"
            ),
            "Tell": {
                "Type": "Task",
                "Resource": f"arn:{self.partition}:states:::sns:publish",
                "Arguments": {
                    "TopicArn": self.alarm_topic_arn,
                    "Subject": f"lifoq: export or report failed: {self.queue_name}"[:SUBJECT],
                    "Message": f"{{% $string({{'queue': '{self.queue_name}', 'kind': $kind, "
                    "'span': $span, 'problem': $problem}) %}",
                },
                "Retry": [_RETRY],
                "Next": "Failed",
            },
            "Failed": {
                "Type": "Fail",
                # Errors of the service's own are named "States.…", which a Fail state may not be.
                "Error": "ExportFailed",
                "Cause": "{% $problem.Error & ': ' & $problem.Cause %}",
            },
        }

    def _call(
        self, action: str, arguments: dict[str, Any], *, assign: dict[str, Any], then: str
    ) -> dict[str, Any]:
        return {
            "Type": "Task",
            "Resource": f"arn:{self.partition}:states:::aws-sdk:{action}",
            "Arguments": arguments,
            "Assign": assign,
            "Retry": [_RETRY],
            "Catch": [_CATCH],
            "Next": then,
        }


_RETRY: Final[dict[str, Any]] = {
    "ErrorEquals": ["States.ALL"],
    "IntervalSeconds": 10,
    "BackoffRate": 2,
    "MaxAttempts": 4,
    "JitterStrategy": "FULL",
}

_CATCH: Final[dict[str, Any]] = {
    "ErrorEquals": ["States.ALL"],
    "Assign": {"problem": "{% $states.errorOutput %}"},
    "Next": "Tell",
}

_HISTORY: Final = (
    "($h := $states.result.ContinuousBackupsDescription.PointInTimeRecoveryDescription; "
    "{'earliest': $h.EarliestRestorableDateTime, 'latest': $h.LatestRestorableDateTime})"
)


def _span(window_minutes: int) -> str:
    """Return the expression of an export's begin, end and UTC day: those of the last window that
    has ended, or of the day's first moment."""
    window = window_minutes * MINUTE * 1000
    return (
        "{% ("
        "$now := $toMillis($states.input.scheduledAt); "
        "$full := $states.input.kind = 'full'; "
        f"$size := $full ? {DAY * 1000} : {window}; "
        "$end := $floor($now / $size) * $size; "
        "$begin := $full ? $end : $end - $size; "
        "{'from': $fromMillis($begin), 'to': $fromMillis($end), "
        "'day': $substring($fromMillis($begin), 0, 10)}"
        ") %}"
    )


def _wait(then: str) -> dict[str, Any]:
    return {"Type": "Wait", "Seconds": LOOK_AGAIN_SECONDS, "Next": then}


def _problem(error: str, cause: str) -> dict[str, Any]:
    return {
        "Type": "Pass",
        "Assign": {"problem": {"Error": error, "Cause": f"{{% {cause} %}}"}},
        "Next": "Tell",
    }
