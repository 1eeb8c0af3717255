"""CloudWatch: metrics, alarms and dashboards that it does not take."""

import json
import math
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import RefusedError

SHORT_PERIODS: Final = frozenset({10, 20, 30})
MINUTE_SECONDS: Final = 60
DAY_SECONDS: Final = 86_400
VALUE: Final = "InvalidParameterValue"


def check_data(asked: dict[str, Any]) -> None:
    """Refuse a namespace of AWS's own, and values that are no numbers."""
    if str(asked.get("Namespace")).startswith("AWS/"):
        raise RefusedError(VALUE, "The value AWS/ for parameter Namespace is invalid.")
    for place, one in enumerate(asked.get("MetricData") or [], start=1):
        named = f"MetricData.member.{place}.Value"
        values = [one["Value"]] if one.get("Value") is not None else one.get("Values") or []
        if not values and not one.get("StatisticValues"):
            told = f"At least one of the parameters must be specified: {named}"
            raise RefusedError("MissingParameter", told)
        if not all(math.isfinite(value) for value in values):
            raise RefusedError(VALUE, f"The value for parameter {named} is invalid.")


def check_alarm(asked: dict[str, Any]) -> None:
    """Hold an alarm's period and how far it looks back against CloudWatch's bounds."""
    period, times = asked.get("Period"), asked.get("EvaluationPeriods") or 1
    if period is None:
        return
    if period not in SHORT_PERIODS and period % MINUTE_SECONDS:
        raise RefusedError(
            "ValidationError", "Period must be 10, 20, 30, or a multiple of 60 seconds"
        )
    if period * times > (7 * DAY_SECONDS if period >= 60 * MINUTE_SECONDS else DAY_SECONDS):
        raise RefusedError(
            "ValidationError",
            "Metrics cannot be checked across more than a day (EvaluationPeriods * Period must be "
            "<= 86400).",
        )
    if (asked.get("DatapointsToAlarm") or 0) > times:
        raise RefusedError(
            "ValidationError", "DatapointsToAlarm must be no more than EvaluationPeriods."
        )


def check_dashboard(asked: dict[str, Any]) -> None:
    """Refuse a dashboard that is no JSON object."""
    try:
        fits = isinstance(json.loads(asked.get("DashboardBody") or ""), dict)
    except (ValueError, RecursionError):
        fits = False
    if not fits:
        raise RefusedError(
            "InvalidParameterInput", "The field DashboardBody must be a valid JSON object"
        )


def check_question(asked: dict[str, Any]) -> None:
    """Refuse a time that ends before it begins."""
    if asked["StartTime"] >= asked["EndTime"]:
        raise RefusedError(
            "ValidationError", "The parameter StartTime must be less than the parameter EndTime."
        )
