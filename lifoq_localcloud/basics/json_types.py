"""The JSON of a request against a service's model: a list where a list is wanted, and so on.

The model of an operation is compiled when it is first asked for. Members that a model does not have
are none of its matter: AWS ignores them, too.
"""

import base64
import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from botocore.model import ListShape, MapShape, Shape, StructureShape

Check = Callable[[Any, str], str | None]
"""A value and its path become a sentence on the first value of another type, or None."""


def _is_whole(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and math.isfinite(value) and value == int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value, validate=True)
    except (ValueError, TypeError):
        return False
    return isinstance(value, str)


_FITS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "structure": lambda value: isinstance(value, dict),
    "map": lambda value: isinstance(value, dict),
    "list": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "character": lambda value: isinstance(value, str),
    "blob": _is_base64,
    "boolean": lambda value: isinstance(value, bool),
    "byte": _is_whole,
    "short": _is_whole,
    "integer": _is_whole,
    "long": _is_whole,
    "float": _is_number,
    "double": _is_number,
    # Scheduler and Logs have numbers; services with ISO dates have text.
    "timestamp": lambda value: _is_number(value) or isinstance(value, str),
}


class JsonTypes:
    """The types of each operation's parameters, as far as they are in the body."""

    def __init__(self) -> None:
        self._compiled: dict[Shape, Check] = {}

    def wrong(self, shape: Shape, body: Any) -> str | None:
        """Return a sentence on the first value of another type than the model has, or None."""
        if shape not in self._compiled:
            self._compiled[shape] = _Compiler().check(shape)
        return self._compiled[shape](body, "")


class _Compiler:
    """Makes the checks of one operation's input, shape by shape."""

    def __init__(self) -> None:
        self._known: dict[str, Check] = {}

    def check(self, shape: Shape) -> Check:
        name = shape.name
        if name not in self._known:
            # A shape that has itself as a part finds itself here.
            self._known[name] = partial(self._again, name)
            self._known[name] = self._made(shape)
        return self._known[name]

    def _again(self, name: str, value: Any, path: str) -> str | None:
        return self._known[name](value, path)

    def _made(self, shape: Shape) -> Check:
        fits = _FITS[shape.type_name]
        inner = self._inner(shape)

        def check(value: Any, path: str) -> str | None:
            if not fits(value):
                kind = type(value).__name__
                return f"Unexpected value type in payload: {path or 'it'} takes no {kind}"
            return inner(value, path) if inner is not None else None

        return check

    def _inner(self, shape: Shape) -> Check | None:
        if isinstance(shape, StructureShape):
            return None if shape.is_document_type else self._structure(shape)
        if isinstance(shape, ListShape):
            return self._list(shape)
        return self._map(shape) if isinstance(shape, MapShape) else None

    def _structure(self, shape: StructureShape) -> Check:
        checks = [
            (member.serialization.get("name", name), self.check(member))
            for name, member in shape.members.items()
            if "location" not in member.serialization
        ]

        def check(value: Any, path: str) -> str | None:
            for name, inner in checks:
                found = value.get(name)
                if found is not None and (told := inner(found, _joined(path, name))):
                    return told
            return None

        return check

    def _list(self, shape: ListShape) -> Check:
        inner = self.check(shape.member)

        def check(value: Any, path: str) -> str | None:
            found = (inner(one, f"{path}[{place}]") for place, one in enumerate(value))
            return next(filter(None, found), None)

        return check

    def _map(self, shape: MapShape) -> Check:
        inner = self.check(shape.value)

        def check(value: Any, path: str) -> str | None:
            found = (inner(one, _joined(path, name)) for name, one in value.items())
            return next(filter(None, found), None)

        return check


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
