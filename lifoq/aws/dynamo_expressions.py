"""Changes, spans and conditions as DynamoDB's expressions spell them, and the put of a new item."""

from typing import Any

from lifoq.aws.dynamo_values import typed, typed_value
from lifoq.items.change import (
    Alternatives,
    AtMost,
    Change,
    Condition,
    Equals,
    Exists,
    GreaterThan,
    Item,
    Not,
    OneOf,
    StatusIn,
    StatusIs,
    Value,
)
from lifoq.items.schema import HASH_KEY, STATUS_CREATED_INDEX, Attribute, Preview
from lifoq.store.table_protocol import Span


def put_request(table_name: str, item: Item, *, over: Alternatives = ()) -> dict[str, Any]:
    """The put of a new item, by PutItem or in a transaction: refused where the id is in use by an
    item for which none of ``over`` holds, and then it tells what is there."""
    return conditional_put(table_name, item, ((Not(Exists(HASH_KEY)),), *over))


def update_request(table_name: str, task_id: str, change: Change) -> dict[str, Any]:
    """The update of one item, by UpdateItem or in a transaction."""
    expression = Expression()
    update = expression.update(change)
    free = ((Not(Exists(HASH_KEY)),),) if change.creates else ()
    alternatives = (*free, (Exists(HASH_KEY), *change.when))
    return {
        "TableName": table_name,
        "Key": {HASH_KEY.value: {"S": task_id}},
        "UpdateExpression": update,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **expression.conditions("ConditionExpression", alternatives),
    }


def conditional_put(table_name: str, item: Item, when: Alternatives) -> dict[str, Any]:
    """Return the put of one item, where its id is free or ``when`` holds for the item that has
    it."""
    return {
        "TableName": table_name,
        "Item": typed(item),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **Expression().conditions("ConditionExpression", when),
    }


class Expression:
    """Collects the names and values that DynamoDB's expressions refer to."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, dict[str, Any]] = {}

    def conditions(self, field: str, alternatives: Alternatives) -> dict[str, Any]:
        """The request's fields: the conditions under ``field``, and all names and values so far."""
        text = " OR ".join(
            " AND ".join(self._condition(condition) for condition in conditions)
            for conditions in alternatives
        )
        return {
            **({field: text} if text else {}),
            **({"ExpressionAttributeNames": self._names} if self._names else {}),
            **({"ExpressionAttributeValues": self._values} if self._values else {}),
        }

    def span(self, span: Span) -> str:
        """Return the key condition of a span of an index."""
        status = f"{self._name(Attribute.TASK_STATUS)} = {self._value(span.status.value)}"
        sort_key = (
            Attribute.TASK_CREATED if span.index == STATUS_CREATED_INDEX else Attribute.DUE_AT
        )
        if span.first is not None and span.last is not None:
            first, last = self._value(span.first), self._value(span.last)
            return f"{status} AND {self._name(sort_key)} BETWEEN {first} AND {last}"
        if span.first is not None:
            return f"{status} AND {self._name(sort_key)} >= {self._value(span.first)}"
        if span.last is not None:
            return f"{status} AND {self._name(sort_key)} <= {self._value(span.last)}"
        return status

    def update(self, change: Change) -> str:
        """Return the update expression of a change."""
        sets = [f"{self._name(name)} = {self._value(value)}" for name, value in change.set.items()]
        for name, value in change.set_once.items():
            alias = self._name(name)
            sets.append(f"{alias} = if_not_exists({alias}, {self._value(value)})")
        if change.increment is not None:
            alias, begin = self._name(change.increment), self._value(change.increment_from)
            sets.append(f"{alias} = if_not_exists({alias}, {begin}) + {self._value(1)}")
        text = "SET " + ", ".join(sets)
        if change.remove:
            text += " REMOVE " + ", ".join(self._name(name) for name in change.remove)
        return text

    def _condition(self, condition: Condition) -> str:  # noqa: PLR0911 - one for each
        match condition:
            case Exists(attribute):
                return f"attribute_exists({self._name(attribute)})"
            case Not(Exists(attribute)):
                return f"attribute_not_exists({self._name(attribute)})"
            case StatusIs(status):
                return f"{self._name(Attribute.TASK_STATUS)} = {self._value(status.value)}"
            case StatusIn(statuses):
                values = ", ".join(self._value(status.value) for status in sorted(statuses))
                return f"{self._name(Attribute.TASK_STATUS)} IN ({values})"
            case OneOf(attribute, names):
                values = ", ".join(self._value(name) for name in sorted(names))
                return f"{self._name(attribute)} IN ({values})"
            case Equals(attribute, value):
                return f"{self._name(attribute)} = {self._value(value)}"
            case GreaterThan(attribute, value) | AtMost(attribute, value):
                sign = "<=" if isinstance(condition, AtMost) else ">"
                return f"{self._name(attribute)} {sign} {self._value(value)}"
            case Not(inner):
                return f"NOT {self._condition(inner)}"

    def _name(self, attribute: Attribute | Preview) -> str:
        if isinstance(attribute, Preview):
            return f"{self._alias(Attribute.PREVIEW)}.{self._alias(attribute)}"
        return self._alias(attribute)

    def _alias(self, name: str) -> str:
        alias = f"#{name}"
        self._names[alias] = alias[1:]
        return alias

    def _value(self, value: Value) -> str:
        alias = f":v{len(self._values)}"
        self._values[alias] = typed_value(value)
        return alias
