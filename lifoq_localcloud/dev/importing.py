"""A trial import of task code, under the conditions of its function: with its requirements, and no
other package."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import lifoq
from lifoq_project import requirements
from lifoq_project.requirements import Platform

SECONDS: Final = 60.0
_IMPORT: Final = """
import importlib, json, sys, traceback
module, place, *imports = sys.argv[1:]
sys.path[:0] = imports
try:
    importlib.import_module(module)
except BaseException as error:
    all_frames = traceback.extract_tb(error.__traceback__)
    frames = [one for one in all_frames if one.filename.startswith(place + "/")]
    last = frames[-1] if frames else None
    print(json.dumps({
        "at": f"{last.filename[len(place) + 1:]}, line {last.lineno}" if last else module,
        "error": f"{type(error).__name__}: {error}",
        "missing": isinstance(error, ModuleNotFoundError),
    }), file=sys.__stdout__)
else:
    registry = sys.modules.get("lifoq.worker.handlers.registry")
    kinds = registry.REGISTRY if registry else []
    most = {kind.name: kind.max_attempts for kind in kinds}
    print(json.dumps({"attempts": most}), file=sys.__stdout__)
"""


@dataclass(frozen=True, kw_only=True)
class Imported:
    problem: str | None = None
    """Return where and why the module cannot be imported; None where it can."""
    attempts: Mapping[str, int | None] = field(default_factory=dict)
    """The ``max_attempts`` of each task type, by its name; None for a type that does not say."""


def look(folder: Path, module: str, *, runtime: Path, environment: Mapping[str, str]) -> Imported:
    """Import ``module``, of the package in ``folder``. ``runtime``: what stands for Lambda's own
    packages. RequirementsError."""
    packages = requirements.installed(requirements.locked(folder), Platform.of_this_machine())
    with tempfile.TemporaryDirectory() as place:
        for source in (folder, Path(lifoq.__file__).parent):
            (Path(place) / source.name).symlink_to(source)
        try:
            result = subprocess.run(  # noqa: S603 - the user's own code, which was to run
                [
                    *(sys.executable, "-I", "-S", "-c", _IMPORT, module),
                    *map(str, (place, packages, place, runtime)),
                ],
                env={"PATH": os.defpath, "LANG": "en_US.UTF-8", **environment},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Imported(
                problem=f"{module}: its import takes more than {SECONDS:g} s; "
                "wait in a handler instead"
            )
    lines = result.stdout.splitlines() or [""]
    if lines[-1].startswith('{"attempts": '):
        return Imported(**json.loads(lines[-1]))
    if not lines[-1].startswith('{"at": '):
        return Imported()
    found = json.loads(lines[-1])
    hint = f"; packages are named in {folder.name}/requirements.txt" if found["missing"] else ""
    return Imported(problem=f"{found['at']}: {found['error']}{hint}")
