"""A retry storm: clients that put a new task for what they did not get in time.

A client waits for its patience, then asks again, a few times. Nobody withdraws what was put before:
the queue cannot tell a task that somebody waits for from one that nobody does.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Final

from benchmarks.goodput.load import Arrival, Phase, arrivals
from benchmarks.goodput.policies import PATIENCE, Policy
from benchmarks.goodput.system import Started, System
from benchmarks.goodput.theory import Service

CALM: Final = 0.7
"""Load before and after the burst, without repeats."""
BURST: Final = 3.0
REPEATS: Final = 3
"""At most, for one request; then its client gives up."""
BEFORE: Final = 100.0
DURING: Final = 60.0
AFTER: Final = 640.0
"""Lengths in mean service times."""
BUCKET: Final = 20.0
RECOVERED: Final = 0.9
"""Of the goodput before the burst."""


@dataclass(kw_only=True)
class Bucket:
    requests: int = 0
    """Begun in it."""
    served: int = 0
    """Of these, in time, at whichever attempt."""
    puts: int = 0
    in_time_work: float = 0.0


@dataclass(kw_only=True)
class _Request:
    service: float
    begun: Bucket
    repeats_left: int = REPEATS
    served: bool = False


class Storm:
    """One simulation; what happened is in its buckets."""

    def __init__(self, policy: Policy, service: Service, seed: int) -> None:
        self.buckets = [Bucket() for _ in range(round((BEFORE + DURING + AFTER) / BUCKET))]
        self._waited_for: dict[str, _Request] = {}
        """By task; a client waits for the last that it put."""
        self._system = System(policy, on_start=self._started)
        phases = (
            Phase(length=BEFORE, rate=CALM),
            Phase(length=DURING, rate=BURST),
            Phase(length=AFTER, rate=CALM),
        )
        self._system.feed(arrivals(iter(phases), service, random.Random(seed)), self._begin)
        self._system.run(BEFORE + DURING + AFTER)

    def _bucket(self) -> Bucket:
        return self.buckets[min(len(self.buckets) - 1, int(self._system.now / BUCKET))]

    def _begin(self, arrival: Arrival) -> None:
        bucket = self._bucket()
        bucket.requests += 1
        self._ask(_Request(service=arrival.service, begun=bucket))

    def _ask(self, request: _Request) -> None:
        self._bucket().puts += 1
        task_id = self._system.offer(request.service)
        if task_id is not None:
            self._waited_for[task_id] = request
        self._system.at(self._system.now + PATIENCE, partial(self._give_up, task_id, request))

    def _started(self, start: Started) -> None:
        request = self._waited_for.pop(start.task_id, None)
        if request is not None:
            request.served = True
            request.begun.served += 1
            self._bucket().in_time_work += request.service

    def _give_up(self, task_id: str | None, request: _Request) -> None:
        """The patience with this task is over."""
        if task_id is not None:
            self._waited_for.pop(task_id, None)
        if not request.served and request.repeats_left:
            request.repeats_left -= 1
            self._ask(request)


@dataclass(frozen=True, kw_only=True)
class Storms:
    """The mean of several."""

    policy: Policy
    service: Service
    seeds: range

    def rows(self) -> list[dict[str, Any]]:
        """What happens over time, bucket by bucket."""
        storms = [Storm(self.policy, self.service, seed).buckets for seed in self.seeds]
        return [
            {
                "policy": self.policy.name,
                "deadline_services": self.policy.deadline_or_none,
                "from_services": place * BUCKET,
                "to_services": (place + 1) * BUCKET,
                "requests_per_service": fmean(bucket.requests for bucket in same) / BUCKET,
                "puts_per_service": fmean(bucket.puts for bucket in same) / BUCKET,
                "goodput_share_of_capacity": fmean(b.in_time_work for b in same) / BUCKET,
                "served_share_of_requests": sum(bucket.served for bucket in same)
                / max(1, sum(bucket.requests for bucket in same)),
            }
            for place, same in enumerate(zip(*storms, strict=True))
        ]


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Goodput before, during and after the burst, and when it was back; None where it never was."""

    def goodput(begins: float, ends: float) -> float:
        return fmean(
            row["goodput_share_of_capacity"]
            for row in rows
            if begins <= row["from_services"] and row["to_services"] <= ends
        )

    burst_over, end = BEFORE + DURING, BEFORE + DURING + AFTER
    before = goodput(BUCKET, BEFORE)
    back = [
        row["from_services"] - burst_over
        for row in rows
        if row["from_services"] >= burst_over
        and goodput(row["from_services"], end) >= RECOVERED * before
        and row["goodput_share_of_capacity"] >= RECOVERED * before
    ]
    return {
        "policy": rows[0]["policy"],
        "deadline_services": rows[0]["deadline_services"],
        "goodput_before": before,
        "goodput_during": goodput(BEFORE, burst_over),
        "goodput_in_last_half": goodput(burst_over + AFTER / 2, end),
        "served_share_of_requests_in_last_half": fmean(
            row["served_share_of_requests"]
            for row in rows
            # Of the last, the clients were still asking when the simulation ended.
            if burst_over + AFTER / 2 <= row["from_services"] < end - (REPEATS + 1) * PATIENCE
        ),
        "recovered_after_services": back[0] if back else None,
    }
