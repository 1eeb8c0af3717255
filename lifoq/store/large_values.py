"""Large values, which lie as objects in the queue's bucket: an item has no room for them (a claim
check).

The object is written before the item that names it, under a name that nobody else draws, and never
again: whatever becomes of the item, what it names stays what it was. An object whose item was not
written, or names another by now, the bucket's lifecycle deletes.
"""

import logging
import threading
from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeGuard

from lifoq.basics import jsontext
from lifoq.basics.host import SYSTEM, Host
from lifoq.errors import DamagedTask, InvalidInput, LifoqError
from lifoq.items.change import Value
from lifoq.items.packed import PARTS, Large, unpack
from lifoq.items.schema import MAX_LARGE_BYTES, Attribute
from lifoq.items.task import Task

log = logging.getLogger("lifoq.large")

INLINE: Final = 16 * 1024
"""Bytes, compressed. What is larger goes into the bucket: written and read once, an object costs as
much as nine write units, a KB of an item three. What is smaller is faster in the item."""


class Blobs(Protocol):
    """Objects by their keys. Calls raise StoreUnavailable and QueueMisconfigured."""

    def put(self, key: str, content: bytes) -> None:
        """Write an object."""
        ...

    def get(self, key: str) -> bytes | None:
        """Return the object's bytes; None where there is no such object."""
        ...

    def renew(self, key: str) -> bool:
        """Let the object's time in the bucket begin anew. Return False where there is no such
        object."""
        ...

    def delete(self, key: str) -> None:
        """Delete an object, if it is there."""
        ...


class MemoryBlobs:
    """Objects in memory: for tests of task code, and of this library."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, key: str, content: bytes) -> None:
        """Keep an object."""
        with self._lock:
            self.objects[key] = content

    def get(self, key: str) -> bytes | None:
        """Return an object's bytes; None if there is no such object."""
        return self.objects.get(key)

    def renew(self, key: str) -> bool:
        """Return True if there is such an object: nothing is deleted by its age here."""
        return key in self.objects

    def delete(self, key: str) -> None:
        """Forget an object, if it is there."""
        with self._lock:
            self.objects.pop(key, None)


class LargeValues:
    """Moves values into the bucket and back. Calls raise what those of ``Blobs`` do."""

    def __init__(self, blobs: Blobs, *, host: Host = SYSTEM) -> None:
        self.blobs = blobs
        self._host = host

    @staticmethod
    def takes(value: object) -> TypeGuard[str | bytes]:
        """Return True if a value is to lie in the bucket."""
        return isinstance(value, str | bytes) and _size(value) > INLINE

    def moved(
        self, values: Mapping[Any, Value], name: Attribute, *, prefix: str
    ) -> dict[Any, Value]:
        """Return these attributes. The one of this name, where it is large, is moved into the
        bucket, under ``prefix``. Raises InvalidInput where it is too large for that, too."""
        value = values[name]
        if not self.takes(value):
            return dict(values)
        content = unpack(value).encode()
        if len(content) > MAX_LARGE_BYTES:
            raise too_large(name.value, content.decode())
        large = Large.of(content, key=prefix + self._host.new_id())
        self.blobs.put(large.key, content)
        return {**values, name: large.encode()}

    def value(self, task_id: str, name: str, large: Large) -> Any:
        """Read the value that an item names. Raises DamagedTask where the object is gone, or is
        another than was written: no repeat can help."""
        content = self.blobs.get(large.key)
        if content is None:
            raise DamagedTask(task_id, f"{name} names object {large.key}, which is not there")
        if not large.is_of(content):
            raise DamagedTask(
                task_id,
                f"{name} names object {large.key}, which is not what was written: it has "
                f"{len(content):,} bytes, {large.size:,} were written",
            )
        try:
            return jsontext.decode(content.decode())
        except (ValueError, RecursionError) as error:
            raise DamagedTask(task_id, f"{name} in object {large.key} is not JSON") from error

    def renew(self, task: Task) -> None:
        """Let the time of all objects that a task names begin anew. Raises DamagedTask where one is
        gone."""
        for name, large in named(task).items():
            if not self.blobs.renew(large.key):
                reason = f"{name} names object {large.key}, which is not there any more"
                raise DamagedTask(task.task_id, reason)

    def forget(self, task: Task) -> None:
        """Delete all objects that a task names, once it is deleted itself. What fails is left to
        the lifecycle."""
        for large in named(task).values():
            try:
                self.blobs.delete(large.key)
            except LifoqError as error:
                log.warning("object %s is left to the lifecycle: %s", large.key, error)


def named(task: Task) -> dict[str, Large]:
    """The parts of a task that lie in the bucket, by their names."""
    found = {name: getattr(task, name) for name in PARTS}
    return {name: value for name, value in found.items() if isinstance(value, Large)}


def too_large(name: str, text: str) -> InvalidInput:
    """Return the refusal of a value that is too large for the bucket."""
    return InvalidInput(
        name,
        text,
        f"is {jsontext.size(text):,} bytes of JSON, the limit is {MAX_LARGE_BYTES:,}: put it in S3 "
        "and send its key",
    )


def _size(value: str | bytes) -> int:
    return jsontext.size(value) if isinstance(value, str) else len(value)
