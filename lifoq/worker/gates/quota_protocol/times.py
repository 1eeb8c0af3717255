"""The times of the protocol, and how they rest on each other.

    ANSWER_PATIENCE < RENEW_EVERY < RENEW_AFTER < QUOTA_LASTS - RENEWAL_PATIENCE

A renewal that is lost is sent again after ``RENEWAL_PATIENCE``, and has to be answered before the
quota has run out (``QUOTA_LASTS``, in ``items.quota_table``, which writes it). A
refusal is believed for longer than it takes to renew (``REFUSED_FOR > RENEW_EVERY``), so that a
task does not ask again for what a renewal would bring anyhow. A task that waits asks again with
each poll, so ``ASKS_AGAIN`` is no shorter than the longest pause between two polls
(``LONGEST_POLL``, in ``backlog.when_to_poll_or_end``). ``tests/unit/test_gates.py`` holds all of
this.
"""

from typing import Final

ANSWER_PATIENCE: Final = 0.1
"""Seconds for which the next task to start waits for the answer whether it may."""
RENEW_EVERY: Final = 0.5
"""Seconds between two renewals at the quota table, while the quota is used or wanted."""
RENEW_AFTER: Final = 1.5
"""Seconds since its last write after which a quota is written anew though nothing changes."""
RENEWAL_PATIENCE: Final = 2.0
"""Seconds after which a quota is renewed again, though the last renewal was not answered."""
REFUSED_FOR: Final = 1.0
"""Seconds for which a refusal is believed, unless a renewal between has brought more."""
REMEMBERED: Final = 1.0
"""Seconds for which a use of a quota, or a request for it, counts as demand."""
ASKS_AGAIN: Final = 0.5
"""Seconds after a request within which the same task is expected to ask again, if it still waits.
Later nobody knows whether a task waits that would use the quota."""
