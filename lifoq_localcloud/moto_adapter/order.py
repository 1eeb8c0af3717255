"""The order of a secondary index, kept up to date write by write.

moto answers a query on an index by sorting the whole table. With this, it sorts only the few items
that the answer can be made of.
"""

import bisect
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from lifoq_localcloud.tables.journal import Image, Write

Entry = tuple[Any, str]
"""An item's sort value in the index, and its key in the table: the order that DynamoDB has."""

_LAST = "\U0010ffff"


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Between which sort values a query looks; None is no bound."""

    low: Any = None
    high: Any = None
    open: bool = False
    """True if the bounds themselves lie outside."""

    def positions(self, entries: list[Entry]) -> tuple[int, int]:
        """Return where the entries within the bounds begin, and behind which they end."""
        below, above = (_LAST, "") if self.open else ("", _LAST)
        low = 0 if self.low is None else bisect.bisect_left(entries, (self.low, below))
        high = len(entries)
        if self.high is not None:
            high = bisect.bisect_left(entries, (self.high, above))
        return low, high


@dataclass(kw_only=True)
class IndexOrder:
    """One index of a table that has a hash key only."""

    hash_name: str
    range_name: str
    key_name: str
    _partitions: defaultdict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))

    def apply(self, write: Write) -> None:
        if write.old is not None and (place := self._place(write.old)):
            partition, entry = place
            del self._partitions[partition][bisect.bisect_left(self._partitions[partition], entry)]
        if write.new is not None:
            self.add(write.new)

    def add(self, image: Image) -> None:
        """Take in an item that is not there yet."""
        if place := self._place(image):
            partition, entry = place
            bisect.insort(self._partitions[partition], entry)

    def keys(
        self, partition: str, *, bounds: Bounds, forward: bool, after: Image | None
    ) -> Iterator[str]:
        """The table's keys in the order of the query, from behind ``after`` on."""
        entries = self._partitions.get(partition, [])
        low, high = bounds.positions(entries)
        if after is not None:
            start = (sort_value(after[self.range_name]), after[self.key_name]["S"])
            if forward:
                low = max(low, bisect.bisect_right(entries, start))
            else:
                high = min(high, bisect.bisect_left(entries, start))
        positions = range(low, high) if forward else range(high - 1, low - 1, -1)
        return (entries[position][1] for position in positions)

    def _place(self, image: Image) -> tuple[str, Entry] | None:
        """Return where an item stands in the index; items without its keys are not in it."""
        partition, value = image.get(self.hash_name), image.get(self.range_name)
        if partition is None or value is None:
            return None
        return str(*partition.values()), (sort_value(value), str(*image[self.key_name].values()))


def sort_value(value: dict[str, str]) -> Any:
    """Return the value by which DynamoDB sorts: the number, or the text."""
    ((kind, text),) = value.items()
    return Decimal(text) if kind == "N" else text
