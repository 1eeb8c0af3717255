"""A model of how AWS scales a service by the alarms and policies of a template, by the minute."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

START_MINUTES: Final = 2
"""Until a worker that was asked for takes tasks."""
CALLS: Final = {"CEIL": math.ceil, "IF": lambda holds, one, other: one if holds else other}
NEVER: Final = 10**6


class Scaling:
    """CloudWatch and Application Auto Scaling: each minute, alarms that ring set the number.

    An alarm looks at the highest value in its period, which moves on by the minute.
    """

    def __init__(self, template: dict[str, Any], workers: str) -> None:
        resources = template["Resources"]
        ours = {
            name: one.get("Properties", {})
            for name, one in resources.items()
            if name.startswith(workers)
        }
        self._policies = {
            name: one["StepScalingPolicyConfiguration"]
            for name, one in ours.items()
            if "StepScalingPolicyConfiguration" in one
        }
        self._alarms = [
            one
            for name, one in ours.items()
            if one.get("AlarmActions", [{}])[0].get("Ref") in self._policies
        ]
        (target,) = (one for one in ours.values() if "MaxCapacity" in one)
        self._least, self._most = target["MinCapacity"], target["MaxCapacity"]

    def wanted(self, told: list[dict[str, float]], number: int) -> int:
        """``told``: metrics by their names, minute by minute."""
        sizes = {size for alarm in self._alarms if (size := self._size(alarm, told)) is not None}
        assert len(sizes) <= 1, "two alarms ask for different numbers"
        return min(max(next(iter(sizes), number), self._least), self._most)

    def _size(self, alarm: dict[str, Any], told: list[dict[str, float]]) -> int | None:
        def most(metric: str, period: int) -> float:
            return max(minute[metric] for minute in told[-period // 60 :])

        if "Metrics" in alarm:
            values = {
                one["Id"]: most(
                    one["MetricStat"]["Metric"]["MetricName"], one["MetricStat"]["Period"]
                )
                for one in alarm["Metrics"]
                if "MetricStat" in one
            }
            (expression,) = (one["Expression"] for one in alarm["Metrics"] if "Expression" in one)
            value = eval(expression, {}, {**CALLS, **values})  # noqa: S307 - our own
        else:
            value = most(alarm["MetricName"], alarm["Period"])
        beyond = value - alarm["Threshold"]
        rings = {
            "GreaterThanOrEqualToThreshold": beyond >= 0,
            "LessThanThreshold": beyond < 0,
        }[alarm["ComparisonOperator"]]
        if not rings:
            return None
        (size,) = (
            int(step["ScalingAdjustment"])
            for step in self._policies[alarm["AlarmActions"][0]["Ref"]]["StepAdjustments"]
            if step.get("MetricIntervalLowerBound", -math.inf)
            <= beyond
            < step.get("MetricIntervalUpperBound", math.inf)
        )
        return size


@dataclass
class Task:
    put: int
    minutes: int
    began: int | None = None


@dataclass
class Service:
    """Workers, of which ECS stops those alone that hold no task."""

    scaling: Scaling
    slots: int
    deadline: int
    """Minutes."""
    minute: int = 0
    waiting: list[Task] = field(default_factory=list)
    workers: list[tuple[int, list[Task]]] = field(default_factory=list)
    """When each takes tasks, and those that it holds."""
    told: list[dict[str, float]] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    done: int = 0
    shed: int = 0

    def run(self, minutes: int, *, put: Iterable[int] = ()) -> None:
        """``put``: how long each task takes that is put; it goes on minute by minute."""
        arrivals = iter(put)
        for _ in range(minutes):
            self.step(next(arrivals, 0))

    def step(self, task_minutes: int = 0) -> None:
        if task_minutes:
            self.waiting.append(Task(self.minute, task_minutes))
        self._work()
        size = self.scaling.wanted(self.told, len(self.workers)) if self.told else 0
        while len(self.workers) < size:
            self.workers.append((self.minute + START_MINUTES, []))
        idle = [worker for worker in self.workers if not worker[1]]
        for worker in idle[: len(self.workers) - size]:
            self.workers.remove(worker)
        self.sizes.append(size)
        oldest = min((task.put for task in self.waiting), default=self.minute)
        held = sum(len(tasks) for _, tasks in self.workers)
        self.told.append(
            {
                "TasksOpen": len(self.waiting) + held,
                "OldestWaitingAgeSeconds": 60 * (self.minute - oldest),
            }
        )
        self.minute += 1

    def _work(self) -> None:
        alive = [task for task in self.waiting if self.minute - task.put < self.deadline]
        self.shed += len(self.waiting) - len(alive)
        self.waiting = alive
        for ready, held in self.workers:
            over = [task for task in held if self.minute - (task.began or 0) >= task.minutes]
            self.done += len(over)
            held[:] = [task for task in held if task not in over]
            while ready <= self.minute and len(held) < self.slots and self.waiting:
                task = self.waiting.pop()
                task.began = self.minute
                held.append(task)

    @property
    def turns(self) -> int:
        """How often the number went the other way than before."""
        ways = [after > before for before, after in pairwise(self.sizes) if after != before]
        return sum(one != other for one, other in pairwise(ways))
