"""The exit statuses of the command."""

from typing import Final

DONE: Final = 0
REFUSED: Final = 1
"""The queue, AWS or a question said no."""
NOT_UNDERSTOOD: Final = 2
BAD_NEWS: Final = 3
"""The command did what it was to do, and what it found is bad: a task that failed, a finding of
the doctor, tasks that were not put."""
TOO_LATE: Final = 4
"""A wait ended before its task did."""
INTERRUPTED: Final = 130
UNREAD: Final = 141
"""The statuses that a shell has for SIGINT and SIGPIPE. By SIGTERM ``smoke`` ends with 143, by
SIGHUP with 129."""
