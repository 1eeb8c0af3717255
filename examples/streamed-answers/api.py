"""Takes questions, and streams each answer while the task code finds it."""

import asyncio
import json
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from lifoq import Queue, Status

LOOK_SECONDS = 0.2

app = FastAPI()


@lru_cache
def questions() -> Queue:
    return Queue.connect("questions")


Questions = Annotated[Queue, Depends(questions)]


class Question(BaseModel):
    text: str


@app.put("/questions/{name}", status_code=202)
def ask(name: str, question: Question, queue: Questions) -> dict[str, str]:
    """A client that repeats it, because it heard nothing, asks once: the name is the task's id."""
    queue.put("question.answer", question.text, task_id=name)
    return {"answer": f"/questions/{name}/answer"}


@app.get("/questions/{name}/answer")
async def answer(name: str, queue: Questions) -> StreamingResponse:
    """Server-sent events: each part as it comes, then how the task ended."""
    if await run_in_threadpool(queue.get, name) is None:
        raise HTTPException(404, "there is no such question, or it was too long ago")
    return StreamingResponse(events(queue, name), media_type="text/event-stream")


async def events(queue: Queue, name: str) -> AsyncIterator[str]:
    sent = 0
    while task := await run_in_threadpool(queue.get, name):
        said = task.result if task.status is Status.SUCCESS else task.checkpoint
        for part in (said or [])[sent:]:
            yield event("part", part)
            sent += 1
        if task.waiting and task.expired(queue.store.now()):
            break
        if not task.waiting and task.status is not Status.TAKEN:
            yield event("end", task.status)
            return
        await asyncio.sleep(LOOK_SECONDS)
    yield event("end", "SHED")


def event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
