"""Takes questions, and streams each answer while the task code finds it."""

import json
from collections.abc import AsyncIterator
from functools import lru_cache
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from lifoq import NoResult, Queue

app = FastAPI()


@lru_cache
def questions() -> Queue:
    return Queue.connect("questions")


Questions = Annotated[Queue, Depends(questions)]


class Question(BaseModel):
    text: str


@app.put("/questions/{name}", status_code=202)
async def ask(name: str, question: Question, queue: Questions) -> dict[str, str]:
    """A client that repeats it, because it heard nothing, asks once: the name is the task's id."""
    await queue.aput("question.answer", question.text, task_id=name, kick=True)
    return {"answer": f"/questions/{name}/answer"}


@app.get("/questions/{name}/answer")
async def answer(name: str, queue: Questions) -> StreamingResponse:
    """Server-sent events: each part as it comes, then how the task ended."""
    if await queue.aget(name) is None:
        raise HTTPException(404, "there is no such question, or it was too long ago")
    return StreamingResponse(events(queue, name), media_type="text/event-stream")


async def events(queue: Queue, name: str) -> AsyncIterator[str]:
    try:
        async for part in queue.stream(name, timeout=60):
            yield event("part", part)
        yield event("end", "SUCCESS")
    except NoResult as error:
        yield event("end", type(error).__name__)


def event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
