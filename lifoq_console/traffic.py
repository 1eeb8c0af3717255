"""The last hour, day or week, in equal parts: from CloudWatch, which keeps the past, and from what
the console has read of the table itself.
"""

import datetime as dt
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from lifoq.health.statistics import QueueStats
from lifoq.health.sweep_note import LATELY
from lifoq.metrics import DIMENSION, NAMESPACE, Metric, service

PARTS: Final = 60


@dataclass(frozen=True, kw_only=True)
class Range:
    """A stretch of time up to now that charts can show."""

    step: int
    """Seconds that one part of a chart stands for: CloudWatch takes whole minutes."""
    name: str
    """The words behind "the last"."""


RANGES: Final = {
    "1h": Range(step=60, name="hour"),
    "6h": Range(step=360, name="6 hours"),
    "1d": Range(step=1_440, name="day"),
    "7d": Range(step=10_080, name="week"),
}
"""The stretches of time by their names in the address of a page."""
_ASKED: Final = {
    "done": (Metric.TASKS_SUCCEEDED, "Sum"),
    "failed": (Metric.TASKS_FAILED, "Sum"),
    "deleted": (Metric.TASKS_SHED, "Sum"),
    "expired": (Metric.TASKS_EXPIRED_PRESENT, "Maximum"),
    "waiting": (Metric.TASKS_PENDING, "Maximum"),
    "newest": (Metric.NEWEST_WAITING_AGE, "Maximum"),
    "oldest": (Metric.OLDEST_WAITING_AGE, "Maximum"),
    "begun": (Metric.WAIT, "SampleCount"),
    "waited": (Metric.WAIT, "Sum"),
}
"""The metric and the statistic of each series."""
_LOOKED: Final = ("expired", "waiting", "newest", "oldest")
"""The series that the console reads of the table itself, too."""
Series = tuple[float | None, ...]
_FEWEST: Final = (10, 20, 30)
"""The parts that are shown, at the least, where nothing is known of the others."""


def parts_to_show(series: Iterable[Series]) -> int:
    """Return how many parts, counted from now, have all that is known: a queue that is two minutes
    old is shown for ten minutes, rather than at the edge of an hour."""
    known = [PARTS - at for one in series for at, value in enumerate(one) if value]
    return next((parts for parts in _FEWEST if parts >= max(known, default=PARTS)), PARTS)


@dataclass(frozen=True, kw_only=True)
class Look:
    """One reading by the console itself. The sweep measures once a minute only, and much can wait
    and be shed in between."""

    at: float
    """Epoch seconds."""
    waiting: float
    newest: float
    oldest: float
    expired: float
    """Tasks past their deadline that are still there."""
    shed_lately: float

    @classmethod
    def of(cls, stats: QueueStats, *, at: float) -> "Look":
        return cls(
            at=at,
            waiting=stats.live.value,
            newest=stats.newest_waiting_seconds or 0.0,
            oldest=stats.oldest_waiting_seconds or 0.0,
            expired=stats.expired_present.value,
            shed_lately=stats.shed_lately.value,
        )


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Values for each of the last PARTS parts, oldest first; None where there is none. A gauge is
    0 there, since functions send none that is 0.

    ``done``, ``failed`` and ``shed`` are tasks in that part, ``waiting`` tasks, ``newest`` and
    ``oldest`` the ages of waiting tasks in seconds. A task is shed at its deadline, whenever
    DynamoDB deletes it.
    """

    step: int
    """Seconds that one part stands for."""
    starts: tuple[int, ...]
    """The beginnings of the parts, in epoch seconds."""
    done: Series
    failed: Series
    shed: Series
    waiting: Series
    newest: Series
    oldest: Series

    def to_show(self) -> "Traffic":
        """Return the latest parts alone, where nothing is known of those before."""
        names = ("done", "failed", "shed", "waiting", "newest", "oldest")
        series: dict[str, Series] = {name: getattr(self, name) for name in names}
        parts = parts_to_show(series.values())
        shown: dict[str, Any] = {name: values[-parts:] for name, values in series.items()}
        return replace(self, starts=self.starts[-parts:], **shown)

    def lately(self, name: str, parts: int = 5) -> float:
        """The sum over the last parts."""
        return sum(value or 0 for value in getattr(self, name)[-parts:])

    @property
    def is_empty(self) -> bool:
        names = ("done", "failed", "shed", "waiting", "newest", "oldest")
        return all(value is None for name in names for value in getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The metrics that CloudWatch keeps, in parts: one before those that are shown, too, with which
    the first of them is compared."""

    step: int
    starts: tuple[int, ...]
    series: Mapping[str, Series]

    def with_looks(self, looks: Sequence[Look]) -> Traffic:
        """Return what is shown: in each part the most of both."""
        series = {**self.series, **self._most(looks)}
        series |= {name: _bridged(series[name]) for name in ("waiting", "newest", "oldest")}
        if any(value is not None for values in series.values() for value in values):
            # Else the queue is unknown: nothing is known of it, rather than that it is empty.
            series |= {name: tuple(value or 0.0 for value in series[name]) for name in _LOOKED}
        shed = _shed(series["deleted"], series["expired"])[1:]
        if looks:
            shed = self._with_the_latest(shed, looks[-1].shed_lately)
        waiting = _waiting(series["waiting"], series["begun"], series["waited"], self.step)
        return Traffic(
            step=self.step,
            starts=self.starts[1:],
            shed=shed,
            waiting=waiting[1:],
            **{name: series[name][1:] for name in ("done", "failed", "newest", "oldest")},
        )

    def _most(self, looks: Iterable[Look]) -> dict[str, Series]:
        found = {}
        for name in _LOOKED:
            values = dict(zip(self.starts, self.series[name], strict=True))
            for look in looks:
                start = int(look.at) // self.step * self.step
                if start in values:
                    values[start] = max(values[start] or 0.0, getattr(look, name))
            found[name] = tuple(values.values())
        return found

    def _with_the_latest(self, shed: Series, lately: float) -> Series:
        """Add to the newest part what the table tells beyond the metrics, which come later."""
        parts = math.ceil(LATELY / self.step) + 1
        more = lately - sum(value or 0 for value in shed[-parts:])
        return (*shed[:-1], (shed[-1] or 0.0) + more) if more > 0 else shed


def _shed(deleted: Series, expired: Series) -> Series:
    """Return how many tasks came past their deadline in each part.

    Tasks that were deleted up to a moment, and those that are past their deadline and still there,
    are all that were shed by then. So a task counts at its deadline, and not once more when it is
    deleted. In the part in which it is deleted it may have been seen before: only what was deleted
    in earlier parts is added to what was seen. What was there in the first part was shed before.
    """
    found: list[float | None] = []
    total, gone = expired[0] or 0.0, 0.0
    for lost, there in zip(deleted, expired, strict=True):
        seen = gone + (there or 0.0)
        gone += lost or 0.0
        before, total = total, max(total, seen, gone)
        found.append(total - before or None)
    return tuple(found)


def _bridged(gauges: Series) -> Series:
    """Return the gauges with no gap of one part: a sweep that came a little late falls into the
    next part. There, the lesser of its neighbours stands; so it does where the queue was empty for
    just one sweep, which sends nothing then."""
    inner = (
        min(before, after) if gauge is None and before is not None and after is not None else gauge
        for before, gauge, after in zip(gauges, gauges[1:], gauges[2:], strict=False)
    )
    return (gauges[0], *inner, gauges[-1])


def _waiting(gauges: Series, begun: Series, waited: Series, step: int) -> Series:
    """Return how many tasks waited in each part, at least.

    What came and was begun between two sweeps is in no gauge. By the seconds that those tasks
    waited, so many did on average (Little's law); and no more than were begun.
    """
    return tuple(
        max(gauge or 0.0, float(round(min(number, seconds / step))))
        if number and seconds
        else gauge
        for gauge, number, seconds in zip(gauges, begun, waited, strict=True)
    )


def read(cloudwatch: Any, queue_name: str, now: float, step: int) -> Kept:
    """Read the PARTS before ``now`` (epoch seconds), the one that has just begun included. Whatever
    boto3 raises, passes."""
    end = int(now) // step * step + step
    starts = tuple(range(end - (PARTS + 1) * step, end, step))
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[
            _query(name, metric, statistic, queue_name, step)
            for name, (metric, statistic) in _ASKED.items()
        ],
        StartTime=dt.datetime.fromtimestamp(starts[0], dt.UTC),
        EndTime=dt.datetime.fromtimestamp(end, dt.UTC),
    )
    found = {result["Id"]: _by_part(result, step) for result in answer["MetricDataResults"]}
    series = {name: tuple(found.get(name, {}).get(start) for start in starts) for name in _ASKED}
    return Kept(step=step, starts=starts, series=series)


def _query(name: str, metric: Metric, statistic: str, queue_name: str, step: int) -> dict[str, Any]:
    return {
        "Id": name,
        "MetricStat": {
            "Metric": {
                "Namespace": NAMESPACE,
                "MetricName": metric.value,
                "Dimensions": [{"Name": DIMENSION, "Value": service(queue_name)}],
            },
            "Period": step,
            "Stat": statistic,
        },
    }


def _by_part(result: Mapping[str, Any], step: int) -> dict[int, float]:
    pairs = zip(result["Timestamps"], result["Values"], strict=True)
    return {int(time.timestamp()) // step * step: value for time, value in pairs}
