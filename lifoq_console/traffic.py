"""The last hour, minute by minute, as CloudWatch has it."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lifoq.metrics import DIMENSION, NAMESPACE, Metric, service

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
    "stalled": Metric.STALLED,
}


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
    stalled: tuple[float | None, ...]

    def lately(self, name: str, minutes: int = 5) -> float:
        """The sum over the last minutes."""
        return sum(value or 0 for value in getattr(self, name)[-minutes:])

    @property
    def is_stalled(self) -> bool:
        """Whether the sweep's latest word is that tasks wait and none is claimed."""
        words = [word for word in self.stalled[-5:] if word is not None]
        return bool(words and words[-1])

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
