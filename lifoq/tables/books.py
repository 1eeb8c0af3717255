"""A worker's turns at the books of the limits that hold over all workers (see ``items.book``)."""

from dataclasses import replace

from lifoq.basics.host import Host
from lifoq.items.book import Book, Grant, Turn, Whole, book_id
from lifoq.items.change import ConditionFailed
from lifoq.items.schema import Attribute
from lifoq.tables.again import Again
from lifoq.tables.base import StoreBase


class Books:
    def __init__(self, store: StoreBase, *, host: Host) -> None:
        self._store = store
        self._table = store.table
        self._host = host
        self._ahead: dict[str, int] = {}
        """By limit: of the worker's monotonic clock, the time of the book, in microseconds."""

    def take(self, limit: str, whole: Whole, turn: Turn) -> Grant | None:
        """One read, and a write where something changes. None where a later turn of this worker has
        been before it.

        Raises StoreUnavailable, also where others were faster each time, and QueueMisconfigured.
        """
        name = book_id(limit)
        item = self._table.get(name)
        again = Again(self._host, name)
        while True:
            sent, now = self._host.monotonic(), self._store.now()
            book = Book.of(item, whole)
            own = sent + self._ahead[limit] if limit in self._ahead else 0
            time = book.time(now=now, own=own)
            self._ahead[limit] = time - sent
            result = book.after(turn, whole, now=now, time=time)
            if result is None:
                return None
            after, grant = result
            if after is book:
                return grant
            version = self._host.new_id()
            try:
                self._table.update(name, after.written(over=item, version=version, now=now))
            except ConditionFailed as refused:
                item = refused.item
                if item is None or item.get(Attribute.CLAIM_ID) != version:
                    again.after_refusal()
                    continue  # else it is our own, whose answer was lost
            return replace(grant, sent=sent)
