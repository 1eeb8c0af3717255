"""With a terminal the view is alive; without one it is a plain line every few seconds."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from demo.ledger import Counts, Snapshot
from demo.load import Phase
from demo.view import View

BEFORE = Phase(name="calm", tasks_per_second=5, seconds=20)
PHASE = Phase(name="overload", tasks_per_second=25, seconds=40)
AFTER = Phase(name="drain", tasks_per_second=0, seconds=90)
SNAPSHOT = Snapshot(
    counts=Counts(waiting=140, taken=4, succeeded=230, failed=1, cancelled=0, shed=77),
    delayed=3,
    arrival_rate=25,
    service_rate=9.8,
    shed_rate=15.2,
    newest_waiting=0.04,
    oldest_waiting=9.6,
)


def view(output: io.StringIO, **options) -> View:
    console = Console(file=output, **options)
    return View(console, phases=(BEFORE, PHASE, AFTER), deadline_seconds=10)


def frame(*looks: Snapshot, width: int, **options) -> list[str]:
    """What stands on a terminal after these looks."""
    output = io.StringIO()
    with view(output, force_terminal=True, color_system=None, width=width, height=40) as shown:
        for second, snapshot in enumerate(looks):
            shown.show(PHASE, second, snapshot, **options)
    return output.getvalue().rpartition("╭")[2].rpartition("╯")[0].splitlines()


def test_without_a_terminal_there_is_one_plain_line_for_many_looks():
    output = io.StringIO()
    with view(output) as shown:
        for second in range(4):
            shown.show(PHASE, second, SNAPSHOT)
    (line,) = output.getvalue().splitlines()
    for part in ("overload", "in 25.0/s", "out  9.8/s", "waiting 140", "oldest 9.6 s", "shed 77"):
        assert part in line
    assert "\x1b" not in line


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_where_every_task_is_and_how_fast_they_move(width):
    shown = "\n".join(frame(SNAPSHOT, replace(SNAPSHOT, oldest_waiting=None), width=width))
    for part in (
        *("✓ calm", "overload ", "· drain", "came in", "25.0/s", "served", "9.8/s", "15.2/s"),
        *("452 tasks", "140 waiting", "4 in work", "230 succeeded", "1 failed", "77 shed"),
        "deadline 10 s",
    ):
        assert part in shown
