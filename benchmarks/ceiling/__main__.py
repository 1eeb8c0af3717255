"""``python -m benchmarks.ceiling``: index writes, counted status by status."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import click

from benchmarks.ceiling.results import Course, Results
from benchmarks.cost.transitions import SMALL, counted
from benchmarks.record import recording
from benchmarks.units import Place
from lifoq.items.schema import STATUS_CREATED_INDEX, Status

PARTITION_WRITES: Final = 1_000
"""Write units that a partition takes in a second
(https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html)."""
RETRIED: Final = ("put", "claim", "retry later", "fall due", "claim", "success")
COURSES: Final[Mapping[str, tuple[str, ...]]] = {
    "succeeds at the first attempt": ("put", "claim", "heartbeat", "success"),
    "fails once, backs off, succeeds": RETRIED,
    "loses its worker once": ("put", "claim", "lease over", "claim", "success"),
    "fails for good": ("put", "claim", "failure"),
    "is redriven after that": ("put", "claim", "failure", "redrive", "claim", "success"),
    "is cancelled": ("put", "cancel"),
    "is shed": ("put",),
}
"""TTL's own deletions cost no write units."""


@click.command()
def main() -> None:
    """Take a task on each way through a queue, and count the writes of its indexes."""
    with recording("ceiling", "python -m benchmarks.ceiling") as found:
        found.results = Results(courses=[course(way) for way in COURSES])


def course(way: str) -> Course:
    writes: Counter[Place] = Counter()
    for transition in COURSES[way]:
        writes += counted(transition, SMALL).index_writes
    most = max(writes.values())
    in_one = sum(units for (index, _), units in writes.items() if index == STATUS_CREATED_INDEX)

    def of(status: Status) -> int:
        return sum(units for (_, one), units in writes.items() if one == status)

    return Course(
        way=way,
        pending=of(Status.PENDING),
        taken=of(Status.TAKEN),
        delayed=of(Status.DELAYED),
        tasks_per_second=PARTITION_WRITES / most,
        in_one_partition=PARTITION_WRITES / max(in_one, most),
    )


if __name__ == "__main__":
    main()
