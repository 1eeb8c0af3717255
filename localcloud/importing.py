"""Whether task code can be imported as its function will: with what it requires, and no more."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
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
"""


def problem(
    folder: Path, module: str, *, runtime: Path, environment: Mapping[str, str]
) -> str | None:
    """Where and why ``module``, of the package in ``folder``, cannot be imported; None where it
    can. ``runtime``: what stands for Lambda's own packages. RequirementsError."""
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
            return f"{module}: its import takes more than {SECONDS:g} s; wait in a handler instead"
    lines = result.stdout.splitlines()
    if not lines or not lines[-1].startswith('{"at": '):
        return None
    found = json.loads(lines[-1])
    hint = f"; packages are named in {folder.name}/requirements.txt" if found["missing"] else ""
    return f"{found['at']}: {found['error']}{hint}"
