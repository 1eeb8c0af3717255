"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Transition(Row):
    """Write units, by the size of the payload in bytes of JSON."""

    transition: str
    small: float
    """100 bytes."""
    large: float
    """16 KB."""


class Units(Row):
    """The units that a task of a load takes, counted in virtual time. Payloads have 100 bytes
    unless the row says otherwise."""

    load: str
    write_units: float
    read_units: float
    stored_bytes: float


class Runs(Row):
    """One load's run on the local cloud."""

    load: Annotated[str, "load"]
    tasks: Annotated[int, "tasks"]
    trigger_runs: int
    processor_runs: int
    runs_per_task: Annotated[float, "runs a task"]
    gigabyte_seconds_per_task: Annotated[float, "GB-seconds a task"]
    kicks_per_task: float
    spare_kicks_per_task: float
    log_bytes_per_task: float


class Line(Row):
    """A line of a bill."""

    load: str
    """The load whose million tasks are billed; or a month without any."""
    what: str
    quantity: float
    unit: str
    usd: float


class Results(Row):
    transitions: list[Transition]
    units: list[Units]
    runs: list[Runs]
    per_million: list[Line]
    month: list[Line]
    sqs_in_batches: float
    sqs_one_at_a_time: float
    """Dollars per million tasks."""
