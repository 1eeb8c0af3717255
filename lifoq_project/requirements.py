"""Lock the packages that task code brings along, and install them from wheels for Lambda or this
machine.

A folder of task code may hold a ``requirements.txt``. ``requirements.lock`` is compiled beside it:
exact versions and hashes, for every platform, together with what lifoq's own functions need. So the
same lock is installed for Lambda, whatever machine deploys, and by the local cloud for the machine
that it runs on. uv does both; its settings (an index of your own, say) are respected.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from lifoq_project import cache

Architecture = Literal["arm64", "x86_64"]

REQUIREMENTS: Final = "requirements.txt"
LOCK: Final = "requirements.lock"
OWN: Final = Path(__file__).parent
"""The folder with the requirements of lifoq's own functions, and their lock."""

LAMBDA_PYTHON: Final = (3, 14)
_LAMBDA_CPU: Final[dict[Architecture, str]] = {"arm64": "aarch64", "x86_64": "x86_64"}
_MARK: Final = "# sha256 of what it was compiled from: "
_HEADER: Final = (
    "# What Lambda installs for the task code in this folder and for lifoq's own functions.\n"
    f"# Compiled when {REQUIREMENTS} has changed; versions stay while they fit. Commit it.\n"
)
_NO_WHEEL: Final = re.compile(
    r"[Ww]heels are (?:required|available) for `([^`]+)`|found wheels for `([^`]+)`"
)
"""uv's hints, when all about a package would do but its wheels."""


class RequirementsError(RuntimeError):
    """The requirements cannot be locked or installed; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Platform:
    """A platform that installed packages run on."""

    name: str
    """The platform's name as a sentence says it."""
    key: str
    options: tuple[str, ...]
    """uv's, to install for it."""

    @classmethod
    def of_lambda(cls, architecture: Architecture) -> "Platform":
        version = ".".join(str(part) for part in LAMBDA_PYTHON)
        # Older than the C library of Lambda's python3.14, so that all wheels for it fit.
        tag = f"{_LAMBDA_CPU[architecture]}-manylinux_2_28"
        return cls(
            name=f"Lambda's python{version} on {architecture}",
            key=f"lambda-{version}-{tag}",
            options=("--python-version", version, "--python-platform", tag),
        )

    @classmethod
    def of_this_machine(cls) -> "Platform":
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        platform = sysconfig.get_platform()
        return cls(
            name=f"this machine (Python {version}, {platform})",
            key=f"{sys.implementation.cache_tag}-{platform}",
            options=(),
        )


def locked(folder: Path) -> Path:
    """The lock of a folder of task code; compiled where its requirements changed since.

    Raises ``RequirementsError`` where something has no wheel, or nothing fits together.
    """
    requirements = folder.absolute() / REQUIREMENTS
    if not _named_in(requirements):
        return OWN / LOCK
    lock = requirements.with_name(LOCK)
    mark = f"{_MARK}{_digest(requirements)}\n"
    if not lock.is_file() or mark not in lock.read_text():
        _compile(requirements, lock, header=_HEADER + mark)
    return lock


def place(lock: Path, platform: Platform) -> Path:
    """The folder in which ``lock`` is installed for ``platform``, or will be."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    return cache.folder() / "installed" / f"{platform.key}-{digest[:32]}"


def installed(lock: Path, platform: Platform, *, builds: bool = False) -> Path:
    """The folder where ``lock`` is installed for ``platform``; installs it if it is not there yet.
    ``builds``: a package without a wheel for the platform is built here.

    Raises ``RequirementsError`` where a package has no wheel for the platform.
    """
    lock = lock.absolute()
    target = place(lock, platform)
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        fresh = Path(scratch) / "packages"
        fresh.mkdir()
        _install(lock, fresh, platform, builds=builds)
        try:
            fresh.rename(target)
        except OSError:
            if not target.is_dir():  # else somebody else was faster, with the same
                raise
    cache.trim(target.parent)
    return target


def _named_in(requirements: Path) -> bool:
    """True if the file names any package."""
    if not requirements.is_file():
        return False
    lines = (line.strip() for line in requirements.read_text().splitlines())
    return any(line and not line.startswith("#") for line in lines)


def _digest(requirements: Path) -> str:
    """The texts that a lock follows from: the folder's requirements, and lifoq's own."""
    digest = hashlib.sha256()
    for file in (OWN / REQUIREMENTS, *_with_included(requirements)):
        digest.update(file.read_bytes() + b"\0")
    return digest.hexdigest()


def _with_included(requirements: Path) -> Iterator[Path]:
    """The file, and those that it includes by ``-r`` or ``-c``."""
    yield requirements
    for line in requirements.read_text().splitlines():
        option, _, name = line.strip().partition(" ")
        if option in {"-r", "-c"}:
            yield from _with_included(requirements.parent / name.strip())


def _compile(requirements: Path, lock: Path, *, header: str) -> None:
    with tempfile.TemporaryDirectory(prefix="lifoq-lock-") as scratch:
        # uv keeps the versions that it finds in its output file.
        output = Path(scratch) / LOCK
        shutil.copy(lock if lock.is_file() else OWN / LOCK, output)
        command = ["compile", "--universal", "--generate-hashes", "--only-binary", ":all:"]
        command += ["--python-version", _oldest_python(), "--output-file", str(output)]
        command += ["--no-header", "--no-annotate", "--no-emit-index-url"]
        command += [str(requirements), str(OWN / REQUIREMENTS)]
        complaint = _uv(command, folder=requirements.parent)
        if complaint:
            raise RequirementsError(_sentence(requirements, complaint, "any platform"))
        lock.write_text(header + output.read_text())
    print(f"Compiled {lock}: commit it.", file=sys.stderr)  # noqa: T201 - a command's message


def _oldest_python() -> str:
    """The lock is for Lambda's Python and for this one, on which the local cloud runs."""
    return ".".join(str(part) for part in min(LAMBDA_PYTHON, sys.version_info[:2]))


def _install(lock: Path, target: Path, platform: Platform, *, builds: bool) -> None:
    command = ["install", "--no-deps", "--require-hashes"]
    command += [] if builds else ["--only-binary", ":all:"]
    command += ["--link-mode", "copy", "--python", sys.executable, *platform.options]
    command += ["--target", str(target), "--requirements", str(lock)]
    # Versions and hashes are fixed, so what uv's cache holds is what the registry would send.
    if _uv([*command, "--offline"], folder=lock.parent):
        complaint = _uv(command, folder=lock.parent)
        if complaint:
            raise RequirementsError(_sentence(lock, complaint, platform.name))


def _uv(arguments: Sequence[str], *, folder: Path) -> str:
    """Run uv, and return what it complained about: nothing, if all went well."""
    command = [sys.executable, "-m", "uv", "pip", *arguments, "--quiet"]
    finished = subprocess.run(  # noqa: S603 - no shell, own arguments
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if not finished.returncode:
        return ""
    return finished.stderr.strip() or f"uv ended with status {finished.returncode}."


def _sentence(file: Path, complaint: str, platform: str) -> str:
    if found := _NO_WHEEL.search(complaint):
        package = found[1] or found[2]
        return (
            f"{package}, which {file} asks for, has no wheel for {platform}. Ways out: a version "
            "that has one, the other architecture, a layer that holds the package (then leave it "
            f"out of {REQUIREMENTS}), or a container image. uv says:\n{complaint}"
        )
    return f"The packages of {file} cannot be found for {platform}. uv says:\n{complaint}"
