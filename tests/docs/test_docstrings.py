"""A docstring can be read in the middle of a file, without its caller.

It begins with a noun or a verb. One that begins with "What", "Whether" or "Of" is half a sentence:
the other half is where the name is used. One that begins with "By", "Where" or "Its" leaves out
what it is about.
"""

import ast
import re
from pathlib import Path

from tests.docs.test_docs import ROOT
from tests.unit.test_rooms import MODULES

PRODUCT = {*MODULES.values()}
AROUND = {
    path
    for folder in ("tests", "benchmarks", "lab", "examples")
    for path in (ROOT / folder).rglob("*.py")
}
ON_THIS_MACHINE = {
    path
    for path in PRODUCT
    if path.relative_to(ROOT).parts[0] in ("lifoq_console", "lifoq_localcloud")
}
HALF_A_SENTENCE = r"(Of|As|What|Whether|How|Such|Those|So)\b"
WITHOUT_ITS_NOUN = r"(By|For|In|Where)\b"
WITHOUT_A_SUBJECT = (
    r"(By|For|From|In|On|With|Without|After|Before|To|Until|Where|Which|Who|Whom|Whose|Its|Their"
    r"|They|That|None|JSON\.|`*(InvalidInput|QueueMisconfigured|StoreUnavailable|\w+Error))\b"
)


def test_no_docstring_is_half_a_sentence_or_leaves_out_what_it_is_about():
    assert found(PRODUCT | AROUND, HALF_A_SENTENCE) == [], "begin with a noun or a verb"
    assert found(PRODUCT - ON_THIS_MACHINE, WITHOUT_A_SUBJECT) == []
    assert found(ON_THIS_MACHINE, WITHOUT_ITS_NOUN) == []


def found(paths: set[Path], wrong: str) -> list[str]:
    """Return the places, ``file:line``, of docstrings that begin so."""
    places = []
    for path in paths:
        text = path.read_text()
        # Nearly no file has a text that begins so, and to parse them all takes seconds.
        for node in ast.walk(ast.parse(text)) if re.search(rf'"""\s*{wrong}', text) else ():
            match node:
                case ast.Expr(value=ast.Constant(value=str(said))):
                    if re.match(wrong, said.strip()):
                        places.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    return sorted(places)
