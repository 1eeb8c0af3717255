"""The cost benchmark's own arithmetic: DynamoDB's rules, prices, what Lambda and X-Ray bill."""

import re
from collections import Counter

import pytest

from analytics import outlook
from benchmarks.cost import alternatives, bill, rules
from benchmarks.cost.cloud import Traffic
from benchmarks.cost.meter import Meter
from benchmarks.cost.workloads import Downstream
from lab import dynamodb_local
from lifoq import Cancelled, Retry
from lifoq.items.task import NewTask, TaskError
from lifoq.tables.dynamo_values import typed
from lifoq.tables.memory import MemoryTable
from lifoq.tables.store import Store
from lifoq.testing.fixtures import noise

ERROR = TaskError(type="ValueError", message="no")


class Journal(MemoryTable):
    """Adds up what each write takes by the rules."""

    def __init__(self):
        super().__init__()
        self.units = 0

    def put(self, item, *, over=()):
        super().put(item, over=over)
        self.units += rules.write_units(None, typed(item))

    def update_and_get(self, task_id, change):
        before = dict(self.get(task_id))
        after = super().update_and_get(task_id, change)
        self.units += rules.write_units(typed(before), typed(after))
        return after

    def taken(self):
        units, self.units = self.units, 0
        return units


@pytest.fixture
def table():
    return Journal()


@pytest.fixture
def store(table):
    return Store(table)


def put(store, size=10):
    return store.put(NewTask(task_type="a", payload=noise(size)))


def claim(store, task):
    return store.claim(task.task_id, claim_id="c" * 32, lease=30)


def test_the_report_prices_each_operation_as_the_rules_do(store, table):
    units = {}
    task = put(store)
    units["put"] = table.taken()
    taken = claim(store, task)
    units["claim"] = table.taken()
    store.succeed(taken, "null")
    units["success"] = table.taken()
    taken = claim(store, put(store))
    table.taken()
    store.retry(taken, ERROR, delay=1e-6)
    store.promote(taken.task_id)
    units["retry"] = table.taken()
    taken = claim(store, taken)
    table.taken()
    store.fail(taken, ERROR)
    units["failure"] = table.taken()
    task = put(store)
    table.taken()
    store.cancel(task.task_id)
    units["cancellation"] = table.taken()
    assert units == outlook.WRITE_UNITS


def test_a_heartbeat_writes_no_index(store, table):
    taken = claim(store, put(store))
    table.taken()
    store.extend(taken, lease=30)
    assert table.taken() == 1


def test_to_cancel_what_runs_costs_a_unit_and_one_more_for_the_heartbeat_that_tells(store, table):
    taken = claim(store, put(store))
    table.taken()
    store.cancel(taken.task_id)
    assert table.taken() == 1
    with pytest.raises(Cancelled):
        store.extend(taken, lease=30)
    refused = rules.refused_units(typed(table.get(taken.task_id)))
    assert table.taken() + refused == 2
    store.extend(taken, lease=30, cancelled=True)
    assert table.taken() == 1
    store.end_cancelled(taken)
    assert table.taken() == 2


def test_each_kilobyte_that_an_item_begins_is_a_unit_of_the_table_and_none_of_the_index(
    store, table
):
    put(store, size=6200)  # some 5,060 compressed
    assert table.taken() == 6 + 1


def test_a_smaller_item_costs_what_the_larger_one_before_it_did():
    large = {"taskId": {"S": "a"}, "payload": {"S": "x" * 3000}}
    assert rules.write_units(large, {"taskId": {"S": "a"}}) == 3


def test_a_refused_write_pays_for_the_item_that_was_there():
    assert rules.refused_units({"payload": {"S": "x" * 2000}}) == 2
    assert rules.refused_units(None) == 1


@pytest.mark.parametrize(
    ("value", "size"),
    [({"S": "é"}, 2), ({"N": "1700000000123456"}, 9), ({"N": "1000"}, 2)],
)
def test_sizes_are_those_that_aws_documents(value, size):
    assert rules.item_bytes({"a": value}) == 1 + size


def test_the_meter_counts_what_dynamodb_reports_and_what_aws_documents(
    dynamodb_local_endpoint, new_dynamo_table
):
    meter, name = Meter(), new_dynamo_table(dynamodb_local_endpoint).name
    arguments = {"endpoint_url": dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS}
    store = Store(meter.table(name, **arguments))

    def units(step):
        with meter.reading() as found:
            outcome = step()
        return outcome, (found.sums.write_units, found.sums.documented_write_units)

    task, of_put = units(lambda: put(store))
    taken, of_claim = units(lambda: claim(store, task))
    _, of_success = units(lambda: store.succeed(taken, "null"))
    assert (of_put, of_claim, of_success) == ((2, 2), (3, 3), (2, 2))
    assert meter.stored_bytes > 0


def test_an_operation_without_a_rule_is_refused_and_not_counted_as_nothing():
    with pytest.raises(NotImplementedError, match="ImportTable"):
        Meter()._documented("ImportTable", {}, {}, 1.0)


def test_the_report_and_the_benchmark_have_one_price():
    assert bill.usd("write units", 1_000_000) == outlook.USD_PER_MILLION_WRITE_UNITS


def test_every_price_says_from_when_and_where_it_is():
    for price in bill.PRICES:
        assert re.fullmatch(r"20\d\d(-\d\d)?", price["as_of"])
        assert re.match(r"https://(docs\.)?aws\.amazon\.com/", price["source"])


def test_one_trace_a_second_is_recorded_and_a_twentieth_of_the_others():
    assert bill.traces(10, 60) == 10
    assert bill.traces(240, 60) == pytest.approx(60 + 0.05 * 180)


def test_lambda_bills_each_run_by_the_millisecond_begun_and_by_its_memory():
    traffic = Traffic(
        seconds=1,
        calls=Counter({("trigger", "sns:Publish"): 2, ("sweep", "sns:Publish"): 1}),
        durations={"trigger": [0.0101, 0.0101], "processor": [1.0]},
        log_bytes={},
        spare_kicks=0,
    )
    memory = {"trigger": 256, "processor": 512}
    assert traffic.gigabyte_seconds(memory) == pytest.approx(2 * 0.011 / 4 + 0.5)
    assert traffic.count("sns:Publish") == 3


def test_sqs_in_batches_takes_a_tenth_of_the_requests_of_single_messages():
    one, ten = (
        next(r["usd_per_million"] for r in rows if r["load"] == load)
        for load in ("one at a time", "batches of 10")
        for rows in [alternatives.rows(memory_megabytes=512, service_seconds=0.1)]
    )
    assert one == pytest.approx(10 * ten)


def test_the_downstream_refuses_what_it_has_no_slot_for():
    with pytest.raises(Retry):
        Downstream(slots=0).work(None, None)
    assert Downstream(slots=1).work(None, None) == {"done": True}
