"""Events as AWS documents them for each service that Lambda can be subscribed to, with what may be
read of them."""

import base64
import json
from typing import Any

QUEUE = "arn:aws:sqs:us-east-2:123456789012:my-queue"
TOPIC = "arn:aws:sns:us-east-2:123456789012:sns-lambda"
BROKER = "arn:aws:mq:us-east-2:111122223333:broker:test:b-9bcfa592-423a-4942-879d-eb284b418fc8"
ACTIVEMQ_ID = (
    "ID:b-9bcfa592-423a-4942-879d-eb284b418fc8-1.mq.us-east-2.amazonaws.com-37557-1234520418293"
    "-4:1:1:1:1"
)


def sqs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(records)}


def sqs_record(
    body: Any = None,
    *,
    message_id: str = "059f36b4-87a3-44ab-83d2-661975830a7d",
    arn: str = QUEUE,
    system: dict[str, str] | None = None,
    **attributes: str,
) -> dict[str, Any]:
    return {
        "messageId": message_id,
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {
            "SentTimestamp": "1545082649183",
            **(system or {}),
        },
        "messageAttributes": {
            name: {
                "stringValue": value,
                "stringListValues": [],
                "binaryListValues": [],
                "dataType": "Number" if value.isdecimal() else "String",
            }
            for name, value in attributes.items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
    }


def fifo_record(body: Any, message_id: str, *, group: str, **attributes: str) -> dict[str, Any]:
    system = {
        "SequenceNumber": "18849496460467696128",
        "MessageGroupId": group,
        "MessageDeduplicationId": f"dedup-{message_id}",
    }
    arn = f"{QUEUE}.fifo"
    return sqs_record(body, message_id=message_id, arn=arn, system=system, **attributes)


def notification(message: Any, **attributes: str) -> dict[str, Any]:
    """What SNS sends, to a function below ``Sns``, to a queue as the body."""
    return {
        "Type": "Notification",
        "MessageId": "95df01b4-ee98-5cb9-9903-4c221d41eb5e",
        "TopicArn": TOPIC,
        "Subject": "TestInvoke",
        "Message": message if isinstance(message, str) else json.dumps(message),
        "Timestamp": "2019-01-02T12:45:07.000Z",
        "MessageAttributes": {
            name: {"Type": "String", "Value": value} for name, value in attributes.items()
        },
    }


def sns(message: Any, **attributes: str) -> dict[str, Any]:
    record = {
        "EventVersion": "1.0",
        "EventSubscriptionArn": f"{TOPIC}:21be56ed-a058-49f5-8c98-aedd2564c486",
        "EventSource": "aws:sns",
        "Sns": notification(message, **attributes),
    }
    return {"Records": [record]}


def eventbridge(detail: Any, detail_type: str = "order.created") -> dict[str, Any]:
    return {
        "version": "0",
        "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
        "detail-type": detail_type,
        "source": "com.example.shop",
        "account": "111122223333",
        "time": "2017-12-22T18:43:48Z",
        "region": "us-west-1",
        "resources": ["arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0"],
        "detail": detail,
    }


def activemq(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"eventSource": "aws:mq", "eventSourceArn": BROKER, "messages": list(messages)}


def activemq_message(
    body: bytes, message_id: str = ACTIVEMQ_ID, **properties: str
) -> dict[str, Any]:
    return {
        "messageID": message_id,
        "messageType": "jms/text-message",
        "correlationId": "myJMSCoID",
        "destination": {"physicalName": "testQueue"},
        "data": base64.b64encode(body).decode(),
        "timestamp": 1598827811958,
        "properties": {"index": "1", "doAlarm": "false", **properties},
    }


def rabbitmq(*messages: dict[str, Any], queue: str = "pizzaQueue::/") -> dict[str, Any]:
    return {
        "eventSource": "aws:rmq",
        "eventSourceArn": BROKER,
        "rmqMessagesByQueue": {queue: list(messages)},
    }


def rabbitmq_message(body: bytes, message_id: str | None = None, **headers: Any) -> dict[str, Any]:
    return {
        "basicProperties": {
            "headers": {
                name: {"bytes": [one - 256 if one > 127 else one for one in value.encode()]}
                if isinstance(value, str)
                else value
                for name, value in headers.items()
            },
            "messageId": message_id,
            "timestamp": "Jan 1, 1970, 12:33:41 AM",
        },
        "data": base64.b64encode(body).decode(),
    }
