"""Kicks: messages that wake a function. They carry no data, and any of them may be lost."""

from datetime import datetime
from typing import Any

from lifoq.aws import client_choice as own
from lifoq.aws.topics import Topics
from lifoq.basics.host import microseconds


class Kicker:
    """Publishes to one topic."""

    def __init__(self, topic_arn: str) -> None:
        self._topic_arn = topic_arn
        self._sns: Any = None

    def connect(self) -> None:
        """Make the client: at the first kick, or before it. A function that kicks at each event
        makes it at its start, for which Lambda lends more of a processor."""
        found = own.in_function("sns")
        self._sns = Topics(*found) if found else _client()

    def kick(self, why: str) -> None:
        """``why`` is for people who read the message; nobody acts on it."""
        if self._sns is None:
            self.connect()
        self._sns.publish(TopicArn=self._topic_arn, Message=why)


def _client() -> Any:
    from lifoq_functions.boto3_clients import client  # noqa: PLC0415 - a cold start less to import

    return client("sns")


def sent_at(event: Any) -> int | None:
    """When the kick that Lambda hands over was published, in epoch microseconds; None for an event
    that is no kick, such as a person's test."""
    try:
        text = event["Records"][0]["Sns"]["Timestamp"]
        return microseconds(datetime.fromisoformat(text).timestamp())
    except (LookupError, TypeError, ValueError):
        return None
