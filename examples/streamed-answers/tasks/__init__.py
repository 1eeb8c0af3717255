"""Answers questions, a part at a time."""

import time
from collections.abc import Iterator

from lifoq import Context, task


@task("question.answer", max_attempts=2, timeout=30)
def answer(question: str, context: Context) -> None:
    said = len(context.emitted)  # by an attempt that was cut short
    for number, part in enumerate(model(question)):
        if number >= said:
            context.emit(part)  # now whoever listens can read it


def model(question: str) -> Iterator[str]:
    """Yours asks a language model, say."""
    for word in f"I do not know {question.lower().rstrip('?')}.".split():
        time.sleep(0.2)
        yield word
