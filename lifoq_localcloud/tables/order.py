"""The order of a table's items, or of an index: partitions one after another, sorted within.

Partitions come in the order of a digest of their hash key, as on AWS: a scan finds its way back
from the key of its last item, whatever was written since, and its segments are parts of that order.
"""

import base64
import bisect
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from lifoq_localcloud.tables.journal import Image

Entry = tuple[Any, ...]
"""The digest of an item's partition, its sort values in the index, and those of its table's key."""
_DIGEST_BYTES: Final = 8


class _Last:
    """Greater than every sort value."""

    def __lt__(self, _other: object) -> bool:
        return False

    def __gt__(self, _other: object) -> bool:
        return True


LAST: Final = _Last()


def sort_value(value: dict[str, Any]) -> Any:
    """Return what DynamoDB sorts a string, a number or bytes by."""
    ((kind, given),) = value.items()
    if kind == "N":
        return Decimal(given)
    return base64.b64decode(given) if kind == "B" else given.encode()


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The part of a partition in which a query looks: both ends are sort values, and belong to it.

    An end may be shorter than an entry: ``(5,)`` as ``low`` is before all with 5, and ``(5, LAST)``
    as ``high`` is behind all of them.
    """

    low: tuple[Any, ...] = ()
    high: tuple[Any, ...] = (LAST,)


class Order:
    """The entries of a table or an index, kept in order write by write."""

    def __init__(
        self, *, hash_names: Sequence[str], range_names: Sequence[str], key_names: Sequence[str]
    ) -> None:
        self.hash_names = (*hash_names,)
        self.range_names = (*range_names,)
        self._key_names = (*key_names,)
        self._entries: list[Entry] = []

    def add(self, image: Image) -> None:
        """Take in an item that is not there yet. One without the index's keys is left out."""
        if (entry := self.entry(image)) is not None:
            bisect.insort(self._entries, entry)

    def remove(self, image: Image) -> None:
        """Forget an item."""
        if (entry := self.entry(image)) is not None:
            del self._entries[bisect.bisect_left(self._entries, entry)]

    def entry(self, image: Image) -> Entry | None:
        """Return an item's entry; None if it lacks a key of the index."""
        names = (*self.hash_names, *self.range_names, *self._key_names)
        if any(name not in image for name in names):
            return None
        hashed = [image[name] for name in self.hash_names]
        return (_digest(hashed), *(sort_value(image[name]) for name in names))

    def partition(
        self,
        hashed: Sequence[dict[str, Any]],
        bounds: Bounds,
        *,
        forward: bool,
        after: Image | None,
    ) -> Iterator[Entry]:
        """Yield the entries of one partition within bounds, from behind ``after`` on."""
        prefix = (_digest(hashed), *map(sort_value, hashed))
        low = bisect.bisect_left(self._entries, (*prefix, *bounds.low))
        high = bisect.bisect_right(self._entries, (*prefix, *bounds.high))
        start = None if after is None else self.entry(after)
        if start is not None and forward:
            low = max(low, bisect.bisect_right(self._entries, start))
        elif start is not None:
            high = min(high, bisect.bisect_left(self._entries, start))
        places = range(low, high) if forward else range(high - 1, low - 1, -1)
        return (self._entries[place] for place in places)

    def every(self, *, segment: int, segments: int, after: Image | None) -> Iterator[Entry]:
        """Yield the entries of one segment of all, from behind ``after`` on."""
        whole = 1 << (8 * _DIGEST_BYTES)
        low = bisect.bisect_left(self._entries, (-(-whole * segment // segments),))
        high = bisect.bisect_left(self._entries, (-(-whole * (segment + 1) // segments),))
        start = None if after is None else self.entry(after)
        if start is not None:
            low = max(low, bisect.bisect_right(self._entries, start))
        return (self._entries[place] for place in range(low, high))

    def __len__(self) -> int:
        return len(self._entries)


def _digest(hashed: Sequence[dict[str, Any]]) -> int:
    text = json.dumps([*hashed]).encode()
    digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
    return int.from_bytes(digest)
