"""The registry of task types: which handler runs which type, under what terms, and what surrounds
it."""

import copy
import functools
import inspect
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lifoq.basics.numbers import check_count, check_rate, check_seconds
from lifoq.errors import InvalidInput
from lifoq.items.key_limit import KeyLimit
from lifoq.items.put_terms import check_name
from lifoq.items.schema import MAX_TYPE_BYTES
from lifoq.store.candidate import Candidate
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.handlers.context import Context

if TYPE_CHECKING:
    from lifoq.worker.handlers.rate import Rate, RateLimit  # not where no type has one

Handler = Callable[[Any, Context], Any]
"""Takes the payload and the context; returns a JSON value, or Done with follow-up tasks: at once,
or, where it is async, when it is awaited."""
BatchHandler = Callable[[list[Any], list[Context]], Any]
"""Takes the payloads and the contexts of several tasks; returns a list with what a handler of each
would return, or the exception that it would raise."""
AnyHandler = TypeVar("AnyHandler", bound=Handler | BatchHandler)
SetUp = Callable[[], object]
AnySetUp = TypeVar("AnySetUp", bound=SetUp)
Around = Callable[[Context], AbstractContextManager[object]]
AnyAround = TypeVar("AnyAround", bound=Around)


MOST_PER_KEY: Final = 100
"""A claim may have to read so many slots."""
LONGEST_INTERVAL: Final = 86_400
"""Seconds between two starts of a key: its slot is kept for so long after the last one."""
MOST_PER_BATCH: Final = 100
"""Tasks of one call: each is claimed and settled in a thread of its own."""
LONGEST_BATCH_WAIT: Final = 60.0
"""Seconds: a task that waits for others grows old."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms under which the tasks of a type run. None leaves a term to the worker's
    settings."""

    max_attempts: int | None = None
    """The claims until FAILURE."""
    in_flight: int | None = None
    """Tasks of this type that one processor runs at a time; with shared limits, that all processors
    run together."""
    rate_limit: float | None = None
    """Tasks of this type that one processor starts per second; with shared limits, that all
    processors start together."""
    per_key: int | None = None
    """Tasks of this type that have the same key, and are TAKEN at a time, over all processors."""
    rate_per_key: float | None = None
    """Tasks of this type that have the same key, and start per second, over all processors."""
    cooldown: float | None = None
    """Seconds for which a processor starts no task of this type after one has failed there."""
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
        self.check_rate_limit(f"{of}rate_limit")
        if self.rate_per_key is not None:
            check_rate(f"{of}rate_per_key", self.rate_per_key)
        self._check_rate_per_key(of)
        if self.cooldown is not None:
            check_seconds(f"{of}cooldown", self.cooldown)
        if not isinstance(self.adaptive_concurrency, bool):
            name = f"{of}adaptive_concurrency"
            raise InvalidInput(name, self.adaptive_concurrency, "must be True or False")

    def check_rate_limit(self, name: str) -> None:
        """Raise InvalidInput, by the ``name`` of the field, where the rate is out of bounds."""
        if self.rate_limit is not None:
            check_rate(name, self.rate_limit)

    def _check_rate_per_key(self, of: str) -> None:
        if self.rate_per_key is None:
            return
        if self.rate_per_key * LONGEST_INTERVAL < 1:
            problem = "is less than once a day; put the task again with a delay instead"
            raise InvalidInput(f"{of}rate_per_key", self.rate_per_key, problem)
        if self.per_key is not None and self.per_key > 1:
            problem = (
                "cannot be beside rate_per_key, for which a key has one slot: make it 1, or leave "
                "it out, since the rate and the timeout bound how many run at a time"
            )
            raise InvalidInput(f"{of}per_key", self.per_key, problem)


@dataclass(frozen=True, kw_only=True)
class TaskType(Terms):
    """A type of task, with its handler and its terms."""

    name: str
    """The name by which producers put tasks of this type."""
    handler: Callable[[Any, Any], Any]
    """The function that runs a task, with whatever surrounds it: a Handler; with ``batch``, a
    BatchHandler."""
    rate_limit: "RateLimit | None" = None  # type: ignore[assignment]  # of targets, a number
    """The rates at which tasks of this type start: on one processor; with shared limits, on all
    together."""
    backoff: Backoff | None = None
    """The wait before a retry; None leaves it to the worker's settings."""
    timeout: float | None = None
    """The time, in seconds, that one attempt may take; None leaves it to the worker's settings."""
    timed: bool = True
    """False if an attempt may last as long as the worker lets it, whatever the task says."""
    is_async: bool = False
    """True if the handler is a coroutine function."""
    batch: int | None = None
    """Tasks that one call of the handler takes at the most; None if it takes one, without a
    list."""
    batch_wait: float = 0.0
    """Seconds for which a task waits, from its put on, until its batch is full."""
    hours: str | None = None
    """The window of the day in which tasks of this type start; None: always."""
    weight: str | None = None
    """The name of the unit in which its tasks are weighed; None if they are not."""
    units_in_flight: int | None = None
    """Units that tasks of this type weigh together that run at a time: on one processor; with
    shared limits, on all together."""

    def __post_init__(self) -> None:
        self.check_terms(f"{self.name}.")
        if self.timeout is not None:
            check_seconds(f"{self.name}.timeout", self.timeout)
        self._check_batch()
        self._check_weight()

    def check_rate_limit(self, name: str) -> None:
        """Raise InvalidInput, by the ``name`` of the field, where a rate is out of bounds."""
        if self.rate_limit is not None:
            from lifoq.worker.handlers.rate import rates_of  # noqa: PLC0415 - as below

            rates_of(name, self.rate_limit)

    @functools.cached_property
    def rates(self) -> "tuple[Rate, ...]":
        """The rates at which its tasks start; none where no rate limits them."""
        if self.rate_limit is None:
            return ()
        from lifoq.worker.handlers.rate import rates_of  # noqa: PLC0415 - not where no type has one

        return rates_of("rate_limit", self.rate_limit)

    @functools.cached_property
    def most_units(self) -> float:
        """The heaviest task that can ever start, in units; inf where no limit counts them."""
        of_rates = (rate.number for rate in self.rates if rate.of is not None)
        return min([math.inf if self.units_in_flight is None else self.units_in_flight, *of_rates])

    def is_too_heavy(self, row: Candidate) -> bool:
        """Return True if the task could never start: a limit is smaller than the task."""
        return self.weight is not None and row.weight > self.most_units

    def weight_of(self, row: Candidate) -> int:
        """Return the units that a task takes. One that is too heavy takes none: it fails."""
        return 0 if self.is_too_heavy(row) else row.weight

    @functools.cached_property
    def key_limit(self) -> KeyLimit | None:
        """The limits of each key; None if it has none."""
        if self.per_key is None and self.rate_per_key is None:
            return None
        return KeyLimit(per_key=self.per_key, rate=self.rate_per_key)

    def _check_weight(self) -> None:
        units = {rate.of for rate in self.rates if rate.of is not None}
        if self.weight is not None:
            check_name(f"{self.name}.weight", self.weight, MAX_TYPE_BYTES)
            if self.units_in_flight is None and not units:
                problem = (
                    "is counted by no limit: give units_in_flight, or rate_limit=Rate(…, "
                    f"of={self.weight!r})"
                )
                raise InvalidInput(f"{self.name}.weight", self.weight, problem)
        if self.units_in_flight is not None:
            check_count(f"{self.name}.units_in_flight", self.units_in_flight)
            units.add(self.weight or "tokens")
        for unit in units - {self.weight}:
            problem = f"is not the unit of a limit that counts {unit}: give weight={unit!r}"
            raise InvalidInput(f"{self.name}.weight", self.weight, problem)

    def _check_batch(self) -> None:
        field, wait_field = f"{self.name}.batch", f"{self.name}.batch_wait"
        check_seconds(wait_field, self.batch_wait, zero=True)
        if self.batch_wait > LONGEST_BATCH_WAIT:
            problem = f"is longer than {LONGEST_BATCH_WAIT:g} s; give the put a delay instead"
            raise InvalidInput(wait_field, self.batch_wait, problem)
        if self.batch is not None:
            check_count(field, self.batch)
            if self.batch > MOST_PER_BATCH:
                problem = f"is more than {MOST_PER_BATCH} tasks; make smaller batches"
                raise InvalidInput(field, self.batch, problem)
        elif self.batch_wait:
            problem = "is the time in which a batch fills: give batch, too, or leave it out"
            raise InvalidInput(wait_field, self.batch_wait, problem)


def batch_size(kind: TaskType, row: Candidate) -> int:
    """Return the number of tasks that one call takes with this one, at the most. A task that may
    kill its process, or has failed in a batch, has a call of its own."""
    return 1 if row.suspected_poison or row.alone else kind.batch or 1


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


def _awaiting(handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(handler)
    def wait(payload: Any, context: Any) -> Any:
        return _contexts(context)[0].wait(handler(payload, context))

    return wait


def _contexts(given: Context | list[Context]) -> list[Context]:
    """Return the contexts that a handler is given, as a list: of a batch, or of one task."""
    return given if isinstance(given, list) else [given]


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
        rate_limit: "RateLimit | None" = None,
        per_key: int | None = None,
        rate_per_key: float | None = None,
        cooldown: float | None = None,
        adaptive_concurrency: bool = False,
        batch: int | None = None,
        batch_wait: float = 0.0,
        hours: str | None = None,
        weight: str | None = None,
        units_in_flight: int | None = None,
    ) -> Callable[[AnyHandler], AnyHandler]:
        """Decorate the function that runs the tasks of a type: a function of payload and context,
        plain or async, that returns a JSON value or ``Done``; with ``batch``, of lists of them.

        Args:
            name: The name of the task type, by which producers put its tasks.
            max_attempts: The claims until FAILURE. None: the queue's.
            backoff: The wait of a failed task before its next attempt. None: the queue's.
            timeout: The time, in seconds, that one attempt may take. Beyond it, the attempt counts
                as failed. None: the queue's ``task_timeout``.
            in_flight: The tasks of this type that run at a time, over all workers if limits are
                shared. None: as many as the worker runs in all.
            rate_limit: The tasks of this type that start per second, likewise; or a ``Rate``; or
                several rates beside each other, as a tuple. None: no limit.
            per_key: The tasks of this type with the same ``key`` that are TAKEN at a time, over all
                workers; 100 at the most. None: no limit.
            rate_per_key: The tasks of this type with the same ``key`` that start per second, over
                all workers, one at a time: with 0.5, each start is at least two seconds after the
                one before. Once a day at the least. None: no limit.
            cooldown: The time, in seconds, for which a worker starts no task of this type after one
                has failed there: for a downstream that should not be asked again at once. None: the
                next one starts at once.
            adaptive_concurrency: True if each worker finds by itself how many tasks of this type
                the downstream takes at a time, at the most ``in_flight``.
            batch: The tasks of this type that one call of the handler takes, 100 at the most. The
                handler then gets two lists, payloads and contexts, and ``in_flight``,
                ``rate_limit`` and adaptive concurrency count calls. None: one task, without lists.
            batch_wait: The time, in seconds, for which a task waits after its put until its batch
                is full, 60 at the most. 0: a call takes what waits.
            hours: The window of the day in which tasks of this type start, such as ``22:00-06:00``
                (of UTC) or ``08:00-18:00 Europe/Zurich``. A task waits for it, until its deadline.
                It is read when a worker begins. None: at any time.
            weight: The unit in which the tasks of this type are weighed, such as ``"tokens"``. A
                task weighs what its put says (``weight``), else 1. None: they are counted.
            units_in_flight: The units that tasks of this type weigh together that run at a time,
                over all workers if limits are shared. None: no limit.

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
                rate_per_key=rate_per_key,
                cooldown=cooldown,
                adaptive_concurrency=adaptive_concurrency,
                is_async=_is_async(handler),
                batch=batch,
                batch_wait=batch_wait,
                hours=hours,
                weight=weight,
                units_in_flight=units_in_flight,
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
        trace. It is called with the attempt's context, in the thread of the handler. For a batch it
        is called for each attempt, and the managers are nested.

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

    def _surrounded(self, handler: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        @functools.wraps(handler)
        def attempt(payload: Any, context: Any) -> Any:
            if self._around is None:
                return handler(payload, context)
            with ExitStack() as entered:
                for one in _contexts(context):
                    entered.enter_context(self._around(one))
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
