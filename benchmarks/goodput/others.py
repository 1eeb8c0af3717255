"""Orders that lifoq does not have, by a simulation of some lines: no product runs here."""

import heapq
import math
import random
from collections import deque
from collections.abc import Sequence
from typing import Final

from benchmarks.goodput.theory import PATIENCE
from benchmarks.world import poisson

STANDING: Final = PATIENCE
SHORT: Final = STANDING / 20
"""Facebook's N and M, which it sets to 100 and 5 ms: a queue that was not empty within N lets new
requests wait for M only, else for N; and while it is so, the newest comes first
(B. Maurer, Fail at Scale, ACM Queue 13(8), 2015)."""


def codel_with_adaptive_lifo(load: float, arrivals: int, seed: int) -> Sequence[float]:
    """The waits of those that start."""
    draw = random.Random(seed)
    waiting: deque[tuple[float, float]] = deque()
    """When each came, and until when it waits."""
    waits, free, empty = [], 0.0, 0.0
    """When the server is free; when nobody waited last."""

    def serve(until: float) -> None:
        nonlocal free, empty
        while waiting and free < until:
            came, waits_until = waiting.pop() if empty < free - STANDING else waiting.popleft()
            if waits_until > free:
                waits.append(free - came)
                if not waiting:
                    empty = free
                free += draw.expovariate(1)
            elif not waiting:
                empty = free

    for now in poisson(load, arrivals / load, draw):
        serve(now)
        if not waiting:
            empty = now
        free = max(free, now) if not waiting else free
        waiting.append((now, now + (SHORT if empty < now - STANDING else STANDING)))
        serve(math.nextafter(now, math.inf))
    return waits


def shortest_time_to_extinction(load: float, arrivals: int, seed: int) -> float:
    """The share of the arrivals that start in time, where the queue is told how long each waits:
    no order that knows no service times, and lets no server idle, has more (Panwar, Towsley, Wolf
    1988)."""
    draw = random.Random(seed)
    waiting: list[float] = []
    starts, free = 0, 0.0

    def serve(until: float) -> None:
        nonlocal starts, free
        while waiting and free < until:
            if heapq.heappop(waiting) > free:
                starts += 1
                free += draw.expovariate(1)

    for now in poisson(load, arrivals / load, draw):
        serve(now)
        free = max(free, now) if not waiting else free
        heapq.heappush(waiting, now + draw.expovariate(1 / PATIENCE))
        serve(math.nextafter(now, math.inf))
    return starts / arrivals
