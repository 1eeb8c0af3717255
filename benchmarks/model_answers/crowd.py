"""The users, and the model's API before which all ways stand: the stand-in of the example
``model-answers``, in virtual time. Times are in seconds."""

import functools
import importlib.util
import random
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final

from benchmarks.record import HERE
from benchmarks.world import poisson
from lab.virtual import START, VirtualHost
from lifoq.basics.host import MICROSECONDS, microseconds

PATIENCE: Final = 20.0
LEAVES_EARLY: Final = 0.25
"""The share of users who leave before their patience ends, at any moment of it."""
PART: Final = 0.25
"""Seconds between two parts of an answer: so fast does a request end that is broken off."""


def _stand_in() -> ModuleType:
    file = HERE.parent / "examples" / "model-answers" / "limits.py"
    spec = importlib.util.spec_from_file_location("limits_of_the_stand_in", file)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


STAND_IN: Final[Any] = _stand_in()


@functools.cache
def capacity() -> float:
    """Return the answers a second that the limits of requests and of tokens allow, at the mean of
    20,000 questions."""
    tokens = sum(STAND_IN.question_of(f"mean {n}").total for n in range(20_000)) / 20_000
    return float(min(STAND_IN.REQUESTS_PER_MINUTE / 60, STAND_IN.TOKENS_PER_MINUTE / 60 / tokens))


class Full(Exception):
    """The API's 429."""

    def __init__(self, after: float) -> None:
        super().__init__()
        self.after = after


@dataclass(kw_only=True)
class User:
    """Somebody who asks, and waits."""

    asks_at: float
    question: Any
    leaves_at: float
    tokens: int = 0
    """The tokens that were spent for this user."""
    is_answered: bool = False


def crowd(load: float, lasts: float) -> list[User]:
    """Return the users of so many seconds, at a multiple of what the API can do. Of one load all
    ways get the same ones."""
    draw = random.Random(f"users {load}")

    def patience() -> float:
        return PATIENCE * (draw.random() if draw.random() < LEAVES_EARLY else 1)

    return [
        User(
            asks_at=moment,
            question=STAND_IN.question_of(f"question {number} {load}"),
            leaves_at=moment + patience(),
        )
        for number, moment in enumerate(poisson(load * capacity(), lasts, draw))
    ]


class Model:
    """The API. ``ask`` is called in greenlets."""

    def __init__(self, host: VirtualHost, *, counts_refusals: bool) -> None:
        self._host = host
        self._limits = STAND_IN.Limits(now=0.0, counts_refusals=counts_refusals)
        self.refused = 0

    @property
    def now(self) -> float:
        return (self._host.time - START) / MICROSECONDS

    def at(self, moment: float, action: Callable[[], object]) -> None:
        self._host.at(START + microseconds(moment), action)

    def ask(self, user: User, *, goes_on: Callable[[], bool]) -> bool:
        """Answer the question for as long as the request ``goes_on``. Returns whether the answer
        is whole. The prompt is paid for at once, the answer as far as it came. Raises Full."""
        question = user.question
        if wait := self._limits.enter(question.estimate, self.now):
            self.refused += 1
            raise Full(wait)
        user.tokens += question.prompt
        lasts: float = STAND_IN.seconds_of(question.answer)
        passed = 0.0
        while passed < lasts and goes_on():
            step = min(PART, lasts - passed)
            self._host.sleep(step)
            passed += step
        is_whole = passed >= lasts
        spoken = max(0.0, passed - STAND_IN.FIRST_TOKEN_SECONDS) * STAND_IN.TOKENS_PER_SECOND
        said = question.answer if is_whole else round(spoken)
        user.tokens += said
        self._limits.give_back(STAND_IN.LONGEST_ANSWER - said)
        return is_whole

    def answers(self, user: User) -> None:
        """Give the answer to the user, if that is still there."""
        user.is_answered = self.now <= user.leaves_at
