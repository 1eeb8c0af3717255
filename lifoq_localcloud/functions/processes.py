"""The end of a process with all that it has started, wherever that has gone since.

Run by a function's own process, too, beside which nothing of this package can be imported.
"""

import contextlib
import os
import signal
import subprocess
import time

ROUNDS = 50
"""Rounds of the search for processes to end. One that starts during a round is found in the
next."""
_PROCESSES = "/proc"


def end(root: int, mark: bytes = b"") -> None:
    """Kill a process, its group, and all below it; and, on Linux, each process that has ``mark`` in
    its environment, which stays with it in a session of its own and when its parent is gone. The
    process itself may ask for it."""
    asked_by_itself = root == os.getpid()
    for number in range(ROUNDS):
        found = (_below(root) | _marked(mark)) - {os.getpid()}
        if number == 0 and not asked_by_itself:
            _kill_group(root)
        elif not found:
            break
        for process in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.001 * number)
    if asked_by_itself:
        _kill_group(root)


def _kill_group(root: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(root, signal.SIGKILL)


def _below(root: int) -> set[int]:
    """All that live and descend from the process."""
    children: dict[int, list[int]] = {}
    for process, parent in _parents():
        children.setdefault(parent, []).append(process)
    found, left = set[int](), [root]
    while left:
        for child in children.get(left.pop(), ()):
            if child not in found:
                found.add(child)
                left.append(child)
    return found


def _parents() -> list[tuple[int, int]]:
    """Each process that lives, and its parent."""
    if not os.path.isdir(f"{_PROCESSES}/self"):  # noqa: PTH112 - pathlib is slow to import
        listed = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,stat="], capture_output=True, check=True
        )
        rows = [line.split() for line in listed.stdout.splitlines()]
        return [(int(row[0]), int(row[1])) for row in rows if not row[2].startswith(b"Z")]
    found = []
    for name in os.listdir(_PROCESSES):  # noqa: PTH208 - pathlib is slow to import
        if name.isdecimal() and (told := _read(name, "stat")):
            state, parent = told.rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                found.append((int(name), int(parent)))
    return found


def _marked(mark: bytes) -> set[int]:
    if not mark or not os.path.isdir(_PROCESSES):  # noqa: PTH112 - pathlib is slow to import
        return set()
    names = [name for name in os.listdir(_PROCESSES) if name.isdecimal()]  # noqa: PTH208
    return {int(name) for name in names if mark in _read(name, "environ")}


def _read(process: str, what: str) -> bytes:
    """Empty where the process has gone, or is another user's."""
    try:
        with open(f"{_PROCESSES}/{process}/{what}", "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""
