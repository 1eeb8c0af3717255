"""The answers of a handler: for each task of a call, the value that it gave or the error that it
raised."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lifoq.errors import Cancelled, LeaseLost, LifoqError
from lifoq.worker.handlers.context import Context
from lifoq.worker.handlers.registry import TaskType


@dataclass(frozen=True)
class Raised:
    """The answer that is an error."""

    error: BaseException


class NotAnswered(LifoqError):
    """Raised for a task of a batch for which the handler gave no answer."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"{why}: return a list with the result of each task, in their order, or call "
            "context.answer(result) for each"
        )


def call_handler(
    kind: TaskType, payloads: list[Any], contexts: list[Context], given: Mapping[str, Any]
) -> list[Any]:
    """Call the handler once for these tasks. Return its answer for each: a value, or Raised.

    ``given``: the answers that a batch's handler gives to ``context.answer``, by task id. They
    stand, whatever the handler returns or raises.
    """
    batched = kind.batch is not None
    try:
        if batched:
            answers = _in_order(kind.handler(payloads, contexts), len(payloads))
        else:
            answers = [kind.handler(payloads[0], contexts[0])]
    except BaseException as error:  # noqa: BLE001  (whatever task code raises is its answer)
        answers = [Raised(error)] * len(payloads)
    answers = [_with_parts(answer, c) for answer, c in zip(answers, contexts, strict=True)]
    if not batched:
        return answers
    own = [given.get(c.task_id, answer) for c, answer in zip(contexts, answers, strict=True)]
    return [Raised(answer) if isinstance(answer, BaseException) else answer for answer in own]


def _with_parts(answer: Any, context: Context) -> Any:
    """Return the answer once all parts that the attempt has emitted are written; or the error, if a
    part cannot be. Of an attempt that failed the next one emits them anew."""
    try:
        context.flush()
    except (LeaseLost, Cancelled):
        return answer  # nobody reads on
    except LifoqError as error:
        return answer if isinstance(answer, Raised) else Raised(error)
    return answer


def _in_order(returned: Any, number: int) -> list[Any]:
    """Return the answers that a batch's handler returned, or NotAnswered for each task."""
    if returned is None:
        return [NotAnswered("the handler did not answer for this task")] * number
    if not isinstance(returned, list | tuple):
        why = f"the handler of a batch returned {type(returned).__name__}"
        return [NotAnswered(why)] * number
    if len(returned) != number:
        return [NotAnswered(f"the handler returned {len(returned)} for {number} tasks")] * number
    return list(returned)
