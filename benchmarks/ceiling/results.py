"""The results of the benchmark."""

from typing import Annotated

from benchmarks.record import Row


class Course(Row):
    """One course that a task can take: its index writes by status, and the tasks a second at which
    the status that is written most fills a whole partition."""

    way: Annotated[str, "a task that"]
    pending: Annotated[int, "PENDING"]
    taken: Annotated[int, "TAKEN"]
    delayed: Annotated[int, "DELAYED"]
    tasks_per_second: Annotated[float, "tasks/s"]
    in_one_partition: Annotated[float, "in one partition"]
    """The ceiling where all statuses of an index share one partition, as in a young table."""


class Results(Row):
    courses: list[Course]
