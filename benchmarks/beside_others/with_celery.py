"""Celery: oldest first; what has expired is revoked when a worker comes to it."""

import json

from celery import Celery

from benchmarks.beside_others import work

app = Celery("beside", broker=work.setting("REDIS"), backend=work.setting("REDIS"))
# A process holds no task but the one that it runs.
app.conf.update(worker_prefetch_multiplier=1, task_acks_late=True)
check = app.task(name="check")(work.check)


def counts() -> dict[str, int]:
    keys = app.backend.client.keys("celery-task-meta-*")
    states = [json.loads(app.backend.client.get(key))["status"] for key in keys]
    return {"shed": states.count("REVOKED")}


if __name__ == "__main__":
    expires = float(work.setting("DEADLINE"))
    work.main(lambda number, put: check.apply_async((number, put), expires=expires), counts)
