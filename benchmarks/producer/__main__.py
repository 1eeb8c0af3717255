"""``python -m benchmarks.producer``: see README.md."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import click

from benchmarks.processor.contenders import listening
from benchmarks.processor.ground import NAME, Ground, ground, new_tasks
from benchmarks.ratios import ratio
from benchmarks.record import recording
from lifoq.tables.table import MAX_BATCH

Row = dict[str, Any]
Way = Callable[[int], None]

GOAL: Final = 0.9
WARM_UP: Final = 1_500
LIFOQ: Final = "lifoq"
BARE: Final = "bare writes"


@click.command()
@click.option("--puts", default=400, show_default=True, help="Tasks that are put one by one.")
@click.option("--batched", default=2_500, show_default=True, help="Tasks that are put in batches.")
@click.option("--repeats", default=7, show_default=True, help="Measurements of each contender.")
def main(puts: int, batched: int, repeats: int) -> None:
    """Measure put and put_many beside bare writes of the same items."""
    with recording("producer", "python -m benchmarks.producer") as found, ground() as here:
        contests: dict[str, tuple[int, dict[str, Way]]] = {
            "put": (puts, {LIFOQ: _puts(here), BARE: _bare_puts(here)}),
            "put_many": (batched, {LIFOQ: _put_many(here), BARE: _bare_batches(here)}),
        }
        for number, ways in contests.values():
            for way in ways.values():
                way(min(WARM_UP, number))
        runs: list[Row] = []
        for repeat in range(repeats):
            for call, (number, ways) in contests.items():
                for contender in (BARE, LIFOQ) if repeat % 2 else (LIFOQ, BARE):
                    with here.spending() as spent:
                        ways[contender](number)
                    row = {"call": call, "contender": contender, **spent.per_task(number)}
                    runs.append(row)
                    print(row, flush=True)
        found.results = {
            "goal_ratio": GOAL,
            "ratios": [_ratio(runs, call) for call in contests],
            "runs": runs,
        }


def _puts(here: Ground) -> Way:
    def put(number: int) -> None:
        for n in range(number):
            here.queue.put("empty", {"number": n})

    return put


def _put_many(here: Ground) -> Way:
    return lambda number: _all_created(here.queue.put_many(new_tasks(number)))


def _all_created(outcomes: Sequence[Any]) -> None:
    if not all(outcome.created for outcome in outcomes):
        raise RuntimeError("a task was not put")


def _bare_puts(here: Ground) -> Way:
    """The request of one put, with another key."""
    with listening("PutItem", here.client, here.once) as seen:
        here.queue.put("empty", {"number": 0})
    (sent,) = seen
    keys = _Keys(sent["Item"])

    def put(number: int) -> None:
        for _ in range(number):
            here.client.put_item(**{**sent, "Item": {**sent["Item"], **keys.next()}})

    return put


def _bare_batches(here: Ground) -> Way:
    """The requests of one batch, with other keys."""
    with listening("BatchWriteItem", here.client, here.once) as seen:
        here.queue.put_many(new_tasks(MAX_BATCH))
    (sent,) = seen
    item = sent["RequestItems"][NAME][0]["PutRequest"]["Item"]
    keys = _Keys(item)

    def put(number: int) -> None:
        for _ in range(0, number, MAX_BATCH):
            puts = [{"PutRequest": {"Item": {**item, **keys.next()}}} for _ in range(MAX_BATCH)]
            here.once.batch_write_item(RequestItems={NAME: puts})

    return put


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


def _ratio(runs: list[Row], call: str) -> Row:
    these = [run for run in runs if run["call"] == call]
    return {"call": call, **ratio(these, ours=LIFOQ, bare=BARE, goal=GOAL)}


if __name__ == "__main__":
    main()
