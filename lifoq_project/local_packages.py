"""The packages of the local cloud, apart from those of the environment that lifoq is installed in.

The local cloud reaches into moto's inside, and so takes one minor version of it. Whoever tests own
code with another one keeps that: these are installed by uv, once, into ``LIFOQ_CACHE``, and found
by the local cloud's own process alone.
"""

import importlib.metadata
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Final

from lifoq.errors import LifoqError
from lifoq_project import requirements
from lifoq_project.requirements import Platform, RequirementsError

OWN: Final = Path(__file__).parent.parent / "lifoq_localcloud"
"""The folder with the local cloud's requirements, and their lock."""
_NAME: Final = re.compile(r"^([\w.-]+)", re.MULTILINE)
_PIN: Final = re.compile(r"^([\w.-]+)==(\S+)", re.MULTILINE)
_BEGIN: Final = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from lifoq_cli.__main__ import main; sys.exit(main())"
)
"""The program that begins anew: the packages come before the environment's."""


class LocalCloudUnavailable(LifoqError):
    """Raised where the packages are not there, and cannot be installed; the message says what to
    do."""


def enter(*, install: bool = True) -> None:
    """Begin the command anew with the local cloud's packages, unless this environment has them. The
    process stays, and so do its terminal and its signals.

    Args:
        install: False leaves everything as it is where the packages would have to be installed.

    Raises:
        LocalCloudUnavailable: They cannot be installed.
    """
    if _are_here():
        return
    folder = requirements.place(OWN / requirements.LOCK, Platform.of_this_machine())
    if not folder.is_dir():
        if not install:
            return
        folder = _installed(folder)
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-c", _BEGIN, str(folder), *sys.argv[1:]])  # noqa: S606


def _are_here() -> bool:
    """True if this environment has all of them in the versions of the lock, as a clone has."""
    pins = set(_PIN.findall((OWN / requirements.LOCK).read_text()))
    names = _NAME.findall((OWN / requirements.REQUIREMENTS).read_text())
    try:
        return all((name, importlib.metadata.version(name)) in pins for name in names)
    except importlib.metadata.PackageNotFoundError:
        return False


def _installed(folder: Path) -> Path:
    if importlib.util.find_spec("uv") is None:
        raise LocalCloudUnavailable(
            "the local cloud's packages are installed by uv, which is missing here: "
            "pip install 'lifoq[dev]'"
        )
    told = f"Installing the local cloud's packages into {folder}: once, for up to a minute …"
    print(told, file=sys.stderr)  # noqa: T201 - a command's message
    try:
        # AWS's runtime has wheels for Linux alone.
        return requirements.installed(
            OWN / requirements.LOCK, Platform.of_this_machine(), builds=True
        )
    except RequirementsError as error:
        raise LocalCloudUnavailable(str(error)) from error
