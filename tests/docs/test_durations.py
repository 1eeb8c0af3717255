"""Every time that is fixed in the library is on one page, by a name of its own, with its reason."""

import re
from collections import Counter
from typing import Final

from tests.docs import durations

NO_TIMES: Final = {
    *("MICROSECONDS", "NUMBER_BYTES", "IMPOSSIBLE", "ROWS_PER_SECOND"),
    *("ATTEMPTS", "MOST_KEYS_ASKED", "STARTS_MISSED", "START", "_LAST"),
}
"""Numbers that are no durations, though what is said of them speaks of seconds."""
FEW_WORDS: Final = 5
"""Words, with which nobody can say of what a time is, and why."""


def test_the_page_has_all_times_as_they_are():
    text = durations.PAGE.read_text(encoding="utf-8")
    assert text == durations.written(), "run: python -m tests.docs.durations"


def test_each_time_has_a_name_of_its_own_and_says_of_what_it_is():
    times = [found for found in durations.constants() if found.unit is not None]
    assert {name for name, number in Counter(t.name for t in times).items() if number > 1} == set()
    assert [t.name for t in times if len(t.meaning.split()) < FEW_WORDS] == []


def test_no_time_is_without_its_unit():
    """Else it is a number of something that is said, and not measured in seconds."""
    silent = [f"{n.module}: {n.name}" for n in durations.constants() if not n.meaning]
    assert silent == []
    unsaid = [
        found.name
        for found in durations.constants()
        if found.unit is None and re.search(r"seconds?\b|\b\d+ s\b", found.meaning)
    ]
    assert set(unsaid) <= NO_TIMES
