"""A worker's quota is asked for, renewed, and granted or refused."""

import math
from dataclasses import replace

from lifoq.basics.host import MICROSECONDS, microseconds
from lifoq.items.quota_table import NONE, QUOTA_LASTS, Amount, Grant
from lifoq.worker.gates.quota_protocol.state import QuotaState
from lifoq.worker.gates.quota_protocol.times import (
    ANSWER_PATIENCE,
    REFUSED_FOR,
    RENEW_EVERY,
    RENEWAL_PATIENCE,
)

NOW = 1_000 * MICROSECONDS


def at(seconds: float) -> int:
    return NOW + microseconds(seconds)


def asked() -> QuotaState:
    return QuotaState().after_asking(NOW)


def sent() -> QuotaState:
    return asked().after_sending(NOW, keeps=NONE, wants=Amount(slots=2, shards=1))


GRANT = Grant(has=Amount(1, 1), kept_shards=0, tokens=1, fair=Amount(1, 1), sent=NOW)


def test_a_task_that_lacks_room_waits_for_the_one_renewal_under_way():
    assert (asked().answer_by, asked().due_at) == (at(ANSWER_PATIENCE), NOW)
    assert (sent().number, sent().renewing, sent().due_at) == (1, True, at(RENEWAL_PATIENCE))
    assert (asked().in_quota_table, sent().in_quota_table) == (False, True)
    assert sent().after_asking(at(0.05)) == sent()
    assert (sent().run_waits, QuotaState().run_waits) == (True, False)


def test_what_is_given_back_is_gone_before_the_renewal_is_answered():
    has = replace(sent(), has=Amount(4, 2))
    assert has.after_sending(NOW, keeps=Amount(3, 5), wants=NONE).has == Amount(3, 2)


def test_an_answer_ends_the_wait_and_what_it_did_not_bring_is_refused_for_a_while():
    granted = sent().after_grant(GRANT, at(0.1), inside=0)
    assert (granted.has, granted.fair, granted.in_quota_table) == (GRANT.has, GRANT.fair, True)
    assert granted.refused_until == (at(0.1 + REFUSED_FOR), 0)
    assert (granted.run_waits, granted.renewing) == (False, False)
    assert granted.due_at == at(0.1 + RENEW_EVERY)
    no_shards = sent().after_grant(replace(GRANT, has=Amount(2, 0)), NOW, inside=0)
    assert no_shards.refused_until == (0, at(REFUSED_FOR))
    before = replace(sent(), refused_until=(at(0.3), at(0.4)), wants=GRANT.has)
    assert before.after_grant(GRANT, NOW, inside=0).refused_until == (at(0.3), at(0.4))
    none = sent().after_grant(replace(GRANT, has=NONE), NOW, inside=0)
    assert (none.in_quota_table, none.due_at) == (True, at(RENEW_EVERY))
    assert [granted.usable(at(QUOTA_LASTS) - ahead) for ahead in (1, 0)] == [True, False]


def test_an_answer_without_a_write_lasts_no_longer_than_the_one_before():
    before = replace(sent(), usable_until=at(0.2))
    assert before.after_grant(replace(GRANT, sent=None), NOW, inside=0).usable_until == at(0.2)


def test_what_is_above_the_fair_part_is_given_back_at_once_unless_tasks_run_on_it():
    above = replace(GRANT, fair=Amount(0, 1))
    due = [sent().after_grant(above, NOW, inside=inside).due_at for inside in (0, 1)]
    assert due == [NOW, at(RENEW_EVERY)]
    shards_above = replace(GRANT, fair=Amount(1, 0))
    assert sent().after_grant(shards_above, NOW, inside=1).due_at == NOW


def test_who_has_nothing_and_wants_nothing_is_out_of_the_quota_table():
    wants_nothing = sent().after_sending(NOW, keeps=NONE, wants=NONE)
    nothing = wants_nothing.after_grant(replace(GRANT, has=NONE), NOW, inside=0)
    assert (nothing.in_quota_table, nothing.due_at) == (False, math.inf)
    assert wants_nothing.after_grant(GRANT, NOW, inside=0).in_quota_table  # it has some


def test_a_renewal_that_fails_refuses_all_for_a_while():
    failed = sent().after_failure(NOW)
    assert failed.refused_until == (at(REFUSED_FOR), at(REFUSED_FOR))
    assert (failed.run_waits, failed.renewing) == (False, False)
    assert failed.due_at == at(RENEW_EVERY)
