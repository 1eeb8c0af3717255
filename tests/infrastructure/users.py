"""Somebody who installs lifoq, and follows a page of the documents."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.infrastructure.commands import run
from tests.infrastructure.deployments import ROOT

NO_NETWORK = ("Failed to fetch", "Failed to download", "error sending request", "ENOTFOUND")
NO_NETWORK += ("EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENOTCACHED", "Could not connect")
OF_THE_CLONE = ("PYTHONPATH", "JSII_NODE", "JAVA_HOME", "VIRTUAL_ENV")


@dataclass(frozen=True)
class User:
    """Somebody with a Python environment, and nothing of this clone on the PATH."""

    folder: Path
    page: str
    """What is followed."""
    has: tuple[str, ...] = ()
    """Of what the clone brings, what the page asks for."""

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name in self.has or (name not in OF_THE_CLONE and not name.startswith("AWS_"))
        }
        return kept | {"PATH": f"{self.folder / '.venv' / 'bin'}:/usr/bin:/bin"}

    def install(self, wheel: Path, extras: str) -> None:
        """In the versions of the lock, which are in uv's cache where the clone was set up by it."""
        assert f'pip install "./lifoq{extras}"\n' in self.page
        python = self.folder / ".venv" / "bin" / "python"
        uv = [sys.executable, "-m", "uv"]
        run(*uv, "venv", "--quiet", "--python", sys.executable, self.folder / ".venv")
        command = [*uv, "pip", "install", "--quiet", "--python", python]
        command += [f"lifoq{extras} @ {wheel.as_uri()}"]
        command += ["--constraint", ROOT / "requirements.lock"]
        try:
            run(*command, "--offline")
        except AssertionError:
            with registries():
                run(*command)


@contextmanager
def registries() -> Iterator[None]:
    """Skips where none answers, and no cache has what it would send."""
    try:
        yield
    except AssertionError as error:
        if any(sign in str(error) for sign in NO_NETWORK):
            pytest.skip(f"no registry can be reached, and no cache has everything: {error}")
        raise
