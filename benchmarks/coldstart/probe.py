"""A function's process, as far as it starts by itself: ``probe.py TASK RUNTIME WHAT [SERVICE …]``.

Runs in an interpreter that sees the asset (TASK) and what Lambda brings (RUNTIME), and nothing of
this repository. WHAT is a function's package, or ``boto3``: then the process only makes clients for
the services named, which any function on the same services has to. The last line that it prints is
a JSON document of what it measured.
"""

import gc
import importlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

_, task, runtime, what, *services = sys.argv


def main() -> None:
    # Clients alone do not see the asset: it has a jmespath of its own, in front of the runtime's.
    sys.path[:0] = [runtime] if what == "boto3" else [task, runtime]
    before = collections()
    began, processor = time.perf_counter(), time.process_time()
    if what == "boto3":
        start_clients()
    else:
        importlib.import_module(f"lifoq_functions.{what}.handler")
    wall, processor = time.perf_counter() - began, time.process_time() - processor
    own = [one for one in map(module_file, sys.modules.values()) if one.startswith(task + os.sep)]
    found = {
        "wall_ms": 1000 * wall,
        "processor_ms": 1000 * processor,
        "collections": collections() - before,
        "collects": gc.isenabled(),
        "asset_files": sorted(os.path.relpath(one, task) for one in own),
        "reads_boto3": "botocore.client" in sys.modules,
        "packages": sorted(filter(None, map(package, sys.modules.values()))),
        "asset_source_bytes": sum(Path(one).stat().st_size for one in own),
    }
    print(json.dumps(found))


def package(module: Any) -> str:
    """The name of a package that the asset or the runtime brings; of what it has, once."""
    folders, name = (task + os.sep, runtime + os.sep), module.__name__
    return name if "." not in name and module_file(module).startswith(folders) else ""


def collections() -> int:
    """Return the number of times that Python has looked for garbage."""
    return sum(generation["collections"] for generation in gc.get_stats())


def start_clients() -> None:
    boto3, config = importlib.import_module("boto3"), importlib.import_module("botocore.config")
    for service in services:
        boto3.client(service, config=config.Config(connect_timeout=2))


def module_file(module: Any) -> str:
    return getattr(module, "__file__", None) or ""


main()
