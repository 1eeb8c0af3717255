"""What is simulated, and the rows that come of it. Times are in mean service times."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from benchmarks.goodput import policies, theory
from benchmarks.goodput.load import Phase
from benchmarks.goodput.policies import PATIENCE, Policy
from benchmarks.goodput.steady import Outcome, Setting
from benchmarks.goodput.storm import Storms
from benchmarks.goodput.theory import Service
from benchmarks.goodput.transient import Horizon

Row = dict[str, Any]

LENGTHS: Final[dict[float, float]] = {
    0.5: 8_000,
    0.8: 15_000,
    0.95: 30_000,
    1.1: 20_000,
    1.5: 10_000,
    2.0: 8_000,
    3.0: 7_000,
}
"""How long each load is simulated: near saturation, what happens depends on what happened long
before, and a mean takes long to settle."""
STEADY: Final = 100.0
"""Length of a phase of a load that never changes: any."""
LONG: Final = 3.0
"""How many times the patience the queue's deadline is, where the queue does not know the patience
of its clients."""
MORE: Final = 18.0
"""How much longer the noisiest is simulated."""
TOLERANCE: Final = 0.01
"""Of the theory's value."""


def setting(policy: Policy, service: Service, load: float, *, scale: float = 1.0) -> Setting:
    return Setting(
        policy=policy,
        service=service,
        phases=(Phase(length=STEADY, rate=load),),
        length=LENGTHS[load] * scale,
    )


# By load, the queue's deadline being the patience of its clients

EXPECTED: Final[Mapping[Policy, Callable[[float, float, Service], float]]] = {
    policies.LIFO: theory.lifo_with_deadline,
    policies.LIFO_UNBOUNDED: theory.lifo,
    policies.FIFO_DEADLINE: theory.fifo_with_deadline,
    policies.FIFO_BOUNDED: theory.fifo_bounded,
    policies.FIFO_UNBOUNDED: theory.fifo,
}


def by_load(scale: float) -> list[Setting]:
    return [
        setting(policy, service, load, scale=scale * (MORE if _noisy(policy, service, load) else 1))
        for service in Service
        for load in LENGTHS
        for policy in (*EXPECTED, policies.ADAPTIVE)
        if load < 1 or policy != policies.FIFO_UNBOUNDED  # above: over a horizon
    ]


def _noisy(policy: Policy, service: Service, load: float) -> bool:
    exponential = service is Service.EXPONENTIAL
    return exponential and policy == policies.FIFO_BOUNDED and load > 1


def by_load_rows(outcomes: Iterable[Outcome]) -> list[Row]:
    return [_row(outcome) for outcome in outcomes]


def _row(outcome: Outcome) -> Row:
    chosen, found = outcome.setting, outcome.goodput
    expect = EXPECTED.get(chosen.policy)
    expected = expect and expect(chosen.load, chosen.patience, chosen.service)
    return {
        **_of(chosen),
        "policy": chosen.policy.name,
        "goodput_share_of_capacity": found.value,
        "theory": expected,
        "difference_percent": expected and 100 * (found.value / expected - 1),
        "within_1_percent": expected and abs(found.value / expected - 1) <= TOLERANCE,
        "within_ci95": expected and abs(found.value - expected) <= found.half_width,
        "shed_share_of_arrivals": outcome.shed_share,
        "shed_share_limit": theory.shed(chosen.load),
        "wait_p50_services": outcome.wait(0.5),
        "wait_p95_services": outcome.wait(0.95),
    }


def _of(chosen: Setting) -> Row:
    return {"service": chosen.service.value, "load": round(chosen.load, 3)}


# Adaptive beside the two that it chooses from

KNOWN: Final = (policies.LIFO, policies.FIFO_DEADLINE, policies.ADAPTIVE)
"""The queue's deadline is the patience of its clients."""
UNKNOWN: Final = tuple(replace(policy, deadline=LONG * PATIENCE) for policy in KNOWN)
"""The queue's deadline is longer, and the adaptive threshold is not."""


def of_unknown_patience(scale: float) -> list[Setting]:
    return [
        setting(policy, service, load, scale=scale / 2)
        for service in Service
        for load in LENGTHS
        for policy in UNKNOWN
    ]


def choice_rows(outcomes: Sequence[Outcome], triple: Sequence[Policy]) -> list[Row]:
    """``triple``: lifo, fifo and adaptive."""
    found = {(o.setting.service, o.setting.load, o.setting.policy): o for o in outcomes}
    return [
        _choice([found[service, load, policy] for policy in triple])
        for service, load in dict.fromkeys((s, x) for s, x, _ in found)
    ]


def _choice(three: Sequence[Outcome]) -> Row:
    lifo, fifo, adaptive = three
    better = max(lifo, fifo, key=lambda outcome: outcome.goodput.value)
    gain = adaptive.better_by(better)
    load = lifo.setting.load
    return {
        **_of(lifo.setting),
        "deadline_services": lifo.setting.policy.deadline,
        "lifo_in_time_share_of_arrivals": lifo.goodput.value / load,
        "fifo_in_time_share_of_arrivals": fifo.goodput.value / load,
        "adaptive_in_time_share_of_arrivals": adaptive.goodput.value / load,
        "adaptive_better_by_points": 100 * gain.value / load,
        "ci95_points": 100 * gain.half_width / load,
    }


# Adaptive, by its threshold

THRESHOLDS: Final = (0.5, 0.8, 0.9, 0.95, 0.99)
"""As parts of the patience."""
THRESHOLD_LOADS: Final = (0.95, 1.1, 2.0)


def of_thresholds(scale: float) -> list[Setting]:
    return [
        setting(
            replace(policies.ADAPTIVE, threshold=part * PATIENCE, deadline=deadline * PATIENCE),
            Service.CONSTANT,
            load,
            scale=scale / 3,
        )
        for deadline in (1.0, LONG)
        for load in THRESHOLD_LOADS
        for part in THRESHOLDS
    ]


def threshold_rows(outcomes: Iterable[Outcome]) -> list[Row]:
    return [
        {
            **_of(outcome.setting),
            "deadline_services": outcome.setting.policy.deadline,
            "threshold_share_of_patience": (outcome.setting.policy.threshold or 0) / PATIENCE,
            "in_time_share_of_arrivals": outcome.goodput.value / outcome.setting.load,
            "ci95": outcome.goodput.half_width / outcome.setting.load,
            "wait_p50_services": outcome.wait(0.5),
        }
        for outcome in outcomes
    ]


# Bursts

BURSTS: Final = (Phase(length=50, rate=2.0), Phase(length=200, rate=0.5))
"""Load 0.8 on average."""
BURSTS_LENGTH: Final = 15_000.0


def of_bursts(scale: float) -> list[Setting]:
    compared = (*KNOWN, policies.FIFO_BOUNDED, *UNKNOWN, policies.FIFO_UNBOUNDED)
    return [
        Setting(policy=policy, service=service, phases=BURSTS, length=BURSTS_LENGTH * scale)
        for service in Service
        for policy in compared
    ]


def burst_rows(outcomes: Iterable[Outcome]) -> list[Row]:
    return [
        {
            **_of(outcome.setting),
            "policy": outcome.setting.policy.name,
            "deadline_services": outcome.setting.policy.deadline_or_none,
            "in_time_share_of_arrivals": outcome.goodput.value / outcome.setting.load,
            "ci95": outcome.goodput.half_width / outcome.setting.load,
            "wait_p50_services": outcome.wait(0.5),
        }
        for outcome in outcomes
    ]


# Several servers

SLOTS: Final = (4, 16)
SLOTS_LOADS: Final = (0.95, 2.0)
SLOTS_LENGTH: Final = 20_000.0
"""Of all servers together."""
SLOTS_WINDOW: Final = 5_000.0
"""At the end of a window the servers wait for the last of them."""


def of_slots(scale: float) -> list[Setting]:
    return [
        Setting(
            policy=policies.LIFO_UNBOUNDED,
            service=Service.EXPONENTIAL,
            phases=(Phase(length=STEADY, rate=load * slots),),
            length=SLOTS_LENGTH / slots * scale,
            slots=slots,
            patience=PATIENCE / slots,
            window=SLOTS_WINDOW,
        )
        for slots in SLOTS
        for load in SLOTS_LOADS
    ]


def slots_rows(outcomes: Iterable[Outcome]) -> list[Row]:
    return [_slots_row(outcome) for outcome in outcomes]


def _slots_row(outcome: Outcome) -> Row:
    chosen, found = outcome.setting, outcome.goodput
    expected = theory.lifo_with_servers(chosen.load, chosen.patience, chosen.slots)
    return {
        "slots": chosen.slots,
        "load": round(chosen.load, 3),
        "goodput_share_of_capacity": found.value,
        "ci95": found.half_width,
        "theory": expected,
        "difference_percent": 100 * (found.value / expected - 1),
    }


# Over a horizon, and storms


def horizons(seeds: int) -> list[Horizon]:
    return [
        Horizon(service=service, load=load, length=1_000.0, seeds=range(seeds))
        for service in Service
        for load in LENGTHS
        if load > 1
    ]


def near_saturation_rows() -> list[Row]:
    """By theory alone: how far newest first falls behind, by patience."""
    load, service = 0.95, Service.CONSTANT
    shares = {
        "lifo_in_time_share": theory.lifo,
        "lifo_deadline_in_time_share": theory.lifo_with_deadline,
        "fifo_in_time_share": theory.fifo,
        "fifo_deadline_in_time_share": theory.fifo_with_deadline,
    }
    return [
        {
            "service": service.value,
            "load": load,
            "patience_services": patience,
            **{name: share(load, patience, service) / load for name, share in shares.items()},
        }
        for patience in (5.0, 8.0, 9.0, 10.0, 15.0, 20.0)
    ]


def storms(seeds: int) -> list[Storms]:
    compared = (
        *UNKNOWN,
        policies.FIFO_UNBOUNDED,
        policies.FIFO_DEADLINE,
        policies.FIFO_BOUNDED,
    )
    return [
        Storms(policy=policy, service=Service.EXPONENTIAL, seeds=range(seeds))
        for policy in compared
    ]
