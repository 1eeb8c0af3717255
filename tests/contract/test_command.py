"""``lifoq`` as a shell starts it: whatever goes wrong, a sentence and an exit status."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lab import dynamodb_local
from lifoq import NewTask, Queue
from lifoq_cli import app

COMMANDS = tuple(app.root.commands)
OPTIONS = {
    name
    for command in (app.root, *app.root.commands.values())
    for option in command.params
    for name in option.opts
} | {"--help"}
ENVIRONMENT = {
    **{name: os.environ[name] for name in ("PATH", "TZ", "HOME") if name in os.environ},
    "PYTHONPATH": str(Path(__file__).parents[2]),
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(*words: str, **more: Any) -> subprocess.Popen[str]:
    variables = ENVIRONMENT | more.pop("variables", {})
    return subprocess.Popen(
        [sys.executable, "-m", "lifoq", *words],
        env={name: value for name, value in variables.items() if value is not None},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, it may be ignored, and that is inherited.
        preexec_fn=_heed_interrupts,  # noqa: PLW1509 - it does nothing else
        **more,
    )


def run(*words: str, **more: Any) -> tuple[int, str, str]:
    """Exit status, standard output, standard error."""
    with start(*words, **{"stdin": subprocess.DEVNULL} | more) as process:
        printed, told = process.communicate(timeout=60)
    assert "Traceback" not in told
    assert "<Status" not in told
    assert "frozenset" not in told
    assert set(re.findall(r"(?<!-)--[a-z-]+", told)) <= OPTIONS  # what is advised, exists
    return process.returncode, printed, told


@pytest.fixture
def queue(
    dynamodb_local_endpoint: str, new_dynamo_table: Callable[[str], Any]
) -> tuple[Queue, tuple[str, ...]]:
    """A queue, and the words that name it to a command."""
    table = new_dynamo_table(dynamodb_local_endpoint).name
    connected = Queue.connect(
        table=table, endpoint_url=dynamodb_local_endpoint, **dynamodb_local.CREDENTIALS
    )
    return connected, ("--table", table, "--endpoint-url", dynamodb_local_endpoint)


def test_help_tells_every_command():
    status, printed, told = run("--help")
    assert (status, told) == (0, "")
    for command in (*COMMANDS, "report", "local"):
        assert re.search(rf"^  {command} ", printed, re.MULTILINE), command


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str):
    status, printed, told = run(command, "--help")
    assert (status, told) == (0, "")
    assert f"Usage: lifoq {command}" in printed


NOT_UNDERSTOOD = {
    "an unknown command": (["--table", "t", "drop"], "No such command 'drop'"),
    "no queue": (
        ["stats"],
        "which queue? give --queue or --table, or set LIFOQ_QUEUE, or write it into lifoq.toml",
    ),
    "an unknown status": (
        ["--table", "t", "list", "--status", "LOST"],
        "'LOST' is not one of 'pending', 'delayed', 'taken', 'failure'",
    ),
    "a limit that is no number": (["--table", "t", "list", "--limit", "x"], "--limit"),
    "a deadline beside a name": (
        ["--queue", "prod", "--deadline-seconds", "5", "stats"],
        "--deadline-seconds goes with --table",
    ),
    "a bucket beside a name": (
        ["--queue", "prod", "--bucket", "b", "stats"],
        "--bucket goes with --table; a queue's name brings its own bucket",
    ),
    "one bucket for several tables": (
        ["--table", "t", "--table", "u", "--bucket", "b", "stats"],
        "--bucket is of one table",
    ),
    "a duration without a unit that exists": (
        ["--table", "t", "list", "--older-than", "3 weeks"],
        "give one such as 30s, 5m, 2h or 1d",
    ),
    "a time that is none": (
        ["--table", "t", "put", "a", "--due-at", "tomorrow"],
        "'tomorrow' is no ISO time: give one such as 2026-11-20T09:30:00Z",
    ),
    "nothing to put": (["--table", "t", "put"], "give a TYPE, or --lines"),
    "a payload beside lines": (["--table", "t", "put", "a", "1", "--lines"], "leave PAYLOAD"),
}


@pytest.mark.parametrize(("words", "sentence"), NOT_UNDERSTOOD.values(), ids=NOT_UNDERSTOOD)
def test_what_is_not_understood_is_told(words: list[str], sentence: str):
    status, printed, told = run(*words)
    assert (status, printed) == (2, "")
    assert sentence in " ".join(told.split())


def test_without_a_command_it_shows_its_help():
    status, printed, told = run()
    assert status == 2
    assert "Usage: lifoq" in printed + told


REFUSED: dict[str, tuple[list[str], dict[str, Any], str]] = {
    "no region": (["stats"], {"AWS_DEFAULT_REGION": None}, "specify a region: check region"),
    "no region, by name": (
        ["--queue", "prod", "stats"],
        {"AWS_DEFAULT_REGION": None},
        "specify a region: check region",
    ),
    "an unknown profile": (["stats"], {"AWS_PROFILE": "nobodys"}, "(nobodys) could not be found"),
    "a malformed endpoint": (["--endpoint-url", "nonsense", "stats"], {}, "endpoint: nonsense"),
    "a malformed region": (["--region", "here, there", "stats"], {}, "here, there"),
    "no credentials": (
        ["--endpoint-url", "http://127.0.0.1:1", "stats"],
        {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None},
        "there are no credentials: give the process a role, or set AWS_PROFILE",
    ),
    "a deadline of NaN": (["--deadline-seconds", "nan", "stats"], {}, "deadline=nan: must be"),
    "a rate of NaN": (["redrive", "--yes", "--per-second", "nan"], {}, "per_second=nan: must be"),
    "a rate of infinity": (
        ["redrive", "--yes", "--per-second", "inf"],
        {},
        "per_second=inf: must be",
    ),
    "a limit of nothing": (["list", "--limit", "0"], {}, "limit=0: must be"),
    "a limit beyond reason": (["list", "--limit", "9" * 400], {}, "must be a whole number"),
    "an empty id": (["get", ""], {}, "task_id=''"),
    "an id that is no text": (["get", "\udcff"], {}, "half a surrogate pair"),
    "an id beside a filter": (["redrive", "t", "--type", "a"], {}, "--type='a': is for those that"),
    "a payload that is no JSON": (["put", "a", "{x}"], {}, "quote it, such as"),
    "a file that is not there": (["put", "a", "@nowhere.json"], {}, "cannot be read"),
    "a table without a name": (["--table", "", "stats"], {}, "table=''"),
}


@pytest.mark.parametrize(("words", "variables", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_gets_one_sentence(
    words: list[str], variables: dict[str, Any], sentence: str
):
    named = words if {"--queue", "--table"} & set(words) else ["--table", "t", *words]
    status, printed, told = run(*named, variables=variables)
    assert (status, printed) == (1, "")
    assert sentence in told
    assert told.count("\n") == 1


def test_the_answer_alone_goes_to_the_standard_output(queue: tuple[Queue, tuple[str, ...]]):
    put, words = queue
    put.put("a", {"city": "Zürich"}, task_id="t")
    with start(*words, "purge", "--json", stdin=subprocess.PIPE) as process:
        printed, told = process.communicate("y\n", timeout=60)
    assert (process.returncode, json.loads(printed)) == (0, {"cancelled": 1})
    assert told.startswith("Cancel 1 waiting tasks of queue-")
    assert "Zürich" in run(*words, "get", "t")[1]


def test_a_question_at_the_end_of_the_input_cancels_nothing(queue: tuple[Queue, tuple[str, ...]]):
    put, words = queue
    put.put("a", task_id="t")
    status, printed, told = run(*words, "purge")
    assert (status, printed) == (1, "")
    assert told.endswith("no answer, so nothing was done; --yes does it without a question\n")
    assert put.waiting().value == 1
    assert json.loads(run(*words, "--json", "purge", "--yes")[1]) == {"cancelled": 1}


def test_an_interrupt_at_a_question_cancels_nothing(queue: tuple[Queue, tuple[str, ...]]):
    put, words = queue
    put.put("a", task_id="t")
    with start(*words, "purge", stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        asked = process.stderr.read(len("Cancel 1"))
        while not asked.endswith("[y/N] "):
            asked += process.stderr.read(1)
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in told
    assert put.waiting().value == 1


@pytest.mark.parametrize(
    "command",
    [["list", "--limit", "40"], ["list", "--limit", "40", "--json"], ["stats"], ["--help"]],
)
def test_a_reader_that_goes_away_is_no_trouble(
    queue: tuple[Queue, tuple[str, ...]], command: list[str]
):
    put, words = queue
    put.put_many([NewTask(task_type="a", payload="x" * 10_000)] * 40)
    with start(*words, *command, stdin=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before anything is written
        told = process.stderr.read()
        process.wait(timeout=60)
    assert told == ""
    assert process.returncode == 141


# Which queue, by a file in the folder


def test_a_folder_says_which_queue_its_commands_are_about(tmp_path: Path):
    (tmp_path / "lifoq.toml").write_text('queue = "dev"\nregion = "eu-central-1"\n')
    below = tmp_path / "src"
    below.mkdir()
    status, _, told = run(
        *("--endpoint-url", "http://127.0.0.1:1", "stats"),
        cwd=below,
        variables={"AWS_DEFAULT_REGION": None},
    )
    assert status == 1
    assert "SSM parameter /lifoq/dev/queue could not be read" in told


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("queue = ", "cannot be read"),
        ('stage = "dev"', "stage is unknown; it may hold queue and region"),
        ("queue = [7]", 'queue must be a name, such as "dev", or a list of names'),
        ("queue = 7", 'queue must be a name, such as "dev", or a list of names'),
        ('queue = "dev"\nregion = 7', "region must be a name"),
    ],
)
def test_a_folders_file_that_makes_no_sense_is_told(tmp_path: Path, text: str, problem: str):
    (tmp_path / "lifoq.toml").write_text(text)
    status, printed, told = run("stats", cwd=tmp_path)
    assert (status, printed) == (1, "")
    assert f"lifoq.toml{'' if 'cannot' in problem else ':'} {problem}" in told
    assert told.count("\n") == 1


# Without what it needs


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_without_its_extra_it_says_in_one_sentence_what_to_install(missing: str):
    code = f"import sys; sys.modules[{missing!r}] = None; from lifoq.__main__ import main; main()"
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert finished.stdout == ""
    assert finished.stderr == "the command needs click and rich: pip install 'lifoq[cli]'\n"


# Many at once


def test_lines_of_the_standard_input_are_put(queue: tuple[Queue, tuple[str, ...]]):
    put, words = queue
    lines = [
        {"task_type": "a", "payload": {"n": 1}, "task_id": "one"},
        {"task_type": "b", "delay": "2h", "task_id": "two"},
        {"task_type": "a", "task_id": "one"},
    ]
    with start(*words, "put", "--lines", "--json", stdin=subprocess.PIPE) as process:
        printed, told = process.communicate("\n\n".join(map(json.dumps, lines)), timeout=60)
    assert (process.returncode, told) == (0, "")
    assert json.loads(printed) == {"put": 2, "there_before": 1, "not_put": 0}
    one, two = put.get("one"), put.get("two")
    assert one is not None
    assert two is not None
    assert (one.payload, two.task_type) == ({"n": 1}, "b")
    assert two.due_at == pytest.approx(two.task_updated + 7200_000_000, abs=10_000_000)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2 is no JSON"),
        ("[1]", "line 2 is no object with a task_type"),
        ('{"task_type": "a", "retries": 3}', "line 2: retries is unknown; a task has task_type,"),
        ('{"task_type": "a", "delay": "soon"}', "line 2: 'soon' is no duration"),
        ('{"task_type": ""}', "line 2: task_type='': must be a string"),
        ('{"task_type": "a", "delay": -1}', "line 2: delay=-1: is negative"),
    ],
)
def test_a_line_that_is_no_task_is_told_and_nothing_is_put(
    queue: tuple[Queue, tuple[str, ...]], line: str, problem: str
):
    put, words = queue
    with start(*words, "put", "--lines", stdin=subprocess.PIPE) as process:
        printed, told = process.communicate('{"task_type": "a"}\n' + line, timeout=60)
    assert (process.returncode, printed) == (1, "")
    assert told.startswith(problem)
    assert told.endswith("; nothing was put\n")
    assert put.waiting().value == 0


def test_of_many_lines_those_before_a_bad_one_are_put_and_said(
    queue: tuple[Queue, tuple[str, ...]],
):
    put, words = queue
    with start(*words, "put", "a", "--lines", stdin=subprocess.PIPE) as process:
        _, told = process.communicate("1\n" * 500 + "NaN?\n", timeout=60)
    assert process.returncode == 1
    assert told.startswith("line 501 is no JSON")
    assert told.endswith("; the 500 tasks before it were put\n")
    assert put.waiting().value == 500


# Through a pipe


def test_a_line_for_a_pipe_is_not_cut(queue: tuple[Queue, tuple[str, ...]]):
    put, words = queue
    ids = [f"{n}-" + "x" * 200 for n in range(3)]
    for task_id in ids:
        put.put("a", task_id=task_id)
    _, printed, told = run(*words, "list")
    assert [line.split()[0] for line in printed.splitlines()[1:]] == ids[::-1]
    assert told == ""


def test_a_watch_without_a_terminal_is_a_line_of_json_for_each_look(
    queue: tuple[Queue, tuple[str, ...]],
):
    put, words = queue
    put.put("a", task_id="t")
    status, printed, told = run(*words, "watch", "--times", "2", "--interval", "0s")
    looks = [json.loads(line) for line in printed.splitlines()]
    assert (status, told, len(looks)) == (0, "", 2)
    assert looks[1]["live"] == 1
    assert [task["task_id"] for task in looks[1]["newest"]["PENDING"]] == ["t"]


# What lies in other packages


def test_a_command_of_another_package_ends_as_it_says(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with start("report", "exports", "--out", str(tmp_path / "file")) as process:
        printed, told = process.communicate(timeout=60)
    assert (process.returncode, printed) == (1, "")
    assert "cannot be written to" in told


def test_a_command_whose_extra_is_missing_says_what_to_install():
    code = "import sys; sys.modules['pyspark'] = None; from lifoq_cli.app import main; main()"
    finished = subprocess.run(
        [sys.executable, "-c", code, "report"], capture_output=True, text=True, check=False
    )
    assert finished.stderr == "this command needs pyspark: pip install 'lifoq[analytics]'\n"


# Completion


@pytest.mark.parametrize(
    ("words", "completed"),
    [("lifoq re", ["resume", "redrive", "report"]), ("lifoq list --status f", ["failure"])],
)
def test_the_shell_completes_commands_and_values_without_what_is_not_installed(
    words: str, completed: list[str]
):
    variables = {
        "_LIFOQ_COMPLETE": "zsh_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    code = "import sys; sys.modules['pyspark'] = None; from lifoq_cli.app import main; main()"
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env=ENVIRONMENT | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    kinds, values = finished.stdout.splitlines()[::3], finished.stdout.splitlines()[1::3]
    assert (sorted(values), set(kinds), finished.stderr) == (sorted(completed), {"plain"}, "")
