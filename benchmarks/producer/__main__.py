"""``python -m benchmarks.producer``: see README.md."""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any, Final

import click

from benchmarks.processor.ground import NAME, Ground, ground, new_tasks
from benchmarks.record import recording
from lifoq.table import MAX_BATCH

Row = dict[str, Any]
Request = Mapping[str, Any]
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
        for row in found.results["ratios"]:
            print(row)


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
    (sent,) = _captured(here, "PutItem", lambda: here.queue.put("empty", {"number": 0}))
    keys = _Keys(sent["Item"])

    def put(number: int) -> None:
        for _ in range(number):
            here.client.put_item(**{**sent, "Item": {**sent["Item"], **keys.next()}})

    return put


def _bare_batches(here: Ground) -> Way:
    """The requests of one batch, with other keys."""
    (sent,) = _captured(here, "BatchWriteItem", lambda: here.queue.put_many(new_tasks(MAX_BATCH)))
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


def _captured(here: Ground, operation: str, call: Callable[[], object]) -> list[Request]:
    """The requests that the clients are asked to send during the call."""
    seen: list[Request] = []

    def see(params: Request, **_: Any) -> None:
        seen.append(dict(params))

    for client in (here.client, here.once):
        client.meta.events.register(f"provide-client-params.dynamodb.{operation}", see)
    call()
    for client in (here.client, here.once):
        client.meta.events.unregister(f"provide-client-params.dynamodb.{operation}", see)
    return seen


def _ratio(runs: list[Row], call: str) -> Row:
    """Of the two speeds in the same repeat."""

    def of(contender: str, key: str) -> list[float]:
        return [run[key] for run in runs if (run["call"], run["contender"]) == (call, contender)]

    speeds = zip(of(LIFOQ, "tasks_per_second"), of(BARE, "tasks_per_second"), strict=True)
    ratios = [round(ours / bare, 3) for ours, bare in speeds]
    return {
        "call": call,
        "tasks_per_second": median(of(LIFOQ, "tasks_per_second")),
        "bare_tasks_per_second": median(of(BARE, "tasks_per_second")),
        "ratio": median(ratios),
        "ratio_min": min(ratios),
        "ratio_max": max(ratios),
        "client_cpu_ms_per_task": median(of(LIFOQ, "client_cpu_ms_per_task")),
        "bare_client_cpu_ms_per_task": median(of(BARE, "client_cpu_ms_per_task")),
        "goal_met": median(ratios) >= GOAL,
    }


if __name__ == "__main__":
    main()
