"""TriggerFunction: what wakes the processor, and what counts as shed."""

from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from lifoq.basics.clock import CLOCK_OFF_AT_MOST
from lifoq.ends.changes import WAKING
from lifoq_localcloud.events.filters import passes

TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def record(event, *, old=None, new=None, who=None, enqueued=1, now=5):
    """A record of a task that came in minute 1 and expires in minute 9; the new image is of
    ``now``."""

    def image(status, **times):
        numbers = {name: {"N": str(value * 60_000_000)} for name, value in times.items()}
        return {"taskId": {"S": "t"}, "taskStatus": {"S": status}, **numbers}

    change = {"Keys": {"taskId": {"S": "t"}}, "SequenceNumber": "1"}
    change["ApproximateCreationDateTime"] = now * 60
    change |= {"OldImage": image(old, enqueuedAt=1, expiresAt=9)} if old else {}
    change |= {"NewImage": image(new, enqueuedAt=enqueued, taskUpdated=now)} if new else {}
    found = {"eventSource": "aws:dynamodb", "eventName": event, "dynamodb": change}
    return found | ({"userIdentity": who} if who else {})


def put_anew(*, old, new):
    return record("MODIFY", old=old, new=new, enqueued=9, now=9)


KICKS = {
    "a new task": record("INSERT", new="PENDING"),
    "a retry that is due": record("MODIFY", old="DELAYED", new="PENDING"),
    "a lost lease": record("MODIFY", old="TAKEN", new="PENDING"),
    "a redrive": record("MODIFY", old="FAILURE", new="PENDING"),
    "a put over a task that was shed": put_anew(old="PENDING", new="PENDING"),
    "a tail call": {"EventSource": "aws:sns", "Sns": {"Message": "whatever"}},
}
QUIET = {
    "a delayed task": record("INSERT", new="DELAYED"),
    "a fall back": record("MODIFY", old="PENDING", new="PENDING", now=9),
    "a claim": record("MODIFY", old="PENDING", new="TAKEN"),
    "a success": record("MODIFY", old="TAKEN", new="SUCCESS"),
    "a delayed put over one that was shed": put_anew(old="PENDING", new="DELAYED"),
    "a deletion": record("REMOVE", old="PENDING", who=TTL),
    "an image without a status": {"eventName": "MODIFY", "dynamodb": {"NewImage": {}}},
}


def test_what_makes_a_task_claimable_kicks_the_processor_once_for_a_batch(
    load_with, context, processor_topic
):
    trigger, told = load_with("trigger"), {}
    for name, event in (KICKS | QUIET).items():
        assert trigger.handle({"Records": [event] * 500}, context) == {"batchItemFailures": []}
        told[name] = "; ".join(processor_topic.messages())
    kick = "there are tasks to claim"
    assert told == dict.fromkeys(KICKS, kick) | dict.fromkeys(QUIET, "")


SHED = {
    "by TTL": record("REMOVE", old="PENDING", who=TTL),
    "by TTL, delayed": record("REMOVE", old="DELAYED", who=TTL),
    "by another put": put_anew(old="PENDING", new="PENDING"),
    "by another put, delayed": put_anew(old="DELAYED", new="PENDING"),
    "by a delayed put": put_anew(old="PENDING", new="DELAYED"),
    "by the sweep, at its deadline": record("REMOVE", old="PENDING", now=9),
    "by a sweep whose clock is ahead, in the record's second": record(
        "REMOVE", old="PENDING", now=9 - (int(CLOCK_OFF_AT_MOST) + 1) / 60
    ),
}
NOT_SHED = {
    "before the trigger was deployed": record("REMOVE", old="PENDING", who=TTL, now=2),
    "a put over one that ended": put_anew(old="SUCCESS", new="PENDING"),
    "promoted past its deadline": record("MODIFY", old="DELAYED", new="PENDING", now=10),
    "a producer's clock was off": record("MODIFY", old="PENDING", new="PENDING", enqueued=2),
    "succeeded": record("REMOVE", old="SUCCESS", who=TTL),
    "taken": record("REMOVE", old="TAKEN", who=TTL),
    "deleted by an operator": record("REMOVE", old="PENDING"),
    "deleted by an operator a second before that": record(
        "REMOVE", old="PENDING", now=9 - (int(CLOCK_OFF_AT_MOST) + 2) / 60
    ),
    "deleted by a user": record(
        "REMOVE", old="DELAYED", who={"type": "User", "principalId": "someone"}
    ),
    "claimed": record("MODIFY", old="PENDING", new="TAKEN"),
}


def test_lambda_passes_on_what_kicks_or_was_shed_and_no_step_of_a_worker():
    of_workers = {name: QUIET[name] for name in ("a delayed task", "a claim", "a success")}
    records = {name: one for name, one in (KICKS | SHED | of_workers).items() if "dynamodb" in one}
    passed = {name for name, one in records.items() if passes(WAKING, one)}
    assert passed == records.keys() - of_workers.keys()


def test_what_waited_until_ttl_or_the_sweep_or_another_put_counts_as_shed_alone(
    load, context, metrics
):
    trigger = load("trigger")
    counted = {}
    for name, one in (SHED | NOT_SHED).items():
        trigger.handle({"Records": [one, one]}, context)
        counted[name] = sum(metrics().get("TasksShed", [0]))
    assert counted == dict.fromkeys(SHED, 2) | dict.fromkeys(NOT_SHED, 0)


def test_without_a_date_of_the_deployment_all_that_was_shed_counts_and_the_log_says_so(
    load, context, metrics, monkeypatch
):
    trigger, logged = load("trigger", LIFOQ_DEPLOYED="Sunday"), Mock()
    monkeypatch.setattr("lifoq_functions.records_before_deployment.logger.exception", logged)
    trigger.handle({"Records": [record("REMOVE", old="PENDING", who=TTL, now=2)]}, context)
    assert metrics()["TasksShed"] == [1]
    logged.assert_called_once()


def test_a_kick_that_fails_fails_the_batch_before_anything_is_counted(load_with, context, metrics):
    trigger = load_with(
        "trigger", LIFOQ_PROCESS_TOPIC_ARN="arn:aws:sns:us-east-1:123456789012:gone"
    )
    batch = [record("INSERT", new="PENDING"), record("REMOVE", old="PENDING", who=TTL)]
    with pytest.raises(ClientError, match=r"NotFound.* Publish operation: .* does not exist"):
        trigger.handle({"Records": batch}, context)
    assert "TasksShed" not in metrics()
