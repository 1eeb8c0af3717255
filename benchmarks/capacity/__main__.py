"""``python -m benchmarks.capacity``: how near each law comes to what a downstream can do."""

import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final, TypeVar

import click

from benchmarks.capacity.laws import LAWS, LIFOQ, fixed
from benchmarks.capacity.results import Beyond, Change, Loaded, Results, Shared, Steady
from benchmarks.capacity.trial import BIT, PATIENCE, Done, Outcome, Setup, run
from benchmarks.record import HERE, Row, load, recording

TIMES: Final = ("fixed", "uniform", "exponential", "log-normal", "two kinds")
TRIALS: Final = {1: 2, 4: 2, 16: 1, 64: 1}
"""The number of trials, by that of the servers: with many servers one has as many attempts."""
TRIALS_WIDE: Final = {1: 8, 4: 8, 16: 4}
"""The number of trials for times of which a few are most of the sum: a trial has few of those, and
single trials lie far apart."""
WIDE: Final = ("log-normal", "two kinds")
LARGE: Final = 64
WARM: Final = 150.0
"""Seconds that are not counted."""
LENGTH: Final = 450.0
SHORT: Final = 300.0
"""The length with many servers."""
OTHERS: Final = ("fixed", "exponential", "log-normal")
"""Service times on which the other laws are tried."""
CHANGED_AT: Final = 300.0
BEFORE: Final = 100.0
AFTER: Final = 150.0
GONE: Final = 60.0
SPAN: Final = 30.0
MIDDLE: Final = 16
"""Servers, where there is one number of them."""
MOST: Final = 40


FILE: Final = HERE / "capacity" / "results.json"

KEY: Final = {"times", "servers", "law", "kind", "what", "change", "parts"}
"""The fields of a row that say what it is about."""

R = TypeVar("R", bound=Row)


@click.command()
@click.option("--processes", default=2, show_default=True, help="Simulations side by side.")
@click.option("--few", is_flag=True, help="All laws in front of one and of four servers alone.")
@click.option("--own", is_flag=True, help="lifoq's law alone: the others' rows stay as they are.")
@click.option(
    "--times",
    multiple=True,
    type=click.Choice(TIMES),
    help="lifoq's law alone, in front of steady downstreams with these service times: all other "
    "rows stay as they are. May be given several times.",
)
def main(processes: int, *, few: bool, own: bool, times: tuple[str, ...]) -> None:
    """Let each law find the capacity of downstreams, in lifoq's own processor."""
    if few:
        _few(processes)
        return
    own = own or bool(times)
    kept = Results.model_validate(load(FILE)["results"]) if own else Results()
    options = [f"--times {shlex.quote(each)}" for each in times] or ["--own"] * own
    command = " ".join(["python -m benchmarks.capacity", *options])
    with (
        recording("capacity", command) as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        rows = [(kind, servers, LIFOQ) for kind in TIMES for servers in (1, 4, 16)]
        rows += [(kind, LARGE, LIFOQ) for kind in ("fixed", "exponential")]
        rows += [
            (kind, MIDDLE, law)
            for kind in OTHERS
            for law in ("half", "double", *(law for law in LAWS if law != LIFOQ))
        ]
        kinds = [(kind, law) for kind in ("degrades", "times out", "fails") for law in LAWS]
        kinds += [("refuses", law) for law in (LIFOQ, "refusals alone")]
        if own:
            rows = [row for row in rows if row[2] == LIFOQ]
            kinds = [kind for kind in kinds if kind[1] == LIFOQ]
        changes = [
            (kind, change)
            for kind in ("fixed", "exponential")
            for change in ("8 of 16", "32 after 16", "0 of 16 for a minute")
        ]
        shared = [(kind, 16, 2, 1) for kind in OTHERS[1:]]
        shared += [("exponential", 16, 1, 2), ("exponential", LARGE, 8, 1)]
        loads = list(LOADS)
        if times:
            rows = [row for row in rows if row[0] in times]
            kinds, changes, shared, loads = [], [], [], []
        # The longest first, so that the processes end together.
        crowds = [pool.submit(share, *each) for each in shared]
        steadies = [pool.submit(steady, *each) for each in rows]
        loadeds = [pool.submit(loaded, what) for what in loads]
        beyonds = [pool.submit(beyond, *each) for each in kinds]
        changeds = [pool.submit(changed, *each) for each in changes]
        found.results = Results(
            steady=_with(kept.steady, [future.result() for future in steadies]),
            beyond=_with(kept.beyond, [future.result() for future in beyonds]),
            loaded=_with(kept.loaded, [future.result() for future in loadeds]),
            changes=_with(kept.changes, [future.result() for future in changeds]),
            shared=_with(kept.shared, [future.result() for future in crowds]),
        )


def _with(kept: tuple[R, ...], found: list[R]) -> tuple[R, ...]:
    """Return the rows that are kept, each replaced by what was found in its place, in their
    order."""
    rows = {str(row.model_dump(include=KEY)): row for row in (*kept, *found)}
    return tuple(rows.values())


def _few(processes: int) -> None:
    command = "python -m benchmarks.capacity --few"
    with (
        recording("capacity", command, variant="few") as found,
        ProcessPoolExecutor(processes) as pool,
    ):
        rows = [(times, n, law) for times in TIMES for n in (1, 4) for law in LAWS if law != LIFOQ]
        steadies = [pool.submit(steady, *each) for each in rows]
        found.results = Results(steady=tuple(future.result() for future in steadies))


def _law(name: str, servers: int) -> Callable[[int], Any]:
    of_best = {"half": 1 / 2, "double": 2.0}
    return fixed(of_best[name] * servers) if name in of_best else LAWS[name]


def _setups(times: str, servers: int, **more: Any) -> list[Setup]:
    return [
        Setup(
            times=times,
            servers=servers,
            seed=f"{times} {servers} {seed}",
            length=SHORT if servers >= LARGE else LENGTH,
            most=2 * servers if servers >= LARGE else MOST,
            **more,
        )
        for seed in range((TRIALS_WIDE if times in WIDE else TRIALS)[servers])
    ]


def _best(setups: list[Setup]) -> list[int]:
    """Return the goodput of the best fixed number in each trial. That number is the servers': with
    fewer one is idle, with more tasks only wait longer. It is found once for each trial."""
    known = str([(each.kind, each.seed) for each in setups])
    if known not in _BEST:
        size = min(setups[0].servers, setups[0].most)
        _BEST[known] = [_good(run(setup, fixed(size))) for setup in setups]
    return _BEST[known]


_BEST: Final[dict[str, list[int]]] = {}


def steady(times: str, servers: int, law: str) -> Steady:
    setups = _setups(times, servers)
    ours = [run(setup, _law(law, servers)) for setup in setups]
    trials = zip(ours, _best(setups), strict=True)
    return Steady(
        times=times,
        servers=servers,
        law=law,
        **_compared(setups, ours),
        worst=min(_good(outcome) / best for outcome, best in trials),
    )


def beyond(kind: str, law: str) -> Beyond:
    setups = _setups("exponential", MIDDLE, kind=kind)
    ours = [run(setup, LAWS[law]) for setup in setups]
    return Beyond(kind=kind, law=law, **_compared(setups, ours))


def _bursts(now: float) -> float:
    return 3.0 if now % 100 < 50 else 0.3  # noqa: PLR2004  (half of each hundred)


def _drift(now: float) -> float:
    """Return the factor at a moment: it goes from 1 to 2 in 300 s."""
    return 1 + min(1.0, max(0.0, now - WARM) / 300)


LOADS: Final[dict[str, dict[str, Any]]] = {
    "load 0.5": {"load": lambda _now: 0.5, "peak": 0.5},
    "load 1": {"load": lambda _now: 1.0, "peak": 1.0},
    "bursts of 3, then 0.3": {"load": _bursts, "peak": 3.0},
    "a downstream without a limit": {"servers": math.inf},
    "services that get twice as long": {"slower": _drift},
}


def loaded(what: str) -> Loaded:
    times, terms = "exponential", {"servers": MIDDLE, **LOADS[what]}
    setup = Setup(times=times, seed=f"{what} {times}", length=LENGTH, most=MOST, **terms)
    return Loaded(what=what, times=times, **_compared([setup], [run(setup, LAWS[LIFOQ])]))


def _compared(setups: list[Setup], ours: list[Outcome]) -> dict[str, float]:
    limits = [limit for outcome in ours for limit in outcome.limits[int(WARM / BIT) :]]
    return {
        "goodput": sum(map(_good, ours)) / sum(_best(setups)),
        "time": _mean_time(ours),
        "found": sum(limits) / len(limits),
    }


def changed(times: str, change: str) -> Change:
    """Follow lifoq's law after a change. Fractions of what the servers can do then."""
    gone = "minute" in change
    then = {"8": 8, "32": 32}.get(change.split(maxsplit=1)[0], MIDDLE)
    back = CHANGED_AT + (GONE if gone else 0)
    setup = Setup(
        times=times,
        servers=MIDDLE,
        seed=f"{times} {change}",
        length=back + AFTER + SPAN,
        most=MOST,
        load=lambda _now: 3.0,
        peak=3.0,
        changes=[*([(CHANGED_AT, 0)] if gone else []), (back, then)],
    )
    outcome = run(setup, LAWS[LIFOQ])
    good = Counter(int((d.at - back) / BIT) for d in _goods(outcome) if d.at >= back)
    parts = [good[bit] / (BIT * then) for bit in range(int((AFTER + SPAN) / BIT))]
    width = int(SPAN / BIT)
    spans = [sum(parts[i : i + width]) / width for i in range(len(parts) - width)]
    return Change(
        times=times,
        change=change,
        recovered=next((BIT * i for i, part in enumerate(spans) if part >= 0.9), None),  # noqa: PLR2004
        below_half=BIT * sum(part < 1 / 2 for part in parts),
        limits=outcome.limits[int((CHANGED_AT - BEFORE) / BIT) :],
    )


def share(times: str, servers: int, workers: int, types: int) -> Shared:
    """Let workers that cannot speak to each other, or task types, find their parts."""
    setup = _setups(times, servers, workers=workers, types=types)[0]
    ours, best = run(setup, LAWS[LIFOQ]), _best(_setups(times, servers)[:1])[0]
    parts = Counter(
        done.worker if workers > 1 else done.type for done in _goods(ours) if done.at >= WARM
    ).values()
    return Shared(
        times=times,
        servers=servers,
        parts=f"{workers} workers" if workers > 1 else f"{types} task types",
        goodput=_good(ours) / best,
        time=_mean_time([ours]),
        fairness=sum(parts) ** 2 / (max(workers, types) * sum(part**2 for part in parts)),
    )


def _goods(outcome: Outcome) -> Iterator[Done]:
    return (done for done in outcome.done if done.ok and done.sojourn <= PATIENCE)


def _good(outcome: Outcome) -> int:
    return sum(done.at >= WARM for done in _goods(outcome))


def _mean_time(outcomes: list[Outcome]) -> float:
    times = [done.time for outcome in outcomes for done in outcome.done if done.at >= WARM]
    return sum(times) / len(times)


if __name__ == "__main__":
    main()
