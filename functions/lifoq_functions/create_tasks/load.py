"""Load for trials: how many tasks per second, at which time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lifoq.errors import InvalidInput

PROFILES = ("constant", "burst", "sine")


@dataclass(frozen=True, kw_only=True)
class Load:
    """``constant``: ``tasks_per_second`` throughout. ``burst``: the peak for the first half of each
    period, the base for the second. ``sine``: from the base up to the peak and back, once a period.
    Periods count from the epoch, so that one invocation goes on where another ended."""

    profile: str
    tasks_per_second: float
    seconds: float
    peak: float
    period: float

    @classmethod
    def parse(cls, event: Mapping[str, Any]) -> "Load":
        """Read the load of an event. Raises InvalidInput where a field is missing or wrong."""
        profile = event.get("profile", "constant")
        if profile not in PROFILES:
            raise InvalidInput("load.profile", profile, f"must be one of {', '.join(PROFILES)}")
        rate = _positive(event, "tasksPerSecond")
        varies = profile != "constant"
        return cls(
            profile=profile,
            tasks_per_second=rate,
            seconds=_positive(event, "seconds"),
            peak=_positive(event, "peakTasksPerSecond") if varies else rate,
            period=_positive(event, "periodSeconds") if varies else math.inf,
        )

    def rate(self, moment: float) -> float:
        """Tasks per second at epoch seconds ``moment``."""
        phase = moment % self.period / self.period  # 0 where the period has no end
        if self.profile == "burst":
            return self.peak if phase < 0.5 else self.tasks_per_second  # noqa: PLR2004  (a half)
        rise = (1 - math.cos(2 * math.pi * phase)) / 2
        return self.tasks_per_second + (self.peak - self.tasks_per_second) * rise


def _positive(event: Mapping[str, Any], field: str) -> float:
    value: Any = event.get(field)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise InvalidInput(f"load.{field}", value, "must be a number above 0")
    return float(value)
