"""The time that a call of AWS may take, and the number of its repeats, whichever client makes
it."""

import random
import threading
from typing import Final

CONNECT_TIMEOUT: Final = 2
"""Seconds until a server must have taken a connection: AWS does so in milliseconds."""
READ_TIMEOUT: Final = 5
"""Seconds until the next bytes of an answer must have come: DynamoDB sends all at once."""
ATTEMPTS: Final = 4
"""The most that a call is sent which may be repeated: some 25 s in the worst case, less than the
default lease."""
CONNECTIONS: Final = 320
"""Connections that are kept: attempts claim and settle in threads of their own."""
LONGEST_PAUSE: Final = 20.0
"""Seconds up to which the pause before a call is repeated may grow, as with botocore."""

CAPACITY: Final = 500
"""Tokens that repeats are paid with; all prices are those of botocore's mode ``standard``."""
REPEAT_COST: Final = 14
"""Tokens that a repeat costs."""
THROTTLED_COST: Final = 5
"""Tokens that a repeat of a throttled call costs."""
UNREPEATED_REFUND: Final = 1
"""Tokens that a call brings which succeeds at once."""


def pause(attempt: int) -> float:
    """Return the seconds to wait after this attempt, the first being 1."""
    return random.random() * min(2.0 ** (attempt - 1), LONGEST_PAUSE)


class RepeatQuota:
    """Tokens that repeats cost, so that a service in trouble is not asked four times for each call.

    A call that succeeds after repeats gives back what its last one cost; a call that succeeds at
    once gives back one token.
    """

    def __init__(self) -> None:
        self._left = CAPACITY
        self._lock = threading.Lock()

    def take(self, *, throttled: bool) -> int:
        """Pay for a repeat and return its cost in tokens; 0 where too few are left for it."""
        cost = THROTTLED_COST if throttled else REPEAT_COST
        with self._lock:
            if cost > self._left:
                return 0
            self._left -= cost
            return cost

    def succeeded(self, taken: int) -> None:
        """Give back what ``take`` returned last in this call; 0: the call was not repeated."""
        if self._left < CAPACITY:
            with self._lock:
                self._left = min(CAPACITY, self._left + (taken or UNREPEATED_REFUND))
