"""What the benchmark finds."""

from typing import Annotated

from benchmarks.record import Row


class Start(Row):
    """Of a function's process: medians, in milliseconds."""

    function: Annotated[str, "function"]
    start_ms: Annotated[float, "ready after, ms"]
    least_ms: Annotated[float, "least"]
    most_ms: Annotated[float, "most"]
    boto3_ms: Annotated[float, "boto3, ms"]
    """It and a client for each service that the function speaks to."""
    own_ms: Annotated[float, "own, ms"]
    """What comes on top of it."""
    source_kb: Annotated[float, "source read, KB"]


class Memory(Row):
    function: Annotated[str, "function"]
    after_start_mb: Annotated[float, "after the start, MB"]
    peak_mb: Annotated[float, "most at work, MB"]
    configured_mb: Annotated[int, "configured, MB"]


class Results(Row):
    zipped_mb: float
    """The package."""
    starts: list[Start]
    memory: list[Memory]
