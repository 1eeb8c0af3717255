"""Runs seeds, and tells the story of one that fails."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Final

from tests.simulation.batches import ONE_CALL
from tests.simulation.database import DAMAGES
from tests.simulation.fleet import HANDS_BACK
from tests.simulation.history import Violation
from tests.simulation.keys import KEY_FINDINGS
from tests.simulation.order import TURNS
from tests.simulation.rules import WAYS, way
from tests.simulation.shares import JUDGED
from tests.simulation.together import TOGETHER
from tests.simulation.world import World

NOTABLE: Final = WAYS | TURNS | KEY_FINDINGS | TOGETHER | DAMAGES | {HANDS_BACK, JUDGED, ONE_CALL}
"""The events that must occur, for the rules to have been put to the test."""


@dataclass(frozen=True, kw_only=True)
class Result:
    seed: int
    fingerprint: str
    """A digest of the whole trace: one seed gives one."""
    steps: int
    occurred: Counter[str]
    """The number of times that each notable event occurred."""
    failure: str | None
    schedule: list[str]
    """The schedule that led to a failure, line by line."""


def run_seed(seed: int) -> Result:
    world = World(seed)
    failure: BaseException | None = None
    try:
        world.run()
    except (Exception, Violation) as error:  # noqa: BLE001  (whatever went wrong, it is told)
        failure = error
    task_id = getattr(failure, "task_id", None)
    happened = [*map(way, world.database.history.writes), *(e[-1] for e in world.trace.events)]
    return Result(
        seed=seed,
        fingerprint=hashlib.sha256(repr(world.trace.events).encode()).hexdigest(),
        steps=world.scheduler.steps,
        occurred=Counter(text for text in happened if text in NOTABLE),
        failure=None if failure is None else f"{type(failure).__name__}: {failure}",
        schedule=[] if failure is None else world.trace.schedule(task_id),
    )


def run_seeds(seeds: Iterable[int], *, processes: int) -> Iterator[Result]:
    """Results in the order of the seeds. The processes are new ones: a fork of one with threads,
    such as that of the tests, could inherit a lock that nobody releases."""
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield from pool.map(run_seed, seeds, chunksize=4)


def story(result: Result) -> str:
    """Return all that a person needs to see what happened, and to see it again."""
    return "\n".join(
        (
            f"Seed {result.seed} breaks a rule.",
            "     seconds  strand                              task            event",
            *result.schedule,
            "",
            f"{result.failure}",
            f"Run it again: python -m tests.simulation --seed {result.seed}",
            f"          or: make chaos SEED={result.seed}",
        )
    )
