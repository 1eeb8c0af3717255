"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Depth(Row):
    """Medians of a poll of the queue, and of the claim after it, from one of its ends."""

    order: Annotated[str, "order"]
    expired: Annotated[int, "expired"]
    """Tasks at the oldest end, out of the query's range."""
    waiting: Annotated[int, "waiting"]
    poll_ms: Annotated[float, "poll, ms"]
    claim_ms: Annotated[float, "claim, ms"]
    read_units: Annotated[float, "read units"]
    write_units: Annotated[float, "write units"]
    ratio: Annotated[float, "times as long"]
    """Poll and claim, beside those of the shallowest queue with the same order and expired."""


class Results(Row):
    depths: list[Depth]
