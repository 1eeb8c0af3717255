"""A step that fails says what; an interrupted one leaves nothing behind."""

import io
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from rich.console import Console

from demo.steps import StepError, run, step


def test_a_failing_command_is_named_with_its_last_words(tmp_path):
    with pytest.raises(StepError, match=r"(?s)exit status 3.*no such stage"):
        run([sys.executable, "-c", "print('no such stage'); exit(3)"], log=tmp_path / "log")


def test_an_interrupted_step_ends_with_everything_that_it_started(tmp_path):
    log = tmp_path / "log"
    child = "import time; print('child', flush=True); time.sleep(60)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    code = f"""
import signal
import sys
from pathlib import Path
from demo.steps import run
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a test in the background ignores
run([sys.executable, "-c", {parent!r}], log=Path({str(log)!r}))
"""
    step = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    give_up = time.monotonic() + 300
    while not (log.exists() and "child" in log.read_text()) and time.monotonic() < give_up:
        time.sleep(0.02)
    started = psutil.Process(step.pid).children(recursive=True)
    assert len(started) == 2
    os.kill(step.pid, signal.SIGINT)
    assert step.wait(timeout=300) != 0
    _, alive = psutil.wait_procs(started, timeout=300)
    assert alive == []


def test_the_parts_of_a_command_are_told_as_it_begins_them(tmp_path):
    code = "print('WARN: noise'); print('step: reading'); print('step: counting')"
    told = []
    run([sys.executable, "-c", code], log=tmp_path / "log", tell=told.append)
    assert told == ["reading", "counting"]


def test_a_terminal_shows_a_step_with_its_parts():
    output = io.StringIO()
    console = Console(file=output, force_terminal=True, color_system=None, width=80)
    with step(console, "Running the report") as shown:
        shown.tell("reading")
        shown.tell("counting")
    last = output.getvalue().rpartition("✓")[2]
    assert last.split()[:3] == ["Running", "the", "report"]
    assert "reading" in last
    assert "counting" in last
