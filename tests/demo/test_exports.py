"""Export windows cover the run without a gap, and no task can hide inside one."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from demo.exports import windows


@given(
    start=st.integers(0, 2_000_000_000),
    seconds=st.integers(1, 1000),
    deadline=st.floats(2, 3600),
)
def test_windows_are_consecutive_cover_the_run_and_are_at_most_half_a_deadline_long(
    start, seconds, deadline
):
    found = list(windows(start=start, end=start + seconds, deadline_seconds=deadline))
    assert found[0].start == start
    assert found[-1].end == start + seconds
    assert all(a.end == b.start for a, b in pairwise(found))
    assert all(0 < window.end - window.start <= deadline / 2 for window in found)
