"""The code of the functions that the tests deploy. It runs inside the local cloud, not here."""

import os
import subprocess
import sys
import time


def handle(event, context):
    """Does what the event asks for."""
    match event.get("action"):
        case "raise":
            raise ValueError(event.get("message", "as you wish"))
        case "sleep":
            print("asleep", flush=True)  # noqa: T201 - for its log
            time.sleep(event["seconds"])
        case "exit":
            print(f"child {_child()}", flush=True)  # noqa: T201 - for its log
            os._exit(3)
        case "child":
            return {"child": _child()}
        case "import":
            return _importable(event["modules"])
    return {
        "event": event,
        "pid": os.getpid(),
        "environment": dict(os.environ),
        "remaining": context.get_remaining_time_in_millis(),
        "arn": context.invoked_function_arn,
        "custom": context.client_context and context.client_context.custom,
    }


def _child():
    """One that has the function's output open, in a session of its own."""
    return subprocess.Popen(["sleep", "600"], start_new_session=True).pid


def _importable(modules):
    found = {}
    for name in modules:
        try:
            __import__(name)
        except ImportError:
            found[name] = False
        else:
            found[name] = True
    return {"found": found, "path": sys.path}
