"""A home folder that belongs to the tests: whatever a test, or a program that it starts, leaves
behind at home is found there, and the person's own home stays as it was."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
CACHES: Final = {
    "CDK_HOME": "cache/cdk",
    "JSII_RUNTIME_PACKAGE_CACHE_ROOT": "cache/jsii",
    "NODE_COMPILE_CACHE": "cache/node",
    "PIP_CACHE_DIR": "cache/pip",
    "UV_CACHE_DIR": "cache/uv",
    "npm_config_cache": "cache/npm",
    "LIFOQ_CACHE": "lifoq",
}
"""The folders in ``.build`` that the Makefile names, too, for whoever starts pytest without it."""


def enter() -> Path:
    """Let this process and its children live in an empty folder; return it. Settings by which
    programs reach their registries are still the person's. Python keeps what it compiles, as under
    the Makefile: each process would compile all that it imports."""
    before = Path.home()
    home = Path(tempfile.mkdtemp(prefix="home-of-tests-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for name, place in CACHES.items():
        os.environ.setdefault(name, str(ROOT / ".build" / place))
    os.environ.setdefault("XDG_CONFIG_HOME", str(before / ".config"))
    os.environ.setdefault("npm_config_userconfig", str(before / ".npmrc"))
    os.environ.setdefault("RUSTUP_HOME", str(before / ".rustup"))  # pip asks for rustc's version
    os.environ.setdefault("GIT_CONFIG_GLOBAL", str(before / ".gitconfig"))
    os.environ["JSII_NODE"] = str(ROOT / "tools" / "node-of-constructs")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    os.environ["HOME"] = str(home)
    return home
