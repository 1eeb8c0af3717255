"""What the demo starts: a legacy system, and steps; and that it ends with everything it started."""

import http.client
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import psutil
import pytest

from demo import downstream
from demo.steps import StepError, run


def status_of(url):
    address = urlsplit(url)
    with closing(http.client.HTTPConnection(address.netloc, timeout=300)) as connection:
        connection.request("POST", address.path, b"{}")
        return connection.getresponse().status


def test_requests_beyond_the_slots_of_the_legacy_system_are_refused_at_once():
    with downstream.running(slots=2, service_seconds=1) as legacy, ThreadPoolExecutor(6) as clients:
        answers = list(clients.map(status_of, [legacy.url] * 6))
        assert sorted(answers) == [200, 200, 429, 429, 429, 429]
        assert legacy.counts() == {"served": 2, "refused": 4}


def test_the_legacy_system_ends_when_whoever_started_it_is_gone():
    process = subprocess.Popen(
        [sys.executable, "-m", "demo.downstream"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline().startswith(b"http://127.0.0.1:")
    process.communicate(timeout=300)
    assert process.returncode == 0


def test_a_step_tells_its_parts_and_one_that_fails_its_last_words(tmp_path):
    code = "print('step: reading'); print('step: counting'); print('no such stage'); exit(3)"
    told = []
    with pytest.raises(StepError, match=r"(?s)exit status 3.*no such stage"):
        run([sys.executable, "-c", code], log=tmp_path / "log", tell=told.append)
    assert told == ["reading", "counting"]


INTERRUPTED = """
import subprocess, sys, time
from demo.interruption import Interruption

interruption = Interruption()
grandchild = "import time; print('started', flush=True); time.sleep(60)"
child = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {grandchild!r}])"
process = subprocess.Popen([sys.executable, "-c", child])
try:
    time.sleep(60)
except KeyboardInterrupt:
    process.kill()  # its own child loses its parent, as under a killed wrapper script
    process.wait()
    print("ending", flush=True)
    sys.stdin.read(1)
    interruption.end_survivors()
    print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_orphans_too_and_is_not_disturbed_by_a_second_one(number):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout.readline() == "started\n"
        started = psutil.Process(program.pid).children(recursive=True)
        assert len(started) == 2
        program.send_signal(number)
        assert program.stdout.readline() == "ending\n"
        program.send_signal(number)
        program.stdin.write("x")
        program.stdin.flush()
        assert program.stdout.readline() == "ended\n"
        assert program.wait(timeout=300) == 0
    assert not any(process.is_running() for process in started)
