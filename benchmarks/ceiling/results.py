"""What the benchmark finds."""

from typing import Annotated

from benchmarks.record import Row


class Course(Row):
    """What can become of a task: index writes by status, and the tasks a second at which the status
    that is written most has a whole partition's."""

    way: Annotated[str, "a task that"]
    pending: Annotated[int, "PENDING"]
    taken: Annotated[int, "TAKEN"]
    delayed: Annotated[int, "DELAYED"]
    tasks_per_second: Annotated[float, "tasks/s"]
    in_one_partition: Annotated[float, "in one partition"]
    """Where all statuses of an index share it, as in a young table."""


class Results(Row):
    courses: list[Course]
