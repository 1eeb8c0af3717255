"""The task, and its arrivals, as all contenders in Python have them. It runs where only they are
installed: nothing but the standard library."""

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable


def setting(name: str) -> str:
    return os.environ[f"BESIDE_{name}"]


def check(number: int, put: float) -> None:
    """Ask the slow downstream, and note when; ``put`` is the time of the put, epoch seconds."""
    started = time.time()
    asked = urllib.request.Request(setting("URL"), data=b"{}")  # noqa: S310 - on loopback
    with urllib.request.urlopen(asked) as answer:  # noqa: S310 - on loopback
        answer.read()
    line = {"number": number, "put": put, "started": started, "ended": time.time()}
    log = os.open(setting("LOG"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, json.dumps(line).encode() + b"\n")
    os.close(log)


def put_all(put: Callable[[int, float], object]) -> None:
    """Put tasks at a constant rate."""
    rate, began = float(setting("RATE")), time.time()
    for number in range(round(rate * float(setting("SECONDS")))):
        time.sleep(max(0.0, began + number / rate - time.time()))
        put(number, time.time())


def main(put: Callable[[int, float], object], counts: Callable[[], dict[str, int]]) -> None:
    """Run a contender's client: ``put`` or ``count``, as the command line asks."""
    if sys.argv[1] == "put":
        put_all(put)
    else:
        print(json.dumps(counts()))
