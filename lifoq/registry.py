"""Which handler runs which type of task, and under what terms."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from lifoq.backoff import Backoff
from lifoq.context import Context
from lifoq.errors import InvalidInput
from lifoq.numbers import check_count, check_rate, check_seconds

Handler = Callable[[Any, Context], Any]
"""Takes the payload and the context; returns a JSON value, or Done with follow-up tasks."""
AnyHandler = TypeVar("AnyHandler", bound=Handler)


@dataclass(frozen=True, kw_only=True)
class TaskType:
    """None leaves a term to the worker's settings."""

    name: str
    handler: Handler
    max_attempts: int | None = None
    backoff: Backoff | None = None
    timeout: float | None = None
    """Seconds that one attempt may take."""
    in_flight: int | None = None
    """Tasks of this type that one processor runs at a time."""
    rate_limit: float | None = None
    """Tasks of this type that one processor starts per second."""

    def __post_init__(self) -> None:
        for name in ("max_attempts", "in_flight"):
            if getattr(self, name) is not None:
                check_count(f"{self.name}.{name}", getattr(self, name))
        if self.timeout is not None:
            check_seconds(f"{self.name}.timeout", self.timeout)
        if self.rate_limit is not None:
            check_rate(f"{self.name}.rate_limit", self.rate_limit)


class Registry:
    """The task types that a processor knows."""

    def __init__(self) -> None:
        self._types: dict[str, TaskType] = {}

    def task(
        self,
        name: str,
        *,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        timeout: float | None = None,
        in_flight: int | None = None,
        rate_limit: float | None = None,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Decorate the function that runs tasks of type ``name``; see TaskType for the terms."""

        def register(handler: AnyHandler) -> AnyHandler:
            if name in self._types:
                raise InvalidInput("task type", name, "has a handler already; use another name")
            self._types[name] = TaskType(
                name=name,
                handler=handler,
                max_attempts=max_attempts,
                backoff=backoff,
                timeout=timeout,
                in_flight=in_flight,
                rate_limit=rate_limit,
            )
            return handler

        return register

    def get(self, name: str) -> TaskType | None:
        return self._types.get(name)

    def __iter__(self) -> Iterator[TaskType]:
        return iter(self._types.values())


REGISTRY = Registry()
"""The one that ``@task`` fills."""

task = REGISTRY.task
