"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Run(Row):
    tasks: Annotated[int, "tasks"]
    way: Annotated[str, "way"]
    processing_seconds: Annotated[float, "processing, s"]
    """The seconds without the start of process and session."""
    wall_seconds: Annotated[float, "all, s"]
    cpu_seconds: Annotated[float, "CPU, s"]
    """Processor seconds of the process and its children."""
    peak_mb: Annotated[int, "most memory, MB"]
    load_before: float


class Results(Row):
    runs: list[Run]
