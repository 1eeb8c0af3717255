"""Names of settings in messages and on pages are names of settings: who reads one can set it."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lifoq
import lifoq_cdk
from tests.docs.test_docs import DOCUMENTS, ROOT

NAME = re.compile(r"(?<![\w/:{$<-])([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?![\w/])")
CODE = ("lifoq", "lifoq_cdk", "lifoq_cli", "lifoq_console", "lifoq_project", "lifoq_localcloud")
CODE += ("functions", "stacks", "analytics", "tests", "examples", "benchmarks", "lab")
SPEAK = ("lifoq", "lifoq_cdk", "lifoq_cli", "lifoq_console", "lifoq_project", "lifoq_localcloud")
SPEAK += ("functions", "stacks")
IDENTIFIER = re.compile(r"[a-z]\w*_\w+")
OTHERS = {
    *("approx_percentile", "at_front", "broker_priority", "enable_validation"),
    *("from_ecr_repository", "from_registry"),
    *("acks_late", "apply_async", "enqueue_at", "enqueue_in", "job_id", "job_timeout"),
    *("max_retries", "retry_backoff", "return_value", "time_limit", "depends_on"),
    *("max_age", "mock_aws", "region_name", "bash_source", "fish_source", "zsh_source"),
}
"""Names of other projects, of pytest's and of shells, and words of examples."""
PYTHONS = {"all_frames", "extract_tb", "import_module"}
"""Words of a program in a text."""
OF_RESULTS = {"cpu_seconds", "wall_seconds", "wait_seconds"}
OF_RESULTS |= {"first_retry_seconds", "stream_pause_seconds"}
"""Figures of a benchmark, of ``Queue.pressure``, and times of the local cloud."""


def public() -> Iterator[tuple[str, Any]]:
    for package in (lifoq, lifoq_cdk):
        for name in package.__all__:
            yield name, getattr(package, name)


def settings() -> Iterator[str]:
    """Names that one gives to the constructs and the library; not those that one is answered."""
    for _, one in public():
        if inspect.isclass(one):
            if one.__module__.startswith("lifoq.store"):
                continue
            members = inspect.getmembers(one, callable)
            called = [part for name, part in members if name == "__init__" or name[0] != "_"]
        else:
            called = [one] if callable(one) else []
        for part in called:
            try:
                yield from inspect.signature(part).parameters
            except ValueError:
                continue


def members() -> Iterator[str]:
    for name, one in public():
        yield name
        yield from (part for part in dir(one) if not part.startswith("_"))


SETTINGS = {*settings()}
PUBLIC = SETTINGS | {*members()} | {*CODE}
IN_MESSAGES = PUBLIC | PYTHONS


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (ROOT / folder).rglob("*.py")


def named_in_code() -> Iterator[str]:
    """Whatever has a name there, keys and modules included."""
    for file in sources(*CODE):
        yield file.stem
        yield file.parent.name
        yield from IDENTIFIER.findall(file.read_text())


def sentences(file: Path) -> Iterator[str]:
    """Yield the texts of several words that a program says, docstrings left out."""
    tree = ast.parse(file.read_text())
    nodes = [*ast.walk(tree)]
    documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for text in (node for node in nodes if isinstance(node, ast.Constant)):
        said = text.value if isinstance(text.value, str) and id(text) not in documented else ""
        if re.search(r"[a-z] [a-z]", said):
            yield said


def test_a_setting_that_a_message_names_is_one():
    unknown = {
        (str(file.relative_to(ROOT)), name)
        for file in sources(*SPEAK)
        if file.name != "queries.py"  # which holds CloudWatch's queries
        for sentence in sentences(file)
        for name in NAME.findall(sentence)
        if name not in IN_MESSAGES
    }
    assert unknown == set()


def test_a_setting_that_a_page_names_is_one(subtests):
    in_code = {*named_in_code()}
    for page in DOCUMENTS:
        with subtests.test(page=page):
            _names_settings(page.read_text(), in_code)


def _names_settings(text: str, in_code: set[str]) -> None:
    of_its_code = IDENTIFIER.findall(" ".join(re.findall(r"```.*?```", text, flags=re.DOTALL)))
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    quoted = " ".join(re.findall(r"`([^`\n]+)`", prose))
    named = {name for name in NAME.findall(quoted) if not name.startswith("lifoq_")}  # metrics
    in_units = {name for name in named if re.search(r"_(seconds|minutes|ms|mb|bytes)$", name)}
    assert named - PUBLIC - in_code - OTHERS - {*of_its_code} == set()
    assert in_units - SETTINGS - OF_RESULTS == set()
