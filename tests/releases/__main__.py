"""``python -m tests.releases record 0.1.0`` writes the record of a release, to which later ones are
held: its wheel, its templates, samples of all that it writes, and a report's state.

It is run as the last change of a release: the record is of the code as it is now.
"""

import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import click

import lifoq
from tests.releases.release import READING, RECORDS, Release, told_by, unpacked

ROOT = RECORDS.parents[1]
_REMEDY = f"run python -m tests.releases record {lifoq.__version__}, and commit it"


@click.group()
def main() -> None:
    """Keep what a release wrote, for as long as its queues are upgraded."""


@main.command()
@click.argument("version")
def record(version: str) -> None:
    """Write the record of VERSION, in place of one that is there."""
    if version != lifoq.__version__:
        raise click.ClickException(
            f"lifoq/__init__.py says {lifoq.__version__}: change it, or record that"
        )
    if changed := _git("status", "--porcelain"):
        raise click.ClickException(
            f"the tree has changes, and a record is of a commit: commit them first\n{changed}"
        )
    # Spark and the CDK, which a check has no need of.
    from tests.releases import report, samples, templates  # noqa: PLC0415

    made = Release(RECORDS / version)
    shutil.rmtree(made.folder, ignore_errors=True)
    made.folder.mkdir()
    with contextlib.redirect_stdout(sys.stderr):
        found = templates.of_today()
    _write(made.folder / "templates.json", found, lines=4)
    _write(made.folder / "samples.json", samples.written(found["everything"]), lines=2)
    shutil.copy(READING, made.reading)
    _build(made.folder)
    with tempfile.TemporaryDirectory() as folder:
        packages = unpacked(made.wheel, Path(folder))
        _write(made.folder / "told.json", told_by(packages, made.reading, made.samples), lines=2)
    report.write(made.report_state, made.samples)
    size = sum(file.stat().st_size for file in made.folder.rglob("*") if file.is_file())
    click.echo(f"{made.folder.relative_to(ROOT)}: {size / 1e6:.1f} MB")


@main.command()
@click.option("--released", is_flag=True, help="Refuse a version that has no record, too.")
def check(*, released: bool) -> None:
    """Refuse a record of the version at hand that is of other code."""
    made = Release(RECORDS / lifoq.__version__)
    if not made.folder.is_dir():
        if released:
            raise click.ClickException(f"lifoq {made.version} has no record: {_REMEDY}")
        return
    with tempfile.TemporaryDirectory() as folder:
        if _contents(_build(Path(folder))) != _contents(made.wheel):
            raise click.ClickException(
                f"the record of lifoq {made.version} is not of this code: if {made.version}"
                f" is released, give lifoq/__init__.py the version that comes next; else {_REMEDY}"
            )


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def _build(folder: Path) -> Path:
    """Build the wheel of the code as it is, and return it."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _write(file: Path, value: Any, *, lines: int) -> None:
    file.write_text(_told(value, lines) + "\n")


def _told(value: Any, lines: int) -> str:
    """Return JSON with a line for each value so many levels down: a difference can be read, and no
    level below it takes room."""
    if not lines or not value or not isinstance(value, dict | list):
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, list):
        told = (_told(one, lines - 1) for one in value)
        return "[\n" + ",\n".join(told) + "\n]"
    told = (f"{json.dumps(name)}:{_told(value[name], lines - 1)}" for name in sorted(value))
    return "{\n" + ",\n".join(told) + "\n}"


if __name__ == "__main__":
    main(prog_name="python -m tests.releases")
