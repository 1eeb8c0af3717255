"""Programs, as a user starts them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a command, and return its standard output."""
    finished = _ended(*command, cwd=cwd, env=env)
    said = f"{finished.stderr[-4000:]}\n{finished.stdout[-4000:]}"
    assert finished.returncode == 0, f"{finished.returncode}: {said}"
    return finished.stdout


def refused(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """Run a command that ends with status 1, and return its standard error; it wrote nowhere
    else."""
    finished = _ended(*command, cwd=cwd, env=env)
    assert (finished.returncode, finished.stdout) == (1, ""), finished.stderr
    return finished.stderr


def _ended(
    *command: str | Path, cwd: Path, env: Mapping[str, str] | None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
