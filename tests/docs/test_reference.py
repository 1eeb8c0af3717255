"""The reference of the Python library: each public name is there, each parameter is said, and each
example does what it says."""

import ast
import doctest
import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import lifoq
import lifoq.testing
from lifoq import REGISTRY
from tests.docs import public_names, reference
from tests.docs.public_names import PAGES, ROOT, Row, library
from tests.infrastructure.commands import run

NAMES = [(page, name) for page, names in PAGES.items() for name in names]
CALLED_BY_EVERYBODY = ("Queue", "Context", "Processor", "Sweeper")
"""Classes of which each method is in the reference."""
BY_THE_LIBRARY = {"reasons of Processor", "wait of Context"}
FIXTURES = [name for _, name in NAMES if public_names.is_fixture(name)]
TIME = re.compile(r"\b(micro)?seconds?\b|\btimedelta\b|\bper second\b", re.IGNORECASE)
IS_A_TIME = re.compile(
    r"_(at|seconds|updated|created|expires|asked|interval|budget)$"
    r"|^(deadline|delay|timeout|lease|heartbeat|window|linger|grace|after|ttl|time_limit)$"
)
IS_A_SIZE = re.compile(r"(^|_)(bytes|size)$")
IS_NO_TIME = {"shed_share"}


def with_its_methods(page: str, name: str) -> list[tuple[str, Any]]:
    """A public name, and the methods that the reference has of it."""
    one = public_names.find(page, name)
    found = [(name, one)]
    if one.is_class:
        found += [(f"{name}.{method}", made) for method, made in public_names.methods(one)]
    return found


@pytest.fixture(scope="module")
def documented() -> list[tuple[str, Any]]:
    return [each for page, name in NAMES for each in with_its_methods(page, name)]


def rows(one: Any) -> list[Row]:
    """All parameters and attributes that the reference tells of it."""
    called = one if one.is_function else public_names.constructor(one)
    attributes = public_names.attributes(one) if one.is_class else []
    return [*public_names.parameters(called), *attributes]


@pytest.mark.parametrize("path", reference.paths(), ids=lambda path: path.name)
def test_a_page_says_what_the_docstrings_say(path):
    text = path.read_text()
    assert text == reference.written(path.name), "run: python -m tests.docs.reference"


def test_every_public_name_is_on_one_page():
    fixtures = {
        node.name
        for node in ast.parse((ROOT / "lifoq" / "testing" / "plugin.py").read_text()).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("pytest_")  # a hook
    }
    public = [*lifoq.__all__, *lifoq.testing.__all__, *fixtures]
    assert sorted(name for _, name in NAMES) == sorted([*public, *public_names.OF_MODULES])


@pytest.mark.parametrize("name", CALLED_BY_EVERYBODY)
def test_every_method_of_a_class_that_users_call_is_there(name):
    one = library()[name].final_target
    there = {method for method, _ in public_names.methods(one)}
    public = {method for method, made in public_names.members(one) if made.is_function}
    assert {f"{method} of {name}" for method in public - there} <= BY_THE_LIBRARY


def test_a_name_says_what_it_is_with_each_parameter_and_an_example(documented, subtests):
    for name, one in documented:
        with subtests.test(name=name):
            assert public_names.text(one)
            assert [row.name for row in rows(one) if not row.meaning and name not in FIXTURES] == []
            assert public_names.example(one) or one.is_attribute


def test_no_docstring_speaks_of_a_parameter_that_is_not_there():
    functions = [
        member
        for module in library().modules_collection.members.values()
        for member in walk(module)
        if member.is_function and public_names.sections(member, "parameters")
    ]
    assert len(functions) > 50
    for function in functions:
        said = [entry.name for entry in public_names.sections(function, "parameters")]
        assert said == [row.name for row in public_names.parameters(function)], function.path


def walk(one: Any) -> Any:
    """All classes and functions in a module, and in its modules."""
    for member in one.members.values():
        if not member.is_alias and not member.is_attribute:
            yield member
            yield from walk(member)


def test_a_time_and_a_size_are_told_with_their_unit(documented, subtests):
    for name, one in documented:
        for row in rows(one):
            with subtests.test(name=name, row=row.name):
                _is_told_with_its_unit(row, reference.meaning(one, row))


def _is_told_with_its_unit(row: Row, said: str) -> None:
    number = re.search(r"\b(float|int|timedelta)\b", row.type)
    is_a_time = IS_A_TIME.search(row.name) or re.match(r"(list\[)?(float|timedelta)\b", row.type)
    if number and is_a_time and row.name not in IS_NO_TIME:
        assert TIME.search(said)
    if number and IS_A_SIZE.search(row.name):
        assert "bytes" in said


@contextmanager
def no_task_types() -> Iterator[None]:
    """Task types that are registered are so again afterwards."""
    kept = dict(vars(REGISTRY))
    REGISTRY.clear()
    try:
        yield
    finally:
        vars(REGISTRY).update(kept)


def test_an_example_does_what_it_says(documented, subtests):
    examples = [(name, one) for name, one in documented if ">>>" in public_names.example(one)]
    assert len(examples) > 100
    for name, one in examples:
        with subtests.test(name=name), no_task_types():
            _does_what_it_says(name, one)


def _does_what_it_says(name: str, one: Any) -> None:
    known: dict[str, Any] = {}
    exec(reference.PREAMBLE, known)  # noqa: S102 - the page says it, too
    shown = public_names.example(one)
    asked = doctest.DocTestParser().get_doctest(shown, known, name, str(one.path), one.lineno)
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    doctest.DocTestRunner(optionflags=flags).run(asked, out=said.append)
    assert said == []


def test_the_examples_of_the_fixtures_pass(tmp_path):
    tests = [
        public_names.example(public_names.find(public_names.OF_TESTS, one)) for one in FIXTURES
    ]
    handler = """
        from lifoq import task

        @task("device.check")
        def check(payload, context):
            return payload
    """
    program = "\n\n".join([textwrap.dedent(handler), *tests])
    (tmp_path / "test_examples.py").write_text(program)
    plugins = ("no:cacheprovider", "no:schemathesis", "lifoq.testing.plugin")
    options = ["-q", *(f"-p{name}" for name in plugins)]
    said = run(
        *(sys.executable, "-m", "pytest", *options),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert f"{len(FIXTURES)} passed" in said


def test_every_public_class_and_function_of_the_library_says_what_it_is():
    found = [
        member
        for member in walk(library())
        if not member.is_module and not any(part[0] == "_" for part in member.path.split("."))
    ]
    assert len(found) > 500
    assert [member.path for member in found if not says_what_it_is(member)] == []


def says_what_it_is(member):
    """Return True if the member has a docstring; a method may have that of the method which it
    overrides."""
    above = member.parent.mro() if member.is_function and member.parent.is_class else []
    overridden = (base.members.get(member.name) for base in above)
    return any(one is not None and one.docstring is not None for one in (member, *overridden))
