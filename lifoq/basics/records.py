"""Records: dataclasses as JSON, which processes of several releases leave for one another.

In a rolling deployment, processes of two releases read and write the same note. A record of the
later release may have a field that the earlier one does not know. The earlier one reads the record
without that field, which comes back when the later one writes it anew.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin

from lifoq.basics import jsontext

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Record = TypeVar("Record", bound="DataclassInstance")


def decode(text: object, kind: type[Record]) -> Record:
    """Return the record that JSON text holds. Raises ValueError, which says what is wrong, where
    ``text`` is no JSON object with the fields of a ``kind``."""
    return _record(_document(text), kind)


def decode_all(text: object, kind: type[Record]) -> list[Record]:
    """Return the records of a list in JSON; none where ``text`` is no such list. A record that
    lacks a field, or holds a value of another type, is left out alone."""
    records = []
    try:
        found = _document(text)
    except ValueError:
        return []
    for document in found if isinstance(found, list) else []:
        try:
            records.append(_record(document, kind))
        except ValueError:
            continue
    return records


def _document(text: object) -> Any:
    if not isinstance(text, str):
        raise ValueError(f"{type(text).__name__} is no JSON text")  # noqa: TRY004 - one for all
    try:
        return jsontext.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _record(found: Any, kind: type[Record]) -> Record:
    if not isinstance(found, dict):
        raise ValueError(f"{type(found).__name__} is no JSON object")  # noqa: TRY004 - one for all
    known = {
        one.name: _value(found[one.name], one.type, one.name)
        for one in fields(kind)
        if one.name in found
    }
    try:
        return kind(**known)
    except TypeError as error:  # it lacks a field
        raise ValueError(str(error)) from error


def _value(found: Any, wanted: Any, name: str) -> Any:
    """Return a value of JSON as a value of the type ``wanted``. Raises ValueError, which names the
    field, where it is of another type."""
    if isinstance(wanted, type) and is_dataclass(wanted):
        return _record(found, wanted)
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin is UnionType:  # a type, or None
        inner = next(part for part in parts if part is not NoneType)
        return None if found is None else _value(found, inner, name)
    if origin is tuple and isinstance(found, list):
        types = parts[:1] * len(found) if parts[-1] is ... else parts
        if len(types) == len(found):
            return tuple(_value(one, part, name) for one, part in zip(found, types, strict=True))
    if origin is Mapping and isinstance(found, dict):
        return {key: _value(one, parts[1], name) for key, one in found.items()}
    # JSON has one kind of number.
    if origin is None and isinstance(found, int | float if wanted is float else wanted):
        return found
    raise ValueError(f"{name} is {found!r}")
