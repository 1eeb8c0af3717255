"""The meaning of AWS's and botocore's errors, whatever was asked of AWS.

Two kinds: what may pass (StoreUnavailable: the same call may succeed later), and what somebody has
to set right (QueueMisconfigured). What one call alone can answer with, its caller translates; what
nobody understands passes as it is.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    CredentialRetrievalError,
    HTTPClientError,
    IncompleteReadError,
    MetadataRetrievalError,
    NoCredentialsError,
    SSLError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)
from botocore.exceptions import ConnectionError as BotoConnectionError

from lifoq.errors import LifoqError, QueueMisconfigured, StoreUnavailable

AwsRefusal = ClientError
"""Raised by a client when AWS refuses a call; ``code_of`` tells the reason."""

NO_ANSWER: Final = (
    BotoConnectionError,  # no endpoint reached: address, connection, TLS, proxy
    HTTPClientError,  # no whole answer: closed, timed out
    IncompleteReadError,
    ChecksumError,
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
"""The words of the RuntimeError with which botocore says the same."""
UNSENDABLE: Final = "Invalid header value"
"""Words of the standard library, in front of the value."""

UNCONFIRMED: Final = frozenset(
    {
        "IDPCommunicationError",
        "InternalFailure",
        "InternalServerError",
        "ProvisionedThroughputExceededException",
        "ReplicatedWriteConflictException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "Throttling",
        "ThrottlingException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
"""Codes after which the same call may succeed
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html)."""
THROTTLED: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "Throttling",
        "ThrottlingException",
        "TransactionInProgressException",
    }
)
"""The codes among them that botocore's mode ``standard`` takes for throttling."""

EXPIRED: Final = frozenset(
    {"ExpiredToken", "ExpiredTokenException", "RequestExpired", "RequestTimeTooSkewed"}
)
"""Codes of credentials that are to be refreshed, or of a request that lay about for too long."""
EXPIRED_SIGNATURE: Final = ("signature expired", "signature not yet current")
"""Words of messages that say so: a process was frozen after it had signed, or a clock is off."""

UNKNOWN_CALLER: Final = frozenset(
    {
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
DENIED: Final = frozenset({"AccessDenied", "AccessDeniedException"})
"""Codes that say that a permission is missing; callers translate them on their own, and name the
permission."""

Meaning = Callable[[ClientError], Exception | None]
"""Translates what one call alone can answer with; None where it is not understood."""


@contextmanager
def connecting(call: str) -> Iterator[None]:
    """Raise QueueMisconfigured, with a remedy, where boto3 cannot make a client of its settings."""
    try:
        yield
    except (BotoCoreError, ValueError) as error:
        raise QueueMisconfigured(
            f"{call}: {_sentence(error)}: check region, profile and endpoint, in the arguments, "
            "the environment or ~/.aws/config"
        ) from error


@contextmanager
def translated(call: str, *, operation: str, meaning: Meaning) -> Iterator[None]:
    """Translate AWS's errors into lifoq's, as far as they are understood; the rest passes as it is.
    ``call`` begins each sentence; ``operation`` is its name in AWS's API."""
    try:
        yield
    except ClientError as error:
        translation = (
            _passing_or_credentials(error, call, operation) or meaning(error) or _page(error, call)
        )
        if translation is None:
            raise
        raise translation from error
    except _passing() as error:
        if UNSENDABLE in str(error):  # by whose words the header would be shown: a token, say
            raise QueueMisconfigured(
                f"{call}: it could not be sent: the credentials, or another value that stands in a "
                "header, have a line break"
            ) from None
        _check_bundle(error)
        raise StoreUnavailable(f"{call}: {_sentence(error)}") from error
    except RecursionError as error:
        raise StoreUnavailable(f"{call}: the answer is not AWS's: it is too deep") from error
    except RuntimeError as error:
        if STILL_EXPIRED not in str(error):
            raise
        raise StoreUnavailable(f"{call}: {_sentence(error)}") from error
    except NoCredentialsError as error:
        raise QueueMisconfigured(
            f"{call}: there are no credentials: give the process a role, or set AWS_PROFILE"
        ) from error
    except BotoCoreError as error:
        raise QueueMisconfigured(f"{call}: it could not be sent: {_sentence(error)}") from error


def code_of(error: ClientError) -> str:
    """Return the code of an error that AWS answered; empty if it has none."""
    return str(error.response.get("Error", {}).get("Code", ""))


def message_of(error: ClientError) -> str:
    """Return the message of an error that AWS answered; empty if it has none."""
    return str(error.response.get("Error", {}).get("Message", ""))


def _passing_or_credentials(error: ClientError, call: str, operation: str) -> LifoqError | None:
    """Return the error for a refusal that any call can meet: its own, or of a call for credentials
    before it. None where it is another."""
    code, described = code_of(error), f"{code_of(error)}: {message_of(error)}"
    if _may_pass(error):
        return StoreUnavailable(f"{call}: {described}")
    if error.operation_name != operation:
        return QueueMisconfigured(
            f"{call}: there are no credentials, since {error.operation_name} was refused: "
            f"{described}"
        )
    if code in UNKNOWN_CALLER:
        return QueueMisconfigured(
            f"{call}: AWS does not accept these credentials: check them ({described})"
        )
    return None


def _page(error: ClientError, call: str) -> LifoqError | None:
    """The error for a proxy's page: boto3 knows no code of it but its status."""
    if code_of(error).isdecimal():
        return StoreUnavailable(f"{call}: the answer is not AWS's: HTTP {code_of(error)}")
    return None


def _may_pass(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    late = any(text in message_of(error).lower() for text in EXPIRED_SIGNATURE)
    failed = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return code_of(error) in UNCONFIRMED | EXPIRED or late or failed


def _passing() -> tuple[type[Exception], ...]:
    parsers = sys.modules.get("botocore.parsers")  # which not every process has imported
    unreadable = () if parsers is None else (parsers.ResponseParserError,)
    return (*NO_ANSWER, *STALE_CREDENTIALS, *unreadable)


def _check_bundle(error: Exception) -> None:
    """Raise QueueMisconfigured where TLS failed, and the environment names a bundle that cannot be
    read: botocore tells neither its path nor the variable."""
    if isinstance(error, SSLError):
        from lifoq.aws import authorities  # noqa: PLC0415 - a cold start less to import

        authorities.trusting(authorities.bundle())


def _sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".")
