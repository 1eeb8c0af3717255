"""The log groups that functions write to, as CloudWatch Logs shows them."""

import threading
from typing import Final

from moto.logs.models import logs_backends

from lifoq_localcloud.basics.account import ACCOUNT, REGION

MOST: Final = 20_000
"""Events that a group keeps: the latest. The files of the logs folder keep all."""
STREAM: Final = "local"
_LOCK: Final = threading.Lock()


def append(name: str, output: bytes, *, at: float) -> None:
    """Add what a function wrote at ``at`` (epoch seconds), an event for each line. A group that was
    not deployed gets nothing."""
    group = logs_backends[ACCOUNT][REGION].groups.get(name)
    if group is None:
        return
    events = [
        {"timestamp": int(at * 1000), "message": line}
        for line in output.decode(errors="replace").splitlines()
        if line.strip()
    ]
    with _LOCK:
        if STREAM not in group.streams:
            group.create_log_stream(STREAM)
        group.put_log_events(STREAM, events)
        kept = group.streams[STREAM].events
        if len(kept) > 2 * MOST:
            del kept[:-MOST]
