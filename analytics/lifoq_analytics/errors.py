"""Why a report cannot be made, in a sentence that says what to do about it."""

from collections.abc import Sequence
from typing import Final

_SHOWN: Final = 5
"""Complaints that one sees at a time; more do not help to see the pattern."""


class ReportError(Exception):
    """The root of all that a user of the report can put right."""


class ExportNotFoundError(ReportError):
    """No export lies where one was looked for."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} holds no export: neither it nor a folder below it has a "
            "manifest-summary.json. Name the folder of an export that has completed, "
            "or a folder above several."
        )


class ManifestError(ReportError):
    """A manifest does not say what it must."""

    def __init__(self, path: str, complaint: str) -> None:
        self.path = path
        super().__init__(f"{path} {complaint}")


class DamagedExportError(ReportError):
    """Data files that a manifest names are missing, truncated or changed."""

    def __init__(self, complaints: Sequence[str]) -> None:
        self.complaints = tuple(complaints)
        shown = "; ".join(complaints[:_SHOWN])
        rest = len(complaints) - _SHOWN
        more = f"; and {rest} more" if rest > 0 else ""
        super().__init__(
            f"{shown}{more}. Copy the export again, or pass --allow-missing to go on without "
            "these files; the report then says what is missing."
        )


class OptionError(ReportError):
    """An option's value cannot be used."""

    def __init__(self, option: str, value: object, remedy: str) -> None:
        self.option = option
        self.value = value
        super().__init__(f"{option} {value}: {remedy}")


class StorageError(ReportError):
    """Spark cannot get at a path at all."""

    def __init__(self, path: str, complaint: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be reached ({complaint}). Where Spark has no access to S3, copy the "
            "exports to a folder first: aws s3 cp --recursive."
        )


class SparkError(ReportError):
    """Spark, or a worker of it, failed in a way that nobody foresaw."""

    def __init__(self, reason: str, log: str) -> None:
        self.log = log
        super().__init__(f"Spark failed ({reason}); {log} tells more.")


class JavaMissingError(ReportError):
    """Spark cannot start."""

    def __init__(self) -> None:
        super().__init__(
            "Spark needs Java 17 or newer and found none: install it "
            "(for example `apt-get install openjdk-17-jre-headless`) or point JAVA_HOME at it."
        )
