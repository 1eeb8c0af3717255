"""What a user tells about a queue is checked before any work is done."""

import json

import pytest

from analytics.errors import OptionError
from analytics.page import about


def test_json_and_a_file_with_it_say_the_same(tmp_path):
    text = json.dumps({"queue": "orders", "events": [{"name": "paused", "at": "2026-11-20T10:00"}]})
    (tmp_path / "about.json").write_text(text)
    told = about.read(text)
    assert told == about.read(str(tmp_path / "about.json"))
    assert told["events"] == [{"name": "paused", "at": "2026-11-20T10:00:00.000000Z"}]
    assert told["phases"] == []


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("nowhere.json", "is neither a JSON object nor a file that can be read"),
        ('{"queue": }', "is not JSON"),
        ('{"name": "orders"}', "it has the unknown key 'name'"),
        ('{"queue": 7}', "queue is no text but 7"),
        ('{"phases": [{"name": "sale", "from": "2026-11-20"}]}', "phase 1 has no 'to'"),
        ('{"events": [{"name": "x", "at": "noon"}]}', "'at' of event 1 is 'noon', which is no ISO"),
        ('{"alarms": {"oldest_waiting_seconds": "8 s"}}', "is no number of seconds but '8 s'"),
        ('{"alarms": {"oldest_waiting_seconds": 0}}', "is no number of seconds but 0"),
        ('{"alarms": 8}', "alarms is no JSON object but 8"),
        ('{"phases": 8}', "'phases' is no list but 8"),
    ],
)
def test_what_cannot_be_understood_is_refused_with_the_reason(given, complaint):
    with pytest.raises(OptionError) as refused:
        about.read(given)
    assert complaint in str(refused.value)
    assert str(refused.value).startswith(f"--about {given}")
