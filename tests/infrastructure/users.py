"""Somebody who installs lifoq, and follows a page of the documents in terminals."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.infrastructure.commands import ROOT, run

NO_NETWORK = ("Failed to fetch", "Failed to download", "error sending request", "ENOTFOUND")
NO_NETWORK += ("EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENOTCACHED", "Could not connect")
PATIENCE_SECONDS = 600.0
OF_THE_CLONE = ("PYTHONPATH", "JSII_NODE", "VIRTUAL_ENV")
Block = tuple[str, str, str]
"""Its language, its title, its text."""


def blocks(page: str) -> list[Block]:
    return re.findall(r'^```(\w+)(?: title="(.+?)")?\n(.*?)^```$', page, re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class User:
    """Somebody with a Python environment and a Java, and nothing else of this clone."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in OF_THE_CLONE and not name.startswith("AWS_")
        }
        return kept | {"PATH": f"{self.folder / '.venv' / 'bin'}:/usr/bin:/bin"}

    def install(self, wheel: Path, extras: str) -> None:
        """In the versions of the lock, which are in uv's cache where the clone was set up by it."""
        python = self.folder / ".venv" / "bin" / "python"
        uv = [sys.executable, "-m", "uv"]
        run(*uv, "venv", "--quiet", "--python", sys.executable, self.folder / ".venv")
        command = [*uv, "pip", "install", "--quiet", "--python", python]
        if "analytics" in extras:
            with contextlib.suppress(AssertionError):  # where it is in no cache: with the rest
                run(*command, "--offline", "--require-hashes", "--no-deps", "-r", self._spark())
        command += [f"lifoq[{extras}] @ {wheel.as_uri()}"]
        command += ["--constraint", ROOT / "requirements.lock"]
        try:
            run(*command, "--offline")
        except AssertionError:
            with registries():
                run(*command)
        self._has_compiled_what_the_clone_has()

    def _spark(self) -> Path:
        """Write what the lock says of PySpark, with its hashes, and return the file. It alone
        has no wheel: asked for without hashes, uv takes its 400 MB from the network and builds it,
        though it has done so for the clone."""
        lock = (ROOT / "requirements.lock").read_text()
        found = re.search(r"^pyspark==.*?(?=^\S)", lock, re.DOTALL | re.MULTILINE)
        assert found
        alone = self.folder / "pyspark.lock"
        alone.write_text(found[0])
        return alone

    def _has_compiled_what_the_clone_has(self) -> None:
        """Files of the same packages need not be compiled again, which takes longer than a
        deployment's other work. Python looks whether they are the same."""
        clone = Path(sysconfig.get_path("purelib"))
        own = self.folder / ".venv" / clone.relative_to(sys.prefix)
        for compiled in clone.rglob("__pycache__"):
            place = own / compiled.relative_to(clone)
            if place.parent.exists() and not place.exists():
                shutil.copytree(compiled, place)

    @contextlib.contextmanager
    def terminals(self) -> Iterator[Callable[[Path], "Terminal"]]:
        """Opens them; in the end all are closed, the last one first."""
        with contextlib.ExitStack() as opened:

            def new(folder: Path) -> Terminal:
                terminal = Terminal(folder, self)
                opened.callback(terminal.close)
                return terminal

            yield new


@contextlib.contextmanager
def registries() -> Iterator[None]:
    """Skips where none answers, and no cache has what it would send."""
    try:
        yield
    except AssertionError as error:
        if any(sign in str(error) for sign in NO_NETWORK):
            pytest.skip(f"no registry can be reached, and no cache has everything: {error}")
        raise


def until(found: Callable[[], bool], otherwise: Callable[[], object]) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < give_up, otherwise()
        time.sleep(0.2)


class Terminal:
    """A shell that stays in its folder, and keeps its environment, from one block to the next."""

    def __init__(self, folder: Path, user: User) -> None:
        self._log = user.folder / f"terminal-{id(self)}"  # not where `lifoq dev` watches
        self._shell = subprocess.Popen(
            ["bash", "-e"],
            cwd=folder,
            env=user.environment,
            stdin=subprocess.PIPE,
            stdout=self._log.open("w"),
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._blocks = self._told = 0

    @property
    def shown(self) -> str:
        return self._log.read_text()

    def begins(self, block: str) -> None:
        assert self._shell.stdin
        self._shell.stdin.write(block)
        self._shell.stdin.flush()

    def deploys(self, line: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """A line that ends with `lifoq dev`: until its application is deployed."""
        with registries():
            self.begins(f"{line} --port=0\n")
            self.is_told("\nDeploying")
            meanwhile()
            self.is_told("\nDeployed.")

    def is_told(self, words: str) -> None:
        """After what was told last."""
        until(lambda: words in self.shown[self._told :] or self.has_ended, lambda: self.shown)
        assert words in self.shown[self._told :], self.shown
        self._told = self.shown.index(words, self._told) + len(words)

    def runs(self, block: str) -> str:
        """Run a block of commands, and return what it printed."""
        self._blocks += 1
        before, end = len(self.shown), f"END-OF-BLOCK-{self._blocks}"
        self.begins(f"{block}\necho {end}\n")
        until(lambda: end in self.shown or self.has_ended, lambda: self.shown)
        assert end in self.shown, self.shown
        return self.shown[before:].replace(end, "")

    @property
    def has_ended(self) -> bool:
        return self._shell.poll() is not None

    def close(self) -> None:
        """End the terminal like Ctrl-C; programs in the background end, too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGINT)
        assert self._shell.stdin
        with contextlib.suppress(BrokenPipeError):
            self._shell.stdin.close()
        self._shell.wait(PATIENCE_SECONDS)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGTERM)
