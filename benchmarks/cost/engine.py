"""The counts on DynamoDB Local: each transition, and loads on the processor."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import boto3

from benchmarks.cost import transitions, workloads
from benchmarks.cost.meter import Meter
from benchmarks.cost.transitions import Row
from benchmarks.cost.workloads import Bench, Workload
from lab import dynamodb_local
from lifoq.items.lifetimes import Lifetimes
from lifoq.tables.dynamo import DynamoTable
from lifoq.tables.store import Store
from lifoq.testing import create_table

DEADLINE: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A workload, the payload sizes that it is run with, and the queue's deadline in seconds."""

    workload: Workload
    sizes: tuple[int, ...]
    deadline: float = DEADLINE


def measure(sizes: tuple[int, ...]) -> dict[str, list[Row]]:
    """Units per transition, and per task of each workload."""
    smallest = sizes[:1]
    plans = (
        Plan(workload=workloads.one_at_a_time, sizes=sizes),
        Plan(workload=workloads.backlog, sizes=sizes),
        Plan(workload=workloads.overload, sizes=smallest, deadline=2.0),
        Plan(workload=workloads.refusals, sizes=smallest),
        Plan(workload=workloads.shed, sizes=sizes, deadline=0.5),
    )
    with (
        tempfile.TemporaryDirectory() as directory,
        dynamodb_local.running(Path(directory) / "dynamodb.log") as endpoint,
    ):
        engine = Engine(endpoint)
        return {
            "transitions": list(engine.transitions(sizes)),
            "table": [engine.run(plan, size) for plan in plans for size in plan.sizes],
        }


class Engine:
    """DynamoDB Local, with a new table for each workload."""

    def __init__(self, endpoint: str) -> None:
        self._client: dict[str, Any] = {"endpoint_url": endpoint, **dynamodb_local.CREDENTIALS}
        self._tables = 0

    def transitions(self, sizes: tuple[int, ...]) -> Iterator[Row]:
        bench = self._bench(sizes[0], DEADLINE)
        yield from transitions.rows(bench.store, bench.meter, sizes)

    def run(self, plan: Plan, size: int) -> Row:
        bench = self._bench(size, plan.deadline)
        with bench.meter.reading() as found:
            outcome = plan.workload(bench)
        sums, tasks = found.sums, outcome.put
        stored_bytes = bench.meter.stored_bytes
        on_shed = outcome.shed * put_units(bench)
        return {
            "workload": plan.workload.__name__.replace("_", " "),
            "payload_bytes": size,
            "tasks": tasks,
            "retries_per_task": outcome.retried / tasks,
            "write_units_per_task": sums.documented_write_units / tasks,
            "write_units_per_success": (sums.documented_write_units - on_shed) / outcome.succeeded
            if outcome.succeeded
            else None,
            "read_units_per_task": sums.documented_read_units / tasks,
            "queries_per_task": sums.requests.get("Query", 0) / tasks,
            "refused_writes_per_task": sums.refused / tasks,
            "stored_bytes_per_task": stored_bytes / tasks,
        }

    def _bench(self, size: int, deadline: float) -> Bench:
        self._tables += 1
        name, lifetimes, meter = f"cost-{self._tables}", Lifetimes(deadline=deadline), Meter()
        create_table(boto3.client("dynamodb", **self._client), name)
        return Bench(
            store=Store(meter.table(name, **self._client), lifetimes=lifetimes),
            onlooker=Store(DynamoTable.connect(name, **self._client), lifetimes=lifetimes),
            meter=meter,
            size=size,
        )


def put_units(bench: Bench) -> float:
    """Write units of one more put of the same size."""
    with bench.meter.reading() as found:
        bench.store.put(bench.new)
    return found.sums.documented_write_units
