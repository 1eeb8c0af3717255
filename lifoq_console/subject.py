"""The queue that the console is about, and what else tells of it."""

import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from botocore.exceptions import BotoCoreError, ClientError

from lifoq.client.cells import Cells
from lifoq.client.queue import Queue
from lifoq_console import traffic
from lifoq_console.traffic import Traffic

_FRESH: Final = 20.0
"""Seconds for which what CloudWatch said is used again: it is asked for money, and has a new value
once a minute."""


class Processing(Protocol):
    """The switch of a deployed queue's processor."""

    @property
    def is_paused(self) -> bool: ...

    def pause(self) -> None: ...

    def resume(self) -> None: ...


@dataclass(kw_only=True)
class Subject:
    name: str
    queue: Queue | Cells
    cloudwatch: Any = None
    """A boto3 client; None: there are no metrics."""
    processing: Processing | None = None
    problem: str | None = field(default=None, init=False)
    """Why there are no metrics."""

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._traffic: Traffic | None = None
        self._asked = -_FRESH

    @property
    def is_paused(self) -> bool:
        return self.processing is not None and self.processing.is_paused

    def traffic(self) -> Traffic | None:
        """The last hour; None where CloudWatch does not answer, and ``problem`` says why."""
        with self._lock:
            if self.cloudwatch is not None and time.monotonic() - self._asked >= _FRESH:
                self._asked = time.monotonic()
                try:
                    self._traffic = traffic.read(self.cloudwatch, self.name, time.time())
                    self.problem = None
                except (BotoCoreError, ClientError) as error:
                    self._traffic, self.problem = None, str(error)
            return self._traffic
