"""What surrounds task code: one set-up for the process, one context manager for each attempt."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

import pytest

from lifoq import Context, Fail, InvalidInput, Status
from tests.virtual.bench import Bench


def failure(bench: Bench) -> str:
    """What a task of type a fails with."""
    task_id = bench.put("a")
    bench.run()
    task = bench.task(task_id)
    assert task.status is Status.FAILURE
    return str(task.error)


def test_the_set_up_runs_once_for_all_processors_of_the_process(bench):
    ran = []
    bench.registry.setup(lambda: ran.append("set-up"))
    bench.registry.task("a")(lambda payload, _: ran.append(payload))
    for n in range(2):
        bench.put("a", n)
        bench.run()
    assert ran == ["set-up", 0, 1]


def test_no_task_is_claimed_before_the_set_up_has_succeeded(bench):
    secrets: list[str | Exception] = [ConnectionError("no secret"), "secret"]

    @bench.registry.setup
    def read_secret() -> None:
        if isinstance(found := secrets.pop(0), Exception):
            raise found

    bench.handle("a")
    task_id = bench.put("a")
    with pytest.raises(ConnectionError, match="no secret"):
        bench.run()
    assert bench.task(task_id).attempts == 0
    assert bench.run().succeeded == 1


def test_every_attempt_is_surrounded_whichever_was_registered_first(bench):
    seen = []
    bench.registry.task("early")(lambda *_: seen.append("early runs"))

    @bench.registry.around_attempts
    @contextmanager
    def traced(context: Context) -> Iterator[None]:
        seen.append(f"{context.task_type} {context.attempt} begins")
        try:
            yield
        except Fail as error:
            seen.append(f"{context.task_type} raises {error}")
            raise
        else:
            seen.append(f"{context.task_type} returns")

    @bench.registry.task("late")
    def late(_payload: object, _context: Context) -> None:
        raise Fail("no")

    bench.put("late")
    bench.put("early")
    bench.run(in_flight=1)
    assert seen == [
        *("early 1 begins", "early runs", "early returns"),
        *("late 1 begins", "late raises no"),
    ]


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_error_around_the_handler_is_the_attempts(bench, where):
    @bench.registry.around_attempts
    @contextmanager
    def session(_context: Context) -> Iterator[None]:
        if where == "before":
            raise Fail("no session")
        yield
        raise Fail("not committed")

    bench.handle("a")
    assert ("no session" if where == "before" else "not committed") in failure(bench)


def test_a_manager_that_keeps_an_error_back_makes_no_success_of_it(bench):
    bench.registry.around_attempts(lambda _: suppress(Exception))

    @bench.registry.task("a")
    def refuse(_payload: object, _context: Context) -> None:
        raise Fail("it did not work")

    assert "it did not work" in failure(bench)


def test_there_is_one_of_each(bench):
    bench.registry.setup(lambda: None)
    bench.registry.around_attempts(lambda _: nullcontext())
    with pytest.raises(InvalidInput, match="there is one already"):
        bench.registry.setup(lambda: None)
    with pytest.raises(InvalidInput, match="there is one already"):
        bench.registry.around_attempts(lambda _: nullcontext())
