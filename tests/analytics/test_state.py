"""The state that a run leaves for later ones counts once it is complete, and not before."""

from pathlib import Path

import pytest

from lifoq_analytics import storage
from lifoq_analytics.reading import sources
from lifoq_analytics.reading.intake import Intake, Stretch
from lifoq_analytics.reading.state import State

TODAY = Intake(stretches=(Stretch(start=10, end=20, full=False),), files=1, rows=7)
YESTERDAY = Intake(stretches=(Stretch(start=0, end=10, full=False),), files=2)


def files(folder: Path) -> list[str]:
    return [str(each.relative_to(folder)) for each in sorted(folder.rglob("*")) if each.is_file()]


@pytest.fixture
def state(tmp_path: Path) -> State:
    """Yesterday's run and today's have ended; each left a part and a file of bad lines."""
    state = State(str(tmp_path / "state"))
    for intake in (YESTERDAY, TODAY):
        bad = tmp_path / "bad" / intake.name
        storage.write(f"{bad}/part-1", b"bad")
        storage.write(f"{state.begin(intake)}/part-1", b"well")
        state.complete(intake, quarantine=str(bad))
    assert state.intakes() == [YESTERDAY, TODAY]
    return state


def test_several_runs_are_told_as_one():
    told = Intake(stretches=(), files=1, rows=3, bad_rows=2, missing=("f is missing",))
    together = Intake.together([YESTERDAY, TODAY, told])
    stretches = (*YESTERDAY.stretches, *TODAY.stretches)
    counts = {"files": 4, "rows": 10, "bad_rows": 2}
    assert together == Intake(stretches=stretches, **counts, missing=("f is missing",))


def test_a_run_over_the_same_window_that_dies_half_way_does_not_count(state):
    folder = state.begin(TODAY)
    assert state.intakes() == [YESTERDAY]
    storage.write(f"{folder}/part-2", b"half")
    assert state.intakes() == [YESTERDAY]


def test_a_run_over_the_same_window_leaves_nothing_of_the_one_before(state, tmp_path):
    storage.write(f"{state.begin(TODAY)}/part-2", b"anew")
    state.complete(TODAY, quarantine=str(tmp_path / "nothing bad"))
    assert state.intakes() == [YESTERDAY, TODAY]
    assert [Path(file.path).name for file in state.files([TODAY])] == ["part-2"]
    state.add_quarantine([YESTERDAY, TODAY], str(tmp_path / "shown"))
    assert files(tmp_path / "shown") == [f"{YESTERDAY.name}-part-1"]


def test_files_of_earlier_runs_have_numbers_of_their_own_below_zero(state):
    """By which they are told from the files of this run's exports."""
    kept = sources.of_state(state.files([YESTERDAY, TODAY]))
    assert sorted(source.number for source in kept) == [-2, -1]
    assert {source.origin for source in kept} == {None}
