"""The walks of a newcomer through the examples, from the wheel on: the lines of each README, and
what it says that they print."""

import shutil
import sys
import zipfile

import pytest

from tests.infrastructure.commands import ROOT, run
from tests.infrastructure.users import blocks, registries

DEMO = ROOT / "examples" / "overload"
"""The example that ``make demo`` runs."""
EXAMPLES = sorted({app.parent for app in (ROOT / "examples").glob("*/app.py")} - {DEMO})

pytestmark = pytest.mark.prove


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda folder: folder.name)
def test_an_example_runs_copied_anywhere_by_the_lines_of_its_readme(example, user, open_terminal):
    ignored = shutil.ignore_patterns(".*", "__pycache__", "cdk.out")
    copy = shutil.copytree(example, user.folder / "examples" / example.name, ignore=ignored)
    (_, _, begin), *then = blocks((copy / "README.md").read_text())
    tests, start = begin.strip().rsplit("\n", 1)
    first, second = open_terminal(copy), open_terminal(copy)
    with registries():
        assert " passed" in first.runs(tests.replace("pip install", "uv pip install"))
    first.deploys(start)

    shown = ""
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


def test_the_tests_of_the_demo_pass(tmp_path):
    copy = shutil.copytree(DEMO, tmp_path / DEMO.name)
    pytest_here = (sys.executable, "-m", "pytest", "-q", "-p", "lifoq.testing.plugin")
    told = run(*pytest_here, cwd=copy, env={"PYTHONPATH": str(ROOT)})
    assert " passed" in told
