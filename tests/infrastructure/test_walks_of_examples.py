"""The walks of a newcomer through the examples, from the wheel on: the lines of each README, and
what it says that they print."""

import shutil
import zipfile

import pytest

from tests.infrastructure.commands import ROOT
from tests.infrastructure.users import blocks, registries

EXAMPLES = sorted(app.parent for app in (ROOT / "examples").glob("*/app.py"))


@pytest.mark.prove
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_runs_copied_anywhere_by_the_lines_of_its_readme(example, user, open_terminal):
    ignored = shutil.ignore_patterns(".*", "__pycache__", "cdk.out")
    copy = shutil.copytree(example, user.folder / "examples" / example.name, ignore=ignored)
    (_, _, begin), *then = blocks((copy / "README.md").read_text())
    tests, start = begin.strip().rsplit("\n", 1)
    first, second = open_terminal(copy), open_terminal(copy)
    with registries():
        assert " passed" in first.runs(tests.replace("pip install", "uv pip install"))
    shown = ""
    if start.endswith("lifoq dev"):
        first.deploys(start)
    else:  # it runs `lifoq dev` itself, and ends
        shown = first.runs(start)

    for kind, _, text in then:
        if kind == "sh":
            shown = second.runs(text)
        else:
            assert text.strip() in shown, first.shown
    assert then[-1][0] == "text"
    packaged = {
        name
        for archive in (copy / "cdk.out").glob("asset.*.zip")
        for name in zipfile.ZipFile(archive).namelist()
    }
    assert packaged & {str(file.relative_to(copy)) for file in copy.glob("*.*")} == set()
