"""One write: what it makes of an item, once its condition has been asked."""

from dataclasses import dataclass
from typing import Any, Final

from lifoq_localcloud.expressions import conditions, projections, updates
from lifoq_localcloud.expressions.documents import Item
from lifoq_localcloud.expressions.requests import Expressions
from lifoq_localcloud.expressions.updates import Update
from lifoq_localcloud.item_requests.stored import StoredTable
from lifoq_localcloud.table_rules import keys, values
from lifoq_localcloud.table_rules.refused import RefusedError

FAILED: Final = "ConditionalCheckFailedException"


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A write that has been judged, and not been made."""

    table: StoredTable
    key: Item
    old: Item | None
    new: Item | None

    def make(self) -> None:
        """Write it."""
        if self.old is not self.new:
            self.table.rows.write(self.key, self.new, self.table.journal)


def judged(
    member: str, table: StoredTable, asked: dict[str, Any], expressions: Expressions
) -> Change:
    """Return the change that a part of a transaction asks for: ``Put``, ``Update``, ``Delete`` or
    ``ConditionCheck``. Raises RefusedError, for a condition that does not hold with ``FAILED``."""
    given = asked["Item"] if member == "Put" else asked["Key"]
    key = {name: given[name] for name in table.key_schema.key}
    old = table.rows.get(key)
    _check_condition(asked, expressions, old)
    match member:
        case "Put":
            new: Item | None = asked["Item"]
        case "Delete":
            new = None
        case "Update":
            new = _updated(table, key, old, expressions.update)
        case _:
            new = old
    return Change(table=table, key=key, old=old, new=new)


def _check_condition(asked: dict[str, Any], expressions: Expressions, old: Item | None) -> None:
    if expressions.condition is None or conditions.holds(expressions.condition, old or {}):
        return
    shown = old if asked.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else None
    raise RefusedError("The conditional request failed", code=FAILED, item=shown)


def _updated(table: StoredTable, key: Item, old: Item | None, update: Update | None) -> Item | None:
    if update is None:
        return key if old is None else old
    new = updates.apply(update, key if old is None else old)
    if old is None and update.removes_only:
        return None
    keys.check_updated(new, table.key_schema)
    for value in new.values():
        values.check_levels(value)
    if values.size(new) > values.MOST_ITEM_BYTES:
        raise RefusedError("Item size to update has exceeded the maximum allowed size")
    return new


def shown(change: Change, wanted: str | None, update: Update | None) -> Item | None:
    """Return the attributes that ``ReturnValues`` asks for; None where there are none."""
    match wanted:
        case "ALL_OLD":
            found = change.old
        case "ALL_NEW":
            found = change.new
        case "UPDATED_OLD":
            found = _written(change.old, update)
        case "UPDATED_NEW":
            found = _written(change.new, update)
        case _:
            return None
    return found or None


def _written(item: Item | None, update: Update | None) -> Item:
    """Return the parts of an item that an update writes."""
    return projections.project(item, update.paths) if item and update is not None else {}
