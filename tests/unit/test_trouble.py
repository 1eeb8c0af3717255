"""Whether a run can go on."""

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


def test_what_is_misconfigured_does_not_pass_by_waiting():
    trouble = Trouble()
    trouble.met(QueueMisconfigured("no index"), 0)
    assert trouble.hopeless
    assert trouble.unexpected is None


def test_the_first_error_that_nobody_understands_is_kept():
    trouble, first = Trouble(), LookupError("what is this")
    trouble.met(first, 0)
    trouble.met(ValueError("and this"), 0)
    assert trouble.hopeless
    assert trouble.unexpected is first
