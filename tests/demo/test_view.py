"""With a terminal the view is alive; without one it is a plain line every few seconds."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from demo.ledger import Counts, Snapshot
from demo.load import Phase
from demo.view import View, sparkline

PHASE = Phase(name="overload", tasks_per_second=25, seconds=40)
SNAPSHOT = Snapshot(
    counts=Counts(waiting=140, taken=4, succeeded=230, failed=1, cancelled=0, shed=77),
    delayed=3,
    arrival_rate=25,
    service_rate=9.8,
    newest_waiting=0.04,
    oldest_waiting=9.6,
)


def test_without_a_terminal_there_is_one_plain_line_for_many_looks():
    output = io.StringIO()
    with View(Console(file=output)) as view:
        for second in range(4):
            view.show(PHASE, second, SNAPSHOT)
    (line,) = output.getvalue().splitlines()
    for part in ("overload", "in 25.0/s", "out  9.8/s", "waiting 140", "oldest 9.6 s", "shed 77"):
        assert part in line
    assert "\x1b" not in line


def test_a_terminal_shows_every_status_and_the_backlog():
    output = io.StringIO()
    with View(Console(file=output, force_terminal=True, width=100)) as view:
        view.show(PHASE, 3, SNAPSHOT)
        view.show(PHASE, 4, replace(SNAPSHOT, oldest_waiting=None))
    for part in ("overload", "PENDING", "137", "DELAYED", "TAKEN", "SUCCESS", "230", "shed so far"):
        assert part in output.getvalue()


def test_the_end_of_a_phase_is_written_down_at_once():
    output = io.StringIO()
    with View(Console(file=output)) as view:
        view.show(PHASE, 1, SNAPSHOT)
        view.show(PHASE, 2, SNAPSHOT, keep=True)
        view.show(PHASE, 3, SNAPSHOT)
    assert len(output.getvalue().splitlines()) == 2


@pytest.mark.parametrize(
    ("values", "bars"), [([], ""), ([0, 0], "  "), ([0, 1, 8], " ▁█"), ([5], "█")]
)
def test_the_highest_backlog_fills_the_sparkline(values, bars):
    assert sparkline(values) == bars
