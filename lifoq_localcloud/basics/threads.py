"""The guard of every thread: what it does not expect is told, and it goes on."""

import logging
import sys
import threading
from collections.abc import Callable
from typing import Any

AFTER_FAULT_SECONDS = 1.0

_LOG = logging.getLogger(__name__)

Work = Callable[[], object]


def start(name: str, work: Work, until: threading.Event | None = None) -> None:
    """Run it on a thread that does not outlive the program. ``until`` is what ends a loop: where
    the loop fails, it begins again, until this is set."""

    def run() -> None:
        while not attempt(name, work, until) and until is not None and not until.is_set():
            pass

    threading.Thread(target=run, daemon=True, name=name).start()


def attempt(name: str, work: Work, until: threading.Event | None = None) -> bool:
    """Do the work, and return True if it came to its end. A failure is logged, and the caller goes
    on. Once ``until`` is set, nothing is logged: work that is being ended may fail because its
    things are gone."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is told, and ends no thread
        if until is None or not until.wait(AFTER_FAULT_SECONDS):
            _LOG.error("%s failed: %s: %s", name, type(error).__name__, error, exc_info=error)
        return False
    return True


class Quiet:
    """A server of :mod:`socketserver` prints a traceback for each client that goes away before it
    is answered, such as a function that is replaced. This one tells what it does not expect."""

    def handle_error(self, _request: Any, _client_address: Any) -> None:
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            _LOG.error("a request failed: %s", error, exc_info=error)
