"""The places where function instances live: unpacked assets, AWS's runtime, environment, logs."""

import importlib.metadata
import io
import re
import shutil
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.basics.folder import private_folder
from lifoq_localcloud.functions.function import CodeError, FunctionConfig
from lifoq_localcloud.functions.instance import Sandbox
from lifoq_project import requirements
from lifoq_project.requirements import Platform

RUNTIME_PACKAGES = ("boto3", "awslambdaric")
"""The packages that Lambda brings. A function may import them beside its asset and the standard
library."""


class Sandboxes:
    """Lays out the local cloud's directory: ``assets/``, ``runtime/`` and ``logs/``."""

    def __init__(
        self,
        *,
        directory: Path,
        credentials: Credentials,
        code: Callable[[str], bytes],
        on_output: Callable[[FunctionConfig, bytes], None],
    ) -> None:
        self._assets = private_folder(directory / "assets")
        self._runtime = private_folder(directory / "runtime")
        self.logs = private_folder(directory / "logs")
        self._credentials = credentials
        self._code = code
        self._on_output = on_output
        self._lock = threading.Lock()
        self._files: dict[str, BinaryIO] = {}
        lay_out_runtime(self._runtime)

    def __call__(self, config: FunctionConfig) -> Sandbox:
        asset = self._unpack(config)
        return Sandbox(
            asset=asset,
            imports=(*_packages_of(asset), asset, self._runtime),
            environment=self._environment(config),
            log=self._log(config),
        )

    def keep(self, digests: Callable[[], set[str]]) -> None:
        """Delete all that was unpacked of other code."""
        with self._lock:
            kept = digests()
            for folder in self._assets.glob("*"):
                if folder.name not in kept:
                    shutil.rmtree(folder)

    def _log(self, config: FunctionConfig) -> Callable[[bytes], None]:
        """All instances of a function write into one file."""
        with self._lock:
            if config.name not in self._files:
                path = self.logs / f"{config.name}.log"
                self._files[config.name] = path.open("ab", buffering=0)
            file = self._files[config.name]

        def write(line: bytes) -> None:
            file.write(line)
            self._on_output(config, line)

        return write

    def _unpack(self, config: FunctionConfig) -> Path:
        folder = self._assets / config.code_digest
        with self._lock:
            if not folder.exists():
                fresh = folder.with_suffix(".new")
                try:
                    with zipfile.ZipFile(io.BytesIO(self._code(config.name))) as archive:
                        archive.extractall(fresh)
                except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError) as error:
                    shutil.rmtree(fresh, ignore_errors=True)
                    raise CodeError(f"{config.name} has code that is damaged: {error}") from error
                fresh.rename(folder)
        return folder

    def _environment(self, config: FunctionConfig) -> dict[str, str]:
        """Lambda's own variables, the deployed ones, and the way to this cloud."""
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "en_US.UTF-8",
            "TZ": "UTC",
            "PYTHONUNBUFFERED": "1",
            **config.environment,
            **_log_settings(config),
            **self._credentials.environment(caller=config.name),
            "AWS_EXECUTION_ENV": f"AWS_Lambda_{config.runtime}",
            "AWS_LAMBDA_FUNCTION_NAME": config.name,
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(config.memory_megabytes),
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{config.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "LAMBDA_TASK_ROOT": str(self._assets / config.code_digest),
            "_HANDLER": config.handler,
        }


def _packages_of(asset: Path) -> Iterator[Path]:
    """Yield the folder with the requirements in the asset's lock, installed for this machine. On
    the import path it comes before the asset's own packages, which are built for Lambda's
    machine."""
    lock = asset / requirements.LOCK
    if lock.is_file():
        yield requirements.installed(lock, Platform.of_this_machine())


def _log_settings(config: FunctionConfig) -> dict[str, str]:
    settings = {}
    if log_format := config.logging.get("LogFormat"):
        settings["AWS_LAMBDA_LOG_FORMAT"] = log_format
    if level := config.logging.get("ApplicationLogLevel"):
        settings["AWS_LAMBDA_LOG_LEVEL"] = level
    return settings


def lay_out_runtime(folder: Path) -> None:
    """Links to the runtime's packages alone, so that an asset cannot lean on anything else."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _with_requirements(RUNTIME_PACKAGES):
        distribution = importlib.metadata.distribution(name)
        tops = {Path(file).parts[0] for file in distribution.files or ()}
        for top in tops - {"..", "__pycache__"}:
            link = folder / top
            # One that an earlier cloud left here may lead to an environment that is gone.
            link.unlink(missing_ok=True)
            link.symlink_to(Path(str(distribution.locate_file(top))).resolve())


def _with_requirements(names: tuple[str, ...]) -> Iterator[str]:
    pending, seen = list(names), set[str]()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        yield name
        for requirement in importlib.metadata.requires(name) or ():
            found = re.match(r"[\w.-]+", requirement)
            if found and "extra ==" not in requirement:
                pending.append(found[0])
