"""Sources of events that make functions run by themselves: streams, schedules, TTL."""

import re
import time
from datetime import UTC, datetime

import pytest

from lifoq_localcloud.events.faults import Faults, FaultSettings
from tests.localcloud.harness import eventually


def test_a_write_reaches_the_function_that_follows_the_stream(deployed):
    deployed.put("a", n={"N": "1"})
    deployed.put("a", n={"N": "1"})  # which changes nothing, and leaves no record
    deployed.put("a", n={"N": "2"}, bytes={"L": [{"B": b"\x00\xff"}]})
    deployed.client("dynamodb").delete_item(TableName=deployed.ids["Table"], Key={"id": {"S": "a"}})
    records: list[dict] = []
    eventually(lambda: records.extend(deployed.records()) or len(records) >= 3)

    assert [one["eventName"] for one in records] == ["INSERT", "MODIFY", "REMOVE"]
    changed = records[1]
    assert changed["eventSource"] == "aws:dynamodb"
    assert "/stream/" in changed["eventSourceARN"]
    assert changed["dynamodb"]["Keys"] == {"id": {"S": "a"}}
    assert changed["dynamodb"]["OldImage"] == {"id": {"S": "a"}, "n": {"N": "1"}}
    assert changed["dynamodb"]["NewImage"] == {
        "id": {"S": "a"},
        "n": {"N": "2"},
        "bytes": {"L": [{"B": "AP8="}]},
    }
    assert "userIdentity" not in records[2]


def test_a_disabled_mapping_delivers_later_what_was_written_meanwhile(deployed):
    api = deployed.client("lambda")
    api.update_event_source_mapping(UUID=deployed.ids["Mapping"], Enabled=False)
    deployed.put("meanwhile")
    time.sleep(1.0)
    assert deployed.records() == []

    api.update_event_source_mapping(UUID=deployed.ids["Mapping"], Enabled=True)
    (record,) = eventually(deployed.records)
    assert record["dynamodb"]["Keys"] == {"id": {"S": "meanwhile"}}


def test_ttl_deletes_what_has_expired_and_says_that_it_was_ttl(deployed):
    now = int(time.time())
    deployed.put("old", ttl={"N": str(now - 10)})
    deployed.put("ancient", ttl={"N": str(now - 6 * 365 * 24 * 3600)})
    deployed.put("young", ttl={"N": str(now + 3600)})
    deployed.put("milliseconds", ttl={"N": str((now - 10) * 1000)})
    removed: list[dict] = []

    def removals() -> list[dict]:
        removed.extend(one for one in deployed.records() if one["eventName"] == "REMOVE")
        return removed

    (deletion,) = eventually(removals)
    assert deletion["dynamodb"]["OldImage"]["id"] == {"S": "old"}
    assert deletion["userIdentity"] == {
        "type": "Service",
        "principalId": "dynamodb.amazonaws.com",
    }
    left = deployed.client("dynamodb").scan(TableName=deployed.ids["Table"])["Items"]
    assert {"ancient", "young", "milliseconds"} <= {one["id"]["S"] for one in left}


def test_a_schedule_by_rate_fires_at_once_when_it_is_enabled(deployed):
    scheduler = deployed.client("scheduler")
    schedule = scheduler.get_schedule(Name=deployed.ids["Schedule"])
    assert schedule["State"] == "DISABLED"
    settings = {
        name: schedule[name]
        for name in ("Name", "ScheduleExpression", "FlexibleTimeWindow", "Target")
    }

    def scheduled_records() -> list[dict]:
        return [one for one in deployed.records() if "scheduled" in one]

    time.sleep(0.5)
    assert scheduled_records() == []

    scheduler.update_schedule(**settings, State="ENABLED")
    record, *_ = eventually(scheduled_records)
    scheduler.update_schedule(**settings, State="DISABLED")

    scheduled = datetime.strptime(record["scheduled"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert abs((datetime.now(UTC) - scheduled).total_seconds()) < 300


def test_lost_messages_and_records_are_lost_when_asked_for(deployed):
    """A function that ran out of time is invoked again: what earlier tests sent may come late."""
    deployed.cloud.set_faults(drop_notifications=1.0, drop_stream_records=1.0, seed=1)
    deployed.client("sns").publish(TopicArn=deployed.ids["Topic"], Message="lost")
    deployed.put("lost")
    time.sleep(3.0)  # far longer than a record is on its way
    assert "lost" not in str(deployed.records())

    deployed.cloud.set_faults()
    deployed.put("found")
    come = []

    def found() -> bool:
        come.extend(deployed.records())
        return "found" in str(come)

    eventually(found)
    assert "lost" not in str(come)


def test_as_much_is_lost_as_was_asked_for_and_the_same_for_the_same_seed():
    def kept(**settings: float) -> list[tuple[bool, bool]]:
        faults = Faults().set(FaultSettings(**settings)) if settings else Faults()
        return [(faults.keep_notification(), faults.keep_record()) for _ in range(40)]

    half = {"drop_notifications": 0.5, "drop_stream_records": 0.5}
    assert kept() == [(True, True)] * 40
    assert kept(drop_notifications=1) == [(False, True)] * 40
    assert kept(drop_stream_records=1) == [(True, False)] * 40
    assert kept(**half) == kept(**half, seed=0) != kept(**half, seed=1)
    for fraction in (-0.01, 1.01):
        told = f"drop_stream_records is {fraction}; it must lie between 0 and 1."
        with pytest.raises(ValueError, match=rf"^{re.escape(told)}$"):
            FaultSettings(drop_stream_records=fraction)
