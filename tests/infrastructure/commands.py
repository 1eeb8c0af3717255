"""Programs, as a user starts them."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.infrastructure.deployments import ROOT


def run(*command: str | Path, cwd: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What it wrote to its standard output."""
    finished = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout
