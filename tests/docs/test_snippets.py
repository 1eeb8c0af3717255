"""The Python of the documents: it is Python, what it imports is there, and what it calls of lifoq
takes the arguments that are given."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lifoq
import lifoq_cdk
from lifoq import Cells, Queue
from tests.docs.test_docs import DOCUMENTS

PACKAGES = (lifoq, lifoq_cdk)
OURS = {name: getattr(package, name) for package in PACKAGES for name in package.__all__}
METHODS_OF = {"queue": (Queue, lifoq_cdk.LifoQueue), "Queue": (Queue,), "Cells": (Cells,)}
"""By what a snippet calls them on."""


def snippets(document: Path) -> list[str]:
    return re.findall(
        r"^```python[^\n]*\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE
    )


def test_what_a_snippet_imports_and_calls_of_lifoq_is_there(subtests):
    for document in DOCUMENTS:
        for code in snippets(document):
            with subtests.test(document=document):
                _is_there(code)


def _is_there(code: str) -> None:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module[:5] == "lifoq":
            module = importlib.import_module(node.module)
            missing = [one.name for one in node.names if not hasattr(module, one.name)]
            assert [name for name in missing if name != "*"] == []
        if isinstance(node, ast.Call) and (called := list(_called(node.func))):
            assert any(_fits(one, node) for one in called), ast.unparse(node)


def _called(function: ast.expr) -> Iterator[Any]:
    if isinstance(function, ast.Name) and function.id in OURS:
        yield OURS[function.id]
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        for kind in METHODS_OF.get(function.value.id, ()):
            yield getattr(kind, function.attr, None)


def _fits(called: Any, node: ast.Call) -> bool:
    if called is None:
        return False
    signature = inspect.signature(called.__init__ if inspect.isclass(called) else called)
    names = list(signature.parameters)
    positional = [None] * len(node.args)
    if names[:1] == ["self"]:
        positional.insert(0, None)
    try:
        signature.bind_partial(
            *positional, **{one.arg: None for one in node.keywords if one.arg is not None}
        )
    except TypeError:
        return False
    return True
