"""``lifoq work``: what it is told to do, and what it refuses; ``test_process.py`` stops it."""

import http.server
import json
import re
import signal
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from prometheus_client.parser import text_string_to_metric_families

import lifoq as lifoq_
from lifoq import RunReport, WorkerSettings, environment
from lifoq.client.connection import SharedLimits
from lifoq.worker.handlers.registry import REGISTRY
from lifoq.worker.processor import Processor
from lifoq_cli.protection import Protection

TASKS = """
from lifoq import task

def nothing(_payload, _context):
    pass

task("nap", timeout=7200)(nothing)
task("other")(nothing)
task("scarce", in_flight=1, rate_limit=5)(nothing)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Where task code is, of which nothing is left behind."""
    (tmp_path / "tasks.py").write_text(TASKS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(REGISTRY, "_types", {})
    monkeypatch.setitem(sys.modules, "tasks", None)
    del sys.modules["tasks"]  # and again when the test is over
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    return tmp_path


@pytest.fixture
def served(folder, monkeypatch) -> list[WorkerSettings]:
    """The processors that would have begun."""
    found: list[WorkerSettings] = []

    def serve(processor: Processor, *, on_progress: Callable[[RunReport], None]) -> RunReport:
        found.append(processor._process.settings)
        on_progress(RunReport(claimed=1, succeeded=1, waits=[0.5], services=[1.5]))
        return RunReport()

    monkeypatch.setattr(Processor, "serve", serve)
    return found


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "status", "sentence"),
    [
        (["--metrics-port", "localhost"], 2, "--metrics-port localhost: must be a port, such"),
        (["--metrics-port", "192.0.2.1:0"], 1, "192.0.2.1:0 cannot be listened on"),
        (["--tasks", "nowhere"], 1, "task code cannot be imported: No module named 'nowhere'"),
        (["--tasks", "colorsys"], 1, "colorsys registers no task type"),
        (["--in-flight", "0"], 2, "--in-flight 0: must be"),
        (["--task-timeout", "5s"], 1, "nap.timeout"),
        (["--type", "nip"], 1, "tasks registers no task type 'nip', but nap, other"),
        (["--protect", "1h"], 2, "--protect is for tasks of ECS"),
        (["--release", "99.1.0"], 1, "deployed by lifoq 99.1.0, and this is"),
        (["--release", "newest"], 1, "--release='newest': is no release"),
    ],
)
def test_a_worker_that_cannot_work_says_why(lifoq, options, status, sentence):
    ended, printed, told = lifoq("work", *options)
    assert (ended, printed) == (status, "")
    assert sentence in told


def test_a_worker_is_told_what_to_do_by_the_environment_of_a_deployed_processor(
    lifoq, served, monkeypatch
):
    given = WorkerSettings(lease=7, heartbeat=2, max_attempts=1, task_timeout=9)
    for name, value in environment.of_worker(given).items():
        monkeypatch.setenv(name, value)
    assert lifoq("work", "--type", "nap", "--max-attempts", "4")[0] == 0
    (settings,) = served
    assert (settings.lease, settings.heartbeat, settings.max_attempts) == (7, 2, 4)
    assert settings.task_timeout == 7200, "that of a type"
    assert settings.types_elsewhere == {"other", "scarce"}


@pytest.mark.parametrize("release", ["0.0.9", lifoq_.__version__, f"{lifoq_.__version__}.7"])
def test_a_worker_works_for_a_queue_that_its_own_release_or_an_earlier_one_deployed(
    lifoq, served, release
):
    assert lifoq("work", "--release", release)[0] == 0
    assert served


def test_limits_are_a_workers_own_or_come_with_the_queue_and_are_shared(lifoq, served, queue):
    told = "The limits of scarce, all types hold for this worker alone"
    assert told in lifoq("work", "--rate-limit", "5")[2]
    queue.shared_limits = SharedLimits(rate_limit=50, total_in_flight=3)
    assert "hold for this worker alone" not in lifoq("work")[2]
    own, shared = served
    assert (own.shared_limits, own.rate_limit) == (False, 5)
    assert (shared.shared_limits, shared.rate_limit, shared.total_in_flight) == (True, 50, 3)
    status, _, told = lifoq("work", "--rate-limit", "5")
    assert (status, "change rate_limit_per_second of the queue" in told) == (2, True)


def test_prometheus_reads_what_a_worker_has_done(lifoq, served):
    _, _, told = lifoq("work", "--metrics-port", "0")
    address = re.search(r"http://127\.0\.0\.1:\d+/metrics", told)
    assert address is not None
    with urllib.request.urlopen(address[0], timeout=600) as answer:  # noqa: S310 - ours
        families = list(text_string_to_metric_families(answer.read().decode()))
    values = {
        one.name: one.value
        for family in families
        for one in family.samples
        if one.labels == {"queue": "t"}
    }
    assert (values["lifoq_tasks_succeeded_total"], values["lifoq_tasks_failed_total"]) == (1, 0)
    assert (values["lifoq_wait_seconds_sum"], values["lifoq_service_seconds_sum"]) == (0.5, 1.5)


class Agent(http.server.BaseHTTPRequestHandler):
    """ECS's, in a container: it refuses twice, first by a status, then in a 200, as it may."""

    asked: ClassVar[list[tuple[str, Any]]] = []

    def do_PUT(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((self.path, body))
        refused = {"failure": {"Arn": "task", "Detail": None, "Reason": "DEPLOYMENT_BLOCKED"}}
        given = {"protection": {"TaskArn": "task", "ProtectionEnabled": body["ProtectionEnabled"]}}
        self.send_response(400 if len(self.asked) == 1 else 200)
        self.end_headers()
        self.wfile.write(json.dumps(refused if len(self.asked) == 2 else given).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


def test_a_worker_is_spared_by_scaling_in_while_it_holds_a_task(caplog):
    server = http.server.HTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    protection = Protection(url=f"http://127.0.0.1:{server.server_port}/state", minutes=90)
    for busy in (False, True, True, True, True, False, False):
        protection.keep(busy=busy)
    server.shutdown()
    server.server_close()
    protected = ("/state", {"ProtectionEnabled": True, "ExpiresInMinutes": 90})
    assert Agent.asked == [*[protected] * 3, ("/state", {"ProtectionEnabled": False})]
    assert "ECS does not protect this worker: DEPLOYMENT_BLOCKED" in caplog.text
