"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Start(Row):
    """The start of a function's process: medians, in milliseconds."""

    function: Annotated[str, "function"]
    start_ms: Annotated[float, "ready after, ms"]
    boto3_ms: Annotated[float, "boto3 alone, ms"]
    """The import of boto3 and of a client for each service that the function speaks to; only
    ``task_events`` imports it."""
    source_kb: float


class Results(Row):
    zipped_mb: float
    """The package."""
    starts: list[Start]
