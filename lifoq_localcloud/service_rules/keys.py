"""KMS: the days that a key waits for its end."""

from typing import Any, Final

from lifoq_localcloud.service_rules.refused import VALIDATION, RefusedError

LEAST_DAYS: Final = 7
MOST_DAYS: Final = 30


def check_deletion(asked: dict[str, Any]) -> None:
    """Hold the days against bounds that are narrower than the model's."""
    days = asked.get("PendingWindowInDays", MOST_DAYS)
    if not LEAST_DAYS <= days <= MOST_DAYS:
        raise RefusedError(
            VALIDATION,
            f"Invalid pending window in days: {days} has to be between {LEAST_DAYS} and "
            f"{MOST_DAYS}.",
        )
