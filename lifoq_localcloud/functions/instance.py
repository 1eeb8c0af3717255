"""One instance of a function: an operating-system process that handles one event at a time."""

import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from lifoq_localcloud.basics import threads
from lifoq_localcloud.functions import processes
from lifoq_localcloud.functions.function import FunctionConfig, Outcome
from lifoq_localcloud.functions.runtime_api import RuntimeApi, Task

INIT_SECONDS = 60.0
"""Seconds for imports before the first event; Lambda allows 10 s on a machine of its own."""

LAST_WORDS_SECONDS = 2.0
"""Seconds for which the last output of an ended process is awaited. A process that escaped with its
output may go on for longer."""

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")


@dataclass(frozen=True, kw_only=True)
class Sandbox:
    """The place where an instance lives: what it may import, its environment, and who reads its
    output."""

    asset: Path
    imports: tuple[Path, ...]
    environment: dict[str, str]
    log: Callable[[bytes], None]


@dataclass(kw_only=True)
class _Invocation:
    request_id: str
    event: bytes
    client_context: str
    started: threading.Event = field(default_factory=threading.Event)
    outcome: Future[Outcome] = field(default_factory=Future)

    def end(self, outcome: Outcome) -> bool:
        """Settle the invocation, and return True unless it was settled before: the first outcome
        counts."""
        try:
            self.outcome.set_result(outcome)
        except InvalidStateError:
            return False
        self.started.set()
        return True


class Instance:
    """Starts its process at once; :meth:`invoke` may follow any number of times."""

    def __init__(self, config: FunctionConfig, sandbox: Sandbox) -> None:
        self.config = config
        self._log = sandbox.log
        self._inbox: queue.SimpleQueue[_Invocation | None] = queue.SimpleQueue()
        self._current: _Invocation | None = None
        self._init_error: bytes | None = None
        self._api = RuntimeApi(self)
        self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
            [
                sys.executable,
                "-I",
                "-S",
                str(_BOOTSTRAP),
                config.name,
                config.handler,
                str(sandbox.asset),
                *map(str, sandbox.imports),
            ],
            env={**sandbox.environment, "AWS_LAMBDA_RUNTIME_API": self._api.address},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._killed = False
        self._output_read, self._all_ended = threading.Event(), threading.Event()
        threads.start(f"the output of {config.name}", self._read_output)
        threads.start(f"an instance of {config.name}", self._await_end)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def invoke(self, event: bytes, client_context: str = "") -> Outcome:
        """Run one event to its end: an answer, an error, a time-out or the process's death."""
        invocation = _Invocation(
            request_id=str(uuid.uuid4()), event=event, client_context=client_context
        )
        self._current = invocation
        self._log(_platform_line(f"START RequestId: {invocation.request_id} Version: $LATEST"))
        begin = time.monotonic()
        self._inbox.put(invocation)
        if not self.alive:
            self._end_with_process(invocation)
        outcome = self._await(invocation)
        millis = (time.monotonic() - begin) * 1000
        self._log(
            f"END RequestId: {invocation.request_id}\n"
            f"REPORT RequestId: {invocation.request_id}\tDuration: {millis:.2f} ms\n".encode()
        )
        self._current = None
        return outcome

    def kill(self) -> None:
        """End the process and whatever it started, at once: it writes no file any more."""
        if self.alive:
            self._killed = True
            self._end_all()
        self._process.wait()
        self._all_ended.wait(LAST_WORDS_SECONDS)
        self._inbox.put(None)

    def _end_all(self) -> None:
        processes.end(self._process.pid, f"AWS_LAMBDA_RUNTIME_API={self._api.address}".encode())
        self._all_ended.set()

    def _await(self, invocation: _Invocation) -> Outcome:
        if not invocation.started.wait(INIT_SECONDS):
            self.kill()
            return Outcome.failure(
                "Sandbox.Timedout", f"Initialisation took longer than {INIT_SECONDS:.0f} s"
            )
        try:
            return invocation.outcome.result(self.config.timeout_seconds)
        except TimeoutError:
            if not self.alive:
                # It died in time. Only its last words are still being read.
                return invocation.outcome.result()
            message = f"Task timed out after {self.config.timeout_seconds:.2f} seconds"
            timed_out = Outcome.failure(
                "Sandbox.Timedout", f"RequestId: {invocation.request_id} Error: {message}"
            )
            if invocation.end(timed_out):  # before the kill, which is an end as well
                self.kill()
                self._log(_platform_line(f"{invocation.request_id} {message}"))
            return invocation.outcome.result()

    def _end_with_process(self, invocation: _Invocation) -> None:
        if not invocation.outcome.done():
            self._log(_platform_line(f"{invocation.request_id} {self._exit()}"))
            invocation.end(self._death(invocation))

    def _death(self, invocation: _Invocation) -> Outcome:
        if self._init_error is not None:
            return Outcome(payload=self._init_error, failed=True)
        return Outcome.failure(
            "Runtime.ExitError", f"RequestId: {invocation.request_id} Error: {self._exit()}"
        )

    def _exit(self) -> str:
        """Return the process's end in the words of Lambda."""
        status = self._process.wait()
        reason = (
            f"signal: {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"
        )
        return f"Runtime exited with error: {reason}"

    def _read_output(self) -> None:
        """Lasts as long as somebody has the process's output open."""
        output = self._process.stdout
        if output is None:
            raise RuntimeError("The process was started without a pipe for its output.")
        for line in output:
            threads.attempt(f"the log of {self.config.name}", partial(self._log, line))
        self._output_read.set()

    def _await_end(self) -> None:
        """Lasts as long as the process. What it leaves behind ends with it."""
        self._process.wait()
        if not self._killed:
            self._end_all()
        self._output_read.wait(LAST_WORDS_SECONDS)
        self._inbox.put(None)
        if (current := self._current) is not None:
            self._end_with_process(current)
        self._api.close()
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    # What the Runtime API calls.

    def next_task(self, gone: Callable[[], bool]) -> Task | None:
        invocation = self._inbox.get()
        if gone():
            self._inbox.put(invocation)
            return None
        if invocation is None:
            return None
        invocation.started.set()
        return Task(
            request_id=invocation.request_id,
            event=invocation.event,
            client_context=invocation.client_context,
            function_arn=self.config.arn,
            deadline_millis=int((time.time() + self.config.timeout_seconds) * 1000),
        )

    def finished(self, request_id: str, payload: bytes, *, failed: bool) -> None:
        current = self._current
        if current is not None and current.request_id == request_id:
            current.end(Outcome(payload=payload, failed=failed))

    def init_failed(self, payload: bytes) -> None:
        self._init_error = payload


def _platform_line(text: str) -> bytes:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ} {text}\n".encode()
