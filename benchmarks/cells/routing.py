"""Ways to choose the cell of a task, as producers could."""

import random
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final

CUSTOMERS: Final = 1_000
"""Whose shares of the tasks follow Zipf's law: the nth sends 1/n of what the first one does."""
PRODUCERS: Final = 50
TYPES: Final = (0.4, 0.3, 0.2, 0.1)
"""Shares of the task types, where each has a cell of its own."""

Route = Callable[[int, int, random.Random], list[int]]
"""The cells of so many tasks, in the order in which they arrive, out of so many cells."""


@dataclass(frozen=True, kw_only=True)
class Routing:
    name: str
    route: Route
    shares: Sequence[float] | None = None
    """Of the slots, by cell; None where all are equal."""


def at_random(tasks: int, cells: int, draw: random.Random) -> list[int]:
    return [int(draw.random() * cells) for _ in range(tasks)]


def by_id(tasks: int, cells: int, draw: random.Random) -> list[int]:
    """A hash of an id of the task's own: what idempotent puts need."""
    return [cell_of(f"{draw.getrandbits(128):032x}", cells) for _ in range(tasks)]


def by_customer(tasks: int, cells: int, draw: random.Random) -> list[int]:
    """A hash of something that many tasks share, unevenly."""
    weights = list(accumulate(1 / rank for rank in range(1, CUSTOMERS + 1)))
    homes = [cell_of(f"customer-{rank}", cells) for rank in range(CUSTOMERS)]
    return draw.choices(homes, cum_weights=weights, k=tasks)


def in_turn(tasks: int, cells: int, draw: random.Random) -> list[int]:
    """One producer that deals its tasks out like cards."""
    first = draw.randrange(cells)
    return [(first + number) % cells for number in range(tasks)]


def many_in_turn(tasks: int, cells: int, draw: random.Random) -> list[int]:
    """Many producers, each of which deals out its own."""
    turns = [draw.randrange(cells) for _ in range(PRODUCERS)]
    chosen = []
    for _ in range(tasks):
        producer = int(draw.random() * PRODUCERS)
        chosen.append(turns[producer])
        turns[producer] = (turns[producer] + 1) % cells
    return chosen


def by_type(tasks: int, cells: int, draw: random.Random) -> list[int]:
    return draw.choices(range(cells), weights=TYPES[:cells], k=tasks)


def cell_of(key: str, cells: int) -> int:
    """The same in every process and release, which Python's own ``hash`` is not."""
    return zlib.crc32(key.encode()) % cells


AT_RANDOM: Final = Routing(name="at random", route=at_random)

ROUTINGS: Final = (
    AT_RANDOM,
    Routing(name="by a hash of the task's id", route=by_id),
    Routing(name="in turn, one producer", route=in_turn),
    Routing(name=f"in turn, {PRODUCERS} producers", route=many_in_turn),
    Routing(name="by a hash of the customer", route=by_customer),
    Routing(name="by type, equal cells", route=by_type),
    Routing(name="by type, cells to measure", route=by_type, shares=TYPES),
)
