"""The packages for Lambda and for Spark: exactly the files that are needed, the same bytes every
time."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lifoq_project import asset
from tests.infrastructure.commands import ROOT

BUDGET_BYTES = 2_000_000
"""The whole package's size at the most: a cold start loads it."""


@pytest.fixture(autouse=True)
def source_alone(monkeypatch):
    """Package source alone, like a deployment by another Python than Lambda's."""
    monkeypatch.setattr(asset, "LAMBDA_TAG", "another")


@pytest.fixture
def tasks(tmp_path) -> Path:
    folder = tmp_path / "thumbnails"
    for name in ("__init__.py", "shapes/round.py"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {name}\n")
    return folder


def test_equal_files_give_equal_bytes_whatever_their_times_and_modes_and_others_another_hash(
    tasks,
):
    one = asset.build(tasks)
    content = one.path.read_bytes()
    one.path.unlink()

    source = tasks / "shapes/round.py"
    (source.parent / "__pycache__").mkdir()
    (source.parent / "__pycache__" / "round.cpython-311.pyc").write_bytes(b"x")
    source.chmod(0o755)
    os.utime(source, (0, 0))
    other = asset.build(tasks)
    assert (other.digest, other.path.read_bytes()) == (one.digest, content)

    source.write_text("# changed\n")
    changed = asset.build(tasks)
    source.unlink()
    assert len({one.digest, changed.digest, asset.build(tasks).digest}) == 3


@pytest.mark.prove
def test_lambdas_own_python_packs_bytecode_which_a_start_takes_without_a_look_at_the_source(
    tasks, tmp_path, monkeypatch
):
    task = tmp_path / "task"
    (tasks / "shapes/round.py").write_text("import sys\n\nprint(sys._getframe().f_lineno)\n")
    (tasks / "old.py").write_text("print 'of an earlier Python'\n")
    plain = asset.build(tasks)

    monkeypatch.setattr(asset, "LAMBDA_TAG", sys.implementation.cache_tag)
    packed = asset.build(tasks)

    assert packed.digest == asset.build(tasks).digest != plain.digest
    assert plain.unzipped_bytes < packed.unzipped_bytes < 3 * plain.unzipped_bytes
    zipfile.ZipFile(packed.path).extractall(task)
    (task / "thumbnails/shapes/round.py").write_text("What is compiled already nobody reads.\n")
    start = f"import sys; sys.path.insert(0, {str(task)!r}); import thumbnails.shapes.round"
    told = subprocess.check_output([sys.executable, "-I", "-S", "-B", "-c", start], text=True)
    assert told == "3\n"
    # Where Lambda would perhaps not take both, the source alone goes.
    monkeypatch.setattr(asset, "UNZIPPED_LIMIT_BYTES", packed.unzipped_bytes)
    assert asset.build(tasks).digest == plain.digest


def test_the_package_holds_only_what_lambda_needs_and_keeps_its_budget():
    functions = asset.build(ROOT / "functions")
    assert functions.path.stat().st_size < BUDGET_BYTES
    names = zipfile.ZipFile(functions.path).namelist()

    assert [name for name in names if name.startswith("functions/")] == ["functions/tasks.py"]

    first_parts = {name.split("/")[0] for name in names}
    own_and_vendored = {part for part in first_parts if not part.endswith(".dist-info")}
    assert own_and_vendored == {
        "lifoq",
        "lifoq_functions",
        "functions",
        "aws_lambda_powertools",
        "jmespath",
        "typing_extensions.py",
        "requirements.lock",
    }
    assert not [
        name for name in names if re.search(r"__pycache__|\.pyc$|/requirements|^bin/", name)
    ]


def test_the_sparks_package_holds_the_report_and_the_names_of_the_table():
    report = asset.build_report()
    names = zipfile.ZipFile(report.path).namelist()

    assert {"lifoq/items/schema.py", "lifoq_analytics/__init__.py"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"lifoq", "lifoq_analytics"}


def test_the_lock_files_name_no_registry():
    for file in ("lifoq_project/requirements.lock", "lifoq_cdk/report-requirements.txt"):
        text = (ROOT / file).read_text()
        assert "://" not in text
        assert "--hash=sha256:" in text
