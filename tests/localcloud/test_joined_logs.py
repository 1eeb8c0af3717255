"""The functions' logs as one stream."""

import json

import pytest

from localcloud.joined_logs import JoinedLogs

FUNCTION = "lifoq-dev-queue-ProcessTasksFunction1A2B3C4D-x1y2z3.log"


@pytest.fixture
def logs(tmp_path) -> JoinedLogs:
    (tmp_path / FUNCTION).write_text("written before\n")
    return JoinedLogs(tmp_path)


def test_only_what_is_new_is_told_and_only_whole_lines(logs, tmp_path):
    with (tmp_path / FUNCTION).open("a") as file:
        file.write("a line\nhalf a")
        file.flush()
        assert list(logs.news()) == ["ProcessTasksFunction  a line"]
        file.write(" line\n")
        file.flush()
        assert list(logs.news()) == ["ProcessTasksFunction  half a line"]
    (tmp_path / "another.log").write_text("from its first line on\n")
    assert list(logs.news()) == ["another  from its first line on"]


def test_a_line_is_told_as_a_person_reads_it(logs, tmp_path):
    own = {"level": "INFO", "message": "swept", "function_arn": "arn:…", "Sweeps": 1}
    lines = {
        json.dumps(
            {"level": "INFO", "message": "asked", "taskId": "t", "n": 0}
        ): "INFO asked taskId=t",
        json.dumps(own): None,
        json.dumps({**own, "level": "WARNING"}): "WARNING swept Sweeps=1",
        json.dumps({"_aws": {}, "TasksClaimed": [1]}): None,
        "START RequestId: 1 Version: $LATEST": None,
        '{"level": "WARNING", "message": "LAMBDA_WARNING: Unhandled exception. …"}': None,
        "[1, 2]": "[1, 2]",
        "\x1b[2Jprinted": r"\u001b[2Jprinted",
        '{"level": "INFO", "message": "\\u009bJ \\n"}': r"INFO \u009bJ",
        "": None,
    }
    with (tmp_path / FUNCTION).open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    told = [news.partition("  ")[2] for news in logs.news()]
    assert told == [text for text in lines.values() if text]
