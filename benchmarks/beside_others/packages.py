"""Install the other queues' packages in a folder of their own: the product's environment stays as
it is."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parents[1] / ".build" / "beside_others"
PROGRAMS: Final = {"redis-server": "apt-get install redis-server"} | dict.fromkeys(
    ("uv", "npm", "node"), "run make setup"
)


@dataclass(frozen=True, kw_only=True)
class Packages:
    python: Path
    modules: Path
    """The folder that holds ``node_modules``."""


def installed() -> Packages:
    """Install what the lock files name; what is there is kept. UsageError where a program is
    missing."""
    for program, remedy in PROGRAMS.items():
        if shutil.which(program) is None:
            raise click.UsageError(f"{program} is missing: {remedy}")
    BUILD.mkdir(parents=True, exist_ok=True)
    python = BUILD / "python" / "bin" / "python"
    _run("uv", "venv", "--quiet", "--allow-existing", BUILD / "python")
    sync = ("uv", "pip", "sync", "--quiet", "--require-hashes", "--python", python)
    _run(*sync, HERE / "requirements.txt")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, BUILD)
    quiet = ("--loglevel=error", "--no-audit", "--no-fund")
    _run("npm", "install", "--ignore-scripts", *quiet, "--prefix", BUILD)
    return Packages(python=python, modules=BUILD)


def _run(*command: object) -> None:
    subprocess.run(list(map(str, command)), check=True)
