"""Installs what the Lambda functions bring along: ``python -m lifoq_cdk.vendor``.

Set-up runs it once; ``cdk synth`` then packages the result without network and without Docker.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
LOCK: Final = ROOT / "functions" / "requirements.lock"
VENDOR: Final = ROOT / ".build" / "vendor"
STAMP: Final = ".lock-sha256"
"""In the vendor folder: the lock file that it was installed from."""

PYTHON_VERSION: Final = "3.14"
PLATFORM: Final = "aarch64-manylinux_2_28"


class VendorError(RuntimeError):
    """The packages could not be vendored; the message says what to do."""


def digest(lock: Path) -> str:
    """What identifies the content of a lock file."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def is_current(lock: Path = LOCK, vendor: Path = VENDOR) -> bool:
    """Whether ``vendor`` was installed from ``lock`` as it is now."""
    stamp = vendor / STAMP
    return stamp.is_file() and stamp.read_text() == digest(lock)


def install(lock: Path = LOCK, vendor: Path = VENDOR) -> None:
    """Replace ``vendor`` by a fresh installation of ``lock``, as a whole or not at all."""
    vendor.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=vendor.parent) as scratch:
        fresh = Path(scratch) / "vendor"
        _install_into(fresh, lock)
        _refuse_native_code(fresh)
        (fresh / STAMP).write_text(digest(lock))
        shutil.rmtree(vendor, ignore_errors=True)
        fresh.rename(vendor)


def _install_into(target: Path, lock: Path) -> None:
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps"]
    command += ["--require-hashes", "--only-binary", ":all:", "--link-mode", "copy"]
    command += ["--python-version", PYTHON_VERSION, "--python-platform", PLATFORM]
    command += ["--target", str(target), "--requirements", str(lock)]
    if subprocess.run(command, check=False).returncode:  # noqa: S603 - no shell, own arguments
        raise VendorError(f"{lock.name} could not be installed: see uv's message above.")


def _refuse_native_code(target: Path) -> None:
    """The same asset runs on Lambda's arm64 and in the local cloud on the developer's machine."""
    native = sorted(path.relative_to(target) for path in target.rglob("*.so*"))
    if native:
        raise VendorError(
            f"{native[0]} is native code, which the local cloud could not run: use a package in "
            "pure Python, and compile functions/requirements.lock again."
        )


def main() -> int:
    if is_current():
        return 0
    try:
        install()
    except VendorError as error:
        print(error, file=sys.stderr)  # noqa: T201 - a command's message
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
