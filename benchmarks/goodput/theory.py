"""What queueing theory says: M/M/1, times in mean service times, ``load`` is ρ.

"In time" is a start within ``patience`` of the arrival. What is told is the share of the capacity.
"""

import numpy as np


def newest_first(load: float, patience: float) -> float:
    """The queue drops what has waited for ``patience``. All that is served is in time; so the share
    U is how much of the time the server is busy, and solves U = ρ (1 − U + U · served)."""
    return load / (1 + load * (1 - served_when_busy(load, patience)))


def served_when_busy(load: float, patience: float) -> float:
    """P(W ≤ patience), newest first, of a task that finds the server busy: it waits for the rest of
    that service and a busy period, for all who arrive meanwhile and so come first. Its length has
    the density e^−(1+ρ)t I₁(2t√ρ) / (t√ρ)."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t, root = patience * (nodes + 1) / 2, np.sqrt(load)
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    # e^−x I₁(x) is the mean of e^x(cos θ − 1) cos θ over a turn.
    bessel = (np.exp(np.outer(2 * t * root, np.cos(angle) - 1)) * np.cos(angle)).mean(axis=1)
    density = np.exp(-((1 - root) ** 2) * t) * bessel / (t * root)
    return float(patience / 2 * weights @ density)


def oldest_first(load: float, patience: float) -> float:
    """The queue drops nothing; 0 above saturation, in the long run."""
    return load * max(0.0, 1 - load) * _renewal(load, patience)


def oldest_first_with_deadline(load: float, patience: float) -> float:
    """The queue drops what has waited for ``patience``. Up to there the work that lies before an
    arrival is distributed as in a queue that drops nothing, but for a factor; and the share U is
    how much of the time the server is busy: U = ρH / (1 + ρH)."""
    offered = load * _renewal(load, patience)
    return offered / (1 + offered)


def _renewal(load: float, x: float) -> float:
    """H(x) = Σ ρⁿ P(n services together ≤ x). Below saturation, (1 − ρ) H(x) is P(W ≤ x) of the
    queue that drops nothing (Pollaczek and Khinchine)."""
    return float((1 - load * np.exp(-(1 - load) * x)) / (1 - load))


def oldest_first_at_first(load: float, patience: float, horizon: float) -> float:
    """Above saturation, over the first ``horizon`` of a queue that drops nothing and began empty:
    arrivals start in time for (D + 1) / (ρ − 1), from what a Lévy process that drifts off spends
    below D."""
    return load * (patience + 1) / (load - 1) / horizon
