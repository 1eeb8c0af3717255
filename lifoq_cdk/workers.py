"""Settings of long workers, without the CDK, which takes long to import."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lifoq.basics.numbers import check_count
from lifoq.errors import InvalidInput

if TYPE_CHECKING:
    import aws_cdk as cdk

MOST_STEPS: Final = 20
"""Steps of one policy
(https://docs.aws.amazon.com/autoscaling/application/userguide/application-auto-scaling-limits.html)."""


@dataclass(frozen=True, kw_only=True)
class WorkerScaling:
    """The rule by which workers are added: one for so many open tasks, waiting or at work.

    Examples:
        >>> scaling = WorkerScaling(max_workers=4, in_flight=2)
        >>> image = ecs.ContainerImage.from_registry("public.ecr.aws/shop/videos")
        >>> videos = LongTasks(
        ...     stack, "Videos", queue=queue, types=["video"], image=image, scaling=scaling
        ... )
    """

    min_workers: int = 0
    """The number of workers that run while there is nothing to do."""
    max_workers: int = 10
    """The most workers."""
    in_flight: int = 1
    """Tasks that one worker does at a time."""
    backlog_per_worker: int | None = None
    """Open tasks for which there is one worker; by default as many as it does at a time, so that
    each task is begun at once."""
    longest_wait: "cdk.Duration | None" = None
    """The wait of a task from which on there is a slot for each open task; by default a quarter of
    the queue's deadline."""

    def __post_init__(self) -> None:
        if self.min_workers != 0:
            check_count("min_workers", self.min_workers)
        for name in ("max_workers", "in_flight"):
            check_count(name, getattr(self, name))
        if self.max_workers < self.min_workers:
            problem = f"is less than min_workers, {self.min_workers}: raise it"
            raise InvalidInput("max_workers", self.max_workers, problem)
        if self.backlog_per_worker is not None and self.backlog_per_worker < self.in_flight:
            problem = f"is less than a worker does at a time, {self.in_flight}: raise it"
            raise InvalidInput("backlog_per_worker", self.backlog_per_worker, problem)

    def steps(self) -> Iterator[tuple[int, int]]:
        """Yield the steps of scaling: from how many wanted workers on there are how many. Each
        number is a step by itself, or, where a policy has no room for so many steps, the next
        higher one that it has."""
        sizes = {self.max_workers * step // MOST_STEPS or 1 for step in range(1, MOST_STEPS + 1)}
        before = 0
        for size in sorted(sizes):
            yield before + 1, size
            before = size
