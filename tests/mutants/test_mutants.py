"""The mutants themselves: a break that no longer fits the code would catch nothing, silently."""

import ast
from pathlib import Path

import click
import pytest

from tests.mutants import by_hand, operators, trial

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


def test_a_test_that_is_not_there_any_more_has_caught_nothing(tmp_path, capfd) -> None:
    for name, text in (("well", "def test(): pass"), ("broken", "import nothing")):
        (tmp_path / f"test_{name}.py").write_text(text)
    with capfd.disabled():
        assert trial._caught_by({"test_well.py::test": 1}, tmp_path) is None
        assert trial._caught_by({"test_broken.py::test": 1}, tmp_path) == "test_broken.py"
        for gone in ("test_well.py::gone", "test_gone.py::test"):
            with pytest.raises(click.ClickException, match="delete --out, to draw it anew"):
                trial._caught_by({gone: 1}, tmp_path)
