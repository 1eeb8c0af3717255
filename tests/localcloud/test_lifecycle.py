"""The start and the end of a local cloud."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import boto3
import psutil
import pytest
from click.testing import CliRunner

from lab.ports import held_port
from lifoq_localcloud import LocalCloud, StartError, commands
from lifoq_localcloud.basics.folder import hold
from lifoq_localcloud.commands import dev_command, serve_command
from tests.localcloud.harness import Deployed, deploy, eventually, gone

ROOT = Path(__file__).parent.parent.parent
STOP_SECONDS = 300.0


@pytest.mark.prove
@pytest.mark.parametrize(("number", "times"), [(signal.SIGTERM, 200), (signal.SIGKILL, 1)])
def test_no_process_is_left_and_the_folder_is_free_however_it_ends(tmp_path, number, times):
    serve = ("serve", "--port=0", f"--directory={tmp_path}")
    command = [sys.executable, "-m", "lifoq_localcloud", *serve]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith(b"Local cloud at http://localhost:")
            cloud = LocalCloud.at(tmp_path)
            deployed = Deployed(cloud=cloud, ids=deploy(cloud))
            deployed.invoke("Probe", {})
            deployed.invoke("Single", {"action": "sleep", "seconds": 60}, InvocationType="Event")
            eventually(lambda: cloud.processes(deployed.ids["Single"]))
            below = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
            assert len(below) >= 2

            for _ in range(times):  # one may interrupt the handling of another
                process.send_signal(number)
            status = process.wait(STOP_SECONDS)
        finally:
            process.kill()

    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 0)
    eventually(lambda: not any(map(psutil.pid_exists, below)), within_seconds=STOP_SECONDS)
    hold(tmp_path)


@pytest.mark.prove
def test_who_interrupts_a_deployment_is_obeyed_at_once_and_nothing_goes_on(tmp_path):
    """Its CDK application is one that never comes to its end."""
    (tmp_path / "cdk.json").write_text(json.dumps({"app": "sleep 7654"}))
    command = [sys.executable, "-m", "lifoq_localcloud", "dev", "--port=0", "--directory=cloud"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            started = psutil.Process(process.pid)
            below = eventually(lambda: _with_its_application(started))
            process.send_signal(signal.SIGINT)
            status = process.wait(STOP_SECONDS)
        finally:
            process.kill()
        assert process.stdout is not None
        said = process.stdout.read()

    assert status == 128 + signal.SIGINT
    assert b"failed" not in said
    eventually(lambda: not any(map(psutil.pid_exists, below)), within_seconds=STOP_SECONDS)


def _with_its_application(process: psutil.Process) -> list[int]:
    """All that lives below, once the application does."""
    below = process.children(recursive=True)
    with contextlib.suppress(psutil.NoSuchProcess):
        if any("7654" in one.cmdline() for one in below):
            return [one.pid for one in below]
    return []


@pytest.mark.prove
def test_it_ends_with_the_program_that_started_it(tmp_path):
    program = (
        "import pathlib, sys, time\n"
        "from lifoq_localcloud import LocalCloud\n"
        "with LocalCloud(pathlib.Path(sys.argv[1])) as cloud:\n"
        "    print(cloud.endpoint, flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as starter:
        assert starter.stdout is not None
        assert starter.stdout.readline().startswith(b"http://localhost:")
        (cloud,) = psutil.Process(starter.pid).children()
        starter.kill()

    eventually(lambda: not psutil.pid_exists(cloud.pid), within_seconds=STOP_SECONDS)


CHILD = 'subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, start_new_session=True)'
"""A child that its parent's group does not hold, and that has nothing of its output."""


def takes_long() -> "subprocess.Popen[str]":
    """Start a program that tells the process id of its child, and ends after ten minutes."""
    program = f"import subprocess, time; print({CHILD}.pid, flush=True); time.sleep(600)"
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.parametrize("before", [True, False], ids=["before it is waited for", "meanwhile"])
def test_an_interrupt_ends_what_the_cdk_cli_does_and_all_that_it_started(tmp_path, before):
    cloud, process = LocalCloud(tmp_path), takes_long()
    if before:
        cloud.interrupt()
    children = cloud._await_cdk(process, lambda _line: cloud.interrupt()).split()
    assert before or children
    assert process.returncode < 0
    eventually(lambda: all(gone(int(child)) for child in children))


def test_who_fails_to_hear_the_cdk_cli_ends_it(tmp_path):
    process = takes_long()
    with pytest.raises(ZeroDivisionError):
        LocalCloud(tmp_path)._await_cdk(process, lambda _line: 1 / 0)
    assert process.returncode < 0


@pytest.mark.parametrize(("up", "status"), [(True, 0), (False, 128 + signal.SIGTERM)])
def test_the_end_is_told_before_it_is_made_and_has_its_status(monkeypatch, up, status):
    life, steps = commands.Life(), []
    monkeypatch.setattr(commands, "_exit", steps.append)
    told = SimpleNamespace(sleep=lambda _seconds: steps.append(life.ended.is_set()))
    monkeypatch.setattr(commands, "time", told)
    life.end.put(signal.SIGTERM)
    if up:
        life.up.set()
    commands._pass_on(life)
    assert (steps, life.status) == ([True, status], status)


def test_no_proxy_is_asked_for_what_lies_on_this_machine(shared, monkeypatch):
    with held_port() as nobodys:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{nobodys}")
        monkeypatch.setenv("no_proxy", "a.corp, *.b.corp")
        cloud = LocalCloud.at(shared.cloud.directory)
        assert cloud.client("sts").get_caller_identity()["Account"]
        assert cloud.not_imitated()

    environment = cloud.environment()
    expected = "a.corp,*.b.corp,localhost,127.0.0.1,::1"
    assert (environment["NO_PROXY"], environment["no_proxy"]) == (expected, expected)
    with monkeypatch.context() as within:
        for name, value in environment.items():
            within.setenv(name, value)
        assert boto3.client("sts").get_caller_identity()["Account"]


def test_a_port_that_is_taken_is_told_in_one_sentence(shared, tmp_path):
    port = int(shared.cloud.endpoint.rsplit(":", 1)[-1])

    with pytest.raises(StartError, match=f"Port {port} is taken: end what listens there"):
        LocalCloud(tmp_path, port).__enter__()


def test_a_second_cloud_in_a_folder_is_refused_and_changes_nothing(shared):
    folder = shared.cloud.directory
    environment = (folder / "environment").read_text()

    with pytest.raises(StartError, match=r"start: Error: Another local cloud works in .*: end it"):
        LocalCloud(folder).__enter__()
    assert (folder / "environment").read_text() == environment


def test_what_it_writes_is_for_nobody_else_to_read(shared):
    within = [one for one in shared.cloud.directory.iterdir() if one.name != "cdk.out"]
    modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in within}
    assert {"logs", "assets", "runtime", "calls.jsonl", "environment"} <= modes.keys()
    assert {name: mode for name, mode in modes.items() if mode & 0o077} == {}


@pytest.mark.parametrize("command", [serve_command, dev_command])
def test_a_folder_that_cannot_be_made_is_told_in_a_sentence(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    for name in ("file", "cdk.json"):
        (tmp_path / name).touch()

    told = CliRunner().invoke(command, ["--port=0", "--directory=file/below"])
    assert told.exit_code
    assert "cannot be made or read (Not a directory)" in told.output
    assert isinstance(told.exception, SystemExit)
