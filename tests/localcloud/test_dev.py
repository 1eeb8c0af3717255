"""The work of `lifoq dev` beside the local cloud: its log, code that is saved, and a debugger."""

import io
import json
import os
import re
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import watchfiles

from lifoq import Queue, TaskError
from lifoq.aws.dynamo_values import typed
from lifoq.environment import Environment, Variable
from lifoq.items.schema import Attribute
from lifoq.worker.handlers.registry import REGISTRY
from lifoq.worker.handlers.task_id_in_logs import handling
from lifoq_console.several import Queues
from lifoq_localcloud import LocalCloud, commands
from lifoq_localcloud.cloud import DeploymentError, DeploymentInterrupted
from lifoq_localcloud.commands import Life
from lifoq_localcloud.dev import example_put, importing
from lifoq_localcloud.dev.attempt_log import AttemptLog
from lifoq_localcloud.dev.debugged import Debugged
from lifoq_localcloud.dev.importing import Imported
from lifoq_localcloud.dev.joined_logs import JoinedLogs
from lifoq_localcloud.dev.reload import Reloader, Sources
from lifoq_localcloud.dev.steps import SYNTHESIS, Steps
from lifoq_localcloud.functions.printed import Printed
from lifoq_localcloud.tables.journal import Journal
from lifoq_project import asset
from tests.localcloud.harness import eventually

PATIENCE = 300.0
"""Seconds, far longer than anything here takes."""

# The log


class Written:
    """A queue in memory, whose writes a journal has."""

    def __init__(self) -> None:
        self.queue = Queue.in_memory()
        self.journal = Journal()
        self._before: dict = {}

    def lines(self, log: AttemptLog) -> list[str]:
        now = {str(item["taskId"]): typed(item) for item in self.queue.store.table.items()}
        for task_id in self._before | now:
            old, new = self._before.get(task_id), now.get(task_id)
            self.journal.stage(key={"taskId": {"S": task_id}}, old=old, new=new)
        self._before = now
        self.journal.commit()
        return [re.sub(r"^\d\d:\d\d:\d\d  |(under )?[\d.]+ m?s", "", line) for line in log.news()]


def test_each_attempt_has_a_line_and_each_kind_of_error_its_traceback_once():
    written = Written()
    log = AttemptLog(lambda: {"t": written.journal}, {"price.show": 3})
    store, shown = written.queue.store, []
    for task_id in ("good", "one", "two"):
        own = 1 if task_id == "two" else None
        long = "cents" * 1_000  # which an item holds compressed
        written.queue.put("price.show", long, task_id=task_id, max_attempts=own)
        written.lines(log)
        task = store.claim(task_id, claim_id=task_id, lease=30)
        shown += written.lines(log)
        trace = f'  File "/x/.local/assets/{64 * "a"}/tasks/__init__.py", line 7, in show'
        error = TaskError(type="KeyError", message="'cents'", traceback=trace)
        if task_id == "good":
            store.succeed(task, "1")
        elif task_id == "one":
            store.retry(task, error, delay=4)
        else:
            store.fail(task, error)
        shown += written.lines(log)
    assert shown == [
        "✓ done      price.show good: , attempt 1 of 3",
        "↻ again     price.show one: , attempt 1 of 3, next in , KeyError: 'cents'",
        '  File "tasks/__init__.py", line 7, in show',
        "✗ failed    price.show two: , attempt 1 of 1, KeyError: 'cents'",
    ]


def test_the_line_of_an_attempt_has_its_clock_its_seconds_and_those_until_the_next():
    written = Written()
    store = written.queue.store
    written.queue.put("show", task_id="one")
    task = store.claim("one", claim_id="1", lease=30)
    written.lines(AttemptLog(dict, {}))
    store.retry(task, TaskError(type="KeyError", message="'cents'"), delay=9)
    written.lines(AttemptLog(dict, {}))
    again = written.journal.committed[-1]
    old = {**(again.old or {}), "takenAt": {"N": str(again.micros - 1_500_000)}}
    new = {**(again.new or {}), "dueAt": {"N": str(again.micros + 4_000_000)}}
    journal: Any = SimpleNamespace(
        read=lambda at, most: [replace(again, old=old, new=new)][at:most]
    )
    log = AttemptLog(lambda: {"t": journal}, {})
    at = datetime.fromtimestamp(again.micros // 1_000_000).astimezone()
    said = f"{at:%H:%M:%S}  ↻ again     show one: 1.5 s, attempt 1, next in 4 s, KeyError: 'cents'"
    assert [*log.news(), *log.news()] == [said]


def test_a_lost_worker_and_what_was_shed_or_is_damaged_have_lines_too():
    written = Written()
    log = AttemptLog(lambda: {"t": written.journal}, {})
    store = written.queue.store
    for task_id in ("damaged", "lost", "old", "older"):
        written.queue.put("show", task_id=task_id)
    damaged, lost = (store.claim(it, claim_id="1", lease=-1) for it in ("damaged", "lost"))
    assert written.lines(log) == []
    store.succeed(damaged, "1")
    store.table.damage({**store.table.get("damaged"), Attribute.ENQUEUED_AT: "noon"})
    assert store.reclaim(lost, max_attempts=3) == "PENDING"
    for task_id in ("old", "older"):
        store.table.delete(task_id, when=())
    assert written.lines(log) == [
        "✗ task 'damaged' is damaged: enqueuedAt is str, but must be of type N",
        (
            "↻ again     show lost: , attempt 1, its worker was lost, LeaseExpired: the worker of "
            "attempt 1 was lost: its lease ran out"
        ),
        "shed: 2 that waited for too long",
    ]


def without_clock(lines: Iterable[str]) -> list[str]:
    return [re.sub(r"^\d\d:\d\d:\d\d  ", "", line) for line in lines]


FUNCTION = "lifoq-dev-queue-ProcessTasksFunction1A2B3C4D-x1y2z3.log"


@pytest.fixture
def logs(tmp_path) -> JoinedLogs:
    (tmp_path / FUNCTION).write_text("written before\n")
    return JoinedLogs(tmp_path)


def test_only_what_is_new_is_told_and_only_whole_lines(logs, tmp_path):
    with (tmp_path / FUNCTION).open("a") as file:
        file.write("a line\nhalf a")
        file.flush()
        assert without_clock(logs.news()) == ["ProcessTasksFunction  a line"]
        file.write(" line\n")
        file.flush()
        assert without_clock(logs.news()) == ["ProcessTasksFunction  half a line"]
    (tmp_path / "another.log").write_text("from its first line on\n")
    assert without_clock(logs.news()) == ["another  from its first line on"]


def test_a_line_is_told_as_a_person_reads_it(logs, tmp_path):
    own = {"level": "INFO", "message": "swept", "function_arn": "arn:…", "Kicks": 1}
    lines = {
        json.dumps(
            {"level": "INFO", "message": "asked", "taskId": "t", "n": 0}
        ): "INFO asked taskId=t",
        json.dumps(own): None,
        json.dumps({**own, "level": "WARNING"}): "WARNING swept Kicks=1",
        json.dumps({"_aws": {}, "TasksClaimed": [1]}): None,
        json.dumps({"message": "said", "taskId": "t", "timestamp": "…"}): "said taskId=t",
        "START RequestId: 1 Version: $LATEST": None,
        "2026-01-31T12:00:00.123456Z 1-2 Runtime exited with error: exit status 3": (
            "its process ended: exit status 3; what it had begun comes again when its lease is over"
        ),
        '{"level": "WARNING", "message": "LAMBDA_WARNING: Unhandled exception. …"}': None,
        "[1, 2]": "[1, 2]",
        "\x1b[2Jprinted": r"\u001b[2Jprinted",
        '{"level": "INFO", "message": "\\u009bJ \\n"}': r"INFO \u009bJ",
        "": None,
    }
    with (tmp_path / FUNCTION).open("a") as file:
        file.writelines(f"{line}\n" for line in lines)
    told = [news.partition("  ")[2] for news in without_clock(logs.news())]
    assert told == [text for text in lines.values() if text]


def test_what_a_handler_prints_has_the_time_and_the_id_of_its_task():
    screen = io.StringIO()
    out = Printed(screen)

    def lines() -> list[Any]:
        found = [json.loads(line) if line[0] == "{" else line for line in whole(screen)]
        assert all(line.pop("timestamp") for line in found if "taskId" in line)
        return found

    print("at its start", file=out)
    with handling(["one"]):
        print("a", "b", sep="\n", file=out)
        print('{"level": "INFO", "message": "logged"}\n', end="", file=out)
        print({"a": "dict"}, "[x]", file=out)
        print("7", file=out)
        assert out.write("no end") == 6
    with handling(["two"]):
        print("begins anew", file=out)
        print("again no end", end="", file=out)
    assert out.write("at its end\n") == 11
    print("and after it", file=out)
    assert lines() == [
        "at its start",
        {"message": "a", "taskId": "one"},
        {"message": "b", "taskId": "one"},
        {"level": "INFO", "message": "logged"},
        {"message": "{'a': 'dict'} [x]", "taskId": "one"},
        {"message": "7", "taskId": "one"},
        {"message": "no end", "taskId": "one"},
        {"message": "begins anew", "taskId": "two"},
        {"message": "again no end", "taskId": "two"},
        "at its end",
        "and after it",
    ]


def whole(screen: io.StringIO) -> list[str]:
    assert screen.getvalue().endswith("\n")
    return screen.getvalue().splitlines()


# What is under way, and what comes next


def test_a_step_that_takes_long_is_told_by_what_the_cdk_says_and_one_soon_over_is_not():
    told: SimpleQueue[str] = SimpleQueue()
    with Steps(told.put, patience=PATIENCE) as steps:
        steps.begin("a")
        steps.begin("b")
    assert told.empty()
    with Steps(told.put, patience=0) as steps:
        for line, words in (
            ("⏳  Bootstrapping environment aws://1/r...", None),
            (" ✅  Environment aws://1/r bootstrapped.", SYNTHESIS),
            ("✨  Synthesis time: 8.21s", "Uploading the code of its functions …"),
            ("devices: start: Building Queue/Code", None),
            ("devices: creating CloudFormation changeset...", "Deploying devices …"),
            ("devices: deploying... [1/1]", None),
            (" ✅  devices", None),
        ):
            steps.hear(line)
            if words is not None:
                assert told.get(timeout=PATIENCE) == words
    assert told.empty()


def test_the_line_to_type_next_puts_what_the_projects_tests_put(tmp_path):
    types = ("greet", "mail.send", "price.show")
    assert example_put.command(types, tmp_path).startswith("lifoq put greet PAYLOAD    (PAYLOAD: ")
    (tmp_path / "test_broken.py").write_text("def (")
    (tmp_path / "test_tasks.py").write_text(
        "queue.put('mail.send', address())\n"
        "queue.put('price.show', {'cents': 1}, task_id='one')\n"
        "queue.put('price.show', {'cents': 'x'})\n"
        "queue.put('other', 1)\n"
    )
    assert example_put.command(types, tmp_path) == """lifoq put price.show '{"cents": 1}'"""


# Code that is saved


def test_code_is_imported_to_tell_what_is_wrong_with_it_and_how_often_its_types_may_be_tried(
    tmp_path, monkeypatch
):
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "__init__.py").write_text("import lifoq\nfrom . import prices\n")

    def look(*lines: str) -> Imported:
        (tasks / "prices.py").write_text("\n".join(lines))
        return importing.look(tasks, "tasks", runtime=tmp_path, environment={})

    types = ("import lifoq", "lifoq.task('show', max_attempts=3)(print)", "lifoq.task('b')(print)")
    assert look(*types, "print('imported')") == Imported(attempts={"show": 3, "b": None})
    missing = look("", "import a_package_that_is_missing").problem
    assert missing.startswith("tasks/prices.py, line 2: ModuleNotFoundError: No module named")
    assert missing.endswith("; packages are named in tasks/requirements.txt")
    monkeypatch.setattr(importing, "SECONDS", 0.2)
    asleep = look("import time", "time.sleep(600)").problem
    assert asleep == "tasks: its import takes more than 0.2 s; wait in a handler instead"


def test_what_is_saved_before_the_deployment_has_ended_is_live_after_it(tmp_path, monkeypatch):
    saved, applied = tmp_path / "tasks.py", Mock()
    told, deployed = threading.Event(), threading.Event()

    def changes(*_: object, **__: object) -> Iterator[set[tuple[watchfiles.Change, str]]]:
        told.set()
        yield {(watchfiles.Change.modified, str(saved))}

    monkeypatch.setattr(watchfiles, "watch", changes)
    reloader = Reloader(LocalCloud(tmp_path), tmp_path, lambda _: None)
    monkeypatch.setattr(reloader, "apply", lambda paths: applied(*paths))
    watching = threading.Thread(target=reloader.watch, args=(threading.Event(), deployed))
    watching.start()
    assert told.wait(PATIENCE)
    applied.assert_not_called()

    deployed.set()
    watching.join(PATIENCE)
    applied.assert_called_once_with(saved)


@pytest.fixture
def saved(tmp_path, monkeypatch) -> Any:
    """A reloader over an application with task code and a page, what its files say when they are
    imported, and what it told and asked."""
    worker = {Variable.TASKS: "tasks", Variable.WORKER: "{}"}
    functions = [
        {"FunctionName": "beside", "Handler": "tasks.api.handler"},
        {
            "FunctionName": "process",
            "Handler": "lifoq_functions.process.handler",
            "Architectures": ["arm64"],
            "Environment": {"Variables": worker},
        },
        {"FunctionName": "page", "Handler": "page.index.handler"},
        {"FunctionName": "other", "Handler": "elsewhere.handler"},
    ]
    for name in ("tasks/__init__.py", "page/index.py", "app.py", "notes/a.txt", "notes/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    cloud, api, told = Mock(directory=tmp_path / ".local"), Mock(), list[str]()
    cloud.client.return_value, cloud.environment.return_value = api, {"AWS_REGION": "here"}
    api.get_paginator.return_value.paginate.return_value = [{"Functions": functions}]
    look = Mock(return_value=Imported())
    monkeypatch.setattr(importing, "look", look)

    def build(folder: Path, *, architecture: str) -> Any:
        file = tmp_path / "built"
        file.write_text(f"{folder.name} for {architecture}")
        return Mock(path=file)

    monkeypatch.setattr(asset, "build", build)
    reloader = Reloader(cloud, tmp_path, told.append)

    def apply(*names: str) -> list[str]:
        """Return what is told of these saved files, without the seconds."""
        told.clear()
        reloader.apply(tmp_path / name for name in names)
        return [line.partition(", after ")[0] for line in told]

    return SimpleNamespace(
        api=api, apply=apply, cloud=cloud, look=look, reloader=reloader, told=told, worker=worker
    )


def test_saved_code_is_live_in_the_functions_that_run_it(saved, tmp_path):
    saved.reloader.live = live = Mock()
    saved.look.return_value = Imported(attempts={"show": 5, "mail": None})
    types = example_put.command(("show", "mail"), tmp_path)
    is_live = "tasks/__init__.py is live"
    assert saved.apply("tasks/__init__.py") == [is_live, f"A new task type: {types}"]
    assert saved.reloader.attempts == {
        "show": 5,
        "mail": Environment(saved.worker).worker().max_attempts,
    }
    saved.look.assert_called_once_with(
        tmp_path / "tasks",
        "tasks",
        runtime=tmp_path / ".local/runtime",
        environment={**saved.worker, "AWS_REGION": "here"},
    )
    given = [call.kwargs for call in saved.api.update_function_code.call_args_list]
    assert given == [
        {"FunctionName": "beside", "ZipFile": b"tasks for x86_64"},
        {"FunctionName": "process", "ZipFile": b"tasks for arm64"},
    ]
    saved.api.invoke.assert_called_once_with(
        FunctionName="process", InvocationType="Event", Payload=b"{}"
    )
    live.assert_called_once_with()
    assert saved.apply("tasks/__init__.py") == [is_live]

    saved.api.reset_mock()
    assert saved.apply("page/index.py", "page") == ["page/index.py is live"]
    code = b"page for x86_64"
    saved.api.update_function_code.assert_called_once_with(FunctionName="page", ZipFile=code)
    saved.api.invoke.assert_not_called()
    (tmp_path / "page/rules.txt").write_text("1 +")
    assert saved.apply("page/rules.txt") == ["page/rules.txt is live"]


def test_what_is_wrong_with_saved_code_is_told_and_changes_nothing(saved, tmp_path):
    (tmp_path / "tasks/broken.py").write_text("\n1 +\n")
    told = saved.apply("tasks/broken.py", "app.py")
    assert told == ["tasks/broken.py is not live: line 2: invalid syntax"]
    (tmp_path / "tasks/broken.py").write_text("")
    saved.look.return_value = Imported(problem="it is wrong")
    names = ["page/index.py", "tasks/__init__.py", "tasks/broken.py"]
    assert saved.apply(*names) == [f"{', '.join(names)} is not live: it is wrong"]
    saved.told.clear()
    saved.reloader.check()
    wrong = "is deployed, but does not run: it is wrong"
    assert saved.told == [f"tasks {wrong}", f"page {wrong}"]
    saved.api.update_function_code.assert_not_called()
    saved.cloud.deploy_application.assert_not_called()


def test_another_file_of_the_application_has_it_deployed(saved, tmp_path):
    assert saved.apply("notes/a.txt", "notes", "not-there.py") == []
    saved.cloud.deploy_application.assert_not_called()
    names = ["app.py", "notes/a.txt", "notes/b.py"]
    assert saved.apply(*names, "page/index.py") == [f"{', '.join(names)} … is deployed"]
    folder, _ = saved.cloud.deploy_application.call_args.args
    assert folder == tmp_path
    saved.cloud.deploy_application.side_effect = DeploymentError("no such thing")
    assert saved.apply("app.py") == ["app.py is not live: no such thing"]
    saved.cloud.deploy_application.side_effect = DeploymentInterrupted()
    assert saved.apply("app.py") == []


def test_only_files_that_say_what_is_deployed_are_watched(tmp_path):
    names = ("app.py", "tasks/requirements.txt", "dev.log", "test_tasks.py", ".local/logs/cdk.log")
    names += ("nohup.out",)  # of `nohup lifoq dev`: each deployment would write to it
    seen = [one for one in names if Sources()(watchfiles.Change.modified, str(tmp_path / one))]
    assert seen == ["app.py", "tasks/requirements.txt"]


# The command


@pytest.fixture
def dev(tmp_path, monkeypatch, capsys) -> Iterator[Any]:
    """`lifoq dev` on a cloud that has deployed what it is told to have deployed."""
    cloud = Mock(directory=tmp_path / ".local", logs=tmp_path, endpoint="http://here")
    cloud.client.return_value.get_paginator.return_value.paginate.return_value = []
    (tmp_path / "cdk.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    life, queues, consoles = Life(), ["orders"], []
    monkeypatch.setattr(commands, "LOOK_SECONDS", 0.01)
    monkeypatch.setattr(commands, "_queues", lambda _: queues)
    monkeypatch.setattr(commands, "_subject", lambda _, name: f"the subject of {name}")
    monkeypatch.setattr(commands, "_run", lambda *, then, **_: then(cloud, life))
    monkeypatch.setattr(
        "lifoq_console.serve.serve", lambda shown, **given: consoles.append((shown, given))
    )

    def run(*words: str) -> list[str]:
        commands.dev_command.main([*words], standalone_mode=False)
        return capsys.readouterr().out.splitlines()

    yield SimpleNamespace(
        capsys=capsys, cloud=cloud, consoles=consoles, life=life, queues=queues, run=run
    )
    life.ended.set()


def test_lifoq_dev_deploys_shows_the_console_and_the_log_and_ends_a_deployment(dev, tmp_path):
    deploying, deployed, *more = dev.run()
    assert (deploying.partition(",")[0], deployed) == ("Deploying", "Deployed.")
    assert more == [
        "Code of your own finds this cloud after: . .local/environment",
        commands.ABOUT_WAITING,
    ]
    assert dev.cloud.deploy_application.call_args.args[0] == tmp_path
    assert dev.life.up.is_set()
    ((shown, given),) = eventually(lambda: dev.consoles)
    assert (shown, given["write"]) == ("the subject of orders", True)
    given["tell"]("http://there")
    assert dev.capsys.readouterr().out == "Console of orders: http://there\n"
    with (tmp_path / FUNCTION).open("a") as file:
        file.write("a line\n")
    assert eventually(lambda: "a line" in dev.capsys.readouterr().out)
    dev.cloud.interrupt.assert_not_called()
    dev.life.ended.set()
    assert eventually(lambda: dev.cloud.interrupt.called)


def test_the_console_shows_all_queues_that_there_are(dev):
    dev.queues.append("mails")
    dev.run()
    ((shown, _),) = eventually(lambda: dev.consoles)
    assert isinstance(shown, Queues)
    dev.queues.clear()
    dev.run()
    assert len(dev.consoles) == 1


def test_a_debugged_worker_is_there_for_one_queue_and_ends_with_the_command(dev, monkeypatch):
    worker = Mock()
    monkeypatch.setattr(Debugged, "of", lambda _, name, _folder: {"orders": worker}[name])
    assert any(line.startswith("Task code runs in this process") for line in dev.run("--debug"))
    worker.run.assert_called_once_with()
    worker.end.assert_not_called()
    dev.life.ended.set()
    assert eventually(lambda: worker.end.called)
    dev.queues.append("mails")
    with pytest.raises(DeploymentError, match="and this application has: orders, mails"):
        dev.run("--debug")
    dev.queues.clear()
    with pytest.raises(DeploymentError, match="and this application has: none"):
        dev.run("--debug")


# A debugger

CODE = """
import lifoq

@lifoq.task("stop", timeout=0.05)
def stop(payload, context):
    breakpoint()
    return {answer}
"""


def test_a_breakpoint_stops_the_handler_in_this_process_and_saved_code_follows_it(
    tmp_path, monkeypatch
):
    stopped: SimpleQueue[int] = SimpleQueue()
    go_on = threading.Event()

    def debugger() -> None:
        stopped.put(os.getpid())
        assert go_on.wait(PATIENCE)

    def save(answer: int) -> None:
        (tmp_path / "debugged_tasks.py").write_text(CODE.format(answer=answer))

    monkeypatch.setattr(sys, "breakpointhook", debugger)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    save(1)
    registered = dict(vars(REGISTRY))
    queue = Queue.in_memory()
    first, second = queue.put("stop"), queue.put("stop")
    worker = Debugged(
        queue.store, Environment({Variable.TASKS: "debugged_tasks", Variable.WORKER: "{}"})
    )
    running = threading.Thread(target=worker.run)
    running.start()
    try:
        assert stopped.get(timeout=PATIENCE) == os.getpid()
        save(2)
        worker.reload()
        threading.Event().wait(0.2)  # longer than the type's own timeout
        go_on.set()
        assert queue.wait(second.task_id, timeout=PATIENCE) == 1
        assert queue.wait(first.task_id, timeout=PATIENCE) == 2
    finally:
        worker.end()
        running.join(PATIENCE)
        vars(REGISTRY).update(registered)
    assert not running.is_alive()
