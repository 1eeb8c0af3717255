"""Pauses of keys that other workers hold or start. A run learns of them when a claim is refused.
From then on it leaves that key alone, until a task of the key has ended here or a pause is over.
The pause grows with each refusal."""

from typing import Final

from lifoq.basics.host import MICROSECONDS, microseconds

FIRST_KEY_PAUSE: Final = 0.5
"""Seconds for which a run leaves a key alone that other workers hold; it doubles each time."""
LONGEST_KEY_PAUSE: Final = 4.0
"""Seconds up to which that doubles: a refused claim costs units, and what others hold may end at
any time."""


class KeyBackoff:
    """The pause of each key of one task type. All times are monotonic microseconds."""

    def __init__(self) -> None:
        self._pauses: dict[str | None, tuple[int, float]] = {}
        """The end of each key's pause, and its length in seconds."""

    def begin(self, key: str | None, now: int) -> None:
        """Leave the key alone for a while, for longer than the last time."""
        _, last = self._pauses.get(key, (0, FIRST_KEY_PAUSE / 2))
        pause = min(LONGEST_KEY_PAUSE, last * 2)
        long_over = now - microseconds(LONGEST_KEY_PAUSE)
        self._pauses = {k: kept for k, kept in self._pauses.items() if kept[0] > long_over}
        self._pauses[key] = now + microseconds(pause), pause

    def end(self, key: str | None) -> None:
        """Forget the key's pause: the key may be free."""
        self._pauses.pop(key, None)

    def wait(self, key: str | None, now: int) -> float:
        """Return the seconds until the pause is over; 0 without one."""
        until, _ = self._pauses.get(key, (0, 0.0))
        return max(0.0, (until - now) / MICROSECONDS)
