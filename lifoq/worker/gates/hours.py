"""The gate of hours: tasks of a type start only in a window of each day (``hours``)."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from lifoq.basics.host import MICROSECONDS
from lifoq.errors import InvalidInput
from lifoq.store.candidate import Candidate
from lifoq.worker.gates.gate import Gate
from lifoq.worker.gates.gate_inputs import RunSetup
from lifoq.worker.handlers.registry import TaskType

_TEXT: Final = re.compile(r"(\d\d:\d\d)-(\d\d:\d\d)(?: (\S+))?")


@dataclass(frozen=True, kw_only=True)
class Window:
    """A window of each day, by a time zone's clock; one that ends before it begins reaches over
    midnight."""

    begin: time
    end: time
    zone: tzinfo

    @classmethod
    def of(cls, kind: TaskType) -> "Window":
        """Read the hours of a task type: ``22:00-06:00``, or ``08:00-18:00 Europe/Zurich``. Raises
        InvalidInput."""
        problem = 'must be a window of the day such as "22:00-06:00" or "08:00-18:00 Europe/Zurich"'
        found = _TEXT.fullmatch(kind.hours or "")
        if found is None or found[1] == found[2]:
            raise InvalidInput(f"{kind.name}.hours", kind.hours, problem)
        try:
            zone = ZoneInfo(found[3]) if found[3] else UTC
            begin, end = (time.fromisoformat(text) for text in found.groups()[:2])
            return cls(begin=begin, end=end, zone=zone)
        except (ValueError, LookupError, OSError) as error:
            raise InvalidInput(f"{kind.name}.hours", kind.hours, problem) from error

    @property
    def closed_for(self) -> float:
        """The longest time, in seconds, for which the window is closed on end: an hour more than on
        usual days, since clocks are put back."""
        hours = timedelta(hours=self.begin.hour - self.end.hour)
        closed = hours + timedelta(minutes=self.begin.minute - self.end.minute)
        return (closed % timedelta(days=1) + timedelta(hours=1)).total_seconds()

    def opens_in(self, now: int) -> float:
        """Return the seconds until the window is open, at epoch microseconds ``now``; 0 if it
        is."""
        here = datetime.fromtimestamp(now / MICROSECONDS, self.zone)
        clock = here.time().replace(tzinfo=None)
        if self.begin < self.end:
            is_open = self.begin <= clock < self.end
        else:
            is_open = clock >= self.begin or clock < self.end
        if is_open:
            return 0.0
        day = here.date() + timedelta(days=clock >= self.begin)
        # Of an hour that is there twice, as clocks are put back, the second has fold 1.
        opens = datetime.combine(day, self.begin.replace(fold=here.fold), self.zone)
        return max(1.0, opens.timestamp() - now / MICROSECONDS)


class Hours(Gate):
    """Opens and closes with the window."""

    def __init__(self, kind: TaskType, clock: Callable[[], int]) -> None:
        """``clock``: the queue's time, in epoch microseconds."""
        self._kind = kind
        self._window = Window.of(kind)
        self._clock = clock

    def wait(self, row: Candidate, now: int) -> float:
        return self._window.opens_in(self._clock())

    def why(self, row: Candidate, now: int) -> str:
        return f"task type {self._kind.name} runs at {self._kind.hours} only"


def make(setup: RunSetup, kind: TaskType) -> Hours:
    """Make the gate of a task type."""
    return Hours(kind, setup.clock)
