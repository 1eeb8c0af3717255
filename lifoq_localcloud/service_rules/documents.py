"""IAM, SSM and Logs: policies that are none, parameters and retention out of bounds."""

import json
import re
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import VALIDATION, RefusedError

RETENTION_DAYS: Final = (
    *(1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1_096, 1_827, 2_192, 2_557),
    *(2_922, 3_288, 3_653),
)
"""The days that PutRetentionPolicy takes
(https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html)."""
MOST_PARAMETER_LETTERS: Final = {"Advanced": 8_192, "Intelligent-Tiering": 8_192}
MOST_STANDARD_LETTERS: Final = 4_096
_PARAMETER: Final = re.compile(r"(?!/?ssm)/?[\w.-]+(/[\w.-]+)*", re.ASCII | re.IGNORECASE)
_MALFORMED: Final = "MalformedPolicyDocument"


def check_trust(asked: dict[str, Any]) -> None:
    _check_policy(asked.get("AssumeRolePolicyDocument"))


def check_policy(asked: dict[str, Any]) -> None:
    _check_policy(asked.get("PolicyDocument"))


def _check_policy(document: Any) -> None:
    """Refuse a policy that is no JSON object of statements, each with its effect."""
    if not isinstance(document, str):
        return
    try:
        policy = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise RefusedError(_MALFORMED, "This policy contains invalid Json") from error
    if not isinstance(policy, dict) or "Statement" not in policy:
        raise RefusedError(_MALFORMED, "Syntax errors in policy.")
    statements = policy["Statement"]
    for one in statements if isinstance(statements, list) else [statements]:
        if not isinstance(one, dict) or one.get("Effect") not in {"Allow", "Deny"}:
            raise RefusedError(_MALFORMED, "Syntax errors in policy.")


def check_parameter(asked: dict[str, Any]) -> None:
    """Hold a parameter's name and the length of its value against SSM's rules."""
    if not _PARAMETER.fullmatch(asked.get("Name") or ""):
        raise RefusedError(
            VALIDATION,
            "Parameter name: can't be prefixed with 'ssm' (case-insensitive). If formed as a path, "
            "it can consist of sub-paths divided by slash symbol; each sub-path can be formed as a "
            "mix of letters, numbers and the following 3 symbols .-_",
        )
    most = MOST_PARAMETER_LETTERS.get(asked.get("Tier", ""), MOST_STANDARD_LETTERS)
    if len(asked.get("Value") or "") > most:
        raise RefusedError(
            VALIDATION,
            f"Standard tier parameters support a maximum parameter value of {most} characters. To "
            "create a larger parameter value, upgrade the parameter to use the advanced-parameter "
            "tier."
            if most == MOST_STANDARD_LETTERS
            else f"Parameter value is longer than the {most} characters of the advanced tier.",
        )


def check_retention(asked: dict[str, Any]) -> None:
    days = asked.get("retentionInDays", asked.get("RetentionInDays"))
    if isinstance(days, int) and days not in RETENTION_DAYS:
        raise RefusedError(
            "InvalidParameterException",
            f"1 validation error detected: Value '{days}' at 'retentionInDays' failed to satisfy "
            f"constraint: Member must satisfy enum value set: {list(RETENTION_DAYS)}",
        )
