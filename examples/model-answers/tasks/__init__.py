"""Asks the model, within its limits."""

import http.client
import json
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

from lifoq import Busy, Cancelled, Context, Rate, task

MODEL = os.environ.get("MODEL", "http://127.0.0.1:8771")
LIMITS = (Rate(80, per="minute"), Rate(60_000, per="minute", of="tokens"))


@task("question.answer", weight="tokens", rate_limit=LIMITS)
def answer(question: str, context: Context) -> dict[str, Any]:
    said, tokens = [], 0
    try:
        for part in asked(question, timeout=context.remaining):
            said.append(part["text"])
            tokens = part["tokens"]
            if context.cancelled:  # the user has left: breaking off costs no more tokens
                raise Cancelled(context.task_id)
    finally:
        if tokens:
            context.weighed(tokens)  # the truth, in place of the estimate
    return {"text": "".join(said), "tokens": tokens}


def asked(question: str, *, timeout: float) -> Iterator[dict[str, Any]]:
    """Yield the parts of the answer, each with the tokens so far, as your client does by
    ``stream=True``."""
    place = urlsplit(MODEL).netloc
    with closing(http.client.HTTPConnection(place, timeout=timeout)) as connection:
        connection.request("POST", "/answers", json.dumps({"question": question}))
        response = connection.getresponse()
        if response.status == 429:
            raise Busy("the model is full", after=float(response.headers["Retry-After"]))
        if response.status != 200:
            raise ConnectionError(f"the model answers {response.status}")
        for line in response:
            yield json.loads(line)
