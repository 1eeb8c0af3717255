"""Values against a service's model: what is required, lengths, ranges, patterns and enums.

Each sentence is AWS's: ``Value '901' at 'timeout' failed to satisfy constraint: Member must have
value less than or equal to 900``. The rules of an operation are compiled when it is first asked
for. A part of the model without a rule takes no time from then on. Each value has the type that the
model says: whoever reads a request sees to that.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, Final

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape

_PARAMETER: Final = re.compile(r"(?:^|(?<=\.member\.))[a-z]")
"""The first letter of a parameter's name in a path. What is a key in a map stays as it is."""

Check = Callable[[Any, str], Iterator[str]]
"""The rules of one shape: a value and its path become a sentence for each rule that is broken."""


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """The constraints of one service, in its own words."""

    short: bool = False
    """True where a length or a range is told without the value, and with the parameter's own name:
    two operations of DynamoDB do so."""
    patterns: bool = True
    """False where the service has a sentence of its own for names."""
    enum_orders: Mapping[str, str] = field(default_factory=dict)
    """An enum's values, by the shape's name, in an order that the model does not have."""
    in_any_case: frozenset[str] = frozenset()
    """The shapes' names of enums whose values may be written in small letters, too."""
    _compiled: dict[Shape, Check | None] = field(default_factory=dict)
    """The rules of each operation, by the shape of its input."""

    def told(self, shape: StructureShape, given: Mapping[str, Any]) -> str | None:
        """Return one sentence on all that is wrong with a request, or None.

        ``2 validation errors detected: Value null at 'key' …; Value 'X' at 'returnValues' …``
        """
        if shape not in self._compiled:
            self._compiled[shape] = _Compiler(self).check(shape)
        check = self._compiled[shape]
        found = list(check(given, "")) if check is not None else []
        if not found:
            return None
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected"
        return f"{count}: {'; '.join(found)}"


class _Compiler:
    """Makes the rules of one operation's input, shape by shape."""

    def __init__(self, words: Constraints) -> None:
        self._words = words
        self._known: dict[str, Check | None] = {}

    def check(self, shape: Shape) -> Check | None:
        """Return the rules of a shape and of all that is in it; None if there are none."""
        name = shape.name
        if name not in self._known:
            # A shape that has itself as a part finds itself here.
            self._known[name] = partial(self._again, name)
            self._known[name] = self._join(self._bounds(shape), self._inner(shape))
        return self._known[name]

    def _again(self, name: str, value: Any, path: str) -> Iterator[str]:
        """The rules of a shape that has itself as a part."""
        check = self._known[name]
        return check(value, path) if check is not None else iter(())

    def _join(self, bounds: Check | None, inner: Check | None) -> Check | None:
        """Look into a value only if its own length is right, as AWS does."""
        if bounds is None or inner is None:
            return bounds or inner

        def check(value: Any, path: str) -> Iterator[str]:
            told = next(bounds(value, path), None)
            if told is not None:
                yield told
            else:
                yield from inner(value, path)

        return check

    def _bounds(self, shape: Shape) -> Check | None:
        least, most = shape.metadata.get("min"), shape.metadata.get("max")
        if least is None and most is None:
            return None

        def check(value: Any, path: str) -> Iterator[str]:
            told = _outside(value, least, most)
            if told is not None:
                yield self._sentence(shape, value, path, told)

        return check

    def _inner(self, shape: Shape) -> Check | None:
        if isinstance(shape, StructureShape):
            return self._structure(shape)
        if isinstance(shape, ListShape):
            return self._list(shape)
        if isinstance(shape, MapShape):
            return self._map(shape)
        return self._text(shape) if isinstance(shape, StringShape) else None

    def _structure(self, shape: StructureShape) -> Check | None:
        required = frozenset(shape.required_members)
        checks = [
            (name, f"{name[0].lower()}{name[1:]}", name in required, self.check(member))
            for name, member in shape.members.items()
        ]
        checks = [one for one in checks if one[2] or one[3] is not None]

        def check(value: Any, path: str) -> Iterator[str]:
            prefix = f"{path}." if path else ""
            for name, shown, needed, inner in checks:
                found = value.get(name)
                if found is None:
                    if needed:
                        yield _missing(prefix + shown)
                elif inner is not None:
                    yield from inner(found, prefix + shown)

        return check if checks else None

    def _list(self, shape: ListShape) -> Check | None:
        inner = self.check(shape.member)
        if inner is None:
            return None

        def check(value: Any, path: str) -> Iterator[str]:
            for place, one in enumerate(value, start=1):
                yield from inner(one, f"{path}.{place}.member")

        return check

    def _map(self, shape: MapShape) -> Check:
        inner = self.check(shape.value)
        key = _compiled(_pattern(shape.key)) if self._words.patterns else None
        bounds = shape.value.metadata

        def of_map(value: Any, path: str, wanted: str) -> str:
            shown = _shown(shape, value)
            return f"Value '{shown}' at '{path}' failed to satisfy constraint: {wanted}"

        def check(value: Any, path: str) -> Iterator[str]:
            for name, one in value.items():
                if one is None:
                    yield _missing(f"{path}.{name}.member")
                elif key is not None and not key.fullmatch(name):
                    told = f"Member must satisfy regular expression pattern: {_pattern(shape.key)}"
                    yield of_map(value, path, f"Map keys must satisfy constraint: [{told}]")
                    return
                # The length of a list in a map is told of the map.
                elif isinstance(shape.value, ListShape) and _outside(
                    one, bounds.get("min"), bounds.get("max")
                ):
                    yield of_map(
                        value,
                        path,
                        "Map value must satisfy constraint: [Member must have length less than or "
                        f"equal to {bounds['max']}, Member must have length greater than or equal "
                        f"to {bounds['min']}]",
                    )
                elif inner is not None:
                    yield from inner(one, f"{path}.{name}.member")

        return check

    def _text(self, shape: StringShape) -> Check | None:
        values = shape.enum
        pattern = _compiled(_pattern(shape)) if self._words.patterns else None
        if not values and pattern is None:
            return None
        known = frozenset(values)
        if shape.name in self._words.in_any_case:
            known |= {value.lower() for value in values}

        def check(value: Any, path: str) -> Iterator[str]:
            if known and not (isinstance(value, str) and value in known):
                listed = self._words.enum_orders.get(shape.name) or ", ".join(values)
                told = f"Member must satisfy enum value set: [{listed}]"
            elif pattern is not None and isinstance(value, str) and not pattern.fullmatch(value):
                told = f"Member must satisfy regular expression pattern: {_pattern(shape)}"
            else:
                return
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: {told}"

        return check

    def _sentence(self, shape: Shape, value: Any, path: str, told: str) -> str:
        if self._words.short:
            whole = _PARAMETER.sub(lambda found: found[0].upper(), path)
            return f"Value at '{whole}' failed to satisfy constraint: {told}"
        return f"Value '{_shown(shape, value)}' at '{path}' failed to satisfy constraint: {told}"


def _missing(path: str) -> str:
    return f"Value null at '{path}' failed to satisfy constraint: Member must not be null"


def _outside(value: Any, least: int | None, most: int | None) -> str | None:
    """Return what the value must have, if its length or its amount is out of bounds."""
    if isinstance(value, str | bytes | list | dict):
        size: float = len(value)
        noun = "length"
    else:
        size, noun = value, "value"
    if least is not None and size < least:
        return f"Member must have {noun} greater than or equal to {least}"
    if most is not None and size > most:
        return f"Member must have {noun} less than or equal to {most}"
    return None


def _pattern(shape: Shape) -> str:
    return str(shape.metadata.get("pattern", ""))


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    if not pattern:
        return None
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error:
        return None  # Models have Java's expressions: Python lacks some, such as \p{L}.


def _shown(shape: Shape, value: Any) -> str:
    """Return a value as AWS prints it: ``[KeySchemaElement(attributeName=pk, …)]``."""
    if isinstance(shape, ListShape) and isinstance(value, list):
        return f"[{', '.join(_shown(shape.member, one) for one in value)}]"
    if isinstance(shape, MapShape) and isinstance(value, dict):
        shown = (f"{key}={_shown(shape.value, one)}" for key, one in value.items())
        return f"{{{', '.join(shown)}}}"
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        members = (
            f"{name[0].lower()}{name[1:]}={_shown(shape.members[name], one)}"
            for name, one in value.items()
            if name in shape.members
        )
        return f"{shape.name}({', '.join(members)})"
    return str(value)
