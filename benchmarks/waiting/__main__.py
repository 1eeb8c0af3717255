"""``python -m benchmarks.waiting``: callers that wait, on one event loop and in threads."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import click

from benchmarks.bare import Ground, ground
from benchmarks.record import recording
from benchmarks.units import Reported
from benchmarks.waiting.results import Results, Waits
from lifoq import WaitTimeout

WAYS: Final = ("`await_result`, one event loop", "`wait`, a thread each")


@click.command()
@click.option("--callers", default=2_000, show_default=True, help="Callers that wait at a time.")
@click.option("--seconds", default=20.0, show_default=True, help="How long each of them waits.")
def main(callers: int, seconds: float) -> None:
    """Let callers wait for tasks that do not end, in each way. About two minutes."""
    with recording("waiting", "python -m benchmarks.waiting") as found, ground() as here:
        ids, reported = here.fill(callers), Reported(here.client)
        found.results = Results(
            seconds=seconds,
            waits=[
                measured(here, reported, way, ids[:number], seconds)
                for number in (100, callers)
                for way in WAYS
            ],
        )


def measured(
    here: Ground, reported: Reported, way: str, task_ids: Sequence[str], seconds: float
) -> Waits:
    """Let a caller wait for each task, and count what that takes."""
    by = dict(zip(WAYS, (on_one_loop, in_threads), strict=True))[way]
    before, cpu, began = reported.read_units, time.process_time(), time.perf_counter()
    by(here, task_ids, seconds)
    took = time.perf_counter() - began
    callers = len(task_ids)
    return Waits(
        callers=callers,
        way=way,
        cpu_ms=round(1000 * (time.process_time() - cpu) / callers, 2),
        read_units=round((reported.read_units - before) / callers, 2),
        late=round(took - seconds, 2),
    )


def on_one_loop(here: Ground, task_ids: Sequence[str], seconds: float) -> None:
    """Wait in coroutines of this thread."""

    async def wait(task_id: str) -> None:
        with suppress(WaitTimeout):
            await here.queue.await_result(task_id, timeout=seconds)

    async def all_wait() -> None:
        await asyncio.gather(*map(wait, task_ids))

    asyncio.run(all_wait())


def in_threads(here: Ground, task_ids: Sequence[str], seconds: float) -> None:
    """Wait in a thread for each task."""

    def wait(task_id: str) -> None:
        with suppress(WaitTimeout):
            here.queue.wait(task_id, timeout=seconds)

    with ThreadPoolExecutor(len(task_ids)) as pool:
        list(pool.map(wait, task_ids))


if __name__ == "__main__":
    main()
