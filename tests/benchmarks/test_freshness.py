"""The worker that lifoq is compared with works, and its only fault is its page."""

from benchmarks.freshness.barrier import PageBarrier
from benchmarks.world import Table, World
from lifoq import Lifetimes, WorkerSettings


def test_it_works_off_its_page_before_it_sees_what_is_newer():
    order, together, most = [], 0, 0

    def work(payload: str) -> None:
        nonlocal together, most
        order.append(payload)
        together += 1
        most = max(most, together)
        world.host.sleep(1.0)
        together -= 1

    settings = WorkerSettings(window=60, in_flight=2, page=3)
    world = World(
        Table(answer=0.01), work, lifetimes=Lifetimes(), settings=settings, worker=PageBarrier
    )
    for number in range(4):
        world.put(f"old {number}")
    world.at(0.5, lambda: world.put("new"))
    world.run(10)

    assert order == ["old 3", "old 2", "old 1", "new", "old 0"]
    assert most == 2
