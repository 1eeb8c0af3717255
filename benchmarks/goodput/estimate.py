"""Means with their uncertainty, from stretches of one long simulation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, linear_regression, variance
from typing import Final

QUANTILE: Final = 2.1
"""Of Student's t at 97.5 %, with the 17 to 19 degrees of freedom of 20 stretches."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    value: float
    half_width: float
    """Of the interval that holds the true mean in 95 % of all cases."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """What was seen beside each value, and the true mean of that, which is known."""

    values: Sequence[float]
    expected: float


def mean(values: Sequence[float], *, spent: int = 0) -> Estimate:
    """``spent``: how many other means have been fitted to the values before."""
    free = len(values) - 1
    half_width = QUANTILE * math.sqrt(variance(values) / len(values) * free / (free - spent))
    return Estimate(value=fmean(values), half_width=half_width)


def controlled_mean(values: Sequence[float], controls: Sequence[Control]) -> Estimate:
    """The mean, freed of as much of its noise as the controls explain.

    A stretch in which more work than expected happened to arrive has a goodput above its mean; how
    far above, a line through all stretches tells. A control that never varies is left out.
    """
    useful = [control for control in controls if variance(control.values) > 0]
    for control in useful:
        slope = linear_regression(control.values, values).slope
        values = [
            value - slope * (seen - control.expected)
            for value, seen in zip(values, control.values, strict=True)
        ]
    return mean(values, spent=len(useful))
