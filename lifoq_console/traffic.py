"""The last hour, minute by minute, as CloudWatch has it."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lifoq.metrics import DIMENSION, NAMESPACE, Metric, service
from lifoq.tables.stats import QueueStats

MINUTES: Final = 60
_SECONDS: Final = 60
_SUMS: Final = {
    "done": Metric.TASKS_SUCCEEDED,
    "failed": Metric.TASKS_FAILED,
    "shed": Metric.TASKS_SHED,
}
_GAUGES: Final = {
    "waiting": Metric.TASKS_PENDING,
    "newest": Metric.NEWEST_WAITING_AGE,
    "oldest": Metric.OLDEST_WAITING_AGE,
}


@dataclass(frozen=True, kw_only=True)
class Look:
    """What the console saw itself: the sweep measures once a minute, between which much can wait
    and be shed."""

    minute: int
    """Its start, in epoch seconds."""
    waiting: float
    newest: float
    oldest: float

    @classmethod
    def of(cls, stats: QueueStats, *, at: float) -> "Look":
        return cls(
            minute=int(at) // _SECONDS * _SECONDS,
            waiting=stats.live.value,
            newest=stats.newest_waiting_seconds or 0.0,
            oldest=stats.oldest_waiting_seconds or 0.0,
        )


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Values for each of the last MINUTES minutes, oldest first; None where CloudWatch has none.

    ``done``, ``failed`` and ``shed`` are tasks in that minute, ``waiting`` tasks, ``newest`` and
    ``oldest`` the ages of waiting tasks in seconds.
    """

    starts: tuple[int, ...]
    """Of the minutes, in epoch seconds."""
    done: tuple[float | None, ...]
    failed: tuple[float | None, ...]
    shed: tuple[float | None, ...]
    waiting: tuple[float | None, ...]
    newest: tuple[float | None, ...]
    oldest: tuple[float | None, ...]

    def lately(self, name: str, minutes: int = 5) -> float:
        """The sum over the last minutes."""
        return sum(value or 0 for value in getattr(self, name)[-minutes:])

    def with_looks(self, looks: Iterable[Look]) -> "Traffic":
        """The most of both in each minute."""
        most = {name: dict(zip(self.starts, getattr(self, name), strict=True)) for name in _GAUGES}
        for look in looks:
            for name, values in most.items():
                if look.minute in values:
                    values[look.minute] = max(values[look.minute] or 0.0, getattr(look, name))
        return replace(self, **{name: tuple(values.values()) for name, values in most.items()})

    @property
    def is_empty(self) -> bool:
        return all(value is None for name in (*_SUMS, *_GAUGES) for value in getattr(self, name))


def read(cloudwatch: Any, queue_name: str, now: float) -> Traffic:
    """The hour before ``now`` (epoch seconds), the minute that has just begun included. What boto3
    raises, passes."""
    end = int(now) // _SECONDS * _SECONDS + _SECONDS
    starts = tuple(range(end - MINUTES * _SECONDS, end, _SECONDS))
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[
            _query(name, metric, statistic, queue_name)
            for metrics, statistic in ((_SUMS, "Sum"), (_GAUGES, "Maximum"))
            for name, metric in metrics.items()
        ],
        StartTime=dt.datetime.fromtimestamp(starts[0], dt.UTC),
        EndTime=dt.datetime.fromtimestamp(end, dt.UTC),
    )
    found = {result["Id"]: _by_minute(result) for result in answer["MetricDataResults"]}
    values = {
        name: tuple(found.get(name, {}).get(start) for start in starts)
        for name in (*_SUMS, *_GAUGES)
    }
    return Traffic(starts=starts, **values)


def _query(name: str, metric: Metric, statistic: str, queue_name: str) -> dict[str, Any]:
    return {
        "Id": name,
        "MetricStat": {
            "Metric": {
                "Namespace": NAMESPACE,
                "MetricName": metric.value,
                "Dimensions": [{"Name": DIMENSION, "Value": service(queue_name)}],
            },
            "Period": _SECONDS,
            "Stat": statistic,
        },
    }


def _by_minute(result: Mapping[str, Any]) -> dict[int, float]:
    pairs = zip(result["Timestamps"], result["Values"], strict=True)
    return {int(time.timestamp()) // _SECONDS * _SECONDS: value for time, value in pairs}
