"""Units by the rules: known cases, and what DynamoDB Local reports; what they cost."""

import boto3
import pytest

from benchmarks.cost import bill, loads, transitions
from benchmarks.cost.results import Results, Transition
from benchmarks.cost.transitions import LARGE, SMALL, TRANSITIONS, Desk, units
from benchmarks.record import HERE, load
from benchmarks.units import Metered, Reported
from lab import dynamodb_local
from lifoq.aws.dynamo_table import DynamoTable
from lifoq.basics.host import SYSTEM
from lifoq.items.key_limit import KeyLimit
from lifoq.items.task import NewTask
from lifoq.store.keyed_claims import KeyedClaims
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq_analytics.answers import outlook


def test_a_task_takes_seven_units_with_a_head_start_or_without():
    for head_start in (None, 60):
        table = Metered()
        store = Store(table, host=table.host)
        task = store.put(NewTask(task_type="a", head_start=head_start))
        assert table.write_units == 2
        store.succeed(store.claim(task.task_id, claim_id="c", lease=30), "1")
        assert table.write_units == 7


@pytest.mark.parametrize(("per_key", "all_units"), [(None, 12), (1, 13)])
def test_a_task_whose_key_has_a_rate_takes_the_units_that_its_page_says(per_key, all_units):
    table = Metered()
    store = Store(table, host=table.host)
    claims, limit = KeyedClaims(store, host=table.host), KeyLimit(rate=1, per_key=per_key)
    for key in ("first", "second"):
        before = table.write_units
        store.put(NewTask(task_type="a", key=key))
        (row,) = store.candidates(limit=1).rows
        claim = claims.claim(row, key_limit=limit, lease=30)
        store.succeed(claim.task, "1")
        claim.leave()
        assert table.write_units - before == all_units
    page = (HERE.parent / "docs" / "how-to" / "per-key.md").read_text()
    assert "costs 12 write units in place of 7; 13 with `per_key=1`" in page


def test_what_has_expired_ahead_falls_back_for_three_units():
    table, host = Metered(), ManualHost()
    store = Store(table, host=host)
    store.put(NewTask(task_type="a", deadline=60, head_start=60))
    host.advance(60)
    (row,) = store.candidates(limit=1).rows
    before = table.write_units
    assert store.let_fall(row)
    assert table.write_units - before == 3


REPORTED_OTHERWISE = {
    "put again under a known id",  # a refused write: nothing
    "claim that comes too late",
    "claim of a key that is held",
    "success with a follow-up of the same size",  # a transaction: its last item alone
}


@pytest.mark.parametrize("size", [SMALL, pytest.param(LARGE, marks=pytest.mark.prove)])
def test_the_rules_count_what_dynamodb_local_reports(
    dynamodb_local_endpoint, new_dynamo_table, size
):
    name = new_dynamo_table(dynamodb_local_endpoint).name
    arguments = {"endpoint_url": dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS}
    client = boto3.client("dynamodb", **arguments)
    reported = Reported(client)
    desk = Desk(DynamoTable.of_clients(name, client=client, once=client), SYSTEM, size)
    found = {}
    for transition, (begin, act) in TRANSITIONS.items():
        task = begin(desk)
        before = reported.write_units
        act(desk, task)
        found[transition] = reported.write_units - before
    expected = {transition: units(transition, size) for transition in TRANSITIONS}
    assert {name for name in found if found[name] != expected[name]} == REPORTED_OTHERWISE


@pytest.fixture(scope="module")
def rows() -> list[Transition]:
    return transitions.rows()


def test_the_recorded_units_are_those_of_today(rows):
    """Small tasks' alone: the loads take minutes of virtual time, and the writes never vary."""
    recorded = Results(**load(HERE / "cost" / "results.json")["results"])
    assert rows == recorded.transitions
    counted = {row.load: row.write_units for row in loads.rows()}
    assert counted == {row.load: row.write_units for row in recorded.units}


def test_the_report_prices_each_operation_as_the_rules_do(rows):
    counted = {row.transition: row.small for row in rows}
    assert {
        "put": counted["put"],
        "claim": counted["claim"],
        "success": counted["success"],
        "retry": counted["retry later"] + counted["fall due"],
        "failure": counted["failure"],
        "cancellation": counted["cancel"],
    } == outlook.WRITE_UNITS
    assert bill.usd("write units", 1_000_000) == outlook.USD_PER_MILLION_WRITE_UNITS
