"""What DynamoDB's and boto3's errors mean to a queue.

Three kinds: what may pass (StoreUnavailable: the same call may succeed later), what somebody has to
set right (QueueMisconfigured), and what DynamoDB says about one write (ConditionFailed,
ItemTooLarge …). What is none of them is not understood, and passes as it is.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
    NoCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError
from botocore.parsers import ResponseParserError

from lifoq.change import ConditionFailed, Item, TransactionRefused, UnfitAttribute
from lifoq.dynamo_values import plain
from lifoq.errors import ItemTooLarge, LifoqError, QueueMisconfigured, StoreUnavailable
from lifoq.schema import STATUS_CREATED_INDEX, Attribute

NO_ANSWER: Final = (
    BotoConnectionError,  # no endpoint reached: address, connection, TLS, proxy
    HTTPClientError,  # no whole answer: closed, timed out
    IncompleteReadError,
    ChecksumError,
    ResponseParserError,
    ConnectionError,
    TimeoutError,
)
"""botocore's errors of the network are no subclasses of Python's."""

STALE_CREDENTIALS: Final = (
    CredentialRetrievalError,
    MetadataRetrievalError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
"""Credentials that could not be had or refreshed at the moment."""
STILL_EXPIRED: Final = "refreshed credentials are still expired"
"""Of the RuntimeError with which botocore says the same."""

UNCONFIRMED: Final = frozenset(
    {
        "InternalServerError",
        "InternalFailure",
        "ServiceUnavailable",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
        "IDPCommunicationError",
    }
)
"""Codes after which the same call may succeed
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)."""

EXPIRED: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed"}
)
"""Of credentials until they are refreshed, or of a request that lay about for too long."""
EXPIRED_SIGNATURE: Final = ("signature expired", "signature not yet current")
"""Of messages with which DynamoDB says the same: a process that was frozen after it had signed, or
a clock that is off."""

DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException"})
UNKNOWN_CALLER: Final = frozenset(
    {
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)

FOREIGN_KEYS: Final = (
    "key element does not match the schema",
    "missing the key",
    "required keys was not given",
)
"""Of messages with which DynamoDB refuses an item or key, as its table has other keys."""

NO_ROOM: Final = ("38 digits", "38 significant", "number overflow")
"""Of messages with which DynamoDB refuses to add to a number that it cannot hold."""


def refuse_half_answers(http_response: Any, **_: Any) -> None:
    """A handler of botocore's ``after-call``: botocore takes an answer that ends early, or the page
    of a proxy, for a success without content, so that a task would seem to be absent, or a batch
    to be written whole."""
    content, told = http_response.content, http_response.headers.get("Content-Length")
    if told is not None and len(content) != int(told):
        raise IncompleteReadError(actual_bytes=len(content), expected_bytes=told)
    if http_response.status_code == HTTPStatus.OK and not content.startswith(b"{"):
        raise HTTPClientError(error=f"the answer is not DynamoDB's: {content[:80]!r}")


@contextmanager
def connecting(table: str) -> Iterator[None]:
    """QueueMisconfigured, with a remedy, where boto3 cannot make a client of its settings."""
    try:
        yield
    except (BotoCoreError, ValueError) as error:
        raise QueueMisconfigured(
            f"cannot connect to table {table!r}: {_sentence(error)}: check region, profile and "
            "endpoint, in the arguments, the environment or ~/.aws/config"
        ) from error


@contextmanager
def translated(action: str, *, table: str, region: str) -> Iterator[None]:
    """DynamoDB's errors as lifoq's, as far as they are understood; the rest passes as it is."""
    try:
        yield
    except ClientError as error:
        translation = _Answer(error, action=action, table=table, region=region).meaning()
        if translation is None:
            raise
        raise translation from error
    except NO_ANSWER as error:
        raise StoreUnavailable(f"{action} on table {table!r}: {error}") from error
    except STALE_CREDENTIALS as error:
        raise _no_credentials_now(action, table, error) from error
    except RuntimeError as error:
        if STILL_EXPIRED not in str(error):
            raise
        raise _no_credentials_now(action, table, error) from error
    except NoCredentialsError as error:
        raise QueueMisconfigured(
            f"{action} on table {table!r} could not be sent: there are no credentials: "
            "give the process a role, or set AWS_PROFILE"
        ) from error
    except BotoCoreError as error:
        raise QueueMisconfigured(
            f"{action} on table {table!r} could not be sent: {_sentence(error)}"
        ) from error


def refusal(error: ClientError, items: Sequence[Item]) -> Exception:
    """What a cancelled transaction says: its first reason is the update's, the others the puts'."""
    reasons: list[Any] = error.response.get("CancellationReasons", [])
    codes = [reason.get("Code", "None") for reason in reasons]
    if not codes or set(codes) - {"None", "ConditionalCheckFailed"}:
        invalid = [
            reason.get("Message") for reason in reasons if "Validation" in reason.get("Code", "")
        ]
        if invalid:  # it will be the next time, too; and of all bounds only the size is not ours
            return ItemTooLarge("; ".join(str(message) for message in invalid))
        return StoreUnavailable(f"TransactWriteItems: {error}")
    current = reasons[0].get("Item")
    return TransactionRefused(
        current=plain(current) if current else None,
        update_refused=codes[0] != "None",
        taken_ids=frozenset(
            str(item[Attribute.TASK_ID])
            for item, code in zip(items, codes[1:], strict=True)
            if code != "None"
        ),
    )


class _Answer:
    """An error that AWS answered with: to ``action``, or to a call for credentials before it."""

    def __init__(self, error: ClientError, *, action: str, table: str, region: str) -> None:
        self._error = error
        self._action = action
        self._table = table
        self._region = region
        described = error.response.get("Error", {})
        self._code = str(described.get("Code", ""))
        self._message = str(described.get("Message", ""))

    def meaning(self) -> Exception | None:
        """The error of lifoq that it stands for; None where it is not understood."""
        if self._code == "ConditionalCheckFailedException":
            item: Any = self._error.response.get("Item")
            return ConditionFailed(plain(item) if item else None)
        if self._may_pass():
            text = f"{self._action} on table {self._table!r}: {self._code}: {self._message}"
            return StoreUnavailable(text)
        if self._error.operation_name != self._action:
            return QueueMisconfigured(
                f"{self._action} on table {self._table!r} could not be sent: there are no "
                f"credentials, since {self._error.operation_name} was refused: {self._code}: "
                f"{self._message}"
            )
        if self._code == "ValidationException":
            return self._validation()
        return self._misconfiguration()

    def _may_pass(self) -> bool:
        status = self._error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        late = any(text in self._message.lower() for text in EXPIRED_SIGNATURE)
        server_failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
        return self._code in UNCONFIRMED | EXPIRED or late or server_failed

    def _misconfiguration(self) -> LifoqError | None:
        if self._code == "ResourceNotFoundException":
            return QueueMisconfigured(
                f"there is no table {self._table!r} in region {self._region!r} of this account: "
                "check the table's name, the region and the credentials"
            )
        if self._code in DENIED:
            return QueueMisconfigured(
                f"dynamodb:{self._action} on table {self._table!r} is not permitted to this "
                f"caller: grant it ({self._message})"
            )
        if self._code in UNKNOWN_CALLER:
            return QueueMisconfigured(
                f"{self._action} on table {self._table!r}: AWS does not accept these credentials: "
                f"check them ({self._code}: {self._message})"
            )
        return None

    def _validation(self) -> Exception | None:
        message, lower = self._message, self._message.lower()
        if "size" in lower and "exceed" in lower:
            return ItemTooLarge(message)
        if ("operand" in lower and "type" in lower) or any(text in lower for text in NO_ROOM):
            return UnfitAttribute(message)
        if "specified index" in lower or "doesn't have the index" in lower:
            return QueueMisconfigured(
                f"table {self._table!r} lacks an index of the queue ({message}): "
                f"it needs {STATUS_CREATED_INDEX} and due-index, as `deploy` creates them"
            )
        if any(text in lower for text in FOREIGN_KEYS):
            return QueueMisconfigured(
                f"table {self._table!r} has other keys than a queue's table ({message}): "
                "name the queue's own table"
            )
        return None


def _no_credentials_now(action: str, table: str, error: Exception) -> StoreUnavailable:
    return StoreUnavailable(
        f"{action} on table {table!r}: no valid credentials at the moment: {_sentence(error)}"
    )


def _sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".")
