"""Values against a service's model: what is required, lengths, ranges, patterns and enums.

Each sentence is AWS's: ``Value '901' at 'timeout' failed to satisfy constraint: Member must have
value less than or equal to 900``.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape


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

    def told(self, shape: StructureShape, given: Mapping[str, Any]) -> str | None:
        """Return one sentence on all that is wrong with a request, or None.

        ``2 validation errors detected: Value null at 'key' …; Value 'X' at 'returnValues' …``
        """
        found = list(self._members(shape, given, ""))
        if not found:
            return None
        count = f"{len(found)} validation error{'s' if len(found) > 1 else ''} detected"
        return f"{count}: {'; '.join(found)}"

    def _wrong(self, shape: Shape, value: Any, path: str) -> Iterator[str]:
        """Yield a sentence for each constraint that the value breaks."""
        if (told := self._outside(shape, value)) is not None:
            yield self._sentence(shape, value, path, told)
        elif isinstance(shape, StructureShape) and isinstance(value, Mapping):
            yield from self._members(shape, value, f"{path}.")
        elif isinstance(shape, ListShape) and isinstance(value, list):
            for place, one in enumerate(value, start=1):
                yield from self._wrong(shape.member, one, f"{path}.{place}.member")
        elif isinstance(shape, MapShape) and isinstance(value, Mapping):
            yield from self._entries(shape, value, path)
        elif (values := getattr(shape, "enum", None)) and value not in values:
            listed = self.enum_orders.get(shape.name) or ", ".join(values)
            told = f"Member must satisfy enum value set: [{listed}]"
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: {told}"
        elif self.patterns and isinstance(value, str) and not _fits(shape, value):
            told = f"Member must satisfy regular expression pattern: {shape.metadata['pattern']}"
            yield f"Value '{value}' at '{path}' failed to satisfy constraint: {told}"

    def _members(
        self, shape: StructureShape, given: Mapping[str, Any], prefix: str
    ) -> Iterator[str]:
        for name, member in shape.members.items():
            path = f"{prefix}{name[0].lower()}{name[1:]}"
            value = given.get(name)
            if value is not None:
                yield from self._wrong(member, value, path)
            elif name in shape.required_members:
                told = "failed to satisfy constraint: Member must not be null"
                yield f"Value null at '{path}' {told}"

    def _entries(self, shape: MapShape, given: Mapping[str, Any], path: str) -> Iterator[str]:
        bounds = shape.value.metadata
        for key, value in given.items():
            if value is None:
                told = "failed to satisfy constraint: Member must not be null"
                yield f"Value null at '{path}.{key}.member' {told}"
                continue
            if self.patterns and not _fits(shape.key, key):
                wanted = f"[Member must satisfy regular expression pattern: {_pattern(shape.key)}]"
                told = f"Map keys must satisfy constraint: {wanted}"
                yield (
                    f"Value '{_shown(shape, given)}' at '{path}' failed to satisfy constraint: "
                    + (told)
                )
                return
            # The length of a list in a map is told of the map.
            if isinstance(shape.value, ListShape) and self._outside(shape.value, value) is not None:
                told = (
                    "Map value must satisfy constraint: [Member must have length less than or "
                    f"equal to {bounds['max']}, Member must have length greater than or equal to "
                    f"{bounds['min']}]"
                )
                yield (
                    f"Value '{_shown(shape, given)}' at '{path}' failed to satisfy constraint: "
                    + (told)
                )
            else:
                yield from self._wrong(shape.value, value, f"{path}.{key}.member")

    def _outside(self, shape: Shape, value: Any) -> str | None:
        """Return what the value must have, if its length or its amount is out of bounds."""
        least = shape.metadata.get("min")
        most = shape.metadata.get("max")
        if isinstance(value, str | bytes | list | dict):
            size, noun = len(value), "length"
        elif isinstance(value, int) and not isinstance(value, bool):
            size, noun = value, "value"
        else:
            return None
        if least is not None and size < least:
            return f"Member must have {noun} greater than or equal to {least}"
        if most is not None and size > most:
            return f"Member must have {noun} less than or equal to {most}"
        return None

    def _sentence(self, shape: Shape, value: Any, path: str, told: str) -> str:
        if self.short:
            whole = ".".join(part[:1].upper() + part[1:] for part in path.split("."))
            whole = whole.replace(".Member.", ".member.")
            return f"Value at '{whole}' failed to satisfy constraint: {told}"
        return f"Value '{_shown(shape, value)}' at '{path}' failed to satisfy constraint: {told}"


def _pattern(shape: Shape) -> str:
    return str(shape.metadata.get("pattern", ""))


def _fits(shape: Shape, value: str) -> bool:
    pattern = _pattern(shape)
    compiled = _compiled(pattern) if pattern else None
    return compiled is None or compiled.fullmatch(value) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
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
