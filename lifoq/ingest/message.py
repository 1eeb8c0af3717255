"""A message that somebody sent, out of whatever envelope Lambda brings it in."""

import base64
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from lifoq.basics import jsontext
from lifoq.errors import InvalidInput

FIFO: Final = ".fifo"
"""The end of the ARN of a queue that keeps an order."""
PARSING: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors that the readers below raise where a record is not of its service's form."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message of another service, of which a task is made."""

    id: str | None
    """The service's own. RabbitMQ draws none, where the sender gives none."""
    body: Any
    """A JSON value; text where it is none; base64 where it is not even UTF-8."""
    attributes: Mapping[str, Any]
    """The attributes, headers or properties that the sender attached."""
    about: Mapping[str, Any]
    """The facts that the service adds."""

    def document(self) -> dict[str, Any]:
        """The document that expressions read."""
        return {
            "body": self.body,
            "attributes": dict(self.attributes),
            "message": {"id": self.id, **self.about},
        }


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One message of an event, not opened yet: what is wrong with it concerns no other."""

    event: Any
    """An event of this message alone, which can be given to the function again."""
    opened: Callable[[], Message]
    receipt: str | None = None
    """The handle by which SQS is told that this message failed; None where only the whole event can
    fail."""
    group: str | None = None
    """A FIFO queue's message group: what comes behind it in its group waits for it."""

    def message(self) -> Message:
        """Return the message. Raises InvalidInput where the event is not what its service sends."""
        try:
            message = self.opened()
            while (inner := _forwarded(message)) is not None:
                message = replace(inner, about={**message.about, **inner.about})
        except (*PARSING, RecursionError) as error:
            problem = f"is no message of a known form ({type(error).__name__}: {error})"
            raise InvalidInput("event", self.event, problem) from error
        return message


def deliveries(event: Any) -> Sequence[Delivery]:
    """The messages of an event of Lambda's: from SQS, SNS, EventBridge, ActiveMQ or RabbitMQ."""
    match event:
        case {"Records": [*records]}:
            return [_delivery(record) for record in records]
        case {"rmqMessagesByQueue": dict(queues)} if _are_lists(queues.values()):
            return [
                Delivery(
                    event={**event, "rmqMessagesByQueue": {queue: [one]}},
                    opened=partial(_rabbitmq, one, queue, event),
                )
                for queue, messages in queues.items()
                for one in messages
            ]
        case {"eventSource": "aws:mq", "messages": [*messages]}:
            return [
                Delivery(event={**event, "messages": [one]}, opened=partial(_activemq, one, event))
                for one in messages
            ]
        case _:
            return [Delivery(event=event, opened=partial(_event, event))]


def _are_lists(values: Iterable[Any]) -> bool:
    return all(isinstance(value, list) for value in values)


def _delivery(record: Any) -> Delivery:
    event = {"Records": [record]}
    match record:
        case {
            "eventSource": "aws:sqs",
            "messageId": str(receipt),
            "eventSourceARN": str(source),
            "attributes": dict(system),
        }:
            group = system.get("MessageGroupId") if source.endswith(FIFO) else None
            opened = partial(_sqs, record)
            return Delivery(event=event, opened=opened, receipt=receipt, group=group)
        case {"EventSource": "aws:sns", "Sns": notification}:
            return Delivery(event=event, opened=partial(_sns, notification))
        case _:
            return Delivery(event=event, opened=partial(_event, record))


def _sqs(record: Mapping[str, Any]) -> Message:
    """Read a message of SQS: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html"""
    system = record["attributes"]
    return Message(
        id=record["messageId"],
        body=_value(record["body"]),
        attributes={
            name: _typed(
                one["dataType"],
                one["binaryValue"] if one["dataType"].startswith("Binary") else one["stringValue"],
            )
            for name, one in record["messageAttributes"].items()
        },
        about={
            "source": record["eventSourceARN"],
            "groupId": system.get("MessageGroupId"),
            "deduplicationId": system.get("MessageDeduplicationId"),
        },
    )


def _sns(notification: Mapping[str, Any]) -> Message:
    """Read a notification of SNS: https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html; in a
    queue, it is the body."""
    attributes = notification.get("MessageAttributes") or {}
    return Message(
        id=notification["MessageId"],
        body=_value(notification["Message"]),
        attributes={name: _typed(one["Type"], one["Value"]) for name, one in attributes.items()},
        about={"source": notification["TopicArn"], "subject": notification.get("Subject")},
    )


def _event(event: Any) -> Message:
    """Read an event of EventBridge:
    https://docs.aws.amazon.com/eventbridge/latest/ref/events-structure.html"""
    names = ("source", "detail-type", "time", "account", "region", "resources")
    return Message(
        id=event["id"],
        body=event["detail"],
        attributes={name: event[name] for name in names if name in event},
        about={"source": event["source"]},
    )


def _activemq(message: Mapping[str, Any], event: Mapping[str, Any]) -> Message:
    """Read a message of ActiveMQ: https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html"""
    return Message(
        id=message["messageID"],
        body=_binary(message["data"]),
        attributes=dict(message.get("properties") or {}),
        about={
            "source": event["eventSourceArn"],
            "queue": message.get("destination", {}).get("physicalName"),
            "correlationId": message.get("correlationId"),
            "type": message.get("type"),
        },
    )


def _rabbitmq(message: Mapping[str, Any], queue: str, event: Mapping[str, Any]) -> Message:
    """Read a message of RabbitMQ: https://docs.aws.amazon.com/lambda/latest/dg/with-mq.html"""
    properties = message["basicProperties"]
    headers = properties.get("headers") or {}
    return Message(
        id=properties.get("messageId"),
        body=_binary(message["data"]),
        attributes={name: _header(value) for name, value in headers.items()},
        about={
            "source": event["eventSourceArn"],
            "queue": queue,
            "correlationId": properties.get("correlationId"),
            "type": properties.get("type"),
        },
    )


def _forwarded(message: Message) -> Message | None:
    """Return the message that a topic or a bus put into a queue or a topic, in an envelope of its
    own."""
    match message.body:
        case {"Type": "Notification", "TopicArn": str(), "MessageId": str(), "Message": str()}:
            return _sns(message.body)
        case {"detail-type": str(), "source": str(), "id": str(), "detail": _, "version": _}:
            return _event(message.body)
        case _:
            return None


def _value(text: str) -> Any:
    try:
        return jsontext.decode(text)
    except ValueError:
        return text


def _binary(data: str) -> Any:
    try:
        return _value(base64.b64decode(data, validate=True).decode())
    except UnicodeDecodeError:
        return data


def _typed(kind: str, text: str) -> Any:
    """An attribute by its type: ``Number.int`` is a number, ``String.Array`` is JSON."""
    if kind.startswith("Number"):
        return int(text) if text.lstrip("-").isdecimal() else float(text)
    return jsontext.decode(text) if kind == "String.Array" else text


def _header(value: Any) -> Any:
    """Text comes as the numbers of its bytes."""
    match value:
        case {"bytes": [*numbers], **rest} if not rest:
            return bytes(_signed(numbers)).decode(errors="replace")
        case _:
            return value


def _signed(numbers: Sequence[int]) -> Iterator[int]:
    """Java's bytes go from −128 to 127."""
    return (number % 256 for number in numbers)
