"""Which handler runs which type of task, under what terms, and what surrounds it."""

import copy
import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from lifoq.basics.numbers import check_count, check_rate, check_seconds
from lifoq.errors import InvalidInput
from lifoq.items.schema import MAX_TYPE_BYTES
from lifoq.items.terms import check_name
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.context import Context

Handler = Callable[[Any, Context], Any]
"""Takes the payload and the context; returns a JSON value, or Done with follow-up tasks: at once,
or, where it is async, when it is awaited."""
AnyHandler = TypeVar("AnyHandler", bound=Handler)
SetUp = Callable[[], object]
AnySetUp = TypeVar("AnySetUp", bound=SetUp)
Around = Callable[[Context], AbstractContextManager[object]]
AnyAround = TypeVar("AnyAround", bound=Around)


MOST_PER_KEY: Final = 100
"""A claim may have to read so many slots."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms under which the tasks of a type run. None leaves a term to the worker's
    settings."""

    max_attempts: int | None = None
    """The claims until FAILURE."""
    in_flight: int | None = None
    """Tasks of this type that one processor runs at a time; all together, with shared limits."""
    rate_limit: float | None = None
    """Tasks of this type that one processor starts per second; or all together."""
    per_key: int | None = None
    """Tasks of this type that have the same key, and are TAKEN at a time, over all processors."""
    adaptive_concurrency: bool = False
    """True if each worker finds by itself how many tasks of this type the downstream takes at a
    time, at the most ``in_flight``."""

    def check_terms(self, of: str = "") -> None:
        """Raise InvalidInput where a term is out of bounds. ``of``: said before each field's
        name."""
        for name in ("max_attempts", "in_flight", "per_key"):
            if getattr(self, name) is not None:
                check_count(f"{of}{name}", getattr(self, name))
        if self.per_key is not None and self.per_key > MOST_PER_KEY:
            problem = f"is more than {MOST_PER_KEY}; leave it out where so many may run at a time"
            raise InvalidInput(f"{of}per_key", self.per_key, problem)
        if self.rate_limit is not None:
            check_rate(f"{of}rate_limit", self.rate_limit)
        if not isinstance(self.adaptive_concurrency, bool):
            name = f"{of}adaptive_concurrency"
            raise InvalidInput(name, self.adaptive_concurrency, "must be True or False")


@dataclass(frozen=True, kw_only=True)
class TaskType(Terms):
    """A type of task, with its handler and its terms."""

    name: str
    """The name by which producers put tasks of this type."""
    handler: Handler
    """The function that runs a task, with whatever surrounds it."""
    backoff: Backoff | None = None
    """The wait before a retry; None leaves it to the worker's settings."""
    timeout: float | None = None
    """The time, in seconds, that one attempt may take; None leaves it to the worker's settings."""
    timed: bool = True
    """False if an attempt may last as long as the worker lets it, whatever the task says."""
    is_async: bool = False
    """True if the handler is a coroutine function."""

    def __post_init__(self) -> None:
        self.check_terms(f"{self.name}.")
        if self.timeout is not None:
            check_seconds(f"{self.name}.timeout", self.timeout)


def _is_async(function: Any) -> bool:
    call = getattr(function, "__call__", function)  # noqa: B004  (of an object that can be called)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def _check_handler(name: str, handler: Any) -> None:
    if not callable(handler):
        raise InvalidInput(name, handler, "must be a function of payload and context")
    call = getattr(handler, "__call__", handler)  # noqa: B004  (of an object that can be called)
    for function in (handler, call):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            problem = "is a generator, of which nothing would run; return instead of yield"
            raise InvalidInput(name, handler, problem)


def _awaiting(handler: Handler) -> Handler:
    @functools.wraps(handler)
    def wait(payload: Any, context: Context) -> Any:
        return context.wait(handler(payload, context))

    return wait


def _wait(coroutine: Any) -> None:
    from lifoq.worker.handlers.async_handlers import AsyncHandlers  # noqa: PLC0415 - not where nothing is async

    AsyncHandlers("setup").wait(coroutine)


class Registry:
    """The task types that a processor knows, and the functions around them.

    Examples:
        >>> from lifoq import Registry
        >>> registry = Registry()  # the usual one is REGISTRY
        >>> @registry.task("device.check")
        ... def check(payload, context): ...
        >>> [kind.name for kind in registry]
        ['device.check']
    """

    def __init__(self) -> None:
        """Make a registry without any task type."""
        self._types: dict[str, TaskType] = {}
        self._setup: SetUp | None = None
        self._is_set_up = False
        self._setting_up = threading.Lock()
        self._around: Around | None = None

    def task(
        self,
        name: str,
        *,
        max_attempts: int | None = None,
        backoff: Backoff | None = None,
        timeout: float | None = None,
        in_flight: int | None = None,
        rate_limit: float | None = None,
        per_key: int | None = None,
        adaptive_concurrency: bool = False,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Decorate the function that runs the tasks of a type: a function of payload and context,
        plain or async, that returns a JSON value or ``Done``.

        Args:
            name: The name of the task type, by which producers put its tasks.
            max_attempts: The claims until FAILURE. None: the queue's.
            backoff: The wait of a failed task before its next attempt. None: the queue's.
            timeout: The time, in seconds, that one attempt may take. Beyond it, the attempt counts
                as failed. None: the queue's ``task_timeout``.
            in_flight: The tasks of this type that run at a time, over all workers if limits are
                shared. None: as many as the worker runs in all.
            rate_limit: The tasks of this type that start per second, likewise. None: no limit.
            per_key: The tasks of this type with the same ``key`` that are TAKEN at a time, over all
                workers; 100 at the most. None: no limit.
            adaptive_concurrency: True if each worker finds by itself how many tasks of this type
                the downstream takes at a time, at the most ``in_flight``.

        Raises:
            InvalidInput: A term is out of bounds, the type has a handler already, or the handler is
                a generator.

        Examples:
            >>> from lifoq import Backoff, task
            >>> @task("device.check", max_attempts=3, timeout=10, backoff=Backoff(max_seconds=60))
            ... def check(payload, context):
            ...     return {"device": payload["device"], "attempt": context.attempt}
            >>> put = queue.put("device.check", {"device": "d-17"}, task_id="d-17")
            >>> Processor(queue.store, REGISTRY, WorkerSettings(linger=0)).run().succeeded
            1
            >>> queue.wait("d-17", timeout=1)
            {'device': 'd-17', 'attempt': 1}
        """

        check_name("task type", name, MAX_TYPE_BYTES)

        def register(handler: AnyHandler) -> AnyHandler:
            _check_handler(name, handler)
            if name in self._types:
                raise InvalidInput("task type", name, "has a handler already; use another name")
            self._types[name] = TaskType(
                name=name,
                handler=self._surrounded(_awaiting(handler) if _is_async(handler) else handler),
                max_attempts=max_attempts,
                backoff=backoff,
                timeout=timeout,
                in_flight=in_flight,
                rate_limit=rate_limit,
                per_key=per_key,
                adaptive_concurrency=adaptive_concurrency,
                is_async=_is_async(handler),
            )
            return handler

        return register

    def setup(self, function: AnySetUp) -> AnySetUp:
        """Decorate the function that prepares a process for its tasks: connections, secrets. It
        runs once, before the first task is claimed; while it raises, no task is. If it is async, it
        runs on the event loop of the async handlers.

        Args:
            function: A function without parameters, plain or async.

        Raises:
            InvalidInput: There is a set-up already.

        Examples:
            >>> from lifoq import setup
            >>> @setup
            ... def connect():
            ...     global connection
            ...     connection = sqlite3.connect(":memory:")
        """
        if self._setup is not None:
            raise InvalidInput("setup", function, "there is one already; call it from there")
        self._setup = function
        return function

    def around_attempts(self, manager: AnyAround) -> AnyAround:
        """Decorate the function that gives a context manager for an attempt: a session, a span of a
        trace. It is called with the attempt's context, in the attempt's thread.

        The exception that the handler raises goes through it. The attempt ends with the exception
        that comes out, or with the handler's own if the manager keeps that back.

        Args:
            manager: A function of the context that returns a context manager.

        Raises:
            InvalidInput: There is one already.

        Examples:
            >>> import contextlib
            >>> from lifoq import around_attempts
            >>> @around_attempts
            ... @contextlib.contextmanager
            ... def logged(context):
            ...     print("begins", context.task_id)
            ...     yield
        """
        if self._around is not None:
            raise InvalidInput("around_attempts", manager, "there is one already; enter it there")
        self._around = manager
        return manager

    def set_up(self) -> None:
        """Run the set-up, unless it has succeeded before; raises what it raises."""
        with self._setting_up:
            if self._setup is not None and not self._is_set_up:
                if _is_async(self._setup):
                    _wait(self._setup())
                else:
                    self._setup()
            self._is_set_up = True

    def _surrounded(self, handler: Handler) -> Handler:
        @functools.wraps(handler)
        def attempt(payload: Any, context: Context) -> Any:
            if self._around is None:
                return handler(payload, context)
            with self._around(context):
                try:
                    return handler(payload, context)
                except BaseException as error:
                    raised = error
                    raise
            raise raised

        return attempt

    def clear(self) -> None:
        """Forget every task type and function, so that task code can be imported anew."""
        vars(self).update(vars(Registry()))

    def without_timeouts(self) -> "Registry":
        """Return these task types with attempts that may last as long as somebody debugs them."""
        found = copy.copy(self)
        vars(found).update(_types={kind.name: replace(kind, timed=False) for kind in self})
        return found

    def get(self, name: str) -> TaskType | None:
        """Return a task type by its name; None if there is none.

        Args:
            name: The name of the task type.
        """
        return self._types.get(name)

    def __iter__(self) -> Iterator[TaskType]:
        """Yield the task types."""
        return iter(self._types.values())


REGISTRY = Registry()
"""The registry that ``@task``, ``@setup`` and ``@around_attempts`` fill."""

task = REGISTRY.task
setup = REGISTRY.setup
around_attempts = REGISTRY.around_attempts
