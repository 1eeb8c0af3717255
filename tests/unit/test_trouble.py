"""Whether a run can go on."""

import pytest

from lifoq import QueueMisconfigured, StoreUnavailable
from lifoq.basics.host import microseconds
from lifoq.worker.trouble import TROUBLE_LIMIT, Trouble

DOWN = StoreUnavailable("down")
LATE = microseconds(TROUBLE_LIMIT)


def test_a_database_that_does_not_answer_is_given_up_after_a_while():
    trouble = Trouble()
    trouble.met(DOWN, 0)
    trouble.met(DOWN, LATE - 1)
    assert not trouble.hopeless
    trouble.met(DOWN, LATE)
    assert trouble.hopeless
    assert trouble.error is DOWN


def test_whatever_answers_in_between_is_a_new_beginning():
    trouble = Trouble()
    trouble.met(DOWN, 0)
    trouble.passes()
    trouble.met(DOWN, LATE)
    assert not trouble.hopeless


@pytest.mark.parametrize("error", [QueueMisconfigured("no index"), LookupError("what is this")])
def test_what_does_not_pass_by_waiting_ends_the_run_whatever_answers_later(error):
    """A run whose index is missing ended as if all were well, where another call was answered just
    after."""
    trouble = Trouble()
    trouble.met(error, 0)
    trouble.met(ValueError("and this"), 0)
    trouble.passes()
    assert trouble.hopeless
    assert trouble.fatal is error
