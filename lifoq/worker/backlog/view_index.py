"""The index of a backlog view: the rows of one scheduling class, by key.

It keeps the first row of each key in the queue's order. However many keys wait, the next row is
found by passing over the few keys of which none may start now.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterator
from typing import Final

from lifoq.store.candidate import Candidate

MOST_REMEMBERED: Final = 1_000
"""Rows of a key that are remembered. Those behind them are read again when these have been
started."""

Place = tuple[float, str]
"""A row's place in the queue: its ``taskCreated`` and its id."""
Key = str | None
"""A row's key; None if only its place in the queue counts."""
Name = tuple[str, ...]
"""A key in a form that a list can sort. None becomes the empty tuple, which no key's own text can
be taken for."""
Entry = tuple[Place, Candidate]


class ViewIndex:
    """Keeps rows in the queue's order. All of its lists ascend by place."""

    def __init__(self, *, newest_first: bool) -> None:
        self._newest_first = newest_first
        self._of_key: dict[Key, list[Entry]] = {}
        self._first_of: dict[Key, Place] = {}
        self._firsts: list[tuple[Place, Name]] = []
        """The first rows of all keys, sorted."""
        self._forgotten: dict[Key, Place] = {}
        """The place of the first row of each key that was not remembered, since there were too
        many."""

    def __bool__(self) -> bool:
        return bool(self._of_key)

    def __iter__(self) -> Iterator[tuple[Key, Candidate]]:
        """Yield each key and its first row, in the queue's order."""
        for _, name in reversed(self._firsts) if self._newest_first else self._firsts:
            key = _key_of(name)
            yield key, self._of_key[key][self._head][1]

    @property
    def first(self) -> Candidate:
        """The first row in the queue's order."""
        return next(iter(self))[1]

    def rows(self) -> Iterator[Candidate]:
        """Yield all rows, key by key."""
        for entries in self._of_key.values():
            for _, row in entries:
                yield row

    @property
    def keys(self) -> Collection[Key]:
        return self._of_key.keys()

    @property
    def lacks_some(self) -> bool:
        """True if all remembered rows of a key have been started, and the queue has more of that
        key."""
        return any(key not in self._of_key for key in self._forgotten)

    def remember(self, key: Key, place: Place, row: Candidate) -> None:
        """Add a row of a key at its place, or replace the one that is there."""
        rows = self._of_key.setdefault(key, [])
        at = len(rows) if rows and rows[-1][0] < place else bisect_left(rows, place, key=_at)
        if at < len(rows) and rows[at][0] == place:
            rows[at] = (place, row)
        elif key not in self._forgotten or self._before(place, self._forgotten[key]):
            rows.insert(at, (place, row))
            if len(rows) > MOST_REMEMBERED:
                self._forgotten[key], _ = rows.pop(-1 - self._head)
        self._keep_first(key)

    def has(self, key: Key, place: Place) -> bool:
        """Return True if the row of a key at a place is remembered."""
        rows = self._of_key.get(key, [])
        at = bisect_left(rows, place, key=_at)
        return at < len(rows) and rows[at][0] == place

    def drop(self, key: Key, place: Place) -> None:
        """Remove the row of a key at a place."""
        rows = self._of_key[key]
        del rows[bisect_left(rows, place, key=_at)]
        self._keep_first(key)

    def forget_until(self, last: Place) -> None:
        """Forget all rows from the front of the queue up to the place ``last``, and the row at
        it."""
        while self._firsts:
            first, name = self._firsts[self._head]
            if self._before(last, first):
                return
            key = _key_of(name)
            rows = self._of_key[key]
            if self._newest_first:
                del rows[bisect_left(rows, last, key=_at) :]
            else:
                del rows[: bisect_right(rows, last, key=_at)]
            self._keep_first(key)

    @property
    def _head(self) -> int:
        return -1 if self._newest_first else 0

    def _before(self, one: Place, other: Place) -> bool:
        """Return True if ``one`` is nearer to the front of the queue."""
        return one > other if self._newest_first else one < other

    def _keep_first(self, key: Key) -> None:
        """Bring the lists of first rows up to date after the key's rows have changed."""
        rows, was = self._of_key[key], self._first_of.get(key)
        first = rows[self._head][0] if rows else None
        if first == was:
            return
        if was is not None:
            del self._firsts[bisect_left(self._firsts, (was, _name_of(key)))]
        if first is None:
            del self._of_key[key], self._first_of[key]
        else:
            self._first_of[key] = first
            insort(self._firsts, (first, _name_of(key)))


def _name_of(key: Key) -> Name:
    return () if key is None else (key,)


def _key_of(name: Name) -> Key:
    return name[0] if name else None


def _at(entry: Entry) -> Place:
    return entry[0]
