"""Events as AWS documents them for each service that Lambda can be subscribed to, with what may be
read of them."""

import base64
import json
from typing import Any

SQS_ID = "059f36b4-87a3-44ab-83d2-661975830a7d"
SNS_ID = "95df01b4-ee98-5cb9-9903-4c221d41eb5e"
EVENT_ID = "6a7e8feb-b491-4cf7-a9f1-bf3703467718"
ACTIVEMQ_ID = (
    "ID:b-9bcfa592-423a-4942-879d-eb284b418fc8-1.mq.us-east-2.amazonaws.com-37557-1234520418293"
    "-4:1:1:1:1"
)
QUEUE = "arn:aws:sqs:us-east-2:123456789012:my-queue"
TOPIC = "arn:aws:sns:us-east-2:123456789012:sns-lambda"
BROKER = "arn:aws:mq:us-east-2:111122223333:broker:test:b-9bcfa592-423a-4942-879d-eb284b418fc8"


def sqs(*records: dict[str, Any]) -> dict[str, Any]:
    return {"Records": list(records)}


def sqs_record(
    body: Any = None, *, message_id: str = SQS_ID, group: str | None = None, **attributes: str
) -> dict[str, Any]:
    """``group``: of a FIFO queue."""
    fifo = {"MessageGroupId": group, "MessageDeduplicationId": f"dedup-{message_id}"}
    return {
        "messageId": message_id,
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {"SentTimestamp": "1545082649183", **(fifo if group else {})},
        "messageAttributes": {
            name: {
                "stringValue": value,
                "binaryListValues": [],
                "dataType": "Number" if value.isdecimal() else "String",
            }
            for name, value in attributes.items()
        },
        "eventSource": "aws:sqs",
        "eventSourceARN": f"{QUEUE}.fifo" if group else QUEUE,
    }


def notification(message: Any, **attributes: str) -> dict[str, Any]:
    """Return the notification that SNS sends: to a function below ``Sns``, to a queue as the
    body."""
    return {
        "Type": "Notification",
        "MessageId": SNS_ID,
        "TopicArn": TOPIC,
        "Subject": "TestInvoke",
        "Message": message if isinstance(message, str) else json.dumps(message),
        "MessageAttributes": {
            name: {"Type": "String", "Value": value} for name, value in attributes.items()
        },
    }


def sns(message: Any, **attributes: str) -> dict[str, Any]:
    return {"Records": [{"EventSource": "aws:sns", "Sns": notification(message, **attributes)}]}


def eventbridge(detail: Any, detail_type: str) -> dict[str, Any]:
    return {
        "version": "0",
        "id": EVENT_ID,
        "detail-type": detail_type,
        "source": "com.example.shop",
        "account": "111122223333",
        "time": "2017-12-22T18:43:48Z",
        "region": "us-west-1",
        "resources": ["arn:aws:ec2:us-west-1:123456789012:instance/i-1234567890abcdef0"],
        "detail": detail,
    }


def activemq(body: bytes, **properties: str) -> dict[str, Any]:
    message = {
        "messageID": ACTIVEMQ_ID,
        "messageType": "jms/text-message",
        "correlationId": "myJMSCoID",
        "destination": {"physicalName": "testQueue"},
        "data": base64.b64encode(body).decode(),
        "properties": {"index": "1", "doAlarm": "false", **properties},
    }
    return {"eventSource": "aws:mq", "eventSourceArn": BROKER, "messages": [message]}


def rabbitmq(body: bytes, message_id: str | None = None, **headers: str) -> dict[str, Any]:
    message = {
        "basicProperties": {
            "headers": {
                name: {"bytes": [one - 256 if one > 127 else one for one in value.encode()]}
                for name, value in headers.items()
            },
            "messageId": message_id,
        },
        "data": base64.b64encode(body).decode(),
    }
    queues = {"pizzaQueue::/": [message]}
    return {"eventSource": "aws:rmq", "eventSourceArn": BROKER, "rmqMessagesByQueue": queues}
