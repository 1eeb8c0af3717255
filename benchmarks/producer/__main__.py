"""``python -m benchmarks.producer``: puts, beside bare writes of the same items."""

import time
import uuid
from typing import Any, Final

import click

from benchmarks.bare import NAME, Ground, contest, ground, new_tasks
from benchmarks.producer.results import Results
from benchmarks.record import recording
from lifoq.store.table_protocol import MAX_BATCH

WARM_UP: Final = 1_500


@click.command()
@click.option("--puts", default=400, show_default=True, help="Tasks that are put one by one.")
@click.option("--batched", default=2_500, show_default=True, help="Tasks that are put in batches.")
@click.option("--repeats", default=7, show_default=True, help="Measurements of each.")
def main(puts: int, batched: int, repeats: int) -> None:
    """Measure put and put_many beside bare writes of the same items."""
    with recording("producer", "python -m benchmarks.producer") as found, ground() as here:
        producer = Producer(here)
        producer.put_many(min(WARM_UP, batched))
        one = contest("`put`", producer.put, producer.bare_puts, tasks=puts, repeats=repeats)
        many = contest(
            "`put_many`", producer.put_many, producer.bare_batches, tasks=batched, repeats=repeats
        )
        found.results = Results(ratios=[one, many])


class Producer:
    def __init__(self, here: Ground) -> None:
        self._here = here
        with here.listening("PutItem") as seen:
            self.put(1)
        (self._request,) = seen

    def put(self, number: int) -> None:
        for n in range(number):
            self._here.queue.put("empty", {"number": n})

    def put_many(self, number: int) -> None:
        outcomes = self._here.queue.put_many(new_tasks(number))
        if not all(outcome.created for outcome in outcomes):
            raise RuntimeError("a task was not put")

    def bare_puts(self, number: int) -> None:
        """The request of one put, with another item."""
        for _ in range(number):
            self._here.client.put_item(**{**self._request, "Item": self._item()})

    def bare_batches(self, number: int) -> None:
        for _ in range(0, number, MAX_BATCH):
            puts = [{"PutRequest": {"Item": self._item()}} for _ in range(MAX_BATCH)]
            self._here.once.batch_write_item(RequestItems={NAME: puts})

    def _item(self) -> dict[str, Any]:
        """The item of one put, with keys of its own."""
        return {
            **self._request["Item"],
            "taskId": {"S": uuid.uuid4().hex},
            "taskCreated": {"N": str(time.time_ns() // 1_000)},
        }


if __name__ == "__main__":
    main()
