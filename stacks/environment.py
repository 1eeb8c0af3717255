"""What the functions are told about their stage, as environment variables."""

from collections.abc import Mapping

from stacks.config import StageConfig


def producer(stage: StageConfig, table_name: str) -> dict[str, str]:
    """For every function: the table, and how long tasks live in it."""
    return {
        "LIFOQ_TABLE": table_name,
        "LIFOQ_DEADLINE_SECONDS": _number(stage.deadline_seconds),
        "LIFOQ_RETENTION_SUCCESS_SECONDS": _number(stage.retention_success_seconds),
        "LIFOQ_RETENTION_FAILURE_SECONDS": _number(stage.retention_failure_seconds),
    }


def attempts(stage: StageConfig) -> dict[str, str]:
    """For those that end an attempt: the processor and the sweep."""
    return {
        "LIFOQ_LEASE_SECONDS": _number(stage.lease_seconds),
        "LIFOQ_HEARTBEAT_SECONDS": _number(stage.heartbeat_seconds),
        "LIFOQ_MAX_ATTEMPTS": _number(stage.max_attempts),
        "LIFOQ_BACKOFF_MIN_SECONDS": _number(stage.backoff.min_seconds),
        "LIFOQ_BACKOFF_MAX_SECONDS": _number(stage.backoff.max_seconds),
        "LIFOQ_BACKOFF_GROWTH": stage.backoff.growth,
    }


def processor(stage: StageConfig) -> Mapping[str, str]:
    """For the processor alone: how it works, and what the team's task code asks for."""
    return {
        "LIFOQ_WINDOW_SECONDS": _number(stage.window_seconds),
        "LIFOQ_TASK_TIMEOUT_SECONDS": _number(stage.task_timeout_seconds),
        "LIFOQ_IN_FLIGHT": _number(stage.in_flight),
        "LIFOQ_PAGE": _number(stage.page),
        **_optional("LIFOQ_RATE_LIMIT", stage.rate_limit_per_second),
        **_optional("LIFOQ_ADAPTIVE_THRESHOLD_SECONDS", stage.adaptive_threshold_seconds),
        **stage.task_environment,
    }


def _optional(name: str, value: float | None) -> dict[str, str]:
    return {} if value is None else {name: _number(value)}


def _number(value: float) -> str:
    """Decimal, without an exponent and without a fraction that says nothing."""
    return f"{value:.6f}".rstrip("0").rstrip(".")
