"""Refusals: each gets its sentence and an exit status, and nothing is put."""

import errno
import importlib
import os
import sys
from typing import Any

import click
import pytest

from lifoq_cli import __main__ as entrance
from lifoq_cli import mounted, statuses

DEEP = "[" * 30_000 + "]" * 30_000
NOT_UNDERSTOOD = {
    "": "Usage: lifoq",
    "stats": "which queue? give --queue or --table, or set LIFOQ_QUEUE, or write it",
    "--table t list --status LOST": "'LOST' is not one of 'pending', 'delayed', 'taken', 'failure'",
    "--queue prod --deadline-seconds 5 stats": "--deadline-seconds goes with --table",
    "--queue prod --bucket b stats": "--bucket goes with --table; a queue's name brings its own",
    "--table t --table u --bucket b stats": "--bucket is of one table",
    "--table t list --older-than 3weeks": "give one such as 30s, 5m, 2h or 1d",
    "--table t put a --due-at tomorrow": "'tomorrow' is no ISO time: give one such as 2026-11-20T",
    "put a --due-at 2020-01-01T00:00:00Z": "2020-01-01T00:00:00Z has passed: leave it out, and the",
    "put a --deadline abc": "'abc' is neither a duration such as 30s, 5m, 2h or 1d, nor an ISO",
    "--table t put": "give a TYPE, or --lines",
    "--table t put a 1 --lines": "leave PAYLOAD",
    "--table t schedule put a b": "when? give one of --cron, --every and --at",
    "--table t schedule put a b --every 1h --cron *": "when? give one of --cron, --every and --at",
    "--table t schedule put a b --every 1h --time-zone UTC": "--time-zone is the zone of --cron",
    "--table t schedule put a b --at 2020-01-01": "has passed: leave it out",
    "--table t --table u schedule list": "a schedule is of one queue: name that one alone",
    "pause --table t": "name its queue, --queue NAME",
    "--table t --region r --deadline-seconds nan stats": "--deadline-seconds nan: must be",
    "--table= stats": "--table '': must",
    "stats --queue a/b": "--queue a/b: must be letters, digits",
    "--table t watch --interval 0": "0 is too short: give 0.5s or more",
}
NOT_CONNECTED = {
    "--table t stats": "specify a region: check region",
    "--table t --region r --endpoint-url http://127.0.0.1:1 stats": "there are no credentials: g",
}
WRONG_VALUES = {
    "redrive --yes --per-second nan": "--per-second nan: must be",
    "list --limit 0": "--limit 0: must be",
    f"list --limit {'9' * 400}": "must be a whole number",
    "list --status delayed --older-than 5m": "--older-than 5m: asks for an age",
    "get \udcff": r"ID '\udcff': holds half a surrogate pair",
    "redrive t --type a": "--type a: is for those that",
    "put a {x}": "PAYLOAD '{x}': is no JSON (",
    f"put a {DEEP}": "is no JSON (it is nested too deep",
    "schedule put a b --every 0s": "--every 0s: must be whole minutes",
    "schedule put a/b c --every 1h": "NAME 'a/b': must be 1 to 64 letters",
    "schedule put a b --every 90s": "--every 90s: must be whole minutes",
    "schedule put a b --cron soon": "--cron soon: is no schedule expression: cron has six fields",
    "schedule put a b --cron=0\u20098 --time-zone=Mars": "--time-zone Mars: is no time zone",
    "schedule put a b --every 1h --deadline 2h": "--deadline 2h: is 7200 s after the task enters",
    "schedule list --limit 0": "--limit 0: must be",
    "export --last 5m": "--last 5m: must be 15m to 1d",
    "put a @nowhere.json": "PAYLOAD '@nowhere.json': cannot be read",
    "put a --deadline 2h": "--deadline 2h: is 7200 s after the task enters the queue, the queue's",
    "work --tasks .x": "--tasks .x: is no module's name",
}


@pytest.fixture(autouse=True)
def _no_configuration(monkeypatch, tmp_path):
    """Neither a person's nor a folder's settings have a say in the test."""
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    monkeypatch.delenv("LIFOQ_QUEUE", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "sentence"), NOT_UNDERSTOOD.items())
def test_what_is_not_understood_is_told(command, words, sentence):
    status, printed, told = command(*words.split())
    assert (status, printed) == (2, "")
    assert sentence in " ".join(told.split())


def one_sentence(answer: tuple[int, str, str], sentence: str) -> bool:
    status, printed, told = answer
    return (status, printed, told.count("\n"), sentence in told) == (1, "", 1, True)


@pytest.mark.parametrize(("words", "sentence"), NOT_CONNECTED.items())
def test_what_cannot_be_connected_to_gets_one_sentence(command, monkeypatch, words, sentence):
    for name in ("AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    assert one_sentence(command(*words.split()), sentence)


@pytest.mark.parametrize(("words", "sentence"), WRONG_VALUES.items(), ids=range(len(WRONG_VALUES)))
def test_a_value_that_a_queue_refuses_is_wrong_usage_of_its_option(lifoq, queue, words, sentence):
    status, printed, told = lifoq(*words.split(" "))
    assert (status, printed) == (2, "")
    assert sentence in " ".join(told.split())
    assert queue.waiting().value == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("queue = ", " cannot be read"),
        ('stage = "dev"', ": stage is unknown; it may hold queue and region"),
        ("queue = [7]", ': queue must be a name, such as "dev", or a list of names'),
        ('queue = "dev"\nregion = 7', ": region must be a name"),
    ],
)
def test_a_folders_file_that_makes_no_sense_is_told(command, tmp_path, text, problem):
    (tmp_path / "lifoq.toml").write_text(text)
    assert one_sentence(command("stats"), f"lifoq.toml{problem}")


def test_an_answer_that_cannot_be_written_is_told(lifoq, monkeypatch):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        monkeypatch.setattr("sys.stdout", full)
        status, _, told = lifoq("stats")
    assert status == statuses.REFUSED
    assert told == f"the answer could not be written: {os.strerror(errno.ENOSPC)}\n"


def test_an_interrupt_while_the_command_is_imported_ends_it(monkeypatch, capsys):
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(importlib, "import_module", interrupted)
    assert entrance.main() == statuses.INTERRUPTED
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("said", "status"), [(None, 0), (5, 5), ("a sentence", 1)])
def test_a_command_of_another_package_ends_as_it_says(command, monkeypatch, said, status):
    elsewhere = click.Command("report", callback=lambda: sys.exit(said))
    monkeypatch.setattr(mounted, "load", lambda _: elsewhere)
    assert command("report") == (status, "", "")


def test_a_command_whose_extra_is_missing_says_what_to_install(command, monkeypatch):
    def missing(_name: str) -> Any:
        raise ModuleNotFoundError(name="pyspark")

    monkeypatch.setattr(importlib, "import_module", missing)
    told = "this command needs pyspark: pip install 'lifoq[analytics]'\n"
    assert command("report") == (1, "", told)


def test_a_command_that_is_slow_to_import_says_that_it_begins(command, monkeypatch):
    def load(_mounted: mounted.Mounted) -> click.Command:
        raise mounted.NotInstalled("it is imported now")

    monkeypatch.setattr(mounted, "load", load)
    assert command("dev")[2] == "Starting the local cloud …\nit is imported now\n"
    assert command("dev", "--help")[2] == "it is imported now\n"
