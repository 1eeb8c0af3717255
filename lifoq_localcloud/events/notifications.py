"""The event that SNS hands to a function."""

import json
from datetime import UTC, datetime
from typing import Any

from lifoq_localcloud.events.sources import Notification


def event(notification: Notification) -> bytes:
    """https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html; the signature is not imitated."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    attributes: dict[str, Any] = {
        name: {"Type": value["Type"], "Value": value["Value"]}
        for name, value in notification.attributes.items()
    }
    record = {
        "EventSource": "aws:sns",
        "EventVersion": "1.0",
        "EventSubscriptionArn": notification.subscription_arn,
        "Sns": {
            "Type": "Notification",
            "MessageId": notification.message_id,
            "TopicArn": notification.topic_arn,
            "Subject": notification.subject,
            "Message": notification.message,
            "Timestamp": now,
            "SignatureVersion": "1",
            "Signature": "",
            "SigningCertUrl": "",
            "UnsubscribeUrl": "",
            "MessageAttributes": attributes,
        },
    }
    return json.dumps({"Records": [record]}).encode()
