"""Requests with expressions, drawn by a seed: most are right, and some are broken in one place.

``requests(seed, count)`` yields each with the item that it is about. The expressions come from
DynamoDB's grammar: conditions, filters, key conditions, projections, updates; on items with values
of every datatype; with paths that lead somewhere, and paths that do not.
"""

import base64
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

Value = dict[str, Any]
Item = dict[str, Value]

TABLE: Final = "drawn"
HASH, RANGE = "h", "r"
DEFINITION: Final[dict[str, Any]] = {
    "TableName": TABLE,
    "KeySchema": [
        {"AttributeName": HASH, "KeyType": "HASH"},
        {"AttributeName": RANGE, "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": HASH, "AttributeType": "S"},
        {"AttributeName": RANGE, "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
KEY: Final[Item] = {HASH: {"S": "one"}, RANGE: {"N": "1"}}
PARTITION: Final = "many"
PARTITION_ITEMS: Final[list[Item]] = [
    {HASH: {"S": PARTITION}, RANGE: {"N": str(n)}, "a": {"N": str(abs(n))}} for n in range(-9, 10)
]
"""Items for queries; every other request is about the item with ``KEY``."""

_NAMES: Final = ("a", "b", "c", "d", "e", "f", "g", "i", "j", "k")
_TEXTS: Final = ("", "a", "ab", "abc", "b", "zoë", "S", "N", "L", "5")
_NUMBERS: Final = ("0", "1", "2", "-1", "2.5", "1000", "1E3", "0.10", "-7E-3", "9" * 38, "3")
_BYTES: Final = (b"", b"a", b"ab", b"abc", b"\x00\xff", b"b")
_KINDS: Final = ("S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M")
_SCALARS: Final[dict[str, tuple[Any, ...]]] = {
    "S": _TEXTS,
    "N": _NUMBERS,
    "B": tuple(base64.b64encode(one).decode() for one in _BYTES),
    "BOOL": (True, False),
    "NULL": (True,),
}
_COMPARATORS: Final = ("=", "<>", "<", "<=", ">", ">=")
_WORDS: Final = (
    *("AND", "OR", "NOT", "BETWEEN", "IN", "SET", "REMOVE", "ADD", "DELETE", "(", ")", "[", "]"),
    *(",", ".", "+", "-", "=", "<>", "<", "!", "$", '"', ":v0", "#n0", "a", "name", "data"),
    *("0", "5", "foo", "attribute_exists", "list_append", "if_not_exists", ":nowhere", "#nowhere"),
)
"""Words that take the place of another one, to break an expression."""


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A request, and the item that is there when it is made."""

    operation: str
    request: dict[str, Any]
    item: Item
    broken: bool
    """True if the text was changed in one place after it was drawn. It may still be right."""

    @property
    def text(self) -> str:
        """The expressions, for a message."""
        told = (f"{name}: {text}" for name, text in self.request.items() if "Expression" in name)
        return f"{self.operation} {'; '.join(told)}"


def requests(seed: int, count: int) -> Iterator[Drawn]:
    """Yield so many requests, the same for the same seed."""
    chance = random.Random(seed)
    item: Item = {}
    for number in range(count):
        if number % 8 == 0:  # an item is put once for several requests
            item = _item(chance)
        yield _Request(chance, item).drawn()


def _item(chance: random.Random) -> Item:
    names = chance.sample(_NAMES, chance.randrange(3, 9))
    return {**KEY, **{name: _value(chance) for name in names}}


def _value(chance: random.Random, depth: int = 0) -> Value:
    kinds = _KINDS if depth < 3 else _KINDS[:8]
    weights = [1] * 8 + ([3, 3] if depth < 3 else [])
    (kind,) = chance.choices(kinds, weights)
    return {kind: _content(chance, kind, depth)}


def _content(chance: random.Random, kind: str, depth: int) -> Any:
    if kind == "L":
        return [_value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == "M":
        names = chance.sample(_NAMES, chance.randrange(4))
        return {name: _value(chance, depth + 1) for name in names}
    if kind in _SCALARS:
        return chance.choice(_SCALARS[kind])
    pool: list[Any] = [*_TEXTS] if kind == "SS" else ["1", "2", "-1", "2.5", "1000", "3"]
    if kind == "BS":
        pool = [*_SCALARS["B"]]
    return chance.sample(pool, chance.randrange(1, 4))


class _Request:
    """One request, with the names and values that its expressions use."""

    def __init__(self, chance: random.Random, item: Item) -> None:
        self._chance = chance
        self._item = item
        self._names: dict[str, str] = {}
        self._values: dict[str, Value] = {}
        self._heads: set[str] = set()

    def drawn(self) -> Drawn:
        kinds = ("condition", "filter", "key", "projection", "update")
        (kind,) = self._chance.choices(kinds, (30, 15, 10, 15, 30))
        operation, request = getattr(self, f"_{kind}_request")()
        broken = self._chance.random() < 0.3
        if broken:
            self._break(request)
        self._define(request)
        return Drawn(operation=operation, request=request, item=self._item, broken=broken)

    # ── Requests ──

    def _condition_request(self) -> tuple[str, dict[str, Any]]:
        operation = self._chance.choice(("UpdateItem", "PutItem", "DeleteItem"))
        request = {"TableName": TABLE, "ConditionExpression": self._condition()}
        if operation == "PutItem":
            return operation, {**request, "Item": self._item, "ReturnValues": "ALL_OLD"}
        return operation, {**request, "Key": KEY, "ReturnValues": "ALL_OLD"}

    def _filter_request(self) -> tuple[str, dict[str, Any]]:
        values = {":h": KEY[HASH]}
        self._values.update(values)
        return "Query", {
            "TableName": TABLE,
            "KeyConditionExpression": f"{HASH} = :h",
            "FilterExpression": self._condition(),
        }

    def _key_request(self) -> tuple[str, dict[str, Any]]:
        hashed = f"{self._name(HASH)} = {self._literal({'S': PARTITION})}"
        ranged = self._range_condition()
        parts = [hashed, ranged] if self._chance.random() < 0.7 else [ranged, hashed]
        if self._chance.random() < 0.1:
            parts.append(self._comparison())
        text = f" {'AND' if self._chance.random() < 0.95 else 'OR'} ".join(filter(None, parts))
        forward = self._chance.random() < 0.5
        request = {"TableName": TABLE, "KeyConditionExpression": text, "ScanIndexForward": forward}
        if self._chance.random() < 0.3:
            request["Limit"] = self._chance.randrange(1, 30)
        return "Query", request

    def _projection_request(self) -> tuple[str, dict[str, Any]]:
        paths = ", ".join(self._apart() for _ in range(self._chance.randrange(1, 5)))
        return "GetItem", {"TableName": TABLE, "Key": KEY, "ProjectionExpression": paths}

    def _update_request(self) -> tuple[str, dict[str, Any]]:
        request = {"TableName": TABLE, "Key": KEY, "UpdateExpression": self._update()}
        if self._chance.random() < 0.1:
            request["ConditionExpression"] = self._condition()
        request["ReturnValues"] = "ALL_NEW"
        return "UpdateItem", request

    # ── Conditions ──

    def _condition(self, depth: int = 0) -> str:
        chance = self._chance.random()
        if depth > 2 or chance < 0.6:
            return self._comparison() if self._chance.random() < 0.6 else self._function()
        if chance < 0.7:
            return f"NOT {self._condition(depth + 1)}"
        if chance < 0.8:
            inner = self._condition(depth + 1)
            return inner if inner.startswith("(") else f"({inner})"
        operator = self._chance.choice((" AND ", " OR ", " and ", " oR "))
        return operator.join(self._condition(depth + 1) for _ in range(2))

    def _comparison(self) -> str:
        first = self._operand()
        kind = self._chance.random()
        if kind < 0.15:
            low, high = self._bounds()
            return f"{first} BETWEEN {low} AND {high}"
        if kind < 0.3:
            choices = ", ".join(self._operand() for _ in range(self._chance.randrange(1, 4)))
            return f"{first} IN ({choices})"
        return f"{first} {self._chance.choice(_COMPARATORS)} {self._operand()}"

    def _bounds(self) -> tuple[str, str]:
        if self._chance.random() < 0.3:
            return self._operand(), self._operand()
        kind = self._chance.choice(("S", "N", "B"))
        return tuple(self._literal({kind: _content(self._chance, kind, 0)}) for _ in range(2))

    def _function(self) -> str:
        name = self._chance.choice(
            (
                "attribute_exists",
                "attribute_not_exists",
                "attribute_type",
                "begins_with",
                "contains",
            )
        )
        if name.endswith("exists"):
            return f"{name}({self._path()})"
        if name == "attribute_type":
            kind = self._literal({"S": self._chance.choice(_KINDS)})
            return f"{name}({self._path()}, {kind})"
        if name == "begins_with":
            kind = self._chance.choice(("S", "B"))
            return (
                f"{name}({self._path()}, {self._literal({kind: _content(self._chance, kind, 0)})})"
            )
        return f"{name}({self._path()}, {self._operand()})"

    def _operand(self) -> str:
        kind = self._chance.random()
        if kind < 0.5:
            return self._path()
        if kind < 0.9:
            return self._literal(self._any_value())
        return f"size({self._path()})"

    def _range_condition(self) -> str:
        if self._chance.random() < 0.2:
            return ""
        number = self._literal({"N": str(self._chance.randrange(-12, 12))})
        kind = self._chance.random()
        if kind < 0.3:
            low, high = sorted(self._chance.sample(range(-12, 12), 2))
            bounds = (self._literal({"N": str(low)}), self._literal({"N": str(high)}))
            return f"{self._name(RANGE)} BETWEEN {' AND '.join(bounds)}"
        if kind < 0.4:
            return f"{number} {self._chance.choice(_COMPARATORS)} {self._name(RANGE)}"
        if kind < 0.45:
            return self._comparison()
        return f"{self._name(RANGE)} {self._chance.choice(_COMPARATORS)} {number}"

    # ── Updates ──

    def _update(self) -> str:
        sections = self._chance.sample(
            ("SET", "REMOVE", "ADD", "DELETE"), self._chance.choices((1, 2, 3), (7, 2, 1))[0]
        )
        return " ".join(f"{one} {self._section(one)}" for one in sections)

    def _section(self, section: str) -> str:
        count = self._chance.choices((1, 2, 3), (6, 3, 1))[0]
        return ", ".join(self._action(section) for _ in range(count))

    def _action(self, section: str) -> str:
        path = self._apart()
        match section:
            case "SET":
                return f"{path} = {self._assigned()}"
            case "REMOVE":
                return path
        kinds = ("N", "SS", "NS", "BS") if section == "ADD" else ("SS", "NS", "BS")
        kind = self._chance.choice(kinds if self._chance.random() < 0.9 else _KINDS)
        return f"{path} {self._literal({kind: _content(self._chance, kind, 1)})}"

    def _assigned(self) -> str:
        kind = self._chance.random()
        if kind < 0.3:
            return self._literal(_value(self._chance))
        if kind < 0.45:
            return self._path()
        if kind < 0.6:
            return f"if_not_exists({self._path()}, {self._set_operand()})"
        if kind < 0.75:
            operands = [self._set_operand("L") for _ in range(2)]
            return f"list_append({', '.join(operands)})"
        sign = self._chance.choice((" + ", " - ", "+", "-"))
        text = sign.join(self._set_operand("N") for _ in range(2))
        return f"({text})" if self._chance.random() < 0.1 else text

    def _set_operand(self, kind: str | None = None) -> str:
        drawn = self._chance.random()
        if drawn < 0.4:
            return self._path(kind)
        if drawn < 0.5:
            return f"if_not_exists({self._path()}, {self._set_operand(kind)})"
        value = {kind: _content(self._chance, kind, 1)} if kind else _value(self._chance, 1)
        return self._literal(value)

    # ── Paths and placeholders ──

    def _path(self, kind: str | None = None) -> str:
        """Return a path: most lead to a value, of a datatype where it is told."""
        if self._chance.random() < 0.1:
            return self._stray_path()
        known = [
            (parts, value)
            for parts, value in _paths({"M": self._item})
            if parts[0] not in KEY or self._chance.random() < 0.05
        ]
        wanted = [parts for parts, value in known if kind is None or kind in value]
        parts = self._chance.choice(wanted or [("a",)])
        if self._chance.random() < 0.08:
            parts = (*parts, self._chance.choice(("a", 0, 9)))
        return self._written(parts)

    def _apart(self) -> str:
        """Return a path into another attribute than those before, in most cases."""
        path = ""
        for _ in range(self._chance.choice((1, 5, 5, 5, 5, 5, 5, 5, 5, 5))):
            path = self._path()
            head = re.split(r"[.[]", path)[0]
            name = self._names.get(head, head)
            if name not in self._heads:
                self._heads.add(name)
                break
        return path

    def _stray_path(self) -> str:
        parts: tuple[str | int, ...] = (self._chance.choice(_NAMES),)
        while self._chance.random() < 0.3:
            parts = (*parts, self._chance.choice(("a", "b", 0, 1, 7)))
        return self._written(parts)

    def _written(self, parts: tuple[str | int, ...]) -> str:
        text = ""
        for part in parts:
            if isinstance(part, int):
                text += f"[{part}]"
            else:
                text += f".{self._name(part)}" if text else self._name(part)
        return text

    def _name(self, name: str) -> str:
        if self._chance.random() < 0.7:
            return name
        placeholder = f"#n{len(self._names)}"
        self._names[placeholder] = name
        return placeholder

    def _any_value(self) -> Value:
        """Return a value: often one of the item."""
        if self._chance.random() < 0.5:
            known = [value for _, value in _paths({"M": self._item})]
            return self._chance.choice(known)
        return _value(self._chance, 2)

    def _literal(self, value: Value) -> str:
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = value
        return placeholder

    # ── Broken in one place ──

    def _break(self, request: dict[str, Any]) -> None:
        names = [name for name in request if name.endswith("Expression")]
        name = self._chance.choice(names)
        words = re.findall(r"[A-Za-z0-9_#:]+|<>|<=|>=|\S", request[name])
        place = self._chance.randrange(len(words))
        match self._chance.randrange(6):
            case 0:
                del words[place]
            case 1:
                words.insert(place, words[place])
            case 2:
                words[place] = self._chance.choice(_WORDS)
            case 3:
                words.insert(place, self._chance.choice(_WORDS))
            case 4:
                del words[place + 1 :]
            case 5:
                words[place : place + 1] = ["(", words[place], ")"]
        # ``a . b`` is ``a.b``; between other words the space may be needed.
        request[name] = " ".join(words) if self._chance.random() < 0.5 else _close(words)

    def _define(self, request: dict[str, Any]) -> None:
        """Give the names and values that the expressions use; now and then one less or more."""
        text = " ".join(str(one) for name, one in request.items() if name.endswith("Expression"))
        for parameter, defined, form in (
            ("ExpressionAttributeNames", self._names, r"#\w+"),
            ("ExpressionAttributeValues", self._values, r":\w+"),
        ):
            used = {*re.findall(form, text)}
            given = {key: one for key, one in defined.items() if key in used}
            if given and self._chance.random() < 0.01:
                del given[self._chance.choice([*given])]
            if self._chance.random() < 0.01:
                given["#extra" if "Names" in parameter else ":extra"] = (
                    "a" if "Names" in parameter else {"N": "1"}  # type: ignore[assignment]
                )
            if given:
                request[parameter] = given


def _paths(value: Value, parts: tuple[str | int, ...] = ()) -> Iterator[tuple[Any, Value]]:
    """Yield each path of a value with what lies there, itself left out."""
    inner: list[tuple[str | int, Value]] = [
        *value.get("M", {}).items(),
        *enumerate(value.get("L", [])),
    ]
    for part, one in inner:
        yield (*parts, part), one
        yield from _paths(one, (*parts, part))


def _close(words: list[str]) -> str:
    """Return words with spaces only where two of them would become one."""
    text = ""
    for word in words:
        joined = re.search(r"\w$", text) and re.match(r"[\w#:]", word)
        text += f" {word}" if joined else word
    return text
