"""What queueing theory says. One server; times are in mean service times, ``load`` is ρ.

Service is exponential or constant. "In time" is a start within ``patience`` of the arrival.
"""

import math
from collections.abc import Callable
from enum import StrEnum
from itertools import count, takewhile
from typing import Final

SMALL: Final = 1e-16
LARGE: Final = 30
"""Terms of alternating sign, of up to e to this, are summed up with enough digits left."""
PANELS: Final = 20
"""In a mean service time, where an integral goes over several."""


class Service(StrEnum):
    """How long tasks take, with mean 1."""

    EXPONENTIAL = "exponential"
    CONSTANT = "constant"


def integral(f: Callable[[float], float], low: float, high: float, panels: int = 200) -> float:
    """Simpson's rule."""
    step = (high - low) / (2 * panels)
    ends = f(low) + f(high)
    odd = math.fsum(f(low + n * step) for n in range(1, 2 * panels, 2))
    even = math.fsum(f(low + n * step) for n in range(2, 2 * panels, 2))
    return (ends + 4 * odd + 2 * even) * step / 3


def scaled_bessel_i1(x: float) -> float:
    """e^−x I₁(x) = Σ e^−x (x/2)^(2k+1) / (k! (k+1)!), each term by its logarithm."""
    if x == 0:
        return 0.0
    middle = int(x / 2)

    def term(k: int) -> float:
        log = (2 * k + 1) * math.log(x / 2) - math.lgamma(k + 1) - math.lgamma(k + 2) - x
        return math.exp(log)

    rising = takewhile(lambda value: value > SMALL, (term(k) for k in range(middle, -1, -1)))
    falling = takewhile(lambda value: value > SMALL, (term(k) for k in count(middle + 1)))
    return math.fsum((*rising, *falling))


# Newest first


def served_when_busy(load: float, patience: float, service: Service) -> float:
    """P(W ≤ patience) of a task that finds the server busy: the rest of that service, and a busy
    period for everyone who arrives meanwhile and so comes first."""
    if service is Service.EXPONENTIAL:
        panels = PANELS * math.ceil(patience)
        return integral(lambda t: _busy_period(load, t), 0, patience, panels=panels)
    # The rest v of a constant service is uniform. Beginning with work v, the server comes to the
    # end of all newer tasks after v + n with probability v/(v+n) · Poisson(n; ρ(v+n)): the ballot
    # theorem.
    return math.fsum(
        integral(lambda v, n=n: _cleared(load, v, n), 0, min(1.0, patience - n), panels=50)  # type: ignore[misc]  # mypy cannot type a default of a lambda
        for n in range(math.ceil(patience))
    )


def _busy_period(load: float, t: float) -> float:
    """Density of its length: e^−(1+ρ)t I₁(2t√ρ) / (t√ρ)."""
    root = math.sqrt(load)
    if t == 0:
        return 1.0
    return math.exp(-((1 - root) ** 2) * t) * scaled_bessel_i1(2 * t * root) / (t * root)


def _cleared(load: float, v: float, n: int) -> float:
    mean = load * (v + n)
    if v == 0:
        return float(n == 0)
    return v / (v + n) * math.exp(n * math.log(mean) - mean - math.lgamma(n + 1))


def lifo(load: float, patience: float, service: Service) -> float:
    """Share of capacity, where nothing is ever dropped. Below saturation the server is free for
    1 − ρ of the arrivals; above, it never is."""
    served = served_when_busy(load, patience, service)
    busy = min(1.0, load)
    return load * (1 - busy + busy * served)


def lifo_with_deadline(load: float, patience: float, service: Service) -> float:
    """Share of capacity, where the queue drops what has waited for ``patience``. All that is served
    is in time; so the share U is how much of the time the server is busy, and solves
    U = ρ (1 − U + U · served)."""
    return load / (1 + load * (1 - served_when_busy(load, patience, service)))


def lifo_with_servers(load: float, patience: float, servers: int) -> float:
    """Share of capacity of several servers, exponential service, where nothing is ever dropped:
    while all are busy they are as one that is so many times as fast. An arrival finds all busy with
    Erlang's probability C."""
    work = load * servers
    waiting = work**servers / math.factorial(servers) / (1 - load) if load < 1 else math.inf
    running = math.fsum(work**n / math.factorial(n) for n in range(servers))
    busy = 1.0 if math.isinf(waiting) else waiting / (running + waiting)
    served = served_when_busy(load, patience * servers, Service.EXPONENTIAL)
    return load * (1 - busy + busy * served)


# Oldest first


def renewal(load: float, x: float, service: Service) -> float:
    """H(x) = Σ ρⁿ P(n residual services together ≤ x). Below saturation, (1 − ρ) H(x) is
    P(W ≤ x) of the queue that drops nothing (Pollaczek and Khinchine; for constant service,
    Erlang)."""
    if service is Service.EXPONENTIAL:
        return 1 + x if load == 1 else (1 - load * math.exp(-(1 - load) * x)) / (1 - load)
    if load * x > LARGE:
        raise ValueError(f"{load=} times {x=} is above {LARGE}: the terms would cancel each other")
    return math.fsum(
        (load * (k - x)) ** k / math.factorial(k) * math.exp(-load * (k - x))
        for k in range(math.floor(x) + 1)
    )


def fifo(load: float, patience: float, service: Service) -> float:
    """Share of capacity, where nothing is ever dropped; 0 above saturation, in the long run."""
    return load * max(0.0, 1 - load) * renewal(load, patience, service)


def fifo_with_deadline(load: float, patience: float, service: Service) -> float:
    """Share of capacity, where the queue drops what has waited for ``patience``. Up to there the
    work that lies before an arrival is distributed as in a queue that drops nothing, but for a
    factor; and the share U is how much of the time the server is busy: U = ρH / (1 + ρH)."""
    offered = load * renewal(load, patience, service)
    return offered / (1 + offered)


def fifo_in_time_at_all(load: float, patience: float, service: Service) -> float:
    """Above saturation, where nothing is ever dropped: for how long, in all eternity, a queue that
    began empty has arrivals that will start in time: D/(ρ−1) + (ρE[S²]/(2(ρ−1)) − 1/η)/(ρ−1).

    From the time that a Lévy process which drifts off spends below D, H(D)/η − ∫₀ᴰ H, as D grows;
    with exponential service it is exact, (D+1)/(ρ−1).
    """
    excess = load - 1
    square = 2 if service is Service.EXPONENTIAL else 1
    return patience / excess + (load * square / (2 * excess) - 1 / _growth(load, service)) / excess


def _growth(load: float, service: Service) -> float:
    """The η > 0 at which η = ρ (1 − E e^(−ηS))."""
    if service is Service.EXPONENTIAL:
        return load - 1
    eta, better = 0.0, load
    while abs(better - eta) > SMALL:
        eta, better = better, load * (1 - math.exp(-better))
    return better


def fifo_in_time_fluid(load: float, patience: float, horizon: float) -> float:
    """The same as a share of the arrivals of a horizon, with work that flows evenly."""
    return min(1.0, patience / ((load - 1) * horizon)) if load > 1 else 1.0


# Oldest first, with room for only so many


def fifo_bounded(load: float, patience: float, service: Service) -> float:
    """Share of capacity, where a task is refused that finds as many others waiting as can be served
    within the patience, on average."""
    room = math.floor(patience)
    if service is Service.CONSTANT:  # whoever is let in starts in time
        return _busy_with_room(load, room)
    weights = [load**n for n in range(room + 2)]  # n in the system, the one in service included
    in_time = math.fsum(weights[n] * _erlang(n, patience) for n in range(room + 1))
    return load * in_time / math.fsum(weights)


def _erlang(stages: int, x: float) -> float:
    """P(a sum of ``stages`` exponential services ≤ x)."""
    return 1 - math.exp(-x) * math.fsum(x**k / math.factorial(k) for k in range(stages))


def _busy_with_room(load: float, room: int) -> float:
    """How much of the time the server of M/D/1 is busy with ``room`` waiting at the most: from the
    chain of how many a departing task leaves behind, which is M/D/1's own up to a factor."""
    arrivals = [math.exp(-load) * load**k / math.factorial(k) for k in range(room + 1)]
    left = [1.0]
    for n in range(room):
        before = left[0] * arrivals[n] + math.fsum(
            left[k] * arrivals[n - k + 1] for k in range(1, n + 1)
        )
        left.append((left[n] - before) / arrivals[0])
    total = math.fsum(left)
    return load * total / (left[0] + load * total)


def shed(load: float) -> float:
    """The share of tasks that no order can serve."""
    return max(0.0, 1 - 1 / load)
