"""The library's rooms: a lower one imports from no higher one, and importing lifoq is cheap."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lifoq

LIBRARY = Path(lifoq.__file__).parent
STAND_ON = {
    "lifoq": set(),
    "lifoq_project": {"lifoq"},
    "lifoq_cdk": {"lifoq", "lifoq_project"},
    "lifoq_cli": {"lifoq"},
    "lifoq_console": {"lifoq", "lifoq_cli"},
    "localcloud": {"lifoq", "lifoq_console", "lifoq_project"},
    "functions": {"lifoq"},
    "analytics": {"lifoq"},
    "stacks": {"lifoq", "lifoq_cdk", "lifoq_project"},
}
"""Packages, and those of them that each imports from."""
FLOORS = (
    "errors",
    "metrics",
    "basics",
    "items",
    "ingest",
    "tables",
    "ends",
    "worker",
    "targets",
    "environment",
    "client",
    "api",
)
"""From the lowest to the highest; on top of them stand the command line and the test kit."""


def imported(tree: ast.AST) -> Iterator[str]:
    """The modules that it imports when it runs, not those that type checkers alone look at."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield from imported(node)


@pytest.mark.parametrize("floor", FLOORS)
def test_no_room_imports_from_a_higher_one(floor: str) -> None:
    path = LIBRARY / floor
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    allowed = FLOORS[: FLOORS.index(floor) + 1]
    assert files
    for file in files:
        names = [name.split(".") for name in imported(ast.parse(file.read_text()))]
        rooms = {name[1] if len(name) > 1 else "" for name in names if name[0] == "lifoq"}
        assert rooms <= set(allowed), file


@pytest.mark.parametrize("package", STAND_ON)
def test_a_package_stands_on_those_alone_that_are_below_it(package: str) -> None:
    files = (LIBRARY.parent / package).rglob("*.py")
    names = {name.split(".")[0] for file in files for name in imported(ast.parse(file.read_text()))}
    assert names & STAND_ON.keys() - {package} == STAND_ON[package]


def test_nothing_lies_outside_the_rooms() -> None:
    found = {path.stem for path in LIBRARY.iterdir() if not path.name.startswith("__pycache__")}
    assert found == {*FLOORS, "__init__", "__main__", "py", "testing"}


def in_a_fresh_process(code: str) -> str:
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return finished.stdout


def test_task_code_and_a_queue_in_memory_need_no_boto3() -> None:
    modules = in_a_fresh_process(
        "import sys, lifoq\n"
        "from lifoq import *\n"
        "Queue.in_memory().put('a')\n"
        "print([name for name in sys.modules if name.startswith('boto')])"
    )
    assert modules == "[]\n"


def test_a_name_is_loaded_when_it_is_asked_for_and_none_before() -> None:
    loaded = in_a_fresh_process(
        "import sys, lifoq\n"
        "print('lifoq.worker.registry' in sys.modules)\n"
        "lifoq.task\n"
        "print('lifoq.worker.registry' in sys.modules, 'lifoq.client.queue' in sys.modules)"
    )
    assert loaded.split() == ["False", "True", "False"]


def test_every_public_name_is_there_and_a_wrong_one_is_told() -> None:
    assert all(getattr(lifoq, name) for name in lifoq.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Quene'"):
        _ = lifoq.Quene
