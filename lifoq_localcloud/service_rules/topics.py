"""SNS: what it refuses of subscriptions and messages."""

import json
from typing import Any, Final

from lifoq_localcloud.service_rules.refused import RefusedError

INVALID: Final = "InvalidParameter"
PROTOCOLS: Final = frozenset(
    {
        *("http", "https", "email", "email-json", "sms", "sqs", "application", "lambda"),
        "firehose",
    }
)


def check_subscription(asked: dict[str, Any]) -> None:
    if asked.get("Protocol") not in PROTOCOLS:
        raise RefusedError(
            INVALID, f"Invalid parameter: Does not support this protocol: {asked.get('Protocol')}"
        )
    attributes = asked.get("Attributes") or {}
    for name in ("FilterPolicy", "RedrivePolicy", "DeliveryPolicy"):
        if name in attributes:
            _check_json(name, attributes[name])


def check_subscription_attribute(asked: dict[str, Any]) -> None:
    name = asked.get("AttributeName", "")
    if name in {"FilterPolicy", "RedrivePolicy", "DeliveryPolicy"} and asked.get("AttributeValue"):
        _check_json(name, asked["AttributeValue"])


def check_message(asked: dict[str, Any]) -> None:
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
