"""RQ: newest first by ``at_front``; Redis deletes what is older than its ``ttl``."""

from redis import Redis
from rq import Queue

from benchmarks.beside_others import work

queue = Queue("beside", connection=Redis.from_url(work.setting("REDIS")))
REGISTRIES = ("finished", "failed", "started", "deferred", "scheduled", "canceled")


def put(number: int, at: float) -> None:
    deadline = round(float(work.setting("DEADLINE")))
    queue.enqueue(work.check, number, at, at_front=True, ttl=deadline, result_ttl=3_600)


def counts() -> dict[str, int]:
    """RQ has no status for it: what is in no registry is gone."""
    known = sum(getattr(queue, f"{name}_job_registry").count for name in REGISTRIES)
    return {"shed": 0, "known": known + queue.count}


if __name__ == "__main__":
    work.main(put, counts)
