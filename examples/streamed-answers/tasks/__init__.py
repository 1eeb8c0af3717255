"""Answers questions, a part at a time."""

import time
from collections.abc import Iterator

from lifoq import Context, task


@task("question.answer", max_attempts=2, timeout=30)
def answer(question: str, context: Context) -> list[str]:
    said: list[str] = context.last_checkpoint or []  # by an attempt that was cut short
    for number, part in enumerate(model(question)):
        if number >= len(said):
            said = [*said, part]
            context.checkpoint(said)  # now whoever listens can read it
    return said


def model(question: str) -> Iterator[str]:
    """Yours asks a language model, say."""
    for word in f"I do not know {question.lower().rstrip('?')}.".split():
        time.sleep(0.2)
        yield word
