"""An interruption ends everything that a benchmark has started."""

import signal
import subprocess
import sys

import psutil
import pytest

INTERRUPTED = """
import subprocess, sys, time
from benchmarks.interruption import Interruption

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
