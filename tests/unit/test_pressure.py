"""What a producer is told, of a queue and its worker in virtual time."""

import random

import pytest

from benchmarks.world import Table, World, poisson
from lifoq import Lifetimes, Queue, WorkerSettings


@pytest.mark.parametrize(
    ("rate", "starts", "shed"), [(5, 5, 0), (20, 10, pytest.approx(0.5, abs=0.06))]
)
def test_what_is_started_is_known_and_beyond_the_capacity_the_share_that_is_shed(
    rate, starts, shed
):
    """After four minutes in which so many came in a second, of which ten can be done."""
    table = Table()
    world = World(
        table,
        lambda _: table.host.sleep(1.0),
        lifetimes=Lifetimes(deadline=10),
        settings=WorkerSettings(in_flight=10),
    )
    moments = poisson(rate, 240, random.Random(1))
    world.feed(((moment, None) for moment in moments), world.put)
    world.run(240)
    pressure = Queue(world.store, host=table.host).pressure()
    assert pressure.shed_share == shed
    assert pressure.starts_per_second == pytest.approx(starts, rel=0.25)
    assert 0 <= pressure.wait_seconds < 2
