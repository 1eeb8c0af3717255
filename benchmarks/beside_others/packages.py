"""What the others need, in a folder of their own: the product's environment stays as it is."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

HERE: Final = Path(__file__).parent
FILES: Final = ("requirements.txt", "package.json", "package-lock.json")
BUILD: Final = HERE.parents[1] / ".build" / "beside_others"


@dataclass(frozen=True, kw_only=True)
class Packages:
    python: Path
    modules: Path
    """The folder that holds ``node_modules``."""


def installed() -> Packages:
    """Install what the lock files name, unless it is there. UsageError where a program is
    missing."""
    for program, remedy in (("redis-server", "apt-get install redis-server"), *_OURS):
        if shutil.which(program) is None:
            raise click.UsageError(f"{program} is missing: {remedy}")
    locked = hashlib.sha256(b"".join((HERE / name).read_bytes() for name in FILES)).hexdigest()
    folder, ready = BUILD / locked[:12], BUILD / locked[:12] / "ready"
    packages = Packages(python=folder / "python" / "bin" / "python", modules=folder)
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _run("uv", "venv", "--quiet", str(folder / "python"))
        sync = ("uv", "pip", "sync", "--quiet", "--require-hashes")
        _run(*sync, "--python", str(packages.python), str(HERE / FILES[0]))
        for name in FILES[1:]:
            shutil.copy(HERE / name, folder)
        quiet = ("--loglevel=error", "--no-audit", "--no-fund")
        _run("npm", "install", "--ignore-scripts", *quiet, "--prefix", str(folder))
        ready.touch()
    return packages


_OURS: Final = tuple((program, "run make setup") for program in ("uv", "npm", "node"))


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
