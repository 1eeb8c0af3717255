"""The names and values that a request gives beside its expressions, and which of them were used."""

from dataclasses import dataclass
from typing import Any

from lifoq_localcloud.expressions.tree import Path
from lifoq_localcloud.table_rules.refused import RefusedError

_NAMES = "ExpressionAttributeNames"
_VALUES = "ExpressionAttributeValues"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value of the request, as ``{"N": "5"}``."""

    value: dict[str, Any]

    @property
    def kind(self) -> str:
        """Its datatype: S, N, B, and so on."""
        return next(iter(self.value))

    def __str__(self) -> str:
        return f"AttributeValue: {{{self.kind}:{self.value[self.kind]}}}"


class UndefinedError(Exception):
    """A placeholder is not defined: ``str`` of it is DynamoDB's sentence."""


class Names:
    """The names and values of one request."""

    def __init__(self, names: dict[str, str] | None, values: dict[str, Any] | None) -> None:
        self._names = names or {}
        self._values = values or {}
        self._used: set[str] = set()

    def path(self, path: Path) -> Path:
        """Return the path with the attributes' own names. Raises UndefinedError."""
        parts = (self._name(part) if isinstance(part, str) else part for part in path.parts)
        return Path(tuple(parts))

    def _name(self, part: str) -> str:
        if not part.startswith("#"):
            return part
        self._used.add(part)
        if part not in self._names:
            raise UndefinedError(
                "An expression attribute name used in the document path is not defined; attribute "
                f"name: {part}"
            )
        return self._names[part]

    def literal(self, name: str) -> Literal:
        """Return a value by its placeholder. Raises UndefinedError."""
        self._used.add(name)
        if name not in self._values:
            raise UndefinedError(
                "An expression attribute value used in expression is not defined; attribute value: "
                f"{name}"
            )
        return Literal(self._values[name])

    def check_used(self) -> None:
        """Raise RefusedError for names and values that no expression has used."""
        for parameter, defined in ((_NAMES, self._names), (_VALUES, self._values)):
            if unused := [key for key in defined if key not in self._used]:
                raise RefusedError(
                    f"Value provided in {parameter} unused in expressions: keys: "
                    f"{{{', '.join(unused)}}}"
                )
