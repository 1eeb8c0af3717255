"""What surrounds task code: one set-up for the process, one context manager for each attempt."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

import pytest

from lifoq import (
    Context,
    Fail,
    InvalidInput,
    Processor,
    Queue,
    Registry,
    TaskFailed,
    WorkerSettings,
)


@pytest.fixture
def tasks() -> Registry:
    return Registry()


def run(tasks: Registry, queue: Queue) -> None:
    Processor(queue.store, tasks, WorkerSettings(window=2, max_attempts=2)).run()


def test_the_set_up_runs_once_for_all_processors_of_the_process(tasks: Registry):
    ran = []
    tasks.setup(lambda: ran.append("set-up"))
    tasks.task("a")(lambda payload, context: ran.append(payload))
    queue = Queue.in_memory()
    for n in range(2):
        queue.put("a", n)
        run(tasks, queue)

    assert ran == ["set-up", 0, 1]


def test_no_task_is_claimed_before_the_set_up_has_succeeded(tasks: Registry):
    secrets: list[str | Exception] = [ConnectionError("no secret"), "secret"]

    @tasks.setup
    def read_secret() -> None:
        if isinstance(found := secrets.pop(0), Exception):
            raise found

    tasks.task("a")(lambda payload, context: context.attempt)
    queue = Queue.in_memory()
    task = queue.put("a")
    with pytest.raises(ConnectionError, match="no secret"):
        run(tasks, queue)
    assert queue.get(task.task_id) == task

    run(tasks, queue)
    assert queue.wait(task.task_id, timeout=1) == 1


def test_every_attempt_is_surrounded_whichever_was_registered_first(tasks: Registry):
    seen = []
    tasks.task("early", max_attempts=1)(lambda payload, context: seen.append("early runs"))

    @tasks.around_attempts
    @contextmanager
    def traced(context: Context) -> Iterator[None]:
        seen.append(f"{context.task_id} {context.task_type} {context.attempt} begins")
        try:
            yield
        except Fail as error:
            seen.append(f"{context.task_id} raises {error}")
            raise
        else:
            seen.append(f"{context.task_id} returns")

    @tasks.task("late")
    def late(payload, context):
        raise Fail("late")

    queue = Queue.in_memory()
    queue.put("early", task_id="e")
    run(tasks, queue)
    queue.put("late", task_id="l")
    run(tasks, queue)

    assert seen == [
        *("e early 1 begins", "early runs", "e returns"),
        *("l late 1 begins", "l raises late"),
    ]


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_error_around_the_handler_is_the_attempts(tasks: Registry, where: str):
    @tasks.around_attempts
    @contextmanager
    def session(context: Context) -> Iterator[None]:
        if where == "before":
            raise Fail("no session")
        yield
        raise Fail("not committed")

    tasks.task("a")(lambda payload, context: "done")
    queue = Queue.in_memory()
    task = queue.put("a")
    run(tasks, queue)

    with pytest.raises(TaskFailed, match="no session" if where == "before" else "not committed"):
        queue.wait(task.task_id, timeout=1)


def test_a_manager_that_keeps_an_error_back_makes_no_success_of_it(tasks: Registry):
    tasks.around_attempts(lambda context: suppress(Exception))

    @tasks.task("a")
    def refuse(payload, context):
        raise Fail("it did not work")

    queue = Queue.in_memory()
    task = queue.put("a")
    run(tasks, queue)

    with pytest.raises(TaskFailed, match="it did not work"):
        queue.wait(task.task_id, timeout=1)


def test_there_is_one_of_each(tasks: Registry):
    tasks.setup(lambda: None)
    tasks.around_attempts(lambda context: nullcontext())
    with pytest.raises(InvalidInput, match="there is one already"):
        tasks.setup(lambda: None)
    with pytest.raises(InvalidInput, match="there is one already"):
        tasks.around_attempts(lambda context: nullcontext())
