"""Projections: the part of an item that a request asks for."""

from typing import Any

from lifoq_localcloud.expressions import grammar
from lifoq_localcloud.expressions.documents import Item, Value
from lifoq_localcloud.expressions.grammar import UnreadableError
from lifoq_localcloud.expressions.names import Names, UndefinedError
from lifoq_localcloud.expressions.operands import check_names
from lifoq_localcloud.expressions.tree import Path

Paths = tuple[Path, ...]
_Tree = dict[str | int, Any]
"""Names and indexes that are wanted below a place, each with such a tree. Empty: all is wanted."""


def read(text: str, names: Names) -> Paths:
    """Return the paths of a projection. Raises UnreadableError or UndefinedError."""
    paths = grammar.projection(text)
    for path in paths:
        check_names(path)
    return apart(paths, names)


def apart(paths: Paths, names: Names) -> Paths:
    """Return paths with the attributes' own names. Raises UnreadableError where one lies in another
    or wants a list where the other wants a map; then UndefinedError."""
    found: list[Path] = []
    undefined = None
    for path in paths:
        try:
            found.append(names.path(path))
        except UndefinedError as error:
            undefined = undefined or error
    _check_apart(found)
    if undefined is not None:
        raise undefined
    return tuple(found)


def _check_apart(paths: list[Path]) -> None:
    for number, path in enumerate(paths):
        for earlier in paths[:number]:
            _check_two(earlier, path)


def _check_two(one: Path, other: Path) -> None:
    told = f"must remove or rewrite one of these paths; path one: {one}, path two: {other}"
    for mine, theirs in zip(one.parts, other.parts, strict=False):
        if isinstance(mine, int) != isinstance(theirs, int):
            raise UnreadableError(f"Two document paths conflict with each other; {told}")
        if mine != theirs:
            return
    raise UnreadableError(f"Two document paths overlap with each other; {told}")


def project(item: Item, paths: Paths) -> Item:
    """Return the part of an item at these paths. Elements of a list move together."""
    tree: _Tree = {}
    for path in paths:
        place = tree
        for part in path.parts:
            place = place.setdefault(part, {})
    shown = _shown({"M": item}, tree)
    return {} if shown is None else shown["M"]


def _shown(value: Value, tree: _Tree) -> Value | None:
    """Return the wanted part of a value; None where nothing of it is wanted."""
    if not tree:
        return value
    if "M" in value:
        entries = {
            name: shown
            for name, inner in tree.items()
            if name in value["M"] and (shown := _shown(value["M"][name], inner)) is not None
        }
        return {"M": entries} if entries else None
    elements = value.get("L", [])
    listed = [
        shown
        for place in sorted(one for one in tree if isinstance(one, int))
        if place < len(elements) and (shown := _shown(elements[place], tree[place])) is not None
    ]
    return {"L": listed} if listed else None
