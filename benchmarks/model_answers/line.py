"""Oldest first, a few at a time: a semaphore in the web process, or SQS and Lambda's maximum
concurrency. Modelled, without anything that either takes time for."""

import math
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from greenlet import getcurrent, greenlet

from benchmarks.model_answers.crowd import Full, Model, User
from lab.virtual import START, Over, VirtualHost
from lifoq.basics.host import microseconds


@dataclass(frozen=True, kw_only=True)
class Line:
    """The way in which the line is kept."""

    slots: int
    """Requests at a time."""
    notices: bool = False
    """True if it is known when a user leaves: whoever has gone is not asked for, and a request
    under way is broken off."""
    most_wait: float = math.inf
    """Seconds after which a question is not begun any more."""
    counts_refusals: bool = False
    """The API's own: whether a request that it refuses counts as one."""


def line(policy: Line, users: Sequence[User], until: float) -> int:
    """Serve the users until then. Returns the number of refusals."""
    host = VirtualHost()
    host.end = START + microseconds(until)
    served = _Served(policy, host)
    for user in users:
        served.model.at(user.asks_at, partial(served.come, user))
    for _ in range(policy.slots):
        host.spawn(served.serve, "slot")
    with suppress(Over):
        host.pass_time(host.end, enough=lambda: False)
    return served.model.refused


class _Served:
    def __init__(self, policy: Line, host: VirtualHost) -> None:
        self.model = Model(host, counts_refusals=policy.counts_refusals)
        self._policy = policy
        self._host = host
        self._waiting = deque[User]()
        self._idle = deque[greenlet]()

    def come(self, user: User) -> None:
        self._waiting.append(user)
        if self._idle:
            self._host.wake(self._idle.popleft())

    def serve(self) -> None:
        """Be one of the slots."""
        while True:
            while not self._waiting:
                self._idle.append(getcurrent())
                self._host.halt()
            self._serve(self._waiting.popleft())

    def _serve(self, user: User) -> None:
        while self._is_wanted(user) and self.model.now - user.asks_at <= self._policy.most_wait:
            try:
                if self.model.ask(user, goes_on=partial(self._is_wanted, user)):
                    self.model.answers(user)
            except Full as full:  # the slot is kept meanwhile
                self._host.sleep(full.after)
            else:
                return

    def _is_wanted(self, user: User) -> bool:
        return not self._policy.notices or self.model.now < user.leaves_at
