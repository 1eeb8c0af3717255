"""The command that puts a task of the project: the line to type next.

Its payload is one that the project's own tests put, for nothing else says what a handler takes.
"""

import ast
import json
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

_TESTS: Final = ("test_*.py", "tests/test_*.py")
_UNKNOWN: Final = "PAYLOAD"
"""The word for a payload that no test tells."""


def command(types: Collection[str], folder: Path) -> str:
    """Return the command for one of the task types: one whose payload the tests in ``folder`` tell,
    if there is any."""
    payloads: dict[str, Any] = {}
    for task_type, payload in _payloads(folder):
        payloads.setdefault(task_type, payload)
    name = min(types, key=lambda one: (one not in payloads, one))
    if name not in payloads:
        return f"lifoq put {shlex.quote(name)} {_UNKNOWN}    ({_UNKNOWN}: JSON, such as '\"Ada\"')"
    return f"lifoq put {shlex.quote(name)} {shlex.quote(json.dumps(payloads[name]))}"


def _payloads(folder: Path) -> Iterator[tuple[str, Any]]:
    """Task types and payloads as tests put them: ``queue.put("greet", "Ada")``."""
    for pattern in _TESTS:
        for file in sorted(folder.glob(pattern)):
            try:
                tree = ast.parse(file.read_bytes())
            except (OSError, SyntaxError, ValueError):
                continue  # a test that is being written
            for node in ast.walk(tree):
                yield from _put(node)


def _put(node: ast.AST) -> Iterator[tuple[str, Any]]:
    match node:
        case ast.Call(
            func=ast.Attribute(attr="put"), args=[ast.Constant(value=str(name)), payload, *_]
        ):
            try:
                found = ast.literal_eval(payload)
                json.dumps(found)
            except (ValueError, TypeError):
                return  # it is computed
            yield name, found
