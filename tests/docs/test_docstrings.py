"""A docstring can be read in the middle of a file, without its caller.

It begins with a noun or a verb. One that begins with "What", "Whether" or "Of" is half a sentence:
the other half is where the name is used. One that begins with "By", "Where" or "Its" leaves out
what it is about.
"""

import ast
import re
from functools import cache
from pathlib import Path

from tests.docs.test_docs import ROOT
from tests.unit.test_rooms import MODULES

PRODUCT = sorted(MODULES.values())
FOLDERS = ("tests", "benchmarks", "lab", "examples")
AROUND = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
HALF_A_SENTENCE = re.compile(r"(Of|As|What|Whether|How|Such|Those|So)\b")
ON_THIS_MACHINE = ("lifoq_console", "lifoq_localcloud")
WITHOUT_ITS_NOUN = re.compile(r"(By|For|In|Where)\b")
LIBRARY_AND_TOOLS = [
    path for path in PRODUCT if path.relative_to(ROOT).parts[0] not in ON_THIS_MACHINE
]
WITHOUT_A_SUBJECT = re.compile(
    r"(By|For|From|In|On|With|Without|After|Before|To|Until|Where|Which|Who|Whom|Whose|Its|Their"
    r"|They|That|None|JSON\.|`*(InvalidInput|QueueMisconfigured|StoreUnavailable|\w+Error))\b"
)


@cache
def text_of(path: Path) -> str:
    return path.read_text()


@cache
def docstrings(path: Path) -> list[tuple[int, str]]:
    """Return the docstrings of a file with their lines, those of attributes among them."""
    return [
        (node.lineno, node.value.value.strip())
        for node in ast.walk(ast.parse(text_of(path)))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


def begin(path: Path, wrong: re.Pattern[str]) -> list[int]:
    """Return the lines of docstrings that begin in a wrong way."""
    if not re.search(rf'"""\s*({wrong.pattern})', text_of(path)):
        return []  # as nearly all: to parse them takes seconds
    return [line for line, text in docstrings(path) if wrong.match(text)]


def found(paths: list[Path], wrong: re.Pattern[str]) -> list[str]:
    """Return the places, ``file:line``, of docstrings that begin in a wrong way."""
    return [f"{path.relative_to(ROOT)}:{line}" for path in paths for line in begin(path, wrong)]


def test_no_docstring_is_half_a_sentence():
    assert found([*PRODUCT, *AROUND], HALF_A_SENTENCE) == [], "begin with a noun or a verb"


def test_a_docstring_names_what_it_is_about():
    assert found(LIBRARY_AND_TOOLS, WITHOUT_A_SUBJECT) == []
    assert found(set(PRODUCT) - set(LIBRARY_AND_TOOLS), WITHOUT_ITS_NOUN) == []
