"""Answers questions, for as long as somebody waits."""

import asyncio
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from limits import question_of

from lifoq import NoResult, Queue

PATIENCE_SECONDS = 20

app = FastAPI()


@lru_cache
def questions() -> Queue:
    return Queue.connect("questions")


@app.get("/answers")
async def answer(
    question: str, request: Request, queue: Annotated[Queue, Depends(questions)]
) -> Any:
    weight = question_of(question).estimate  # count the tokens of your prompt, and of max_tokens
    call = asyncio.create_task(
        queue.acall("question.answer", question, timeout=PATIENCE_SECONDS, weight=weight)
    )
    while not (await asyncio.wait([call], timeout=0.5))[0]:
        if await request.is_disconnected():  # FastAPI itself lets the handler go on
            call.cancel()
    try:
        return await call
    except NoResult as error:
        again = {"Retry-After": "5"} if error.http_status == 503 else None
        raise HTTPException(error.http_status, str(error), again) from None
    except asyncio.CancelledError:
        raise HTTPException(499, "the client has left") from None
