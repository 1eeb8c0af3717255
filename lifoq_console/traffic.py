"""The last hour, day or week, in equal parts, as CloudWatch has it."""

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from lifoq.health.statistics import QueueStats
from lifoq.metrics import DIMENSION, NAMESPACE, Metric, service

PARTS: Final = 60
RANGES: Final = {"1h": 60, "6h": 360, "1d": 1_440, "7d": 10_080}
"""The seconds that one part of the chart stands for, by range: CloudWatch takes whole minutes."""
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
    """One reading by the console itself. The sweep measures once a minute only, and much can wait
    and be shed in between."""

    at: float
    """Epoch seconds."""
    waiting: float
    newest: float
    oldest: float

    @classmethod
    def of(cls, stats: QueueStats, *, at: float) -> "Look":
        return cls(
            at=at,
            waiting=stats.live.value,
            newest=stats.newest_waiting_seconds or 0.0,
            oldest=stats.oldest_waiting_seconds or 0.0,
        )


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """Values for each of the last PARTS parts, oldest first; None where CloudWatch has none.

    ``done``, ``failed`` and ``shed`` are tasks in that part, ``waiting`` tasks, ``newest`` and
    ``oldest`` the ages of waiting tasks in seconds.
    """

    step: int
    """Seconds that one part stands for."""
    starts: tuple[int, ...]
    """In epoch seconds."""
    done: tuple[float | None, ...]
    failed: tuple[float | None, ...]
    shed: tuple[float | None, ...]
    waiting: tuple[float | None, ...]
    newest: tuple[float | None, ...]
    oldest: tuple[float | None, ...]

    def lately(self, name: str, parts: int = 5) -> float:
        """The sum over the last parts."""
        return sum(value or 0 for value in getattr(self, name)[-parts:])

    def with_looks(self, looks: Iterable[Look]) -> "Traffic":
        """The most of both in each part."""
        most = {name: dict(zip(self.starts, getattr(self, name), strict=True)) for name in _GAUGES}
        for look in looks:
            for name, values in most.items():
                start = int(look.at) // self.step * self.step
                if start in values:
                    values[start] = max(values[start] or 0.0, getattr(look, name))
        changed: dict[str, Any] = {name: tuple(values.values()) for name, values in most.items()}
        return replace(self, **changed)

    @property
    def is_empty(self) -> bool:
        return all(value is None for name in (*_SUMS, *_GAUGES) for value in getattr(self, name))


def read(cloudwatch: Any, queue_name: str, now: float, step: int) -> Traffic:
    """The PARTS before ``now`` (epoch seconds), the one that has just begun included. What boto3
    raises, passes."""
    end = int(now) // step * step + step
    starts = tuple(range(end - PARTS * step, end, step))
    answer = cloudwatch.get_metric_data(
        MetricDataQueries=[
            _query(name, metric, statistic, queue_name, step)
            for metrics, statistic in ((_SUMS, "Sum"), (_GAUGES, "Maximum"))
            for name, metric in metrics.items()
        ],
        StartTime=dt.datetime.fromtimestamp(starts[0], dt.UTC),
        EndTime=dt.datetime.fromtimestamp(end, dt.UTC),
    )
    found = {result["Id"]: _by_part(result, step) for result in answer["MetricDataResults"]}
    values = {
        name: tuple(found.get(name, {}).get(start) for start in starts)
        for name in (*_SUMS, *_GAUGES)
    }
    return Traffic(step=step, starts=starts, **values)


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
