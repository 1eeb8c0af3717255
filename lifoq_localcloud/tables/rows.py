"""The items of one table, in order, with its indexes; each write goes through the journal."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lifoq_localcloud.tables.journal import Image, Journal
from lifoq_localcloud.tables.order import Entry, Order, sort_value


@dataclass(frozen=True, kw_only=True)
class Index:
    """A secondary index: its keys, and the attributes that it shows."""

    name: str
    hash_names: tuple[str, ...]
    range_names: tuple[str, ...]
    local: bool
    shown: frozenset[str] | None
    """The names of the attributes that it shows; None for all."""

    @property
    def names(self) -> tuple[str, ...]:
        """Its key attributes, in their order."""
        return (*self.hash_names, *self.range_names)

    def project(self, image: Image) -> Image:
        """Return the part of an item that the index shows."""
        if self.shown is None:
            return image
        return {name: value for name, value in image.items() if name in self.shown}


class Rows:
    """The items by their keys. An image is never changed, only replaced."""

    def __init__(self, *, key_names: Sequence[str], size: Callable[[Image], int]) -> None:
        """``size`` counts the bytes of an item."""
        self.key_names = (*key_names,)
        self.order = self._new_order(self.key_names[:1], self.key_names[1:])
        self.indexes: dict[str, Index] = {}
        self._orders: dict[str, Order] = {}
        self._images: dict[Entry, Image] = {}
        self._sizes: dict[Entry, int] = {}
        self._size = size

    def index(self, indexes: Iterable[Index]) -> None:
        """Know these indexes, and no others."""
        self.indexes = {one.name: one for one in indexes}
        self._orders = {
            name: self._new_order(one.hash_names, one.range_names)
            for name, one in self.indexes.items()
        }
        for image in self._images.values():
            for order in self._orders.values():
                order.add(image)

    def _new_order(self, hash_names: Sequence[str], range_names: Sequence[str]) -> Order:
        return Order(hash_names=hash_names, range_names=range_names, key_names=self.key_names)

    def order_of(self, index: str | None) -> Order:
        """Return the order of an index, or of the table."""
        return self.order if index is None else self._orders[index]

    def get(self, key: Image) -> Image | None:
        """Return the item with a key. Attributes beside the key are not looked at."""
        return self._images.get(self._place(key))

    def at(self, entry: Entry) -> tuple[Image, int]:
        """Return the item of an entry, and its bytes."""
        place = entry[-len(self.key_names) :]
        if place not in self._sizes:
            self._sizes[place] = self._size(self._images[place])
        return self._images[place], self._sizes[place]

    def write(
        self, key: Image, new: Image | None, journal: Journal, *, by_ttl: bool = False
    ) -> Image | None:
        """Put an item, or delete it (``new`` is None). Return what was there."""
        place = self._place(key)
        old = self._images.get(place)
        orders = (self.order, *self._orders.values())
        if old is not None:
            for order in orders:
                order.remove(old)
            del self._images[place]
            self._sizes.pop(place, None)
        if new is not None:
            for order in orders:
                order.add(new)
            self._images[place] = new
        own = {name: key[name] for name in self.key_names}
        journal.stage(key=own, old=old, new=new, by_ttl=by_ttl)
        return old

    def __iter__(self) -> Iterator[Image]:
        return iter(list(self._images.values()))

    def __len__(self) -> int:
        return len(self._images)

    def _place(self, key: Image) -> tuple[Any, ...]:
        return tuple(sort_value(key[name]) for name in self.key_names)
