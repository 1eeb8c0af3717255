"""A docstring can be read in the middle of a file, without its caller.

It begins with a noun or a verb. One that begins with "What", "Whether" or "Of" is half a sentence:
the other half is where the name is used. One that begins with "By", "Where" or "Its" leaves out
what it is about.
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
ON_THIS_MACHINE = ("lifoq_console", "lifoq_localcloud")
LIBRARY_AND_TOOLS = [
    path for path in PRODUCT if path.relative_to(ROOT).parts[0] not in ON_THIS_MACHINE
]
WITHOUT_A_SUBJECT = re.compile(
    r"(By|For|From|In|On|With|Without|After|Before|To|Until|Where|Which|Who|Whom|Whose|Its|Their"
    r"|They|That|None|JSON\.|`*(InvalidInput|QueueMisconfigured|StoreUnavailable|\w+Error))\b"
)


def begin(path: Path, wrong: re.Pattern[str]) -> list[int]:
    """Return the lines of docstrings, those of attributes among them, that begin in a wrong way."""
    texts = [
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return [text.lineno for text in texts if wrong.match(text.value.value.strip())]


@pytest.mark.parametrize("path", [*PRODUCT, *AROUND], ids=lambda path: str(path.relative_to(ROOT)))
def test_no_docstring_is_half_a_sentence(path):
    told = f"{path.relative_to(ROOT)}: begin with a noun or a verb"
    assert begin(path, HALF_A_SENTENCE) == [], told


def test_a_docstring_names_what_it_is_about():
    found = {
        str(path.relative_to(ROOT)): begin(path, WITHOUT_A_SUBJECT) for path in LIBRARY_AND_TOOLS
    }
    assert {place: lines for place, lines in found.items() if lines} == {}
