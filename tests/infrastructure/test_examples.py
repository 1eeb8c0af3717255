"""The examples: each runs, copied anywhere, by the lines of its README, and shows what it says."""

import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifoq_project.new import TEMPLATE
from tests.infrastructure.deployments import ROOT
from tests.infrastructure.users import Terminal, User, registries, terminals

EXAMPLES = sorted(app.parent for app in (ROOT / "examples").glob("*/app.py"))


@pytest.fixture(scope="module")
def user(wheel, tmp_path_factory) -> User:
    user = User(
        tmp_path_factory.mktemp("user"), page=(ROOT / "docs" / "own-project.md").read_text()
    )
    user.install(wheel, "[dev]")
    return user


@pytest.fixture
def open_terminal(user) -> Iterator[Callable[[Path], Terminal]]:
    with terminals(user) as open_terminal:
        yield open_terminal


@pytest.mark.prove
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_runs_by_the_lines_of_its_readme(example, user, open_terminal):
    copy = shutil.copytree(
        example,
        user.folder / example.name,
        ignore=shutil.ignore_patterns(".*", "__pycache__", "cdk.out"),
    )
    blocks = re.findall(
        r"^```(sh|text)\n(.*?)\n^```$", (copy / "README.md").read_text(), re.DOTALL | re.MULTILINE
    )
    (_, begin), *then = blocks
    tests, dev = begin.rsplit("\n", 1)
    assert dev.endswith("lifoq dev")
    first, second = open_terminal(copy), open_terminal(copy)
    with registries():
        assert " passed" in first.runs(tests.replace("pip install", "uv pip install"))
    first.deploys(dev)

    shown = ""
    for kind, text in then:
        if kind == "sh":
            shown = second.runs(text)
        else:
            assert text in shown, first.shown
    assert then[-1][0] == "text"
    assert _packaged(copy) & {str(file.relative_to(copy)) for file in copy.glob("*.*")} == set()


def _packaged(copy: Path) -> set[str]:
    """What Lambda gets."""
    return {
        name
        for archive in (copy / "cdk.out").glob("asset.*.zip")
        for name in zipfile.ZipFile(archive).namelist()
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda folder: folder.name)
def test_a_copy_leaves_out_of_git_what_a_new_project_does(example):
    assert (example / ".gitignore").read_text() == (TEMPLATE / "dot-gitignore.tmpl").read_text()


def test_every_example_is_in_the_list():
    page = (ROOT / "examples" / "README.md").read_text()
    assert [folder.name for folder in EXAMPLES if f"]({folder.name}/README.md)" not in page] == []
    assert len(EXAMPLES) == 5
