"""lifoq: newest first, shed at the deadline."""

from typing import Any

from benchmarks.beside_others import work
from lifoq import Context, Lifetimes, Queue, task

DEADLINE = float(work.setting("DEADLINE"))


@task("device.check")
def check(payload: Any, _context: Context) -> None:
    work.check(payload["number"], payload["put"])


if __name__ == "__main__":
    queue = Queue.connect(
        table=work.setting("TABLE"),
        lifetimes=Lifetimes(deadline=DEADLINE),
        endpoint_url=work.setting("DYNAMODB"),
    )
    work.main(
        lambda number, put: queue.put("device.check", {"number": number, "put": put}),
        lambda: {"shed": queue.stats().expired_present.value},
    )
