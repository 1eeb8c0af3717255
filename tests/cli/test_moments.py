"""Times and durations, as people write and read them."""

import time
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from lifoq_cli import moments

NOW = 1_795_000_000_000_000


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("10 min", 600), ("2h", 7200), ("1d", 86_400)],
)
def test_a_duration_is_a_number_and_a_unit(text, seconds):
    assert moments.duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-5s", "5 weeks", "1h30m", "1e3"])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(ValueError, match="give one such as 30s"):
        moments.duration(text)


def test_a_time_is_local_and_tells_how_far_away_it_is(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert moments.local(NOW - 90_000_000, now=NOW).endswith("1 min 30 s ago")
        clock = f"{datetime.fromtimestamp(NOW / 1e6, ZoneInfo('Asia/Tokyo')):%H:%M:%S}"
        assert moments.local(NOW, now=NOW).startswith(clock)
        assert moments.local(NOW + 5 * 86_400_000_000, now=NOW).endswith(", in 5 d")
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_time_without_a_zone_is_this_machines():
    assert moments.moment("2026-11-20T09:30:00").tzinfo is not None
    assert moments.moment("2026-11-20T09:30:00Z").utcoffset() == timedelta(0)
