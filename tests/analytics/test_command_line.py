"""The command line's refusals: each is one sentence, before any work is done."""

import io
import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from lifoq.client import local_cloud
from lifoq_analytics import analysis, session
from lifoq_analytics.errors import StorageError
from lifoq_analytics.page import about
from lifoq_analytics.report import _lines as lines
from lifoq_analytics.report import _table as printed
from lifoq_analytics.report import report


@pytest.fixture
def run(tmp_path):
    def run(*arguments: object) -> Result:
        words = [tmp_path, "--out", tmp_path / "out", *arguments]
        return CliRunner().invoke(report, [str(word) for word in words])

    return run


REFUSED = [
    ("--as-of", "noon", 2, "'noon' is not an ISO time such as 2026-11-20T09:30:00Z"),
    ("--out", "/dev/null/out", 1, "--out /dev/null/out: cannot be written to"),
    ("--state", "/dev/null/state", 1, "--state /dev/null/state: cannot be written to"),
    ("--about", "nowhere.json", 1, "is neither a JSON object nor a file that can be read"),
    ("--about", '{"queue": }', 1, "is not JSON"),
    ("--about", '{"name": "orders"}', 1, "it has the unknown key 'name'"),
    ("--about", '{"queue": 7}', 1, "queue is no text but 7"),
    ("--about", '{"phases": [{"name": "sale"}]}', 1, "phase 1 has no 'from'"),
    ("--about", '{"events": [{"name": "x", "at": "noon"}]}', 1, "'at' of event 1 is 'noon', which"),
    ("--about", '{"alarms": {"oldest_waiting_seconds": "8 s"}}', 1, "is no number of seconds but"),
    ("--about", '{"alarms": {"oldest_waiting_seconds": 0}}', 1, "is no number of seconds but 0"),
    ("--about", '{"alarms": 8}', 1, "alarms is no JSON object but 8"),
    ("--about", '{"phases": 8}', 1, "'phases' is no list but 8"),
]


@pytest.mark.parametrize(("option", "value", "status", "complaint"), REFUSED)
def test_what_cannot_be_used_is_refused_with_the_reason(run, option, value, status, complaint):
    refused = run(option, value)
    assert refused.exit_code == status
    assert option in refused.output
    assert complaint in refused.output


def test_without_java_it_says_how_to_get_it(run, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    refused = run()
    assert refused.exit_code == 1
    assert "Spark needs Java 17 or newer and found none" in refused.output


def test_json_and_a_file_with_it_say_the_same(tmp_path):
    events = [{"name": "paused", "at": "2026-11-20T10:00"}]
    alarms = {"oldest_waiting_seconds": 1}
    text = json.dumps({"queue": "orders", "events": events, "alarms": alarms})
    (tmp_path / "about.json").write_text(text)
    told = about.read(text)
    assert told == about.read(str(tmp_path / "about.json"))
    assert told == {
        **about.NOTHING,
        "queue": "orders",
        "events": [{"name": "paused", "at": "2026-11-20T10:00:00.000000Z"}],
        "alarms": alarms,
    }


def test_the_numbers_that_matter_are_printed_for_people():
    spread = {"p50": 0.085, "p95": None, "p99": 1_234.5, "max": 2_000}
    answers = {
        "window": {"from": "2026-11-20T10:00", "to": "2026-11-20T11:00"},
        "tasks": {"created": 12_345, "waiting": 0, "shed": 7},
        "shedding_rate": 0.125,
        "backlog": {"max": 6_789, "end": 3},
        **{f"{measure}_seconds": spread for measure in ("wait", "service", "sojourn")},
        "input": {"rows": 99, "bad_rows": 1},
    }
    shown = io.StringIO()
    Console(file=shown, width=120).print(printed(answers))
    rows = [" ".join(line.strip("│ ").split("│")) for line in shown.getvalue().splitlines()]
    told = {" ".join(row.split()) for row in rows}
    assert {"created 12,345", "waiting 0", "shed 7", "shedding rate 12.5%"} <= told
    assert {"largest backlog 6,789", "backlog at the end 3", "lines read / bad 99 / 1"} <= told
    for measure in ("wait", "service", "sojourn"):
        assert {f"{measure} p50 0.085 s", f"{measure} p95 –", f"{measure} p99 1234.500 s"} <= told
    assert {"2026-11-20T10:00 to", "2026-11-20T11:00"} <= told
    nobody = {**answers, "shedding_rate": None}
    assert ("shedding rate", "–") in lines(nobody)


@pytest.fixture
def asked(monkeypatch) -> list[analysis.Request]:
    """The requests that come to an analysis, which says a step and that no task came in."""
    requests: list[analysis.Request] = []
    nobody: dict[str, Any] = dict.fromkeys(("p50", "max"))
    answers = {
        "window": {"from": "2026-11-20T10:00", "to": "2026-11-20T11:00"},
        "tasks": {"created": 0},
        "shedding_rate": None,
        "backlog": {"max": 0, "end": 0},
        **{f"{measure}_seconds": nobody for measure in ("wait", "service", "sojourn")},
        "input": {"rows": 0, "bad_rows": 0},
    }

    class Known:
        def __init__(self, spark: str, request: analysis.Request, *, tell: Any) -> None:
            assert spark == "spark"
            requests.append(request)
            tell("reading 2 files")

        def run(self) -> dict[str, Any]:
            if requests[-1].allow_missing:
                raise StorageError("s3://x", "[denied]")
            return answers

    @contextmanager
    def running() -> Any:
        yield "spark"

    monkeypatch.setattr(session, "running", running)
    monkeypatch.setattr(analysis, "Analysis", Known)
    return requests


def test_what_is_asked_for_is_asked_of_the_analysis_and_its_steps_and_page_are_told(
    run, asked, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    told = run()
    assert told.exit_code == 0
    assert told.stderr.splitlines() == ["step: starting Spark", "step: reading 2 files"]
    assert told.stdout.splitlines()[0] == "No task came in."
    assert told.stdout.splitlines()[-1] == f"{tmp_path}/out/report.html"
    assert json.loads(run("--format", "json").stdout)["tasks"] == {"created": 0}
    options = [*("here", f"file://{tmp_path}/x", "--width", 5, "--as-of", "1970-01-01T00:00:01")]
    options += [*("--state", "state", "--slots", 3, "--cells", "--about", '{"queue": "orders"}')]
    assert run(*options).exit_code == 0
    plain = analysis.Request(paths=[str(tmp_path)], out=str(tmp_path / "out"))
    assert asked[0] == asked[1] == plain
    assert asked[2] == analysis.Request(
        paths=[str(tmp_path), str(tmp_path / "here"), str(tmp_path / "x")],
        out=str(tmp_path / "out"),
        bucket_seconds=5,
        as_of=1_000_000,
        state=str(tmp_path / "state"),
        slots=3,
        cells=True,
        about={**about.NOTHING, "queue": "orders"},
    )
    assert [Path(name).is_dir() for name in ("out", "state")] == [True, True]


def test_what_the_user_can_put_right_is_told_in_a_sentence_and_ends_with_1(run, asked):
    told = run("--allow-missing")
    assert asked[0].allow_missing
    assert told.exit_code == 1
    assert told.stderr.splitlines()[-1].startswith("error: s3://x cannot be reached ([denied]).")
    assert told.stdout == ""


def test_a_report_in_s3_needs_no_folder_here_and_says_which_cloud_it_enters(
    run, asked, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(local_cloud, "enter", lambda: "the cloud of this machine")
    told = run("--out", "s3://b/out", "--state", "s3a://b/state")
    assert told.stderr.splitlines()[0] == "the cloud of this machine"
    assert "cloud" not in run().stderr
    assert (asked[0].out, asked[0].state) == ("s3://b/out", "s3a://b/state")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
