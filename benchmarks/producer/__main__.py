"""``python -m benchmarks.producer``: puts, beside bare writes of the same items."""

from collections.abc import Mapping
from typing import Any, Final

import click

from benchmarks.bare import NAME, Ground, contest, ground, new_tasks
from benchmarks.producer.results import Results
from benchmarks.record import recording
from lifoq.tables.table import MAX_BATCH

WARM_UP: Final = 1_500


@click.command()
@click.option("--puts", default=400, show_default=True, help="Tasks that are put one by one.")
@click.option("--batched", default=2_500, show_default=True, help="Tasks that are put in batches.")
@click.option("--repeats", default=7, show_default=True, help="Measurements of each.")
def main(puts: int, batched: int, repeats: int) -> None:
    """Measure put and put_many beside bare writes of the same items."""
    with recording("producer", "python -m benchmarks.producer") as found, ground() as here:
        one, many = Puts(here), Batches(here)
        here.fill(min(WARM_UP, batched))
        found.results = Results(
            ratios=[
                contest("`put`", one.ours, one.bare, tasks=puts, repeats=repeats),
                contest("`put_many`", many.ours, many.bare, tasks=batched, repeats=repeats),
            ]
        )


class Puts:
    """``put`` beside ``PutItem``: the request of one put, with another key."""

    def __init__(self, here: Ground) -> None:
        self._here = here
        with here.listening("PutItem") as seen:
            self.ours(1)
        (self._sent,) = seen
        self._keys = _Keys(self._sent["Item"])

    def ours(self, number: int) -> None:
        for n in range(number):
            self._here.queue.put("empty", {"number": n})

    def bare(self, number: int) -> None:
        for _ in range(number):
            item = {**self._sent["Item"], **self._keys.next()}
            self._here.client.put_item(**{**self._sent, "Item": item})


class Batches:
    """``put_many`` beside ``BatchWriteItem``: the requests of one batch, with other keys."""

    def __init__(self, here: Ground) -> None:
        self._here = here
        with here.listening("BatchWriteItem") as seen:
            self.ours(MAX_BATCH)
        (sent,) = seen
        self._item = sent["RequestItems"][NAME][0]["PutRequest"]["Item"]
        self._keys = _Keys(self._item)

    def ours(self, number: int) -> None:
        outcomes = self._here.queue.put_many(new_tasks(number))
        if not all(outcome.created for outcome in outcomes):
            raise RuntimeError("a task was not put")

    def bare(self, number: int) -> None:
        for _ in range(0, number, MAX_BATCH):
            items = [{**self._item, **self._keys.next()} for _ in range(MAX_BATCH)]
            puts = [{"PutRequest": {"Item": item}} for item in items]
            self._here.once.batch_write_item(RequestItems={NAME: puts})


class _Keys:
    """Keys for copies of an item, as long as the product's."""

    def __init__(self, item: Mapping[str, Any]) -> None:
        self._prefix = item["taskId"]["S"][:16]
        self._created = int(item["taskCreated"]["N"])
        self._number = 0

    def next(self) -> dict[str, Any]:
        self._number += 1
        return {
            "taskId": {"S": f"{self._prefix}{self._number:016}"},
            "taskCreated": {"N": str(self._created + self._number)},
        }


if __name__ == "__main__":
    main()
