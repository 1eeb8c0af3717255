"""The messages about a task's end."""

import json
from base64 import b64encode
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from lifoq.basics.clock import CLOCK_OFF_AT_MOST
from lifoq.ends.changes import ENDS, ends_with_token
from lifoq.ends.end import End, Ending, end_of
from lifoq.ends.step_functions import MAX_OUTPUT_BYTES, StepFunctions
from lifoq.ends.topic import EventsTopic
from lifoq.items.packed import Large, pack
from lifoq.items.task_error import TaskError
from lifoq_localcloud.events.filters import passes
from tests.ends import TOKEN, TRACE, WAYS, failures, shed_at_its_deadline, shed_by_ttl, success


def end(ending=Ending.SUCCESS, *, number=1, **more):
    return End(
        event_id=f"event-{number}", ending=ending, task_id=f"t-{number}", task_type="a", **more
    )


def messages(*records):
    """Return the messages about a table's changes."""
    ends = filter(None, map(end_of, records))
    return [json.loads(one.message(queue="prod")) for one in ends]


@pytest.mark.parametrize("way", WAYS)
def test_each_end_is_told_once_and_nothing_else(way):
    way = way()
    others = {what: end.ending for what, one in way.others.items() if (end := end_of(one))}
    replaced = way.others.keys() & {"replaced", "it succeeds, and is replaced"}
    assert others == dict.fromkeys(replaced, Ending.REPLACED)  # for who waits for that put alone
    told = messages(*(record for record, _ in way.ends))
    assert [event["status"] for event in told] == [ending for _, ending in way.ends]
    assert [event["id"] for event in told] == [record["eventID"] for record, _ in way.ends]


def test_a_deletion_is_an_end_if_ttl_made_it_or_the_deadline_was_over():
    ((record, _),) = shed_by_ttl().ends
    seconds = record["dynamodb"].pop("ApproximateCreationDateTime")
    assert [one["status"] for one in messages(record)] == ["SHED"]
    record["userIdentity"] = {"type": "User", "principalId": "somebody"}
    assert messages(record) == []
    record["dynamodb"]["ApproximateCreationDateTime"] = seconds
    assert [one["status"] for one in messages(record)] == ["SHED"]


def test_what_a_sweep_deletes_whose_clock_is_ahead_is_shed_and_what_goes_long_before_is_not():
    ((record, _),) = shed_at_its_deadline().ends
    change = record["dynamodb"]
    deadline = int(change["OldImage"]["expiresAt"]["N"]) // 1_000_000
    told = []
    for early in (0, CLOCK_OFF_AT_MOST, 60):
        change["ApproximateCreationDateTime"] = int(deadline - early)
        told.append([one["status"] for one in messages(record)])
    assert told == [["SHED"], ["SHED"], []]


@pytest.mark.parametrize("way", WAYS)
def test_filters_let_each_end_pass_and_where_a_token_is_wanted_those_with_one(way):
    for one, _ in way().ends:
        had_token = "taskToken" in one["dynamodb"]["OldImage"]
        assert (passes(ENDS, one), passes(ends_with_token(), one)) == (True, had_token)


def test_a_success_is_told_with_its_times_and_result():
    way = success()
    ((record, _),) = way.ends
    start = way.host.now() - 8 * 86_400_000_000
    assert messages(record) == [
        {
            "version": 1,
            "id": record["eventID"],
            "queue": "prod",
            "taskId": "t",
            "taskType": "a",
            "taskKey": "device",
            "traceparent": TRACE,
            "status": "SUCCESS",
            "attempts": 1,
            "enqueuedAt": start,
            "firstTakenAt": start,
            "takenAt": start,
            "endedAt": start,
            "result": {"n": 1},
        }
    ]


def test_a_failure_is_told_with_its_error_and_what_was_shed_with_its_deadline():
    ways = (failures(), shed_at_its_deadline(), shed_by_ttl())
    failure, shed, deleted_later = messages(*(way.ends[0][0] for way in ways))
    assert failure["error"] == {"type": "ValueError", "message": "boom"}
    for told in (shed, deleted_later):
        assert told["endedAt"] == told["enqueuedAt"] + 10_000_000


def test_a_result_that_is_stored_compressed_is_told_as_it_was():
    way, words = success(), ["the same again"] * 500
    ((record, _),) = way.ends
    record["dynamodb"]["NewImage"]["result"] = {"B": b64encode(pack(json.dumps(words))).decode()}
    assert messages(record)[0]["result"] == words


@pytest.mark.parametrize(
    "value",
    [
        {"NULL": True},
        *({"BS": ["AA=="]}, {"M": {"x": {"BS": ["AA=="]}}}, {"L": [{"BS": ["AA=="]}]}),
        {"L": [{"B": "AA=="}]},
    ],
)
def test_the_end_of_a_damaged_task_is_told_whatever_it_holds(value):
    ((record, _),) = success().ends
    record["dynamodb"]["NewImage"]["taskKey"] = value
    (told,) = messages(record)
    error = told.pop("error")
    assert (error["type"], "taskKey" in error["message"]) == ("DamagedTask", True)
    named = {"version": 1, "id": record["eventID"], "queue": "prod", "taskId": "t", "taskType": "a"}
    assert told == {**named, "status": "SUCCESS", "attempts": 0, "result": None}
    record["dynamodb"]["NewImage"]["taskType"] = value
    assert messages(record)[0]["taskType"] == ""


class Sns:
    """Takes what SNS takes."""

    def __init__(self, *refused: str) -> None:
        self.calls = []
        self._refused = refused

    def publish_batch(self, *, TopicArn, PublishBatchRequestEntries):  # noqa: N803
        assert TopicArn == "arn:topic"
        entries = PublishBatchRequestEntries
        sizes = [
            len(entry["Message"].encode())
            + sum(
                len(name) + len("String") + len(one["StringValue"].encode())
                for name, one in entry["MessageAttributes"].items()
            )
            for entry in entries
        ]
        assert 0 < len(entries) <= 10
        assert sum(sizes) <= 256 * 1024
        self.calls.append(entries)
        refused = [e["Id"] for e in entries if json.loads(e["Message"])["taskId"] in self._refused]
        return {"Failed": [{"Id": one, "Code": "InternalError"} for one in refused]}

    @property
    def told(self):
        return [json.loads(entry["Message"]) for call in self.calls for entry in call]


def topic(sns):
    return EventsTopic(sns, "arn:topic", queue="prod")


def test_many_ends_are_told_in_few_calls_and_what_sns_did_not_take_is_named():
    sns = Sns("t-3", "t-14")
    failed = topic(sns).publish([end(number=number) for number in range(25)])
    assert failed == {"event-3", "event-14"}
    assert [len(call) for call in sns.calls] == [10, 10, 5]
    told = [(told["queue"], told["taskId"]) for told in sns.told]
    assert told == [("prod", f"t-{number}") for number in range(25)]


def test_ends_with_large_results_are_told_in_calls_that_sns_takes():
    sns = Sns()
    # Quotation marks are two bytes in JSON, and four in JSON that holds it as text.
    large = [end(number=number, result='"' * MAX_OUTPUT_BYTES) for number in range(10)]
    large += [end(number=number, key="k" * 14_000) for number in range(10)]
    assert topic(sns).publish([]) == topic(sns).publish(large) == set()
    assert len(sns.told) == 20
    assert len(sns.calls) > 2


@pytest.mark.parametrize("size", [16_384, 16_385])
def test_a_result_is_told_whole_or_cut_and_said_to_be(size):
    result = "é" * ((size - 2) // 2) + "x" * (size % 2)
    told = json.loads(end(result=result).message(queue="prod"))
    if size == 16_384:  # as the page about task events says
        assert told["result"] == result
    else:
        assert "result" not in told
        assert told["resultBytes"] == size
        assert json.dumps(result, ensure_ascii=False).startswith(told["resultBeginning"])
        assert 16_382 < len(told["resultBeginning"].encode()) <= 16_384


def test_a_result_in_the_bucket_is_told_by_its_size():
    told = json.loads(end(result=Large.of(b"x" * 70_000, key="k")).message(queue="prod"))
    assert "result" not in told
    assert told["resultBytes"] == 70_000


def test_a_result_of_nothing_is_told_as_null_and_no_end_but_a_success_has_one():
    assert json.loads(end().message(queue="prod"))["result"] is None
    assert "result" not in json.loads(end(Ending.SHED).message(queue="prod"))


def test_subscribers_can_filter_by_status_type_and_key_and_the_trace_goes_on():
    """A name that no message can hold is told all the same."""
    sns = Sns()
    strange = End(event_id="e", ending=Ending.SUCCESS, task_id="\x01t", task_type="a\x00b\ufffe")
    topic(sns).publish([end(Ending.SHED, key="device", traceparent=TRACE), strange])
    (entries,) = sns.calls
    attributes = [entry["MessageAttributes"] for entry in entries]
    named = [{name: one["StringValue"] for name, one in each.items()} for each in attributes]
    assert {one["DataType"] for each in attributes for one in each.values()} == {"String"}
    assert named == [
        {"status": "SHED", "taskType": "a", "taskKey": "device", "traceparent": TRACE},
        {"status": "SUCCESS", "taskType": "a\ufffdb\ufffd"},
    ]
    assert [told.get("traceparent") for told in sns.told] == [TRACE, None]
    assert sns.told[1]["taskId"] == "\x01t"


# Step Functions


def answers(one: End):
    client = Mock()
    StepFunctions(client).answer(one)
    return [(name.removeprefix("send_task_"), answer) for name, _, answer in client.method_calls]


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (Ending.SHED, "lifoq.Shed"),
        (Ending.CANCELLED, "lifoq.Cancelled"),
        (Ending.FAILURE, "lifoq.Failed"),
        (Ending.REPLACED, "lifoq.Replaced"),
    ],
)
def test_every_other_end_is_answered_as_a_failure_that_can_be_caught(ending, error):
    why = TaskError(type="ValueError", message="boom")
    ((kind, answer),) = answers(end(ending, error=why, attempts=3, task_token=TOKEN))
    cause = json.loads(answer.pop("cause"))
    assert (kind, answer) == ("failure", {"taskToken": TOKEN, "error": error})
    told = {"taskId": "t-1", "attempts": 3}
    assert cause == {**told, "errorType": "ValueError", "errorMessage": "boom"}
    ((_, answer),) = answers(end(ending, attempts=3, task_token=TOKEN))
    assert json.loads(answer["cause"]) == told


def test_a_success_is_answered_with_the_result_unless_no_state_can_hold_it():
    ((kind, answer),) = answers(end(result={"n": 1}, task_token=TOKEN))
    assert (kind, answer["taskToken"], answer["output"]) == ("success", TOKEN, '{"n":1}')
    longest = 262_144 - len('""')  # as AWS says
    ((kind, answer),) = answers(end(result="x" * longest, task_token=TOKEN))
    assert (kind, len(answer["output"])) == ("success", 262_144)
    ((kind, answer),) = answers(end(result="x" * (longest + 1), task_token=TOKEN))
    assert (kind, answer["error"]) == ("failure", "lifoq.ResultTooLarge")
    assert len(answer["cause"]) < 200


def test_a_task_that_no_state_waits_for_is_not_answered():
    assert answers(end()) == []


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("InvalidToken", nullcontext()),
        ("TaskDoesNotExist", nullcontext()),
        ("TaskTimedOut", nullcontext()),
        ("AccessDeniedException", pytest.raises(ClientError)),
    ],
)
def test_a_state_that_waits_no_more_is_passed_over_and_another_refusal_is_an_error(code, told):
    refusal = ClientError({"Error": {"Code": code, "Message": ""}}, "SendTaskSuccess")
    with told:
        StepFunctions(Mock(**{"send_task_success.side_effect": refusal})).answer(
            end(task_token=TOKEN)
        )
