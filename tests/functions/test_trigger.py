"""TriggerFunction: what wakes the processor, and what counts as shed."""

import botocore.exceptions
import pytest

TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def record(event, *, old=None, new=None, who=None):
    def image(status):
        return {"taskId": {"S": "t"}, "taskStatus": {"S": status}}

    change = {"Keys": {"taskId": {"S": "t"}}, "SequenceNumber": "1"}
    change |= {"OldImage": image(old)} if old else {}
    change |= {"NewImage": image(new)} if new else {}
    found = {"eventSource": "aws:dynamodb", "eventName": event, "dynamodb": change}
    return found | ({"userIdentity": who} if who else {})


KICKS = {
    "a new task": record("INSERT", new="PENDING"),
    "a retry that is due": record("MODIFY", old="DELAYED", new="PENDING"),
    "a lost lease": record("MODIFY", old="TAKEN", new="PENDING"),
    "a redrive": record("MODIFY", old="FAILURE", new="PENDING"),
    "a tail call": {"EventSource": "aws:sns", "Sns": {"Message": "whatever"}},
}
QUIET = {
    "a delayed task": record("INSERT", new="DELAYED"),
    "a claim": record("MODIFY", old="PENDING", new="TAKEN"),
    "a success": record("MODIFY", old="TAKEN", new="SUCCESS"),
    "a change of a task that waits": record("MODIFY", old="PENDING", new="PENDING"),
    "a deletion": record("REMOVE", old="PENDING", who=TTL),
    "an image without a status": {"eventName": "MODIFY", "dynamodb": {"NewImage": {}}},
}


@pytest.mark.parametrize("event", KICKS.values(), ids=KICKS)
def test_what_makes_a_task_claimable_kicks_the_processor(load, context, processor_topic, event):
    trigger = load("trigger")
    assert trigger.handle({"Records": [event]}, context) == {"batchItemFailures": []}
    assert len(processor_topic.messages()) == 1


@pytest.mark.parametrize("event", QUIET.values(), ids=QUIET)
def test_what_makes_no_task_claimable_does_not(load, context, processor_topic, event):
    load("trigger").handle({"Records": [event]}, context)
    assert processor_topic.messages() == []


def test_one_kick_is_enough_for_a_batch(load, context, processor_topic):
    batch = [record("INSERT", new="PENDING")] * 500
    load("trigger").handle({"Records": batch}, context)
    assert len(processor_topic.messages()) == 1


def test_only_ttl_deletions_of_waiting_tasks_count_as_shed(load, context, metrics):
    """Each kind in another power of two, so that no other choice of them has the same sum."""
    user = {"type": "User", "principalId": "someone"}
    kinds = [
        record("REMOVE", old="PENDING", who=TTL),
        record("REMOVE", old="DELAYED", who=TTL),
        record("REMOVE", old="SUCCESS", who=TTL),
        record("REMOVE", old="FAILURE", who=TTL),
        record("REMOVE", old="CANCELLED", who=TTL),
        record("REMOVE", old="TAKEN", who=TTL),
        record("REMOVE", old="PENDING"),
        record("REMOVE", old="DELAYED", who=user),
        record("MODIFY", old="PENDING", new="TAKEN"),
    ]
    batch = [one for power, kind in enumerate(kinds) for one in [kind] * 2**power]
    load("trigger").handle({"Records": batch}, context)
    assert metrics() == {"TasksShed": [1 + 2], "Kicks": [0]}


def test_a_kick_that_fails_fails_the_batch_before_anything_is_counted(load, context, metrics):
    trigger = load("trigger", LIFOQ_PROCESS_TOPIC_ARN="arn:aws:sns:us-east-1:123456789012:gone")
    batch = [record("INSERT", new="PENDING"), record("REMOVE", old="PENDING", who=TTL)]
    with pytest.raises(botocore.exceptions.ClientError):
        trigger.handle({"Records": batch}, context)
    assert "TasksShed" not in metrics()
