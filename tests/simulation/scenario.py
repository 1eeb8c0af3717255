"""The scenario of one seed: the queue's settings, the load, and how much goes wrong."""

import random
from dataclasses import dataclass, replace

from lifoq.items.lifetimes import Lifetimes
from lifoq.worker.handlers.backoff import Backoff
from lifoq.worker.settings import WorkerSettings


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Probabilities, and times in seconds."""

    refused: float = 0
    """The probability that a call is not applied; the caller is told so or learns nothing."""
    lost_answer: float = 0
    """The probability that a call is applied, and the caller learns nothing."""
    crash: float = 0
    """The probability that the caller's machine is gone right before or right after a call."""
    stall: float = 0
    """The probability that a call takes longer than a lease."""
    late: float = 0
    """The probability that a write that follows from an earlier read is on its way for so long that
    others come before it."""
    sweep_slowness: float = 1
    """The factor by which the sweep's calls take longer than others', so that much happens between
    them."""
    unprocessed: float = 0
    """The probability that the database leaves out an item of a batch."""
    lost_kick: float = 0
    index_lag: float = 0.3
    """The longest that an index may be behind the table."""
    breaker: float = 0
    """The probability that task code does anything else than succeed at once."""
    busy: float = 0
    """The probability that others have filled the downstream at an attempt."""
    pause: float = 0
    """Seconds between two pauses of a whole running worker, on average; 0: never."""
    damage: float = 0
    """Seconds between two tasks that somebody damages past the library, on average; 0: never."""
    outages: int = 0
    """Times at which every call is refused for a while."""


CALM = Faults()


@dataclass(frozen=True, kw_only=True)
class Scenario:
    seed: int
    lifetimes: Lifetimes
    worker: WorkerSettings
    adaptive_concurrency: bool
    """True if workers find by themselves how many tasks of a type may run at a time."""
    downstream: int | None
    """Attempts of a type that the downstream takes from one worker at a time; None: any number."""
    probe_after: int
    """Tasks that pass before a worker tries one more at a time."""
    processors: int
    """The number of processors that may run at a time. The queue is deployed with one, but must
    bear more."""
    long_workers: int
    """Beside them: processors that serve until they are stopped, as `lifoq work` does."""
    client_skews: tuple[float, ...]
    """The seconds by which each client machine's clock is off."""
    worker_skew: float
    """Workers and the sweep are off by at most this, in seconds."""
    operations: int
    """That each client carries out."""
    pace: float
    """Seconds between two of them, on average."""
    sweep_every: float
    """Seconds between two sweeps in the chaos; in the calm it is the minute of the deployed one."""
    sweep_page: int
    """Leases that the sweep reads at once."""
    ttl_every: float
    """Seconds between two rounds of TTL."""
    ttl_late: float
    """The longest that TTL leaves an expired item alone."""
    only_the_sweep_kicks: bool
    """In the calm after the chaos: whether every other kick stays lost."""
    freezes: bool
    """True if monotonic clocks stand still between two invocations of a function."""
    faults: Faults

    @property
    def run_lasts(self) -> float:
        """Seconds after which a run is over, whatever is still in flight."""
        return self.worker.window + self.worker.task_timeout + self.worker.settle_time

    @classmethod
    def of(cls, seed: int) -> "Scenario":
        draw = random.Random(f"scenario {seed}")
        lease = draw.choice((2.0, 3.0, 6.0))
        clients = draw.randint(1, 3)
        shared = draw.random() < 0.35
        scenario = cls(
            seed=seed,
            lifetimes=Lifetimes(
                deadline=draw.choice((40.0, 90.0, 300.0)),
                success_retention=draw.choice((20.0, 600.0)),
                failure_retention=draw.choice((60.0, 900.0)),
                shed_at_deadline=draw.random() < 0.3,
                task_tokens=draw.random() < 0.3,
            ),
            worker=WorkerSettings(
                window=draw.choice((8.0, 15.0, 30.0)),
                task_timeout=draw.choice((3.0, 5.0, 9.0)),
                lease=lease,
                heartbeat=lease / 3,
                in_flight=draw.choice((1, 2, 4, 10)),
                page=draw.choice((1, 3, 10)),
                max_attempts=draw.randint(1, 4),
                backoff=draw.choice(
                    (Backoff(min_seconds=0.3, max_seconds=8.0), Backoff.fixed(1.0)),
                ),
                rate_limit=draw.choice((None, None, 3.0)),
                adaptive_threshold=draw.choice((None, None, 0.7, 3.0, 15.0)),
                fair_share=draw.random() < 0.3,
                shared_limits=shared,
                total_in_flight=draw.choice((None, None, None, 1, 3)) if shared else None,
                unknown_types=draw.choice(("wait", "fail")),
            ),
            adaptive_concurrency=random.Random(f"adaptive concurrency {seed}").random() < 0.3,
            downstream=draw.choice((None, None, None, 1, 3)),
            probe_after=draw.choice((2, 5, 100)),
            processors=max(draw.choice((1, 1, 2)), draw.choice((2, 3)) if shared else 1),
            long_workers=draw.choice((0, 0, 0, 1, 2)),
            client_skews=tuple(draw.choice((0.0, 0.4, 20.0, -20.0)) for _ in range(clients)),
            worker_skew=_worker_skew(seed, draw.choice((0.0, 0.05, 1.0))),
            operations=draw.randint(10, 60),
            pace=draw.choice((0.2, 1.5, 6.0)),
            sweep_every=draw.choice((4.0, 15.0, 60.0)),
            sweep_page=draw.choice((2, 100)),
            ttl_every=draw.choice((5.0, 40.0)),
            ttl_late=draw.choice((0.0, 30.0, 1_000.0)),
            only_the_sweep_kicks=draw.random() < 0.5,
            freezes=draw.random() < 0.6,
            faults=_faults(draw),
        )
        if shared and draw.random() < 0.3:
            breaker, lag = scenario.faults.breaker, scenario.faults.index_lag
            faults = replace(CALM, breaker=breaker, index_lag=lag)
            return replace(scenario, faults=faults, operations=80, pace=0.2)
        return scenario


def _worker_skew(seed: int, usual: float) -> float:
    """In some seeds, nearly as much as a clock may be off without being corrected."""
    return 3.9 if random.Random(f"worker skew {seed}").random() < 0.1 else usual


def _faults(draw: random.Random) -> Faults:
    """Each kind is absent from some seeds, so that others are seen undisturbed."""
    return Faults(
        refused=draw.choice((0, 0.02, 0.1)),
        lost_answer=draw.choice((0, 0.02, 0.1)),
        crash=draw.choice((0, 0.001, 0.01)),
        stall=draw.choice((0, 0.002, 0.02)),
        late=draw.choice((0, 0.1, 0.4)),
        sweep_slowness=draw.choice((1, 40)),
        unprocessed=draw.choice((0, 0.2)),
        lost_kick=draw.choice((0, 0.3, 0.9)),
        index_lag=draw.choice((0.3, 0.3, 1.0, 5.0)),
        breaker=draw.choice((0.2, 0.6, 0.9)),
        busy=draw.choice((0, 0, 0, 0.3)),
        pause=draw.choice((0, 5, 30)),
        outages=draw.choice((0, 0, 1)),
        damage=draw.choice((0, 0, 3, 15)),
    )
