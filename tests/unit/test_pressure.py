"""The pressure that a producer is told, of a queue and its worker in virtual time."""

import random

import pytest

from benchmarks.world import Table, World, poisson
from lifoq import Lifetimes, Queue, WorkerSettings
from lifoq.items.change import Item


class LateTtl(Table):
    """DynamoDB deletes what has expired hours later."""

    def expire(self, _now: int) -> list[Item]:
        return []


HALF = pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize(
    ("rate", "window", "starts", "shed", "seconds"),
    [
        (5, 60, 5, 0, 90),
        (20, 9, 10, HALF, 90),
        *(
            pytest.param(*case, 240, marks=pytest.mark.prove)
            for case in ((5, 60, 5, 0), (20, 9, 10, HALF), (20, 60, 10, HALF), (20, 2, 10, HALF))
        ),
    ],
)
def test_what_is_started_is_known_and_beyond_the_capacity_the_share_that_is_shed(
    rate, window, starts, shed, seconds
):
    """After minutes in which so many came in a second, of which ten can be done."""
    table = LateTtl()
    world = World(
        table,
        lambda _: table.host.sleep(1.0),
        lifetimes=Lifetimes(deadline=10),
        settings=WorkerSettings(in_flight=10, window=window),
    )
    moments = poisson(rate, seconds, random.Random(1))
    world.feed(((moment, None) for moment in moments), world.put)
    world.run(seconds)
    pressure = Queue(world.store, host=table.host).pressure()
    assert pressure.shed_share == shed
    assert pressure.starts_per_second == pytest.approx(starts, rel=0.25)
    assert 0 <= pressure.wait_seconds < 2
