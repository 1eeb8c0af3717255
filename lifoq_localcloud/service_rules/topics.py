"""SNS: what it refuses of subscriptions and messages."""

import json
import re
from typing import Any, Final

from lifoq_localcloud.service_rules import message_attributes
from lifoq_localcloud.service_rules.refused import RefusedError

INVALID: Final = "InvalidParameter"
PROTOCOLS: Final = frozenset(
    {
        *("http", "https", "email", "email-json", "sms", "sqs", "application", "lambda"),
        "firehose",
    }
)
_BATCH_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_ARNS: Final = {"sqs": "arn:aws:sqs:", "lambda": "arn:aws:lambda:", "firehose": "arn:aws:firehose:"}
_OF_ARNS: Final = frozenset({"TopicArn", "TargetArn", "SubscriptionArn", "ResourceArn"})
_ARN_PARTS: Final = 6
_JSON_ATTRIBUTES: Final = frozenset({"FilterPolicy", "RedrivePolicy", "DeliveryPolicy"})
_SUBSCRIPTION_ATTRIBUTES: Final = _JSON_ATTRIBUTES | {
    *("FilterPolicyScope", "RawMessageDelivery", "SubscriptionRoleArn", "ReplayPolicy"),
}


def check_arns(asked: dict[str, Any]) -> None:
    """Refuse the ARN of whatever it is of, if it is none."""
    for name in _OF_ARNS & asked.keys():
        parts = str(asked[name]).split(":")
        if len(parts) < _ARN_PARTS:
            raise RefusedError(
                INVALID,
                f"Invalid parameter: {name} Reason: An ARN must have at least {_ARN_PARTS} "
                f"elements, not {len(parts)}",
            )


def check_subscription(asked: dict[str, Any]) -> None:
    if asked.get("Protocol") not in PROTOCOLS:
        raise RefusedError(
            INVALID, f"Invalid parameter: Does not support this protocol: {asked.get('Protocol')}"
        )
    kind, endpoint = asked["Protocol"], asked.get("Endpoint")
    if not endpoint:
        raise RefusedError(INVALID, "Invalid parameter: Endpoint")
    if not str(endpoint).startswith(_ARNS.get(kind, "")):
        raise RefusedError(INVALID, f"Invalid parameter: {kind.upper()} endpoint ARN")
    if kind in {"http", "https"} and not str(endpoint).startswith(f"{kind}://"):
        raise RefusedError(INVALID, "Invalid parameter: Endpoint must match the specified protocol")
    for name, value in (asked.get("Attributes") or {}).items():
        check_subscription_attribute({"AttributeName": name, "AttributeValue": value})


def check_subscription_attribute(asked: dict[str, Any]) -> None:
    """Refuse an attribute that no subscription has, or JSON that is none."""
    name = asked.get("AttributeName", "")
    if name not in _SUBSCRIPTION_ATTRIBUTES:
        raise RefusedError(INVALID, "Invalid parameter: AttributeName")
    if name in _JSON_ATTRIBUTES and asked.get("AttributeValue"):
        _check_json(name, asked["AttributeValue"])


def check_publication(asked: dict[str, Any]) -> None:
    """Refuse a message without a place to go, or one that SNS does not carry."""
    if not any(asked.get(name) for name in ("TopicArn", "TargetArn", "PhoneNumber")):
        raise RefusedError(
            INVALID,
            "Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter",
        )
    check_message(asked)


def check_messages(asked: dict[str, Any]) -> None:
    """Refuse a batch of none, and entries that SNS does not carry."""
    entries = asked.get("PublishBatchRequestEntries") or []
    if not entries:
        raise RefusedError("EmptyBatchRequest", "The batch request doesn't contain any entries.")
    ids = [entry.get("Id") for entry in entries]
    if len(ids) != len(set(ids)):
        raise RefusedError(
            "BatchEntryIdsNotDistinct",
            "Two or more batch entries in the request have the same Id.",
        )
    for entry in entries:
        if not _BATCH_ID.fullmatch(str(entry.get("Id"))):
            raise RefusedError(
                "InvalidBatchEntryId",
                f"The Id of a batch entry in a batch request doesn't abide by the specification: "
                f"{entry.get('Id')}",
            )
        check_message(entry)


def check_message(asked: dict[str, Any]) -> None:
    """Refuse a message without text, with attributes that cannot be, or with half of its texts."""
    for name, attribute in (asked.get("MessageAttributes") or {}).items():
        if (told := message_attributes.wrong(name, attribute)) is not None:
            raise RefusedError("ParameterValueInvalid", told)
    subject = asked.get("Subject")
    if subject is not None and (not subject.strip() or not subject.isprintable()):
        raise RefusedError(INVALID, "Invalid parameter: Subject")
    message = asked.get("Message")
    if not message:
        raise RefusedError(INVALID, "Invalid parameter: Empty message")
    if asked.get("MessageStructure") != "json":
        return
    try:
        told = json.loads(message)
    except (ValueError, RecursionError) as error:
        raise RefusedError(
            INVALID,
            "Invalid parameter: Message Structure - JSON message body failed to parse",
        ) from error
    if not isinstance(told, dict) or "default" not in told:
        raise RefusedError(
            INVALID, "Invalid parameter: Message Structure - No default entry in JSON message body"
        )


def _check_json(name: str, text: Any) -> None:
    try:
        fits = isinstance(json.loads(text), dict)
    except (ValueError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise RefusedError(
            INVALID, f"Invalid parameter: {name}: failed to parse JSON: it has to be an object"
        )
