"""What the benchmark finds."""

from typing import Annotated

from benchmarks.record import Row


class Start(Row):
    """How a function's process starts: medians, in milliseconds."""

    function: Annotated[str, "function"]
    start_ms: Annotated[float, "ready after, ms"]
    boto3_ms: Annotated[float, "boto3, ms"]
    """It and a client for each service that the function speaks to."""
    own_ms: Annotated[float, "own, ms"]
    """What comes on top of it."""
    source_kb: float


class Results(Row):
    zipped_mb: float
    """The package."""
    starts: list[Start]
