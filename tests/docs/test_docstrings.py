"""A docstring can be read in the middle of a file, without its caller.

It begins with a noun or a verb. One that begins with "What", "Whether" or "Of" is half a sentence:
the other half is where the name is used.
"""

import ast
import re
from pathlib import Path

import pytest

from tests.docs.test_docs import ROOT
from tests.unit.test_rooms import MODULES

PRODUCT = sorted(MODULES.values())
FOLDERS = ("tests", "benchmarks", "lab", "examples")
AROUND = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
HALF_A_SENTENCE = re.compile(r"(Of|As|What|Whether|How|Such|Those|So)\b")


def half_sentences(path: Path) -> list[int]:
    """Return the lines of docstrings, those of attributes among them, that are half a sentence."""
    texts = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return [text.lineno for text in texts if HALF_A_SENTENCE.match(text.value.value.strip())]


@pytest.mark.parametrize("path", [*PRODUCT, *AROUND], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_docstring_is_half_a_sentence(path):
    assert half_sentences(path) == [], f"{path.relative_to(ROOT)}: begin with a noun or a verb"
