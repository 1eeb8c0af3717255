"""Means with their uncertainty, from stretches of one long simulation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import correlation, fmean, linear_regression, variance

QUANTILE = 2.1
"""Of Student's t at 97.5 %, with the 18 degrees of freedom of a line through 20 stretches."""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    value: float
    half_width: float
    """Of the interval that holds the true mean in 95 % of all cases."""


def mean(values: Sequence[float]) -> Estimate:
    return Estimate(
        value=fmean(values), half_width=QUANTILE * math.sqrt(variance(values) / len(values))
    )


def controlled_mean(
    values: Sequence[float], controls: Sequence[float], expected: float
) -> Estimate:
    """The mean, freed of as much of its noise as comes from a control whose true mean is known.

    A stretch in which more work than expected happened to arrive has a goodput above its mean; how
    far above, a line through all stretches tells. A control that says nothing is left out.
    """
    if variance(controls) == 0 or variance(values) == 0:
        return mean(values)
    slope = linear_regression(controls, values).slope
    left = 1 - correlation(controls, values) ** 2
    return Estimate(
        value=fmean(values) - slope * (fmean(controls) - expected),
        half_width=QUANTILE * math.sqrt(max(0.0, left) * variance(values) / len(values)),
    )
