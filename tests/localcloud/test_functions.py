"""Deployed functions, as clients of the Lambda API see them."""

import base64
import json
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import replace
from importlib import metadata
from itertools import islice
from queue import SimpleQueue
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import psutil
import pytest
from botocore.exceptions import ClientError

from lifoq_localcloud.basics.credentials import Credentials
from lifoq_localcloud.functions import instance, pool, processes, sandboxes
from lifoq_localcloud.functions.function import CodeError, FunctionConfig, Outcome, ThrottledError
from lifoq_localcloud.functions.instance import Instance, Sandbox
from lifoq_localcloud.functions.sandboxes import Sandboxes
from tests.localcloud.harness import PATIENCE_SECONDS, Deployed, eventually, gone, zipped


def test_a_function_runs_with_its_deployed_environment_in_a_process_that_is_used_again(deployed):
    answer, error = deployed.invoke("Probe", {"n": 1})

    assert error is None
    assert answer["event"] == {"n": 1}
    assert answer["environment"]["GREETING"] == "hello"
    assert answer["environment"]["AWS_ENDPOINT_URL"] == deployed.cloud.endpoint
    assert answer["environment"]["AWS_LAMBDA_FUNCTION_NAME"] == deployed.ids["Probe"]
    assert 0 < answer["remaining"] <= 2000
    assert answer["arn"].endswith(f":function:{deployed.ids['Probe']}")
    again, _ = deployed.invoke("Probe", {})
    assert again["pid"] == answer["pid"]
    assert answer["pid"] in deployed.cloud.processes(deployed.ids["Probe"])
    assert deployed.ids["Probe"] in psutil.Process(answer["pid"]).cmdline()


def test_a_function_finds_its_asset_and_lambdas_packages_and_nothing_of_the_project(deployed):
    others = ["moto", "lifoq", "lifoq_localcloud", "aws_cdk", "pytest"]
    modules = ["probe", "boto3", "awslambdaric", *others]
    answer, _ = deployed.invoke("Probe", {"action": "import", "modules": modules})

    found = {name for name, there in answer["found"].items() if there}
    assert found == {"probe", "boto3", "awslambdaric"}


@pytest.mark.parametrize("message", ["as you wish", "é" * 100_000], ids=["short", "long"])
def test_an_exception_is_the_invocations_error(deployed, message):
    answer, error = deployed.invoke("Probe", {"action": "raise", "message": message})

    assert error == "Unhandled"
    assert (answer["errorType"], answer["errorMessage"]) == ("ValueError", message)


def test_what_a_function_writes_is_an_event_of_its_log_group(deployed):
    deployed.invoke("Probe", {"action": "sleep", "seconds": 0})

    logs = deployed.client("logs")
    asked = {"logGroupName": deployed.ids["Logs"], "filterPattern": '"asleep"'}
    event, *_ = eventually(lambda: logs.filter_log_events(**asked)["events"])
    assert event["message"] == "asleep"
    later = event["timestamp"] + 600_000
    assert logs.filter_log_events(**asked, startTime=later)["events"] == []


def test_what_the_caller_tells_of_itself_reaches_the_function(deployed):
    told = base64.b64encode(json.dumps({"custom": {"taskId": "é"}}).encode()).decode()
    answer, _ = deployed.invoke("Probe", {}, ClientContext=told)
    after, _ = deployed.invoke("Probe", {})

    assert (answer["custom"], after["custom"]) == ({"taskId": "é"}, None)
    with pytest.raises(ClientError, match="Client context must be a valid Base64-encoded JSON"):
        deployed.invoke("Probe", {}, ClientContext="no")


class Busy:
    """An instance that ends an event when it may."""

    begun: SimpleQueue["Busy"] = SimpleQueue()
    may_end = threading.Semaphore(0)
    alive = True

    def __init__(self, config: Any, _sandbox: object) -> None:
        self.config = config

    def invoke(self, *_event: object) -> Outcome:
        self.begun.put(self)
        assert self.may_end.acquire(timeout=PATIENCE_SECONDS)
        return Outcome(payload=b"1")

    def kill(self) -> None:
        """The pool is closed."""


def test_more_events_than_instances_wait_for_one(monkeypatch):
    monkeypatch.setattr(pool, "Instance", Busy)
    config: Any = SimpleNamespace(reserved_concurrency=None, code_digest="a")
    function, number = pool.Pool(config, Mock()), pool.UNRESERVED_CONCURRENCY
    runs = [function.reserve() for _ in range(number + 2)]
    with ThreadPoolExecutor(number + 2) as threads, closing(function):
        ends = [threads.submit(run, b"") for run in runs]
        begun = {Busy.begun.get(timeout=PATIENCE_SECONDS) for _ in range(number)}
        for _ in range(number + 2):
            Busy.may_end.release()
        again = {Busy.begun.get(timeout=PATIENCE_SECONDS) for _ in range(2)}
    assert (len(begun), again <= begun) == (number, True)
    assert [end.result().payload for end in ends] == [b"1"] * (number + 2)


class Ready:
    """An instance that answers at once with its number."""

    made: list["Ready"]

    def __init__(self, config: Any, _sandbox: object) -> None:
        self.config, self.alive, self.during = config, True, Mock()
        self.made.append(self)
        self.pid = len(self.made)

    def invoke(self, *_event: object) -> Outcome:
        self.during()
        return Outcome(payload=str(self.pid).encode())

    def kill(self) -> None:
        self.alive = False


def test_an_instance_is_used_again_until_it_dies_or_there_is_other_code(monkeypatch):
    monkeypatch.setattr(Ready, "made", [], raising=False)
    monkeypatch.setattr(pool, "Instance", Ready)
    config: Any = SimpleNamespace(name="f", reserved_concurrency=1, code_digest="a")
    newer, newest = (SimpleNamespace(**{**vars(config), "code_digest": one}) for one in "bc")
    function = pool.Pool(config, Mock())

    def answer() -> str:
        return function.invoke(b"").payload.decode()

    run = function.reserve()
    with pytest.raises(ThrottledError, match="Function f is at its concurrency limit"):
        function.reserve()
    assert [run(b"").payload, answer(), function.processes()] == [b"1", "1", [1]]
    Ready.made[0].alive = False
    assert (function.processes(), answer()) == ([], "2")
    function.replace(newer)
    assert (Ready.made[1].alive, function.digests()) == (False, {"b"})
    assert (answer(), function.digests()) == ("3", {"b"})
    seen: list[Any] = []

    def deployed_meanwhile() -> None:
        function.replace(newest)
        seen.extend([function.digests(), function.processes(), Ready.made[2].alive])

    Ready.made[2].during = deployed_meanwhile
    assert (answer(), seen) == ("3", [{"b", "c"}, [3], True])
    assert (Ready.made[2].alive, answer()) == (False, "4")
    assert (function.kill_processes(), function.kill_processes()) == ([4], [])
    assert answer() == "5"
    function.close()
    assert not any(one.alive for one in Ready.made)
    with pytest.raises(ThrottledError):
        function.reserve()


def test_a_function_that_takes_too_long_is_killed(deployed):
    first, _ = deployed.invoke("Probe", {})
    answer, error = deployed.invoke("Probe", {"action": "sleep", "seconds": 30})

    assert error == "Unhandled"
    assert "Task timed out after 2.00 seconds" in answer["errorMessage"]
    eventually(lambda: not psutil.pid_exists(first["pid"]))


def test_a_process_that_dies_fails_its_event_and_the_next_one_gets_another(deployed):
    # The function with ten minutes: this is no test of a timeout, on a slow machine either.
    answer, error = deployed.invoke("Single", {"action": "exit"})
    after, _ = deployed.invoke("Single", {})

    assert error == "Unhandled"
    assert answer["errorType"] == "Runtime.ExitError"
    assert "exit status 3" in answer["errorMessage"]
    assert after["event"] == {}
    log = (deployed.cloud.logs / f"{deployed.ids['Single']}.log").read_text()
    assert log.count("Runtime exited with error: exit status 3") == 1
    begun = re.findall(r"START RequestId: (\S+) Version: \$LATEST\n", log)
    reported = r"END RequestId: (\S+)\nREPORT RequestId: (\S+)\tDuration: (\S+) ms\n"
    ended = re.findall(reported, log)
    assert [one[:2] for one in ended] == [(one, one) for one in begun]
    assert all(0 < float(millis) < PATIENCE_SECONDS * 1000 for _, _, millis in ended)
    (child,) = re.findall(r"^child (\d+)$", log, re.MULTILINE)
    eventually(lambda: gone(int(child)))


def test_the_event_of_whoever_asked_for_it_and_went_away_is_for_the_next(deployed):
    answer, _ = deployed.invoke("Probe", {})
    place, _, secret = answer["environment"]["AWS_LAMBDA_RUNTIME_API"].partition("/")
    host, _, port = place.partition(":")
    with socket.create_connection((host, int(port))) as gone:
        next_ = f"/{secret}/2018-06-01/runtime/invocation/next"
        gone.sendall(f"GET {next_} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())

    for _ in range(2):
        assert deployed.invoke("Probe", {})[0]["pid"] == answer["pid"]


def test_reserved_concurrency_throttles_and_who_is_killed_from_outside_fails_what_it_does(deployed):
    started, _ = deployed.invoke("Single", {"action": "child"})
    log = deployed.cloud.logs / f"{deployed.ids['Single']}.log"
    with ThreadPoolExecutor(1) as caller:
        busy = caller.submit(deployed.invoke, "Single", {"action": "sleep", "seconds": 600})
        eventually(lambda: "asleep" in log.read_text())
        with pytest.raises(ClientError, match="TooManyRequestsException"):
            deployed.invoke("Single", {})
        killed = deployed.cloud.kill_function(deployed.ids["Single"])
    answer, error = busy.result()

    assert len(killed) == 1
    eventually(lambda: gone(started["child"]))
    assert error == "Unhandled"
    assert "SIGKILL" in answer["errorMessage"]
    assert deployed.invoke("Single", {})[1] is None


def test_changed_configuration_takes_effect_with_a_new_process(deployed):
    before, _ = deployed.invoke("Probe", {})
    deployed.client("lambda").update_function_configuration(
        FunctionName=deployed.ids["Probe"], Environment={"Variables": {"GREETING": "good day"}}
    )
    after, _ = deployed.invoke("Probe", {})

    assert after["environment"]["GREETING"] == "good day"
    assert after["pid"] != before["pid"]
    eventually(lambda: not psutil.pid_exists(before["pid"]))


def created(deployed: Deployed, name: str, code: dict[str, str]) -> Deployed:
    """With one function, of this code."""
    role = deployed.client("iam").get_role(RoleName=deployed.ids["Role"])["Role"]["Arn"]
    deployed.client("lambda").create_function(
        FunctionName=name,
        Handler="probe.handle",
        Runtime="python3.13",
        Role=role,
        Timeout=300,
        Code={"ZipFile": zipped(code)},
    )
    return replace(deployed, ids={name: name})


def test_what_cannot_be_installed_here_fails_the_invocation_and_says_so(deployed):
    lock = f"absent==1.0 --hash=sha256:{64 * '0'}\n"
    code = {"probe.py": "", "requirements.lock": lock, "uv.toml": "no-index = true\n"}
    answer, error = created(deployed, "absent", code).invoke("absent", {})

    assert (error, answer["errorType"]) == ("Unhandled", "Runtime.InvalidRequirements")
    assert "cannot be found for this machine" in answer["errorMessage"]


def test_code_that_is_no_zip_archive_is_refused_and_a_damaged_one_fails_the_invocation(deployed):
    one = created(deployed, "unzipped", {"probe.py": "def handle(*_): return 1"})
    functions = deployed.client("lambda")
    before = functions.get_function_configuration(FunctionName="unzipped")["CodeSha256"]
    with pytest.raises(ClientError, match="Could not unzip uploaded file"):
        functions.update_function_code(FunctionName="unzipped", ZipFile=b"no archive")
    after = functions.get_function_configuration(FunctionName="unzipped")["CodeSha256"]
    assert after == before
    assert one.invoke("unzipped", {}) == (1, None)

    archive = zipped({"probe.py": 100 * "def handle(*_): return 2"})
    damaged = archive.replace(b"return 2", b"return 3", 1)
    functions.update_function_code(FunctionName="unzipped", ZipFile=damaged)
    answer, error = one.invoke("unzipped", {})
    assert (error, answer["errorType"]) == ("Unhandled", "Runtime.InvalidCode")
    assert "Bad CRC-32" in answer["errorMessage"]


UNTIL_A_FILE_IS_THERE = """
import os, time
def handle(path, _context):
    while not os.path.exists(path):
        time.sleep(0.01)
    return {answer}
"""


def test_code_that_was_replaced_is_deleted_once_nothing_runs_it(deployed, tmp_path):
    assets, file = deployed.cloud.directory / "assets", tmp_path / "file"
    before = set(assets.iterdir())
    first, *later = ({"probe.py": UNTIL_A_FILE_IS_THERE.format(answer=n)} for n in (1, 2, 3))
    waiter = created(deployed, "waiter", first)

    def update(code: dict[str, str]) -> None:
        waiter.client("lambda").update_function_code(FunctionName="waiter", ZipFile=zipped(code))

    with ThreadPoolExecutor() as callers:
        running = callers.submit(waiter.invoke, "waiter", str(file))
        try:
            eventually(lambda: waiter.cloud.processes("waiter"))
            (unpacked,) = set(assets.iterdir()) - before
            update(later[0])
            assert unpacked.exists()
        finally:
            file.touch()
        assert running.result() == (1, None)
    assert waiter.invoke("waiter", str(file)) == (2, None)
    update(later[1])
    assert set(assets.iterdir()) == before


INSTANCE = FunctionConfig(
    name="work",
    arn="arn:aws:lambda:us-east-1:123456789012:function:work",
    handler="code.handle",
    runtime="python3.13",
    code_digest="abc",
    environment={},
    timeout_seconds=300,
    memory_megabytes=256,
    reserved_concurrency=None,
    logging={},
)


def test_the_place_of_a_function_has_its_code_its_log_and_lambdas_variables(tmp_path):
    heard: list[Any] = []
    credentials = Credentials(endpoint="http://localhost:1")
    places = Sandboxes(
        directory=tmp_path,
        credentials=credentials,
        code=lambda name: zipped({"which.txt": name}),
        on_output=lambda *told: heard.append(told),
    )
    config = replace(
        INSTANCE,
        environment={"GREETING": "hello", "TZ": "Asia/Tokyo", "_HANDLER": "of.mine"},
        timeout_seconds=3,
        logging={"LogFormat": "JSON", "ApplicationLogLevel": "DEBUG"},
    )
    one, asset = places(config), tmp_path / "assets" / "abc"
    assert (one.asset, one.imports) == (asset, (asset, tmp_path / "runtime"))
    assert (asset / "which.txt").read_text() == "work"
    reached = credentials.environment(caller="work")
    own = {name: value for name, value in one.environment.items() if name not in reached}
    assert {name: one.environment[name] for name in reached} == reached
    assert own == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "LANG": "en_US.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "GREETING": "hello",
        "TZ": "Asia/Tokyo",
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_NAME": "work",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/work",
        "AWS_LAMBDA_LOG_LEVEL": "DEBUG",
        "AWS_LAMBDA_LOG_STREAM_NAME": "local",
        "LAMBDA_TASK_ROOT": str(asset),
        "_HANDLER": "code.handle",
    }
    silent = replace(config, environment={}, logging={})
    assert one.environment.keys() - places(silent).environment.keys() == {
        *("AWS_LAMBDA_LOG_FORMAT", "AWS_LAMBDA_LOG_LEVEL", "GREETING")
    }
    for line in (b"first\n", b"second\n"):
        places(config).log(line)
    assert (places.logs / "work.log").read_bytes() == b"first\nsecond\n"
    assert heard == [(config, b"first\n"), (config, b"second\n")]
    with pytest.raises(CodeError, match="work has code that is damaged: File is not a zip file"):
        Sandboxes(
            directory=tmp_path, credentials=credentials, code=lambda _: b"", on_output=Mock()
        )(replace(config, code_digest="damaged"))
    places(replace(config, code_digest="later"))
    places.keep(lambda: {"later"})
    assert [one.name for one in asset.parent.iterdir()] == ["later"]


def test_the_runtime_has_what_its_packages_require_once_and_no_extra(monkeypatch):
    requires = {"a": ["b>=1", 'c; extra == "more"'], "b": ["a", "d.e"], "d.e": None}
    monkeypatch.setattr(metadata, "requires", requires.__getitem__)
    found = islice(sandboxes._with_requirements(("a",)), 9)
    assert sorted(found) == ["a", "b", "d.e"]


@pytest.fixture
def started(tmp_path) -> Iterator[Callable[[str], tuple[Instance, list[bytes]]]]:
    """Starts an instance with a program in place of AWS's runtime, and gives its log, too."""
    begun: list[Instance] = []

    def start(program: str) -> tuple[Instance, list[bytes]]:
        lines: list[bytes] = []
        (tmp_path / "awslambdaric").mkdir()
        (tmp_path / "awslambdaric" / "__main__.py").write_text(program)
        place = Sandbox(asset=tmp_path, imports=(tmp_path,), environment={}, log=lines.append)
        begun.append(Instance(INSTANCE, place))
        return begun[-1], lines

    yield start
    for one in begun:
        one.kill()


def test_a_process_that_never_asks_for_an_event_is_killed(started, monkeypatch):
    monkeypatch.setattr(instance, "INIT_SECONDS", 0.01)
    one, _ = started("import time\ntime.sleep(600)")
    told = "Initialisation took longer than 0 s"
    assert one.invoke(b"{}") == Outcome.failure("Sandbox.Timedout", told)
    assert not one.alive


def test_an_event_for_a_process_that_has_died_ends_with_it(started):
    one, lines = started("raise SystemExit(3)")
    stdin = one._process.stdin
    eventually(lambda: stdin is None or stdin.closed)  # all is done that its end brings with it
    outcome = one.invoke(b"{}")
    log = b"".join(lines).decode()
    (request,) = re.findall(r"START RequestId: (\S+) ", log)
    said = "Runtime exited with error: exit status 3"
    told = f"RequestId: {request} Error: {said}"
    assert outcome == Outcome.failure("Runtime.ExitError", told)
    assert log.count(f"{request} {said}\n") == 1


def test_processes_are_found_and_ended_where_there_is_no_list_of_them_in_files(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(processes, "_PROCESSES", str(tmp_path / "absent"))
    command = 'sleep 600 & echo "$!"; wait'
    with subprocess.Popen(["sh", "-c", command], stdout=PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        try:
            assert processes._below(process.pid) == {child}
            processes.end(process.pid, b"no mark is read")
            assert process.wait() == -signal.SIGKILL
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    eventually(lambda: gone(child))


def test_an_answer_that_is_no_json_is_a_text():
    assert Outcome(payload=b'{"n": 1}').document() == {"n": 1}
    assert [Outcome(payload=one).document() for one in (b"a\xff", b"[" * 100_000)] == [
        "a\ufffd",
        "[" * 100_000,
    ]
