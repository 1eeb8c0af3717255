"""The limits of the stand-in for a model's API: what it lets pass, and how long its answers take.
Times are in seconds of any clock."""

import math
import random
from dataclasses import dataclass
from typing import Final

REQUESTS_PER_MINUTE: Final = 80
TOKENS_PER_MINUTE: Final = 60_000
LONGEST_ANSWER: Final = 600
"""Tokens. A request may ask for fewer (``max_tokens``)."""
FIRST_TOKEN_SECONDS: Final = 0.5
TOKENS_PER_SECOND: Final = 50
"""The speed of one answer, once it has begun."""
SAVED_SECONDS: Final = 10
"""A limit that nobody uses saves up for so long."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """The cost of a question, in tokens."""

    prompt: int
    answer: int
    """Known when the answer has ended, and not before."""

    @property
    def estimate(self) -> int:
        """The tokens that the API reserves, and that a caller knows beforehand."""
        return self.prompt + LONGEST_ANSWER

    @property
    def total(self) -> int:
        return self.prompt + self.answer


def question_of(text: str) -> Question:
    """Return what a question costs: the same one always the same. The prompt has the documents
    that the answer is to be found in, and takes most of the tokens."""
    draw = random.Random(text)
    answer = round(draw.lognormvariate(5.4, 0.6))
    return Question(prompt=draw.randint(300, 1300), answer=max(40, min(LONGEST_ANSWER, answer)))


def seconds_of(tokens: int) -> float:
    """Return how long an answer of so many tokens takes."""
    return FIRST_TOKEN_SECONDS + tokens / TOKENS_PER_SECOND


class Allowance:
    """Units a minute, which come in evenly."""

    def __init__(self, per_minute: float, *, now: float) -> None:
        self._per_second = per_minute / 60
        self._most = self._per_second * SAVED_SECONDS
        self._units, self._at = self._most, now

    def missing(self, units: float, now: float) -> float:
        """Return the seconds until so many are there; 0 if they are."""
        self._units = min(self._most, self._units + (now - self._at) * self._per_second)
        self._at = now
        return max(0.0, (units - self._units) / self._per_second)

    def take(self, units: float) -> None:
        """Take units, as far as there are any. Fewer than none: give them back."""
        self._units = max(0.0, self._units - units)


class Limits:
    """Requests and tokens a minute, side by side."""

    def __init__(self, *, now: float, counts_refusals: bool = False) -> None:
        """``counts_refusals``: True if a request that is refused counts as one, too, as OpenAI's
        do: who asks again and again has less."""
        self._counts_refusals = counts_refusals
        self._requests = Allowance(REQUESTS_PER_MINUTE, now=now)
        self._tokens = Allowance(TOKENS_PER_MINUTE, now=now)

    def enter(self, tokens: int, now: float) -> int:
        """Let a request of so many tokens pass, and return 0; or return the whole seconds after
        which there is room for it, as ``Retry-After`` has them."""
        wait = math.ceil(max(self._requests.missing(1, now), self._tokens.missing(tokens, now)))
        if not wait:
            self._tokens.take(tokens)
        if not wait or self._counts_refusals:
            self._requests.take(1)
        return wait

    def give_back(self, tokens: int) -> None:
        """Return tokens that were reserved and not used."""
        self._tokens.take(-tokens)
