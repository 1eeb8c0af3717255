"""The functions around task code: one set-up for the process, one context manager for each
attempt."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from lifoq import Context, Fail, InvalidInput


def test_no_task_is_claimed_before_the_set_up_has_succeeded_which_runs_once_for_the_process(bench):
    ran = []

    @bench.registry.setup
    def read_secret() -> None:
        ran.append("set-up")
        if len(ran) == 1:
            raise ConnectionError("no secret")

    bench.registry.task("a")(lambda payload, _: ran.append(payload))
    task_id = bench.put("a", 0)
    with pytest.raises(ConnectionError, match="no secret"):
        bench.run()
    assert bench.task(task_id).attempts == 0
    bench.run()
    bench.put("a", 1)
    bench.run()
    assert ran == ["set-up", "set-up", 0, 1]
    with pytest.raises(InvalidInput, match="there is one already"):
        bench.registry.setup(read_secret)


def test_every_attempt_is_surrounded_whichever_was_registered_first(bench):
    seen = []
    bench.registry.task("early")(lambda *_: seen.append("runs"))

    @bench.registry.around_attempts
    @contextmanager
    def traced(context: Context) -> Iterator[None]:
        seen.append(f"{context.task_type} {context.attempt} begins")
        try:
            yield
        finally:
            seen.append(f"ends with {sys.exc_info()[1]}")

    @bench.registry.task("late")
    def late(_payload: object, _context: Context) -> None:
        raise Fail("no")

    bench.put("late")
    bench.put("early")
    bench.run(in_flight=1)
    assert seen == [
        *("early 1 begins", "runs", "ends with None"),
        *("late 1 begins", "ends with no"),
    ]


@contextmanager
def without_a_session(_context: Context) -> Iterator[None]:
    raise Fail("no session")
    yield


@contextmanager
def not_committed(_context: Context) -> Iterator[None]:
    yield
    raise Fail("not committed")


@pytest.mark.parametrize(
    ("around", "error"),
    [
        (without_a_session, "no session"),
        (not_committed, "not committed"),
        (lambda _: suppress(Exception), "it did not work"),  # it is no success all the same
    ],
)
def test_an_error_around_the_handler_or_one_that_is_kept_back_is_the_attempts(bench, around, error):
    bench.registry.around_attempts(around)
    with pytest.raises(InvalidInput, match="there is one already"):
        bench.registry.around_attempts(around)

    @bench.registry.task("a")
    def handler(_payload: object, _context: Context) -> None:
        if around is not not_committed:
            raise Fail("it did not work")

    task_id = bench.put("a")
    bench.run()
    assert error in str(bench.task(task_id).error)
