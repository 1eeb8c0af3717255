"""A function's process, as far as it starts by itself: ``probe.py TASK RUNTIME WHAT [SERVICE …]``.

Runs in an interpreter that sees the asset (TASK) and what Lambda brings (RUNTIME), and nothing of
this repository. WHAT is a function's package, or ``boto3``: then the process only makes clients for
the services named, which any function on the same services has to.

Then it handles the events on standard input, one in a line. The last line that it prints is a JSON
document of what it measured.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_, task, runtime, what, *services = sys.argv


def main() -> None:
    # Clients alone do not see the asset: it has a jmespath of its own, in front of the runtime's.
    sys.path[:0] = [runtime] if what == "boto3" else [task, runtime]
    began, processor = time.perf_counter(), time.process_time()
    handler = start_clients() if what == "boto3" else start_function()
    wall, processor = time.perf_counter() - began, time.process_time() - processor
    own = [one for one in map(module_file, sys.modules.values()) if one.startswith(task + os.sep)]
    found = {
        "wall_ms": 1000 * wall,
        "processor_ms": 1000 * processor,
        "modules": len(sys.modules),
        "asset_files": sorted(os.path.relpath(one, task) for one in own),
        "asset_source_bytes": sum(Path(one).stat().st_size for one in own),
        "resident_bytes": memory("VmRSS"),
        "events": handle_all(handler),
        "peak_bytes": memory("VmHWM"),
    }
    print(json.dumps(found))


def start_clients() -> Callable[[Any, Any], Any]:
    boto3, config = importlib.import_module("boto3"), importlib.import_module("botocore.config")
    clients = [boto3.client(one, config=config.Config(connect_timeout=2)) for one in services]
    return lambda _event, _context: clients


def start_function() -> Callable[[Any, Any], Any]:
    handle: Callable[[Any, Any], Any] = importlib.import_module(f"functions.{what}.handler").handle
    return handle


def handle_all(handler: Callable[[Any, Any], Any]) -> int:
    """How many events there were."""
    context = SimpleNamespace(
        function_name="probe",
        function_version="$LATEST",
        memory_limit_in_mb="512",
        invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:probe",
        aws_request_id="probe",
        get_remaining_time_in_millis=lambda: 60_000,
    )
    count = 0
    for line in sys.stdin:
        handler(json.loads(line), context)
        count += 1
    return count


def module_file(module: Any) -> str:
    return getattr(module, "__file__", None) or ""


def memory(field: str) -> int:
    """Bytes, of ``/proc``: ``getrusage`` tells the largest of this process and of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = [one for one in lines if one.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024


main()
