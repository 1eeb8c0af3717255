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
MOST_LEVELS: Final = 15
_PARAMETER: Final = re.compile(r"(?!/?ssm)/?[\w.-]+(/[\w.-]+)*", re.ASCII | re.IGNORECASE)
POLICY_VERSIONS: Final = ("2012-10-17", "2008-10-17")
_MALFORMED: Final = "MalformedPolicyDocument"


def check_trust(asked: dict[str, Any]) -> None:
    """Hold who may take a role against IAM's grammar."""
    _check_policy(asked.get("AssumeRolePolicyDocument"), trust=True)


def check_new_trust(asked: dict[str, Any]) -> None:
    """Hold who may take a role from now on against IAM's grammar."""
    _check_policy(asked.get("PolicyDocument"), trust=True)


def check_policy(asked: dict[str, Any]) -> None:
    """Hold what a policy allows against IAM's grammar."""
    _check_policy(asked.get("PolicyDocument"), trust=False)


def _check_policy(document: Any, *, trust: bool) -> None:
    """Refuse a policy that is no JSON object of statements, each with its effect."""
    if not isinstance(document, str):
        return
    try:
        policy = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise RefusedError(_MALFORMED, "This policy contains invalid Json") from error
    if (
        not isinstance(policy, dict)
        or "Statement" not in policy
        or (policy.get("Version", POLICY_VERSIONS[0]) not in POLICY_VERSIONS)
    ):
        raise RefusedError(_MALFORMED, "Syntax errors in policy.")
    statements = policy["Statement"]
    for one in statements if isinstance(statements, list) else [statements]:
        if not isinstance(one, dict) or one.get("Effect") not in {"Allow", "Deny"}:
            raise RefusedError(_MALFORMED, "Syntax errors in policy.")
        if "Action" not in one and "NotAction" not in one:
            raise RefusedError(_MALFORMED, "Policy statement must contain actions.")
        _check_parties(one, trust=trust)


def _check_parties(statement: dict[str, Any], *, trust: bool) -> None:
    """Hold who a statement speaks of against the kind of its policy: a role's trust, or rights."""
    resources = "Resource" in statement or "NotResource" in statement
    principals = "Principal" in statement or "NotPrincipal" in statement
    if trust and resources:
        raise RefusedError(_MALFORMED, "Has prohibited field Resource")
    if trust and not principals:
        raise RefusedError(_MALFORMED, "Missing required field Principal")
    if not trust and not resources:
        raise RefusedError(_MALFORMED, "Policy statement must contain resources.")
    if not trust and principals:
        raise RefusedError(_MALFORMED, "Policy document should not specify a principal.")


def check_parameter(asked: dict[str, Any]) -> None:
    """Hold a parameter's name and the length of its value against SSM's rules."""
    if not _PARAMETER.fullmatch(asked.get("Name") or ""):
        raise RefusedError(
            VALIDATION,
            "Parameter name: can't be prefixed with 'ssm' (case-insensitive). If formed as a path, "
            "it can consist of sub-paths divided by slash symbol; each sub-path can be formed as a "
            "mix of letters, numbers and the following 3 symbols .-_",
        )
    if asked["Name"].count("/") > MOST_LEVELS:
        raise RefusedError(
            "HierarchyLevelLimitExceededException",
            f"A hierarchy can have a maximum of {MOST_LEVELS} levels.",
        )
    if asked.get("Overwrite") and asked.get("Tags"):
        raise RefusedError(
            VALIDATION,
            "Invalid request: tags and overwrite can't be used together. To create a parameter "
            "with tags, please remove overwrite flag.",
        )
    allowed = asked.get("AllowedPattern")
    if allowed and not _matches(allowed, asked.get("Value") or ""):
        raise RefusedError(
            "ParameterPatternMismatchException",
            f"Parameter value, cannot be validated against allowedPattern: {allowed}",
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


def _matches(pattern: str, value: str) -> bool:
    try:
        return re.search(pattern, value) is not None
    except re.error as error:
        raise RefusedError("InvalidAllowedPatternException", f"{pattern}: {error}") from error


def check_paths(asked: dict[str, Any]) -> None:
    """Refuse a path that does not begin at the root."""
    if not str(asked.get("Path")).startswith("/"):
        raise RefusedError(
            VALIDATION,
            "The parameter doesn't meet the parameter name requirements: a path begins with /",
        )


def check_log_events(asked: dict[str, Any]) -> None:
    """Refuse events that are not in the order of their times."""
    times = [one.get("timestamp") for one in asked.get("logEvents") or []]
    if times != sorted(times):
        raise RefusedError(
            "InvalidParameterException",
            "Log events in a single PutLogEvents request must be in chronological order.",
        )


def check_retention(asked: dict[str, Any]) -> None:
    days = asked.get("retentionInDays", asked.get("RetentionInDays"))
    if isinstance(days, int) and days not in RETENTION_DAYS:
        raise RefusedError(
            "InvalidParameterException",
            f"1 validation error detected: Value '{days}' at 'retentionInDays' failed to satisfy "
            f"constraint: Member must satisfy enum value set: {list(RETENTION_DAYS)}",
        )
