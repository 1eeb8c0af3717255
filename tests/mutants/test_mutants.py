"""The mutants themselves: a break that no longer fits the code would catch nothing, silently."""

import ast
from pathlib import Path

from tests.mutants import by_hand, operators

ROOT = Path(__file__).parents[2]


def test_every_break_by_hand_still_fits_the_code() -> None:
    for mutant in by_hand.made(ROOT):
        text = (ROOT / mutant.path).read_text()
        assert mutant.applied(text) != text
        ast.parse(mutant.applied(text))


def test_a_drawn_mutant_is_a_program_and_another_one_than_before() -> None:
    for mutant in operators.draw(ROOT, number=60, seed=0):
        text = (ROOT / mutant.path).read_text()
        was, becomes = ast.parse(text), ast.parse(mutant.applied(text))
        assert ast.dump(was) != ast.dump(becomes), mutant
