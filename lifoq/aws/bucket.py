"""The queue's bucket in S3."""

import threading
from contextlib import AbstractContextManager
from functools import cached_property, partial
from typing import Any, Final

from botocore.exceptions import ClientError

from lifoq.aws.errors import DENIED, code_of, connecting, message_of, translated
from lifoq.errors import LifoqError, QueueMisconfigured, StoreUnavailable
from lifoq.store.large_values import LargeValues

LARGE_READ_TIMEOUT: Final = 10
"""Seconds until the next bytes of an answer of S3's must have come: values are large."""
ATTEMPTS: Final = 3
"""The most that a call of S3 is sent."""
CONNECTIONS: Final = 50
"""Connections to S3 that are kept."""
MAY_PASS: Final = frozenset({"OperationAborted", "RequestTimeout", "SlowDown"})
"""Codes of S3 that may pass, beside those that may pass with any service."""
NOT_THERE: Final = frozenset({"404", "NoSuchKey"})
JSON: Final = "application/json"


def in_bucket(name: str, **client_arguments: Any) -> LargeValues:
    """Return the large values of the bucket of this name. ``client_arguments`` go to
    ``boto3.client``."""
    return LargeValues(S3Blobs(name, **client_arguments))


class S3Blobs:
    """Objects in S3. The client is made when the first large value comes: S3's takes long to
    load."""

    def __init__(self, bucket: str, **client_arguments: Any) -> None:
        self.bucket = bucket
        self._arguments = client_arguments
        self._making = threading.Lock()

    def put(self, key: str, content: bytes) -> None:
        """Write an object."""
        with self._translated("PutObject"):
            self._client.put_object(Bucket=self.bucket, Key=key, Body=content, ContentType=JSON)

    def get(self, key: str) -> bytes | None:
        """Return an object's bytes; None if there is no such object."""
        try:
            with self._translated("GetObject"):
                answer = self._client.get_object(Bucket=self.bucket, Key=key)
                content: bytes = answer["Body"].read()
                return content
        except _NotThere:
            return None

    def renew(self, key: str) -> bool:
        """Let the object's time begin anew, by a copy onto itself: it stays what it is, but its age
        does not."""
        try:
            with self._translated("CopyObject"):
                self._client.copy_object(
                    Bucket=self.bucket,
                    Key=key,
                    CopySource={"Bucket": self.bucket, "Key": key},
                    MetadataDirective="REPLACE",
                    ContentType=JSON,
                )
        except _NotThere:
            return False
        return True

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        with self._translated("DeleteObject"):
            self._client.delete_object(Bucket=self.bucket, Key=key)

    @property
    def _client(self) -> Any:
        with self._making:  # attempts run in threads
            return self._made

    @cached_property
    def _made(self) -> Any:
        # boto3 takes long to import, and few tasks are large.
        from botocore.config import Config  # noqa: PLC0415

        from lifoq.aws.boto3_clients import PATIENT, new_client  # noqa: PLC0415

        patient = Config(
            read_timeout=LARGE_READ_TIMEOUT,
            retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
            max_pool_connections=CONNECTIONS,
        )
        with connecting(f"cannot connect to bucket {self.bucket!r}"):
            return new_client("s3", PATIENT.merge(patient), **self._arguments)

    def _translated(self, action: str) -> AbstractContextManager[None]:
        call = f"{action} on bucket {self.bucket!r}"
        return translated(call, operation=action, meaning=partial(_meaning, call))


class _NotThere(LifoqError):
    """Raised where there is no such object."""


def _meaning(call: str, error: ClientError) -> LifoqError | None:
    code, described = code_of(error), f"{code_of(error)}: {message_of(error)}"
    if code in NOT_THERE:
        return _NotThere(call)
    if code in MAY_PASS:
        return StoreUnavailable(f"{call}: {described}")
    if code in DENIED:
        return QueueMisconfigured(
            f"{call}: this caller may not do it: let the queue's grant_put, grant_read, "
            f"grant_work or grant_operate allow it ({described})"
        )
    if code == "NoSuchBucket":
        return QueueMisconfigured(
            f"{call}: there is no such bucket: deploy the queue, or connect by its name"
        )
    return None
