"""lifoq: its own processor, and a ``Queue.call`` for each user, in virtual time."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from greenlet import getcurrent, greenlet

from benchmarks.model_answers.crowd import PATIENCE, STAND_IN, Full, Model, User
from benchmarks.world import Table
from lab.virtual import START, Over
from lifoq import (
    Busy,
    Cancelled,
    Context,
    NoResult,
    Processor,
    Queue,
    Rate,
    Registry,
    WorkerSettings,
)
from lifoq.basics.host import microseconds
from lifoq.client.kicks import Kicks
from lifoq.items.lifetimes import Lifetimes
from lifoq.store.store import Store

TYPE: Final = "question.answer"
ANSWER: Final = 0.01
"""Seconds that a query or a claim takes."""
HEARTBEAT: Final = 2.0
"""Seconds until a task that runs hears that its user has gone."""
WINDOW: Final = 840.0
"""Seconds for which a run of the processor begins tasks: it ends when its last task has, and begins
nothing meanwhile, so that short runs of slow tasks lose time."""
SWEEP: Final = 60.0
RATES: Final = (
    Rate(STAND_IN.REQUESTS_PER_MINUTE, per="minute"),
    Rate(STAND_IN.TOKENS_PER_MINUTE, per="minute", of="tokens"),
)


class Left(Exception):
    """Raised in the call of a user who leaves, as asyncio cancels a coroutine."""


class Wakes(Kicks):
    """A kick that wakes the processor at once."""

    def __init__(self, table: Table) -> None:
        super().__init__("", host=table.host)
        self._table = table
        self.idle: list[greenlet] = []

    def kick(self) -> None:
        idle, self.idle = self.idle, []
        for processor in idle:
            self._table.host.wake(processor)


def with_lifoq(users: Sequence[User], until: float, *, counts_refusals: bool) -> int:
    """Serve the users until then. Returns the number of refusals."""
    table = Table(answer=ANSWER)
    trial = _Trial(users, Model(table.host, counts_refusals=counts_refusals), table)
    trial.run(until)
    return trial.model.refused


class _Trial:
    def __init__(self, users: Sequence[User], model: Model, table: Table) -> None:
        self._users = users
        self._table = table
        self._host = host = table.host
        self.model = model
        lifetimes = Lifetimes(deadline=PATIENCE, success_retention=1, failure_retention=1)
        self._store = Store(table, lifetimes=lifetimes, host=host)
        self._wakes = Wakes(table)
        self._queue = Queue(self._store, host=host, kicks=self._wakes)
        registry = Registry()
        registry.task(TYPE, weight="tokens", rate_limit=RATES)(self._answer)
        settings = WorkerSettings(
            window=WINDOW, in_flight=20, heartbeat=HEARTBEAT, task_timeout=PATIENCE
        )
        self._processor = Processor(self._store, registry, settings, host=host)

    def run(self, until: float) -> None:
        self._host.end = START + microseconds(until)
        for number, user in enumerate(self._users):
            self.model.at(user.asks_at, partial(self._come, number))
        self._host.spawn(self._work, "worker")
        self._sweep()
        with suppress(Over):
            self._host.pass_time(self._host.end, enough=lambda: False)

    def _answer(self, number: int, context: Context) -> None:
        """Be the handler."""
        user = self._users[number]
        try:
            is_whole = self.model.ask(user, goes_on=lambda: not context.cancelled)
        except Full as full:
            raise Busy("the model's API is full", after=full.after) from None
        context.weighed(user.tokens)
        if not is_whole:
            raise Cancelled(context.task_id)

    def _work(self) -> None:
        """Run as Lambda would, but at once: a run that leaves tasks behind is followed by
        another."""
        while True:
            self._processor.run()
            if self._store.waits_since(newest=True) is None:
                self._wakes.idle.append(getcurrent())
                self._host.halt()

    def _sweep(self) -> None:
        self._table.expire(self._host.time)
        self._wakes.kick()
        self.model.at(self.model.now + SWEEP, self._sweep)

    def _come(self, number: int) -> None:
        caller = greenlet(partial(self._ask, number), parent=getcurrent())
        self.model.at(self._users[number].leaves_at, partial(_leaves, caller))
        caller.switch()

    def _ask(self, number: int) -> None:
        user = self._users[number]
        with suppress(NoResult, Left):
            self._queue.call(TYPE, number, timeout=PATIENCE, weight=user.question.estimate)
            self.model.answers(user)


def _leaves(caller: Any) -> None:
    if not caller.dead:
        caller.throw(Left)
