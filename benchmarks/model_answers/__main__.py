"""``python -m benchmarks.model_answers``: who has an answer of a language model in time."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Final

import click

from benchmarks.model_answers.crowd import PATIENCE, User, crowd
from benchmarks.model_answers.line import Line, line
from benchmarks.model_answers.results import Outcome, Results
from benchmarks.model_answers.with_lifoq import with_lifoq
from benchmarks.record import recording

LOADS: Final = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
TWICE: Final = 2.0
HOUR: Final = 3600.0
SLOTS: Final = (4, 5, 6, 8, 12, 20, 40, 80)
"""Requests at a time that each line may have."""
SHORT: Final = 10.0
"""Seconds of waiting that leave time for the answer."""
LIFOQ: Final = "lifoq"
LINES: Final = {
    "SQS, maximum concurrency": Line(slots=0),
    "SQS, dropped at 20 s": Line(slots=0, most_wait=PATIENCE),
    "SQS, dropped at 10 s": Line(slots=0, most_wait=SHORT),
    "semaphore": Line(slots=0, notices=True),
    "semaphore, refuses after 10 s": Line(slots=0, notices=True, most_wait=SHORT),
}
HEAVY: Final = 0.75
"""The part of the questions that are lighter than the heavy ones."""


@click.command()
@click.option("--seconds", default=HOUR, show_default=True, help="Of each load, in virtual time.")
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
@click.option(
    "--counted", is_flag=True, help="A request that is refused counts, too: at twice the load only."
)
def main(seconds: float, processes: int, *, counted: bool) -> None:
    """An hour of users before a model's API, by six ways and at seven loads."""
    command = "python -m benchmarks.model_answers" + " --counted" * counted
    loads = (TWICE,) if counted else LOADS
    trial = partial(served, seconds=seconds, counted=counted)
    rows = [(way, load) for way in (LIFOQ, *LINES) for load in loads]
    with (
        recording("model_answers", command, variant="counted" if counted else None) as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        found.results = Results(outcomes=list(pool.map(trial, *zip(*rows, strict=True))))


def served(way: str, load: float, *, seconds: float, counted: bool) -> Outcome:
    """Return the outcome of a way; of a line with the number of slots that suits it best."""
    if way == LIFOQ:
        return outcome(way, load, seconds, partial(with_lifoq, counts_refusals=counted))
    policy = replace(LINES[way], counts_refusals=counted)
    return _by_line(way, policy, _best_slots(way, policy, seconds), load, seconds)


def _best_slots(way: str, policy: Line, seconds: float) -> int:
    """Return the number of slots with which a line answers most users at twice the load."""
    if policy not in _BEST:
        trials = {slots: _by_line(way, policy, slots, TWICE, seconds).in_time for slots in SLOTS}
        _BEST[policy] = max(SLOTS, key=lambda slots: trials[slots])
    return _BEST[policy]


_BEST: Final[dict[Line, int]] = {}


def _by_line(way: str, policy: Line, slots: int, load: float, seconds: float) -> Outcome:
    found = outcome(way, load, seconds, partial(line, replace(policy, slots=slots)))
    return found.model_copy(update={"slots": slots})


def outcome(
    way: str, load: float, seconds: float, serve: Callable[[Sequence[User], float], int]
) -> Outcome:
    """Return what becomes of the users of so many seconds. ``serve``: serves them up to a moment,
    and returns the number of refusals."""
    users = crowd(load, seconds)
    refusals = serve(users, seconds + 2 * PATIENCE)
    by_weight = sorted(users, key=lambda user: user.question.total)
    heavy = by_weight[round(HEAVY * len(users)) :]
    wasted = sum(user.tokens for user in users if not user.is_answered)
    return Outcome(
        way=way,
        load=load,
        slots=None,
        in_time=_answered(users),
        heavy_in_time=_answered(heavy),
        for_nobody=wasted / sum(user.tokens for user in users),
        refusals=refusals / len(users),
    )


def _answered(users: Sequence[User]) -> float:
    return sum(user.is_answered for user in users) / len(users)


if __name__ == "__main__":
    main()
