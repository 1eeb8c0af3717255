"""The price of five ways to keep a slow API from being asked too much:
``python -m benchmarks.cost.five_ways``. lifoq's part is counted (``results.json``), the others'
follow from AWS's documented requests. The page is docs/how-to/slow-api.md.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.cost.bill import MILLION, usd

CALLS: Final = (0.1, 2.0)
"""Seconds that a call of the API takes."""
GIGABYTES: Final = 0.5
"""Memory of the function, the same for all."""
IN_FLIGHT: Final = 10
"""Calls that lifoq's processor makes side by side, in one run."""
COUNTED_CALL: Final = 0.1
"""Seconds of a call in the load whose function time was counted."""
REQUESTS: Final = 3
"""Requests of SQS for each message: sent, received, deleted."""


@dataclass(frozen=True, kw_only=True)
class Way:
    name: str
    done: tuple[float, ...]
    """Dollars of a million tasks that are done, for each of ``CALLS``."""
    too_late: float
    """Dollars of a million tasks that are not begun, since they are too old: for SQS, the handler
    looks at the age of a message and returns at once."""


def ways() -> Iterator[Way]:
    standard, fifo = _queue("SQS requests"), _queue("SQS FIFO requests")
    waits = usd("state transitions", MILLION)
    yield Way(name="reserved concurrency", done=_with_runs(standard), too_late=_too_late(standard))
    yield Way(name="maximum concurrency", done=_with_runs(standard), too_late=_too_late(standard))
    yield Way(name="FIFO groups", done=_with_runs(fifo), too_late=_too_late(fifo))
    yield Way(
        name="Step Functions with tokens",
        done=_with_runs(waits + standard),
        too_late=_too_late(waits + standard),
    )
    bill = json.loads(Path(__file__).with_name("results.json").read_text())["results"]
    lines = bill["per_million"]
    counted = sum(line["usd"] for line in lines if line["load"] == "backlog")
    yield Way(
        name="lifoq",
        done=tuple(counted + _time((seconds - COUNTED_CALL) / IN_FLIGHT) for seconds in CALLS),
        too_late=sum(line["usd"] for line in lines if line["load"] == "shed"),
    )


def _queue(requests: str) -> float:
    return usd(requests, REQUESTS * MILLION)


def _with_runs(queue: float) -> tuple[float, ...]:
    """One call in each run: batches would make a run wait for several."""
    return tuple(queue + usd("function runs", MILLION) + _time(seconds) for seconds in CALLS)


def _too_late(queue: float) -> float:
    return queue + usd("function runs", MILLION)


def _time(seconds: float) -> float:
    return usd("function time", MILLION * seconds * GIGABYTES)


def main() -> None:
    heads = [f"{seconds:g} s a call" for seconds in CALLS]
    print(f"| dollars of a million | {' | '.join(heads)} | too late |")
    print("|---|---:|---:|---:|")
    for way in ways():
        print(f"| {way.name} | {' | '.join(f'{one:.2f}' for one in (*way.done, way.too_late))} |")


if __name__ == "__main__":
    main()
