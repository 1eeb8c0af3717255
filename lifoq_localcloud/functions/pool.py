"""The instances of one function: reuse, scaling up to its concurrency, replacement."""

import threading
from collections.abc import Callable
from functools import partial

from lifoq_localcloud.functions.function import (
    CodeError,
    FunctionConfig,
    Outcome,
    Run,
    ThrottledError,
)
from lifoq_localcloud.functions.instance import Instance, Sandbox
from lifoq_project.requirements import RequirementsError

UNRESERVED_CONCURRENCY = 10
"""Instances of a function without reserved concurrency; further events wait for one. On Lambda they
would not: it scales to the account's 1,000."""


class Pool:
    """Instances up to the function's concurrency, each busy with at most one event."""

    def __init__(
        self, config: FunctionConfig, sandbox: Callable[[FunctionConfig], Sandbox]
    ) -> None:
        self._config = config
        self._sandbox = sandbox
        self._lock = threading.Condition()
        """Told of each slot that is freed."""
        self._idle: list[Instance] = []
        self._busy: list[Instance | None] = []
        self._starting: list[str] = []
        """The digests of what is being unpacked."""
        self._closed = False

    @property
    def config(self) -> FunctionConfig:
        return self._config

    def reserve(self) -> Run:
        """Take a slot, or raise ThrottledError where reserved concurrency is used up. The answer
        runs one event in it and frees it."""
        with self._lock:
            reserved = self._config.reserved_concurrency
            if self._closed or (reserved is not None and len(self._busy) >= reserved):
                raise ThrottledError(self._config.name)
            if reserved is None and len(self._busy) >= UNRESERVED_CONCURRENCY:
                return self._run_in_turn
            return self._taken()

    def invoke(self, event: bytes, client_context: str = "") -> Outcome:
        return self.reserve()(event, client_context)

    def processes(self) -> list[int]:
        with self._lock:
            instances = [*self._idle, *self._busy]
        return sorted(one.pid for one in instances if one is not None and one.alive)

    def digests(self) -> set[str]:
        """Digests of the code that runs, or may be started at any moment."""
        with self._lock:
            instances = [one for one in (*self._idle, *self._busy) if one is not None]
            running = {one.config.code_digest for one in instances}
            return {self._config.code_digest, *self._starting, *running}

    def kill_processes(self) -> list[int]:
        """Kill every instance, in the middle of whatever it does. The processes that there were."""
        with self._lock:
            instances = [one for one in (*self._idle, *self._busy) if one is not None]
        pids = [one.pid for one in instances if one.alive]
        for instance in instances:
            instance.kill()
        return pids

    def replace(self, config: FunctionConfig) -> None:
        """From now on new code and settings; what runs may finish first, as on AWS."""
        with self._lock:
            self._config = config
            retired, self._idle = self._idle, []
        for instance in retired:
            instance.kill()

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            instances = [*self._idle, *self._busy]
            self._idle = []
        for instance in instances:
            if instance is not None:
                instance.kill()

    def _taken(self) -> Run:
        """A slot. The lock is held."""
        instance = self._take_idle()
        self._busy.append(instance)
        return partial(self._run, instance)

    def _run_in_turn(self, event: bytes, client_context: str = "", /) -> Outcome:
        with self._lock:
            self._lock.wait_for(lambda: self._closed or len(self._busy) < UNRESERVED_CONCURRENCY)
            if self._closed:
                return Outcome.failure("ResourceNotFoundException", "The function was deleted.")
            run = self._taken()
        return run(event, client_context)

    def _take_idle(self) -> Instance | None:
        while self._idle:
            instance = self._idle.pop()
            if instance.alive:
                return instance
        return None

    def _run(self, warm: Instance | None, event: bytes, client_context: str = "", /) -> Outcome:
        instance = warm
        try:
            if instance is None:
                instance = self._start()
            return instance.invoke(event, client_context)
        except RequirementsError as error:
            return Outcome.failure("Runtime.InvalidRequirements", str(error))
        except CodeError as error:
            return Outcome.failure("Runtime.InvalidCode", str(error))
        finally:
            self._release(warm, instance)

    def _start(self) -> Instance:
        with self._lock:
            config = self._config
            self._starting.append(config.code_digest)
        try:
            instance = Instance(config, self._sandbox(config))
            with self._lock:
                self._busy[self._busy.index(None)] = instance
                closed = self._closed
        finally:
            with self._lock:
                self._starting.remove(config.code_digest)
        if closed:
            instance.kill()
        return instance

    def _release(self, warm: Instance | None, instance: Instance | None) -> None:
        with self._lock:
            self._busy.remove(instance if instance in self._busy else warm)
            self._lock.notify()
            if instance is None:
                return
            if instance.alive and instance.config == self._config and not self._closed:
                self._idle.append(instance)
                return
        instance.kill()
