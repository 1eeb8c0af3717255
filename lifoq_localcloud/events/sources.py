"""The sources of events as they are deployed at one moment, each with the function that it runs."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Notification:
    """An SNS message on its way to a function."""

    function_arn: str
    subscription_arn: str
    redrive_target: str | None
    topic_arn: str
    message_id: str
    message: str
    subject: str | None
    attributes: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SourceConfig:
    """An event source mapping at one moment."""

    uuid: str
    enabled: bool
    function_name: str
    source_arn: str
    batch_size: int
    window_seconds: float
    filters: tuple[Mapping[str, Any], ...]
    report_item_failures: bool


@dataclass(frozen=True, kw_only=True)
class MappingConfig(SourceConfig):
    """An event source mapping of a table's stream at one moment."""

    max_record_age_seconds: int | None
    max_retries: int | None
    bisect: bool
    on_failure: str | None


@dataclass(frozen=True, kw_only=True)
class QueueMappingConfig(SourceConfig):
    """An event source mapping of a queue at one moment."""

    @property
    def queue_name(self) -> str:
        return self.source_arn.rsplit(":", 1)[-1]


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """An EventBridge Scheduler schedule at one moment."""

    arn: str
    name: str
    group: str
    expression: str
    timezone: str
    enabled: bool
    start: datetime | None
    end: datetime | None
    changed: float
    target: Mapping[str, Any]
    delete_after_completion: bool
