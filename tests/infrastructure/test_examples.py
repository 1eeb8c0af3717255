"""The examples: their own tests pass, and their applications are synthesized, with the task code
alone in what Lambda gets."""

import os
import sys
import zipfile
from pathlib import Path

import pytest

from lifoq_project import requirements
from lifoq_project.requirements import Platform
from tests.infrastructure.commands import run
from tests.infrastructure.deployments import ROOT
from tests.infrastructure.users import registries

EXAMPLES = sorted(app.parent for app in (ROOT / "examples").glob("*/app.py"))
DEPLOYED_ELSEWHERE = {"order-fulfilment"}
"""By test_told.py."""

pytestmark = pytest.mark.prove


def python(folder: Path, *arguments: str, **environment: str) -> str:
    packages = []
    if (lock := folder / "tasks" / requirements.LOCK).exists():
        packages.append(str(requirements.installed(lock, Platform.of_this_machine())))
    path = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), *packages])}
    env = {**os.environ, **path, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return run(sys.executable, *arguments, cwd=folder, env=env)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda folder: folder.name)
def test_the_tests_of_an_example_pass(example: Path) -> None:
    options = ["-q", "-p", "no:cacheprovider", "-p", "lifoq.testing.plugin", "--rootdir=."]
    with registries():
        said = python(example, "-m", "pytest", *options, "-c", os.devnull)
    assert " passed" in said


@pytest.mark.parametrize(
    "example",
    [folder for folder in EXAMPLES if folder.name not in DEPLOYED_ELSEWHERE],
    ids=lambda folder: folder.name,
)
def test_an_example_is_synthesized_and_lambda_gets_the_task_code_alone(
    example: Path, tmp_path: Path
) -> None:
    with registries():
        python(example, "app.py", CDK_OUTDIR=str(tmp_path))
    packaged = {
        name
        for archive in tmp_path.glob("asset.*.zip")
        for name in zipfile.ZipFile(archive).namelist()
    }
    assert "tasks/__init__.py" in packaged
    own = {str(file.relative_to(example)) for file in example.glob("*.*")}
    assert packaged & own == set()
    assert not [name for name in packaged if name.startswith("examples")]


def test_every_example_is_in_the_list() -> None:
    page = (ROOT / "examples" / "README.md").read_text()
    assert [folder.name for folder in EXAMPLES if f"]({folder.name}/README.md)" not in page] == []
    assert len(EXAMPLES) == 4
