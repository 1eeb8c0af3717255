"""The references within a template, and the order that follows from them: CloudFormation refuses a
template that names something it does not have, or that goes round in a circle."""

import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from moto.cloudformation.exceptions import ValidationError

_BLOCKS: Final = ("Resources", "Outputs")
_NAMED: Final = re.compile(r"\$\{([^!}][^}.]*)")
"""A name within the text of ``Fn::Sub``."""


def check(template: Any) -> None:
    """Raise ValidationError where a resource or an output refers to nothing."""
    if not isinstance(template, dict) or "Transform" in template:
        return  # a macro may make what is referred to
    known = {*(template.get("Resources") or {}), *(template.get("Parameters") or {})}
    for block in _BLOCKS:
        named = _references(template.get(block))
        missing = {name for name in named if name not in known and not name.startswith("AWS::")}
        if missing:
            raise ValidationError(
                message="Template format error: Unresolved resource dependencies "
                f"[{', '.join(sorted(missing))}] in the {block} block of the template"
            )
    order(template.get("Resources") or {})


def order(resources: dict[str, Any]) -> list[str]:
    """Return the logical ids, each behind those that it refers to or depends on. Raise
    ValidationError if there is no such order."""
    graph = {
        name: {one for one in _needed(body) if one in resources} for name, body in resources.items()
    }
    try:
        return list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        circle = ", ".join(error.args[1][1:])
        raise ValidationError(
            message=f"Circular dependency between resources: [{circle}]"
        ) from error


def _needed(body: dict[str, Any]) -> Iterator[str]:
    depends = body.get("DependsOn") or []
    yield from [depends] if isinstance(depends, str) else depends
    yield from _references(body)


def _references(document: Any) -> Iterator[str]:
    """The names that a part of a template refers to."""
    if isinstance(document, list):
        for value in document:
            yield from _references(value)
    if not isinstance(document, dict):
        return
    for key, value in document.items():
        match key, value:
            case "Ref", str():
                yield value
            case "Fn::GetAtt", str():
                yield value.partition(".")[0]
            case "Fn::GetAtt", [str(name), *more]:
                yield name
                yield from _references(more)
            case "Fn::Sub", str():
                yield from _in_text(value)
            case "Fn::Sub", [str(text), dict(given)]:
                yield from (name for name in _in_text(text) if name not in given)
                yield from _references(given)
            case _:
                yield from _references(value)


def _in_text(text: str) -> Iterator[str]:
    for found in _NAMED.finditer(text):
        yield found[1].strip()
