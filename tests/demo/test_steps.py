"""A step that fails says what; an interrupted one leaves nothing behind."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from demo.steps import StepError, run


def test_output_goes_to_the_log(tmp_path):
    log = tmp_path / "logs" / "step.log"
    run([sys.executable, "-c", "print('done')"], log=log)
    assert log.read_text() == "done\n"


def test_a_failing_command_is_named_with_its_last_words(tmp_path):
    with pytest.raises(StepError, match=r"(?s)exit status 3.*no such stage"):
        run([sys.executable, "-c", "print('no such stage'); exit(3)"], log=tmp_path / "log")


def test_an_interrupted_step_ends_with_everything_that_it_started(tmp_path):
    log = tmp_path / "log"
    child = "import time; print('child', flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    code = f"""
import sys
from pathlib import Path
from demo.steps import run
run([sys.executable, "-c", {parent!r}], log=Path({str(log)!r}))
"""
    step = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    give_up = time.monotonic() + 20
    while not (log.exists() and "child" in log.read_text()) and time.monotonic() < give_up:
        time.sleep(0.02)
    started = psutil.Process(step.pid).children(recursive=True)
    assert len(started) == 2
    os.kill(step.pid, signal.SIGINT)
    assert step.wait(timeout=10) != 0
    _, alive = psutil.wait_procs(started, timeout=10)
    assert alive == []
