"""The table of where the tests' processor time goes."""

import json

from tests.times import TOGETHER, table


def test_processor_time_is_told_by_room_and_by_test_and_no_process_counts_twice(tmp_path):
    parts = {
        "gw0": {"tests/a/test_x.py::test_x[1]": 1.0, TOGETHER: 2.0},
        "gw1": {"tests/a/conftest.py::fixture server": 4.0, TOGETHER: 2.5},
        "alone": {TOGETHER: 9.0},  # the process that started the two, which tell it themselves
    }
    for name, spent in parts.items():
        text = json.dumps({"spent": spent, "passed": dict.fromkeys(spent, 60.0)})
        (tmp_path / f"times-{name}.json").write_text(text)
    assert [line.strip() for line in table(tmp_path, rows=1)] == [
        "9.5 s of processor time, 1 tests",
        "5.0 s      1 tests  tests/a",
        f"4.5 s      0 tests  {TOGETHER}",
        "processor    passed  what took most",
        f"4.5 s   120.0 s  {TOGETHER}",
    ]
