"""A worker's renewals at the quota tables of limits over all workers (see
``items.quota_table``)."""

from dataclasses import replace

from lifoq.basics.host import Host
from lifoq.items.change import ConditionFailed
from lifoq.items.quota_table import Grant, QuotaTable, Renewal, SharedLimit, quota_table_id
from lifoq.items.schema import Attribute
from lifoq.store.base import StoreBase
from lifoq.store.repeat_refused_write import WriteRetries


class QuotaTables:
    """Reads and renews quota tables, one for each limit over all workers."""

    def __init__(self, store: StoreBase, *, host: Host) -> None:
        self._store = store
        self._table = store.table
        self._host = host
        self._ahead: dict[str, int] = {}
        """Microseconds by which a quota table's time is ahead of this process's monotonic clock, by
        its id."""

    def take(self, limit: str, shared: SharedLimit, renewal: Renewal) -> Grant | None:
        """Renew a quota, by one read, and a write where something changes. Return what the worker
        has after that; None where a later renewal of this worker has been before it.

        Raises StoreUnavailable, also where others were faster each time, and QueueMisconfigured.
        """
        name = quota_table_id(limit, units=shared.unit is not None)
        item = self._table.get(name)
        retries = WriteRetries(self._host, name)
        while True:
            sent, now = self._host.monotonic(), self._store.now()
            quota_table = QuotaTable.of(item, shared)
            own = sent + self._ahead[name] if name in self._ahead else 0
            time = quota_table.time(now=now, own=own)
            self._ahead[name] = time - sent
            result = quota_table.after(renewal, shared, now=now, time=time)
            if result is None:
                return None
            after, grant = result
            if after is quota_table:
                return grant
            version = self._host.new_id()
            try:
                self._table.update(name, after.written(over=item, version=version, now=now))
            except ConditionFailed as refused:
                item = refused.item
                if item is None or item.get(Attribute.CLAIM_ID) != version:
                    retries.after_refusal()
                    continue  # else it is our own, whose answer was lost
            return replace(grant, sent=sent)
