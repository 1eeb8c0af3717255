"""The steps, in memory. The state machine is run by lifoq's own tests, on the local cloud."""

import pytest

import tasks  # noqa: F401 - registers the task types

ORDER = {"number": 4711, "article": "book", "cents": 1250}


@pytest.mark.parametrize(
    ("step", "result"),
    [
        ("stock.reserve", {"reserved": "book"}),
        ("card.charge", {"charged": 1250}),
        ("order.ship", {"shipped": 4711}),
    ],
)
def test_a_step_answers_with_what_it_did(lifoq_queue, lifoq_run, step, result):
    task = lifoq_queue.put(step, ORDER)
    lifoq_run()
    assert lifoq_queue.wait(task.task_id, timeout=1) == result


def test_a_card_that_has_expired_is_not_tried_again(lifoq_queue, lifoq_run):
    lifoq_queue.put("card.charge", {**ORDER, "card": "expired"}, task_id="charge")
    assert lifoq_run().failed == 1
    assert lifoq_queue.get("charge").error.message == "the card has expired"
