"""Items that somebody wrote past the library: they go to FAILURE with the reason, and stop
nobody."""

import re
from decimal import Decimal
from typing import Any

import pytest

from lifoq.errors import DamagedTask, InvalidInput
from lifoq.items.schema import MAX_ITEM_BYTES, MAX_PAYLOAD_BYTES, RESERVED_BYTES, Status
from lifoq.store.table_protocol import Table
from lifoq.worker.handlers.context import Context
from tests.conftest import on_dynamodb_too
from tests.faults.world import LEASE, World

LOST = {"taskStatus": "TAKEN", "claimId": "c", "leaseExpires": 1, "attempts": 1}
DELAYED: dict[str, Any] = {"taskStatus": "DELAYED", "taskCreated": None, "dueAt": 1}

DAMAGES: dict[str, tuple[dict[str, Any], str]] = {
    "payload is a number": ({"payload": 5}, "payload is int"),
    "payload is no JSON": ({"payload": "{"}, "payload is not JSON"),
    "payload fills the item": ({"payload": '"' + "x" * (MAX_ITEM_BYTES - 220) + '"'}, "too large"),
    "type is a number": ({"taskType": 7}, "taskType is missing or not a string"),
    "type is empty": ({"taskType": ""}, "taskType is missing or not a string of 1 to 256 bytes"),
    "key is empty": ({"taskKey": ""}, "taskKey is not a string of 1 to 256 bytes"),
    "key is too long": ({"taskKey": "x" * 257}, "taskKey is not a string of 1 to 256 bytes"),
    "taken with an empty key": ({**LOST, "taskKey": ""}, "taskKey has 0 bytes"),
    "delayed with an empty key": ({**DELAYED, "taskKey": ""}, "taskKey has 0 bytes"),
    "no deadline": ({"expiresAt": None}, "expiresAt is missing"),
    "deadline is beyond time": ({"expiresAt": 10**30}, "expiresAt is 1000000"),
    "attempts are a fraction": ({"attempts": Decimal("0.5")}, "attempts"),
    "attempts are below zero": ({"attempts": -5}, "attempts is -4"),
    "no attempts at all": ({"maxAttempts": 0}, "maxAttempts is 0, which is no such number"),
    "no time at all": ({"preview": {"timeout": 0}}, "timeout is 0, which is no such number"),
    "never enqueued": ({"enqueuedAt": None}, "enqueuedAt is missing"),
    "preview is no map": ({"preview": "headStart"}, "preview is not a map"),
    "head start is text": ({"preview": {"headStart": "5"}}, "headStart is not a whole number"),
    "head start is below zero": ({"preview": {"headStart": -5}}, "headStart is -5"),
    "checkpoint is no JSON": ({"checkpoint": "{"}, "checkpoint is not JSON"),
    "error is no JSON": ({"error": "{"}, "error is not lifoq's JSON"),
    "error is no object": ({"error": "[]"}, "error is not lifoq's JSON"),
    "created out of reach": ({"taskCreated": 1}, "taskCreated lies further back"),
    "taken without a lease": ({**LOST, "leaseExpires": None}, "without leaseExpires or claimId"),
    "taken without a payload": ({**LOST, "payload": None}, "payload is missing"),
    "delayed without a payload": ({**DELAYED, "payload": None}, "payload is missing"),
}

MENDED_BY_THE_CLAIM = {
    "no attempts": {"attempts": None},
    "no ttl": {"ttl": None},
    "ttl is text": {"ttl": "never"},
    "never updated": {"taskUpdated": None},
    "taken at noon": {"takenAt": "noon"},
    "created tomorrow": {"taskCreated": 10**17},
}

IN_NO_INDEX = {
    "status unknown": {"taskStatus": "LOST"},
    "pending without a place": {"taskCreated": None},
    "taken without a place": {**LOST, "taskCreated": None},
    "delayed for ever": {**DELAYED, "dueAt": None},
}


@pytest.fixture
def world(table: Table) -> World:
    return World(table)


@on_dynamodb_too
def test_what_is_damaged_goes_to_failure_with_its_reason_and_redrive_leaves_it_there(world):
    for name, (attributes, _) in DAMAGES.items():
        world.put_damaged(name, **attributes)
    for name, attributes in (MENDED_BY_THE_CLAIM | IN_NO_INDEX).items():
        world.put_damaged(name, **attributes)
    world.put("ok", "healthy")
    world.put("broken", "broken")

    worker = world.new_process()
    for _ in range(2):
        worker.work()
        worker.host.sleep(LEASE + 1)
        worker.sweep()

    items = {name: found(world, name) for name in DAMAGES}
    stuck = {n for n, item in items.items() if item["taskStatus"] != Status.FAILURE}
    untold = {n for n, (_, reason) in DAMAGES.items() if reason not in items[n].get("error", "")}
    assert (stuck, untold) == (set(), set())
    assert world.effects.keys() == {"healthy", "broken", *MENDED_BY_THE_CLAIM}
    done = {found(world, name)["taskStatus"] for name in ("healthy", *MENDED_BY_THE_CLAIM)}
    assert done == {Status.SUCCESS}

    assert world.operator.queue.redrive_many(task_type="broken") == 1
    for name in ("payload is no JSON", "never enqueued"):
        with pytest.raises(DamagedTask):
            world.operator.queue.redrive(world.id(name))
    shown = world.operator.queue.peek(100, status=Status.FAILURE)
    assert world.id("payload is no JSON") not in {task.task_id for task in shown}


MET_AT_THE_END: dict[str, tuple[dict[str, Any], str]] = {
    "parked put is no put": ({"parked": {"putAt": 1}, "parkedAt": 1}, "parked: payload is missing"),
    "parked put is text": ({"parked": "x"}, "parked is str"),
    "parked at another time": ({"parkedAt": 1}, "do not belong together"),
    "error is no JSON": ({"error": "{"}, "error is not lifoq's JSON"),
    "error is no object": ({"error": "[]"}, "error is not lifoq's JSON"),
}


@pytest.mark.parametrize("way", ["succeeds", "fails", "is tried again"])
@pytest.mark.parametrize("damage", MET_AT_THE_END)
def test_damage_beside_a_parked_put_that_an_attempt_meets_at_its_end_stops_no_run(
    world, damage, way
):
    attributes, reason = MET_AT_THE_END[damage]
    worker = world.new_process()

    @worker.registry.task("struck", max_attempts=1 if way == "fails" else 2)
    def struck(_payload: Any, context: Context) -> None:
        world.put("struck", "struck", if_exists="replace")
        world.past.write({**found(world, "struck"), **attributes})
        if way != "succeeds":
            raise RuntimeError(way)

    world.put("ok", "before")
    world.put("struck", "struck")
    report = worker.work()
    assert (report.succeeded, report.leases_lost) == (1, 1)
    worker.host.sleep(LEASE + 1)
    worker.sweep()
    item = found(world, "struck")
    assert (item["taskStatus"], item["taskType"]) == (Status.FAILURE, "struck")
    assert reason in item["error"]


def found(world: World, name: str) -> Any:
    item = world.table.get(world.id(name))
    assert item is not None
    return item


@on_dynamodb_too
def test_an_attempt_can_tell_how_it_failed_however_large_its_payload_and_checkpoint(world):
    worker = world.new_process()

    @worker.registry.task("greedy", max_attempts=1)
    def greedy(_payload: Any, context: Context) -> None:
        with pytest.raises(InvalidInput) as refused:
            context.checkpoint("y" * RESERVED_BYTES)
        (room,) = re.findall("there is room for ([0-9,]+)", str(refused.value))
        context.checkpoint("y" * (int(room.replace(",", "")) - len('""')))
        raise RuntimeError("\N{TURTLE}" * 5_000)

    payload = "x" * (MAX_PAYLOAD_BYTES - 2)
    world.operator.queue.put("greedy", payload, task_id=world.id("a" * 900))
    worker.work()
    item = found(world, "a" * 900)
    assert item["taskStatus"] == Status.FAILURE
    assert "RuntimeError" in item["error"]
