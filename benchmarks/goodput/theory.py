"""Queueing theory's answers: M/M/1, times in mean service times, ``load`` is ρ.

Clients go without a word when their patience is over: a law is the share of them that are still
there after a time. The answer is the share of the arrivals that start while they are wanted.
``deadline``: a task that has waited for so long is dropped.
"""

import math
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Survival = Callable[[Array], Array]

PATIENCE: Final = 10.0
"""The mean."""
SHAPE: Final = 1.5
"""The Pareto law's shape: with it, a few clients wait very long."""
LEAST: Final = PATIENCE * (SHAPE - 1) / SHAPE
"""The wait that everybody has by the Pareto law, at the least."""
LAWS: Final[Mapping[str, Survival]] = {
    "equal": lambda time: np.where(time <= PATIENCE, 1.0, 0.0),
    "exponential": lambda time: np.exp(-time / PATIENCE),
    "Pareto": lambda time: (LEAST / np.maximum(time, LEAST)) ** SHAPE,
}
FINE: Final = 60.0
"""The end of the part in which integrals go in steps of a hundredth; from here on they go in steps
of a hundredth of what they have reached."""
FAR: Final = 1e6


def newest_first(load: float, wanted: Survival, deadline: float = math.inf) -> float:
    """An arrival that finds the server busy waits for the rest of that service and for a busy
    period, for all who come meanwhile are served first. Who waits with it came before it, and does
    not matter: so a deadline changes only how much of the time the server is busy, which is
    U = ρ (1 − U + U · P(busy period < deadline))."""
    time, step = _cells(min(deadline, FAR))
    density = _busy_period(load, time) * step
    served = density.sum()
    busy = min(1.0, load) if deadline == math.inf else load / (1 + load * (1 - served))
    return float(1 - busy + busy * (density @ wanted(time)))


def oldest_first(load: float, wanted: Survival, deadline: float = math.inf) -> float:
    """0 above saturation where nothing is dropped, in the long run."""
    if deadline == math.inf and load >= 1:
        return 0.0
    time, step = _cells(min(deadline, FAR))
    return float(_oldest_first(load, wanted, time, step)[-1])


def best_deadline(load: float, wanted: Survival) -> float:
    """Return the deadline with which oldest first serves most."""
    time, step = _cells(FINE)
    best = int(np.argmax(_oldest_first(load, wanted, time, step)))
    return float(time[best] + step[best] / 2)


def _oldest_first(load: float, wanted: Survival, time: Array, step: Array) -> Array:
    """Return what oldest first serves in time, for a deadline at the end of each cell. Below the
    deadline, the work before an arrival has the density p ρ e^−(1−ρ)t, where p is the share that
    finds none; above it, what was there at the deadline is worked off, which takes a mean
    service."""
    here = load * np.exp((load - 1) * time) * step
    ends = load * np.exp((load - 1) * (time + step / 2))
    idle = 1 / (1 + np.cumsum(here) + ends)
    return np.asarray(idle * (1 + np.cumsum(here * wanted(time))))


def _busy_period(load: float, time: Array) -> Array:
    """The density e^−(1+ρ)t I₁(2t√ρ) / (t√ρ) of its length."""
    root = math.sqrt(load)
    x = 2 * time * root
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    small = np.minimum(x, 500.0)
    # e^−x I₁(x) is the mean of e^x(cos θ − 1) cos θ over a turn; for a large x, its known series.
    mean = (np.exp(np.outer(small, np.cos(angle) - 1)) * np.cos(angle)).mean(axis=1)
    series = (1 - 3 / (8 * x) - 15 / (128 * x**2)) / np.sqrt(2 * np.pi * x)
    bessel = np.where(x < small.max(), mean, series)
    return np.asarray(np.exp(-((1 - root) ** 2) * time) * bessel / (time * root))


def _cells(until: float) -> tuple[Array, Array]:
    """Return the cells' middles and their widths."""
    edges = np.linspace(0, min(until, FINE), round(100 * min(until, FINE)) + 1)
    if until > FINE:
        steps = math.ceil(100 * math.log(until / FINE))
        edges = np.concatenate([edges, np.geomspace(FINE, until, steps + 1)[1:]])
    return (edges[1:] + edges[:-1]) / 2, np.diff(edges)
