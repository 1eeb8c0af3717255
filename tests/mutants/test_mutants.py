"""The mutants themselves: a break that no longer fits the code would catch nothing, silently."""

import ast
import shutil
import threading
from pathlib import Path

import click
import pytest
from greenlet import greenlet

from tests.mutants import by_hand, operators, quick, trial
from tests.mutants.map import Map, statements
from tests.mutants.operators import Mutant
from tests.mutants.telling import TELLS, make_tell

ROOT = Path(__file__).parents[2]


def test_every_break_by_hand_still_fits_the_code() -> None:
    for mutant in by_hand.made(ROOT):
        text = (ROOT / mutant.path).read_text()
        assert mutant.applied(text) != text
        ast.parse(mutant.applied(text))


@pytest.mark.prove
def test_a_drawn_mutant_is_a_program_and_another_one_than_before() -> None:
    for mutant in operators.draw(ROOT, number=8, seed=0):
        text = (ROOT / mutant.path).read_text()
        was, becomes = ast.parse(text), ast.parse(mutant.applied(text))
        assert ast.dump(was) != ast.dump(becomes), mutant


def test_a_comparison_keeps_its_sides_whole() -> None:
    text = "same = (one or two) == three"
    turned = [m.applied(text) for m in operators.mutants_of(text, "a.py") if "!=" in m.becomes]
    assert [ast.unparse(ast.parse(each)) for each in turned] == ["same = (one or two) != three"]


TEXT = '''"""Words."""
from __future__ import annotations

def inner(
    yes,
):
    """Words."""
    if yes:
        return (1 +
                2)
    elif yes is None:
        return 3
'''


def test_a_statement_tells_that_it_runs_in_whichever_thread_or_strand() -> None:
    tree = ast.parse(TEXT)
    make_tell(tree, "a.py")
    ran: set[str] = set()
    module = {TELLS: ran.add}
    exec(compile(tree, "a.py", "exec"), module)  # noqa: S102 - the text above
    inner = module["inner"]
    assert (ran, inner.__doc__) == ({"a.py:4"}, "Words.")
    ran.clear()
    thread = threading.Thread(target=inner, args=(True,))
    thread.start()
    thread.join()
    assert ran == {"a.py:8", "a.py:9"}
    ran.clear()
    assert greenlet(inner).switch(None) == 3
    assert ran == {"a.py:8", "a.py:11", "a.py:12"}


TESTS = """
import subprocess
import sys
import threading
import pytest
from lifoq.a import inner

def test_elsewhere(): pass

def test_in_a_thread():
    thread = threading.Thread(target=inner, args=(True,))
    thread.start()
    thread.join()

@pytest.mark.parametrize("n", [1, 2])
def test_otherwise(n): assert inner(None) == 3

def test_fails(): assert inner(None) == 4

def test_in_a_process(): subprocess.run([sys.executable, "-c", "import lifoq.b"], check=True)
"""


@pytest.mark.prove
def test_the_map_knows_which_tests_run_a_line(tmp_path) -> None:
    code, out = tmp_path / "code", tmp_path / "out"
    shutil.copytree(ROOT / "tests" / "mutants", code / "tests" / "mutants")
    (code / "lifoq").mkdir(parents=True)
    (code / "lifoq" / "a.py").write_text(TEXT)
    (code / "lifoq" / "b.py").write_text("one = 1")
    files = [f"test_{number}.py" for number in range(2)]
    for name in files:
        (code / name).write_text(TESTS)
    assert not Map.fits(code, out)
    Map.draw(code, out, files, processes=2)
    assert Map.fits(code, out)

    drawn = Map(out, code)
    for line, names in {10: ["test_in_a_thread"], 12: ["test_otherwise"]}.items():
        mutant = Mutant(path="lifoq/a.py", line=line, was="2", becomes="3", start=0)
        wanted = {f"{file}::{name}" for name in names for file in files}
        asked = [*drawn.tests_of(mutant)]
        assert set(asked[: len(wanted)]) == wanted
        assert len(asked) == 4, "tests of other lines of the file are asked last"
    mutant = Mutant(path="lifoq/b.py", line=1, was="1", becomes="2", start=6)
    assert drawn.tests_of(mutant).keys() == {f"{file}::test_in_a_process" for file in files}
    assert statements(TEXT)[10] == 9


@pytest.mark.prove
def test_a_test_that_is_not_there_any_more_has_caught_nothing(tmp_path, capfd) -> None:
    for name, text in (("well", "def test(): pass"), ("broken", "import nothing")):
        (tmp_path / f"test_{name}.py").write_text(text)
    with capfd.disabled():
        assert trial._caught_by({"test_well.py::test": 1}, tmp_path) is None
        assert trial._caught_by({"test_broken.py::test": 1}, tmp_path) == "test_broken.py"
        for gone in ("test_well.py::gone", "test_gone.py::test"):
            with pytest.raises(click.ClickException, match="delete --out, to draw it anew"):
                trial._caught_by({gone: 1}, tmp_path)


def change(text: str, was: str, becomes: str) -> Mutant:
    """A change of the first place in the code with these words."""
    start = text.index(was)
    line = text.count("\n", 0, start) + 1
    return Mutant(path="a.py", line=line, was=was, becomes=becomes, start=start)


@pytest.mark.prove
def test_in_forks_no_change_stays_and_what_rests_on_another_test_notices_nothing(tmp_path) -> None:
    shutil.copytree(ROOT / "tests" / "mutants", tmp_path / "tests" / "mutants")
    text = "def one(): return 1\ndef two(): return 2\n"
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "test_a.py").write_text("import a\ndef test(): assert a.one() == 1\n")
    (tmp_path / "test_b.py").write_text(
        "import a\nran = []\ndef test(): ran.append(a)\ndef test_rests(): assert ran\n"
    )
    one, two = (change(text, number, "3") for number in "12")
    asked = {"test_a.py::test": 1.0}
    tasks = [(0, one, asked), (1, two, asked), (2, two, {"test_b.py::test_rests": 1.0})]
    tasks.append((3, one, {"test_a.py::gone": 1.0, **asked}))
    found = dict(quick.verdicts(tasks, tmp_path, processes=1))
    assert found == {0: "test_a.py::test", 3: "test_a.py::test"}


@pytest.mark.prove
def test_a_changed_constant_is_changed_in_all_modules_and_in_what_they_made_of_it(tmp_path) -> None:
    shutil.copytree(ROOT / "tests" / "mutants", tmp_path / "tests" / "mutants")
    text = "MOST = 7\nLEAST = 8\ndef limit(by=9):\n    return by\nclass A:\n    length: int = 10\n"
    (tmp_path / "a.py").write_text(text)
    (tmp_path / "b.py").write_text("from a import LEAST, MOST\nTWICE = 2 * MOST\nROWS = [LEAST]\n")
    (tmp_path / "test_a.py").write_text(
        "import a, b\n"
        "def test_most(): assert b.TWICE == 14\ndef test_rows(): assert b.ROWS == [8]\n"
        "def test_limit(): assert a.limit() == 9\ndef test_length(): assert a.A.length == 10\n"
        "def test_other(): assert a.MOST > a.LEAST - 2\n"
    )
    tests = {f"test_a.py::test_{name}": 1.0 for name in ("most", "rows", "limit", "length")}
    changes = [change(text, number, "11") for number in ("7", "8", "9", "10")]
    tasks = [(number, change, tests) for number, change in enumerate(changes)]
    tasks.append((4, changes[0], {"test_a.py::test_other": 1.0}))
    found = dict(quick.verdicts(tasks, tmp_path, processes=1))
    assert found == dict(enumerate(tests))


@pytest.mark.prove
def test_mutants_are_judged_side_by_side_and_the_code_is_as_before(tmp_path, capfd) -> None:
    copies = [tmp_path / "one", tmp_path / "two"]
    for copy in copies:
        copy.mkdir()
        (copy / "a.py").write_text("one, two = 1, 2\n")
        (copy / "test_a.py").write_text("import a\ndef test(): assert a.one == 1\n")
        (copy / "test_b.py").write_text(
            "import a\nran = []\ndef test(): ran.append(a)\ndef test_rests(): assert ran\n"
        )
    asked = {"test_a.py::test": 1.0}
    tasks = [
        (0, Mutant(path="a.py", line=1, was="1", becomes="3", start=11), asked),
        (1, Mutant(path="a.py", line=1, was="2", becomes="3", start=14), asked),
        (2, Mutant(path="a.py", line=1, was="2", becomes="3", start=14), {"test_a.py::gone": 1.0}),
        (
            3,
            Mutant(path="a.py", line=1, was="2", becomes="3", start=14),
            {"test_b.py::test_rests": 1},
        ),
    ]
    with capfd.disabled():
        found = {number: (by, why) for number, by, why in trial.verdicts(tasks, copies)}
    assert found[0] == ("test_a.py::test", None)
    assert found[1] == found[3] == (None, None), "what rests on another test has caught nothing"
    assert found[2][0] is None
    assert "stale" in (found[2][1] or "")
    assert {(copy / "a.py").read_text() for copy in copies} == {"one, two = 1, 2\n"}
