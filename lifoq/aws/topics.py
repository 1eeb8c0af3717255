"""SNS by lifoq's own client, as far as kicks and the ends of tasks need it."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from lifoq.aws.connections import Answer
from lifoq.aws.own_client import Service, not_aws
from lifoq.aws.retry_policy import ATTEMPTS

T = TypeVar("T")


class Topics:
    """The calls of SNS by lifoq's own client. Raises what boto3's client would."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def publish(self, **fields: str) -> None:
        """``TopicArn`` and ``Message``."""
        self._call("Publish", fields, of_success=_published)

    def publish_batch(self, *, TopicArn: str, PublishBatchRequestEntries: Any) -> dict[str, Any]:  # noqa: N803
        """Publish messages. The answer's ``Failed`` names those that SNS did not take."""
        form = {"TopicArn": TopicArn}
        for number, entry in enumerate(PublishBatchRequestEntries, 1):
            place = f"PublishBatchRequestEntries.member.{number}"
            form |= {f"{place}.{name}": entry[name] for name in ("Id", "Message")}
            for count, (name, value) in enumerate(entry["MessageAttributes"].items(), 1):
                attribute = f"{place}.MessageAttributes.entry.{count}"
                form[f"{attribute}.Name"] = name
                form |= {f"{attribute}.Value.{part}": text for part, text in value.items()}
        return self._call("PublishBatch", form, of_success=_batch)

    def _call(
        self, action: str, fields: Mapping[str, str], *, of_success: Callable[[Answer], T]
    ) -> T:
        form = {"Action": action, "Version": "2010-03-31", **fields}
        return self._service.call(
            action,
            {"content-type": "application/x-www-form-urlencoded; charset=utf-8"},
            urlencode(form).encode(),
            attempts=ATTEMPTS,
            of_success=of_success,
            of_refusal=_refusal,
        )


def _published(answer: Answer) -> None:
    """Check the answer to a publish. Raises HTTPClientError where it is not SNS's."""
    if b"<PublishResult" not in answer.content:
        raise not_aws(answer.content)


def _batch(answer: Answer) -> dict[str, Any]:
    """Return the messages of a batch that SNS did not take. Raises HTTPClientError where the answer
    is not SNS's."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415 - a cold start less to import

    try:
        result = ET.fromstring(answer.content).find("{*}PublishBatchResult")  # noqa: S314 - AWS's
    except ET.ParseError as error:
        raise not_aws(answer.content) from error
    if result is None:
        raise not_aws(answer.content)
    return {
        "Failed": [
            {part.tag.rpartition("}")[2]: part.text for part in failed}
            for failed in result.iterfind("{*}Failed/{*}member")
        ]
    }


def _refusal(answer: Answer) -> dict[str, Any]:
    """A refusal as botocore reads it. HTTPClientError where SNS did not write it."""
    text = answer.content.decode("utf-8", "replace")
    code, message = (
        re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL) for name in ("Code", "Message")
    )
    if code is None:
        raise not_aws(answer.content, answer.status_code)
    return {
        "Error": {"Code": code[1], "Message": message[1] if message else ""},
        "ResponseMetadata": {"HTTPStatusCode": answer.status_code},
    }
