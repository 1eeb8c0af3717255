"""The capacity that a request has consumed, where it asks for that."""

from collections import defaultdict
from typing import Any, Final

from lifoq_localcloud.expressions.documents import Item
from lifoq_localcloud.item_requests.changes import Change
from lifoq_localcloud.item_requests.stored import StoredTable
from lifoq_localcloud.table_rules import values
from lifoq_localcloud.tables.rows import Index

_READ_BYTES: Final = 4096
_WRITE_BYTES: Final = 1024


class Capacity:
    """Units by table, and within a table by index (None is the table itself)."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._wanted = request.get("ReturnConsumedCapacity") or "NONE"
        self._units: defaultdict[str, defaultdict[tuple[str | None, bool], float]] = defaultdict(
            lambda: defaultdict(float)
        )

    def read(
        self,
        table: StoredTable,
        read_bytes: int,
        *,
        consistent: bool = False,
        index: str | None = None,
        times: int = 1,
    ) -> None:
        """Count a read: half a unit for 4 KB, one if it is consistent."""
        if self._wanted == "NONE":
            return
        units = max(1, -(-read_bytes // _READ_BYTES)) * (1.0 if consistent else 0.5) * times
        local = index is not None and table.rows.indexes[index].local
        self._units[table.name][index, local] += units

    def wrote(self, change: Change, *, times: int = 1) -> None:
        """Count a write: a unit for 1 KB, in the table and in each index that shows it."""
        if self._wanted == "NONE":
            return
        found = self._units[change.table.name]
        images = [one for one in (change.old, change.new) if one is not None]
        most = max(map(values.size, images), default=0)
        found[None, False] += max(1, -(-most // _WRITE_BYTES)) * times
        for index in change.table.rows.indexes.values():
            old, new = (_shown(index, one) for one in (change.old, change.new))
            if old == new:
                continue
            # A changed key takes an entry out and puts another in.
            moved = bool(old and new) and any(old[name] != new[name] for name in index.names)
            most = max(values.size(old), values.size(new))
            units = max(1, -(-most // _WRITE_BYTES)) * (2 if moved else 1) * times
            found[index.name, index.local] += units

    def told(self) -> list[dict[str, Any]]:
        """Return what the answer tells, table by table; nothing where it was not asked for."""
        return [self._told(name, units) for name, units in self._units.items()]

    def _told(self, name: str, units: dict[tuple[str | None, bool], float]) -> dict[str, Any]:
        told: dict[str, Any] = {"TableName": name, "CapacityUnits": sum(units.values())}
        if self._wanted == "INDEXES":
            told["Table"] = {"CapacityUnits": units.get((None, False), 0.0)}
            for parameter, local in (
                ("LocalSecondaryIndexes", True),
                ("GlobalSecondaryIndexes", False),
            ):
                found = {
                    index: {"CapacityUnits": count}
                    for (index, of_local), count in units.items()
                    if index is not None and of_local == local
                }
                if found:
                    told[parameter] = found
        return told


def _shown(index: Index, image: Item | None) -> Item:
    """Return an item's entry in an index; empty where it has none."""
    if image is None or any(name not in image for name in index.names):
        return {}
    return index.project(image)
