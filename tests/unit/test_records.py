"""Records: a note of a later release is read by an earlier one, and a damaged one is told."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

import pytest

from lifoq.basics import records
from lifoq.health.found_limits import FoundLimit
from lifoq.health.pressure import Starts
from lifoq.health.sweep_note import Note
from lifoq.health.worker_notes import WorkerNote
from lifoq.operating.deployment import Deployment
from lifoq.operating.pause_note_in_table import PauseNote

NOTE = Note(
    unknown_types=("a", "b"),
    unknown_waiting=3,
    stalled=True,
    shed=((1, 2), (3, 4)),
    known_types=("c",),
)
DEPLOYMENT = Deployment(
    release="0.1.0",
    functions={"sweep": "dev-sweep"},
    processors=2,
    stream_mapping="uuid",
    schedules=("s",),
    alarms=(),
    alarm_topic="arn",
    dead_letters="url",
    export_bucket="bucket",
    log_groups=("l",),
)
EVERY = [
    NOTE,
    DEPLOYMENT,
    PauseNote(by="lifoq pause", who="ada", at=7, passing=True),
    Starts(seconds=1, number=2, wait=None, at=3),
    Starts(seconds=1.5, number=2, wait=4, at=3),
    FoundLimit(worker="w", task_type="a", tasks=7, most=64, at=3, ended=False),
    WorkerNote(worker="w", since=1, place="p", release="9", slots=4, at=10),
]


@dataclass(frozen=True, kw_only=True)
class Sample:
    number: int
    numbers: tuple[int, ...] = ()
    pair: tuple[int, str] = (0, "")
    names: Mapping[str, str] = field(default_factory=dict)


@pytest.mark.parametrize("record", EVERY, ids=lambda record: type(record).__name__)
def test_a_record_is_read_as_it_was_written_also_by_an_earlier_release(record):
    text = json.dumps({**asdict(record), "of_a_later_release": {"x": [1]}})
    assert records.decode(text, type(record)) == record
    assert records.decode_all(f"[{text}]", type(record)) == [record]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "NoneType is no JSON text"),
        ("{", "Expecting property name"),
        ("[" * 100_000, "it is nested too deeply"),
        ("[]", "list is no JSON object"),
        ("{}", "missing 1 required keyword-only argument: 'number'"),
        ('{"number": "1"}', "number is '1'"),
        ('{"number": null}', "number is None"),
        ('{"number": 1, "numbers": [2, "3"]}', "numbers is '3'"),
        ('{"number": 1, "numbers": 2}', "numbers is 2"),
        ('{"number": 1, "pair": [2]}', r"pair is \[2\]"),
        ('{"number": 1, "names": {"a": 1}}', "names is 1"),
    ],
)
def test_a_text_that_holds_no_such_record_is_told_with_what_is_wrong(text, reason):
    with pytest.raises(ValueError, match=reason):
        records.decode(text, Sample)


def test_a_damaged_record_is_left_out_alone():
    text = '[{"number": 1}, {"number": "2"}, 3, {"numbers": []}, {"number": 4}]'
    assert records.decode_all(text, Sample) == [Sample(number=1), Sample(number=4)]
    assert records.decode_all("{", Sample) == records.decode_all("7", Sample) == []
