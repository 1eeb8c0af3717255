"""A mutant before the tests: which of them catch it."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.operators import Mutant

STAGES: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "lifoq": (
        ("tests/unit",),
        ("tests/contract", "tests/functions"),
        ("tests/faults", "tests/simulation"),
        ("tests/cli", "tests/console", "tests/infrastructure", "tests/constructs"),
    ),
    "functions": (("tests/functions",), ("tests/unit", "tests/infrastructure")),
    "analytics": (("tests/analytics",), ("tests/demo", "tests/contract")),
}
"""By the folder that is changed: the tests that look at it, those first that catch most."""
SECONDS: Final = 1_200
"""After which a stage counts as standing still, and the mutant as caught."""
CAUGHT_BY: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", re.MULTILINE)
NOTHING_RAN: Final = 5
"""pytest's exit status where no test was chosen."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    mutant: Mutant
    caught_by: tuple[str, ...]
    """Empty: it slipped through. Of one that stands still: the stage."""


def copy_of(root: Path, to: Path) -> None:
    """What git keeps; what is installed and built is shared."""
    listed = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, to / name)
    for name in (".venv", "node_modules", ".build"):
        (to / name).symlink_to((root / name).resolve())


def judge(mutant: Mutant, copy: Path, *, to_the_end: bool) -> Verdict:
    """Changes the copy, and changes it back. ``to_the_end``: every test that catches it is named,
    not the first alone."""
    path = copy / mutant.path
    text = path.read_text()
    path.write_text(mutant.applied(text))
    found: list[str] = []
    try:
        for stage in STAGES[mutant.path.split("/")[0]]:
            found += _caught_by(stage, copy, to_the_end=to_the_end)
            if found and not to_the_end:
                break
    finally:
        path.write_text(text)
    return Verdict(mutant=mutant, caught_by=tuple(dict.fromkeys(found)))


def _caught_by(stage: tuple[str, ...], copy: Path, *, to_the_end: bool) -> list[str]:
    first = () if to_the_end else ("-x",)
    options = ("-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", *first)
    try:
        ran = subprocess.run(
            (sys.executable, "-m", "pytest", *options, *stage),
            cwd=copy,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "CI": "true"},
            capture_output=True, text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return [f"{' '.join(stage)} stood still"]
    if ran.returncode in {0, NOTHING_RAN}:
        return []
    return CAUGHT_BY.findall(ran.stdout) or [f"{' '.join(stage)} did not start"]
