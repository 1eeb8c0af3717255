"""The gates: what may hold a waiting task back, each for itself, in their order, and together, on a
clock that the test moves."""

import ast
import math
import re
from datetime import datetime
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, get_type_hints
from unittest.mock import Mock

import pytest

from lifoq import InvalidInput, Processor, Queue, Rate, Registry, StoreUnavailable, WorkerSettings
from lifoq.errors import KeyBusy
from lifoq.items.change import Change
from lifoq.items.quota_table import (
    NONE,
    QUOTA_LASTS,
    Amount,
    QuotaTable,
    SharedLimit,
    quota_table_id,
)
from lifoq.items.schema import Preview
from lifoq.store.candidate import Candidate
from lifoq.store.key_starts_seen import KeyStarts
from lifoq.store.memory_table import MemoryTable
from lifoq.store.store import Store
from lifoq.testing.hosts import ManualHost
from lifoq.worker.backlog.when_to_poll_or_end import LONGEST_POLL
from lifoq.worker.gates import all_gates, gates
from lifoq.worker.gates.busy_downstream import PROBE_AFTER, BusyDownstream
from lifoq.worker.gates.gate import Gate, HowItLeft, LoadSignal
from lifoq.worker.gates.gate_inputs import RunSetup
from lifoq.worker.gates.gates import Gates, RunGates
from lifoq.worker.gates.hours import Window
from lifoq.worker.gates.key_slots import LONGEST_KEY_PAUSE
from lifoq.worker.gates.quota_protocol import times
from lifoq.worker.gates.quota_protocol.demand import Demand
from lifoq.worker.gates.quota_protocol.renewals import Renewals
from lifoq.worker.gates.quota_protocol.times import RENEW_EVERY, RENEWAL_PATIENCE
from lifoq.worker.gates.rate import Bucket, Buckets
from lifoq.worker.handlers.registry import TaskType
from lifoq.worker.known_types import Types
from tests.docs import waiting
from tests.gates import gates_of, row

ROW = row()
FOLDER = Path(gates.__file__).parent


# The table


def import_gate(name: str) -> ModuleType:
    return import_module(f"lifoq.worker.gates.{name}")


def test_each_gate_has_a_row_in_the_table_and_each_row_its_gate():
    """A gate that was forgotten in the table would hold nothing back."""
    made = {
        path.stem
        for path in FOLDER.glob("*.py")
        if any(
            isinstance(node, ast.FunctionDef) and node.name == "make"
            for node in ast.parse(path.read_text()).body
        )
    }
    assert {each.name for each in all_gates.ROWS} == made
    for each in all_gates.ROWS:
        assert callable(import_gate(each.name).make)


def test_the_page_of_why_a_task_waits_has_the_gates_of_the_table():
    text = waiting.PAGE.read_text(encoding="utf-8")
    assert text == waiting.written(), "run: python -m tests.docs.waiting"


def test_the_gates_that_are_asked_again_at_the_claim_are_named_on_the_page_and_in_the_table():
    kinds = {
        each.name: get_type_hints(import_gate(each.name).make)["return"] for each in all_gates.ROWS
    }
    again = {name for name, kind in kinds.items() if kind.may_begin is not Gate.may_begin}
    for text in (waiting.PAGE.read_text(encoding="utf-8"), all_gates.__doc__ or ""):
        (sentence,) = re.findall(r"Right before the claim[^.]*(?:\.may_begin[^.]*)?\.", text)
        assert set(re.findall(r"(?<!\.)`+(\w+)`+", sentence)) == again


def test_only_the_gates_that_are_on_are_asked():
    of_plain = [gate.name for gate in gates_of([("a", {})]).of("a")]
    assert of_plain == ["slots", "busy_downstream"]
    terms = {"in_flight": 2, "rate_limit": 5, "adaptive_concurrency": True}
    names = [gate.name for gate in gates_of([("a", terms)], rate_limit=9).of("a")]
    assert names == ["slots", "rate", "slots", "rate", "busy_downstream", "adaptive_concurrency"]
    shared = gates_of([("a", terms)], rate_limit=9, shared_limits=True)
    names = [gate.name for gate in shared.of("a")]
    assert names == ["slots", "quota", "busy_downstream", "adaptive_concurrency", "quota"]
    terms = {"weight": "tokens", "rate_limit": Rate(9, of="tokens"), "units_in_flight": 9}
    shared = gates_of([("a", terms)], shared_limits=True)
    assert [gate.name for gate in shared.of("a")] == ["slots", "busy_downstream", "unit_quota"]


# One by one


def taken(gate: Gate, host: ManualHost, number: int) -> int:
    """Enter so many times at most; return how often the gate was open."""
    entered = 0
    while entered < number and gate.wait(ROW, host.monotonic()) == 0:
        gate.enter(ROW, host.monotonic())
        entered += 1
    return entered


@pytest.mark.parametrize(("burst", "at_once"), [(None, 5), (1, 1), (12, 12)])
def test_a_seconds_worth_or_the_burst_starts_at_once_after_a_quiet_time_and_then_the_rate_holds(
    burst, at_once
):
    host = ManualHost()
    rate = Bucket(5, now=host.monotonic(), burst=burst)
    for quiet in (0, 60):
        host.advance(quiet)
        assert taken(rate, host, 100) == at_once
        assert rate.wait(ROW, host.monotonic()) == pytest.approx(0.2)
        host.advance(0.19)
        assert taken(rate, host, 100) == 0
        host.advance(0.02)
        assert taken(rate, host, 100) == 1


def test_a_task_that_is_heavier_than_was_believed_takes_the_rest_of_what_there_is_by_now():
    host = ManualHost()
    rate = Bucket(5, now=host.monotonic(), weigh=lambda _row: 1)
    receipt = rate.enter(ROW, host.monotonic())
    host.advance(60)
    assert rate.weighed(receipt, 4, host.monotonic()) == 4
    assert rate.tokens(host.monotonic()) == 2


def test_several_rates_of_a_type_are_corrected_and_undone_together():
    host = ManualHost()
    weights = Bucket(1, now=host.monotonic(), burst=9, weigh=lambda _row: 3)
    starts = Bucket(1, now=host.monotonic(), burst=1)
    both, now = Buckets([starts, weights]), host.monotonic()
    receipt = both.weighed(both.enter(ROW, now), 9, now)
    assert (receipt, starts.tokens(now), weights.tokens(now)) == ([1, 9], 0, 0)
    starts.undo(0.5, after=0)
    assert both.wait(ROW, now) == 1
    assert starts.may_join(ROW, now)  # a call starts once, whatever joins it
    assert not both.may_join(ROW, now)
    host.advance(2)
    both.undo(receipt, after=2)
    assert (starts.tokens(now), weights.tokens(now)) == (0.5, 7)
    assert both.may_join(ROW, now)


def test_a_start_that_is_undone_can_be_made_again_and_late_lets_no_two_begin_together():
    host = ManualHost()
    rate = Bucket(0.5, now=host.monotonic())
    assert taken(rate, host, 1) == 1
    rate.undo(1, after=0)
    assert taken(rate, host, 9) == 1  # a claim that is answered late
    host.advance(2.1)
    assert taken(rate, host, 1) == 1
    rate.undo(1, after=2.1)  # it was refused
    assert taken(rate, host, 9) == 0
    rate.undo(1, after=0.4)
    assert rate.tokens(host.monotonic()) == pytest.approx(0.8)


def test_no_time_counts_twice_for_a_rate_and_nothing_fills_it_beyond_its_burst():
    host = ManualHost()
    earlier = host.monotonic()
    host.advance(1)
    rate = Bucket(5, now=host.monotonic(), weigh=lambda _row: 1)
    for now in (host.monotonic(), earlier):  # another thread may look later at the clock it read
        rate.enter(ROW, now)
    assert rate.tokens(host.monotonic()) == 3
    host.advance(1)
    rate.undo(1, after=0)
    assert rate.weighed(4, 1, host.monotonic()) == 1
    assert rate.tokens(host.monotonic()) == 5
    rate.enter(ROW, host.monotonic())
    assert rate.tokens(host.monotonic()) == 4


def test_a_worker_that_is_full_uses_up_no_rate():
    host = ManualHost()
    own = gates_of([("a", {"rate_limit": 2})], host=host, in_flight=1)
    passed = own.enter(ROW, host.monotonic())
    assert own.enter(ROW, host.monotonic()) is None
    passed.leave(HowItLeft())
    assert own.enter(ROW, host.monotonic()) is not None


def enter_all(own: Gates, host: ManualHost, number: int) -> list[gates.Passage]:
    """Enter so many times, as long as the gates are open."""
    tries = (own.enter(ROW, host.monotonic()) for _ in range(number))
    return list(takewhile(bool, tries))


def test_as_many_enter_as_stayed_when_others_were_refused_and_later_one_more_is_tried():
    host = ManualHost()
    own = gates_of([("a", {})], host=host, in_flight=10)
    inside = enter_all(own, host, 20)
    assert len(inside) == 10
    for passed in inside[:8]:
        passed.leave(HowItLeft(refused=True))
    inside = inside[8:]
    assert enter_all(own, host, 20) == []
    (gate,) = own.named("busy_downstream").values()
    assert "refused more than 2 at a time, and 2 are at work" in gate.why(ROW, host.monotonic())
    for _ in range(PROBE_AFTER):
        inside.pop().leave(HowItLeft())
        inside += enter_all(own, host, 1)
        assert len(inside) == 2
    assert len(enter_all(own, host, 20)) == 1
    inside.pop().leave(HowItLeft())
    assert len(enter_all(own, host, 20)) == 1


def test_a_refusal_begins_anew_to_count_those_that_end_without_one():
    gate = BusyDownstream(ManualHost(), "a")

    def end(number: int, **how: bool) -> float:
        for _ in range(number):
            gate.enter(ROW, 0)
            gate.leave(None, HowItLeft(**how))
        return gate.wait(ROW, 0)

    for _ in range(2):
        gate.enter(ROW, 0)
    assert end(1, refused=True) == math.inf
    gate.undo(None, after=0)
    assert end(PROBE_AFTER - 1) == 0
    assert end(1, refused=True) == math.inf
    assert end(PROBE_AFTER - 1) == math.inf
    gate.undo(None, after=0)
    assert gate.wait(ROW, 0) == 0  # one was at work: the downstream did not refuse all


def test_a_downstream_that_takes_nothing_is_tried_once_a_second():
    host = ManualHost()
    own = gates_of([("a", {})], host=host, in_flight=10)
    for passed in enter_all(own, host, 10):
        passed.leave(HowItLeft(refused=True))
    (gate,) = own.named("busy_downstream").values()
    assert "refuses all, and is tried each second" in gate.why(ROW, host.monotonic())
    assert own.wait(ROW, host.monotonic()) == 1
    tried = 0
    for _ in range(100):
        for passed in enter_all(own, host, 2):
            tried += 1
            passed.leave(HowItLeft(refused=True))
        host.advance(0.1)
    assert tried == 9


def test_the_search_is_told_of_each_attempt_in_seconds_of_the_epoch_and_of_how_it_ended():
    host = ManualHost()
    host.advance(50)
    own = gates_of([("a", {"adaptive_concurrency": True, "in_flight": 7})], host=host, in_flight=9)
    (gate,) = own.named("adaptive_concurrency").values()
    assert gate.search.most == 7
    fails, hangs = (gate.enter(ROW, host.monotonic()) for _ in range(2))
    assert own.wait(ROW, host.monotonic()) == math.inf
    told = "the downstream of task type a was found to take 2 at a time"
    assert gate.why(ROW, host.monotonic()) == told
    gate.undo(fails, after=0)
    assert own.wait(ROW, host.monotonic()) == 0
    ends = gate.enter(ROW, host.monotonic())
    assert ends.began == host.now() / 10**6
    host.advance(3)
    gate.leave(ends, HowItLeft(signal=LoadSignal.DONE))
    gate.hangs(hangs)
    gate.leave(hangs, HowItLeft(hung=True, signal=LoadSignal.DONE))
    assert (hangs.cycle.begun, hangs.cycle.overloads) == (2, [2])
    assert (ends.level.number, ends.level.mean) == (1, pytest.approx(math.log(3)))
    assert own.wait(ROW, host.monotonic()) == 0


def test_after_a_failure_and_no_success_none_starts_until_the_cooldown_is_over():
    host = ManualHost()
    own = gates_of([("a", {"cooldown": 5})], host=host)
    for failed, waits in ((False, 0), (True, 5)):
        own.enter(ROW, host.monotonic()).leave(HowItLeft(failed=failed))
        assert own.wait(ROW, host.monotonic()) == waits
    host.advance(5)
    own.enter(ROW, host.monotonic()).hangs()
    assert own.wait(ROW, host.monotonic()) == 5


def of_units(host: ManualHost, *, shared: bool) -> tuple[Gates, Any]:
    """Return the gates of a worker, and that of its ten units: its own, or those of all workers."""
    terms = {"weight": "tokens", "units_in_flight": 10}
    own = gates_of([("a", terms)], host=host, shared_limits=shared)
    (gate,) = own.named("unit_quota" if shared else "units_in_flight").values()
    if shared:
        assert own.enter(row(weight=10), host.monotonic()) is None
        renewals = Renewals([gate], own.lock)
        for renewal in renewals.due(host.monotonic()):
            renewals.take_answer(renewal())
        own.awaits_no_more("a")
    return own, gate


@pytest.mark.parametrize("shared", [False, True])
def test_a_heavy_task_keeps_the_room_that_gets_free_until_it_starts_or_goes_away(shared):
    host = ManualHost()
    own, gate = of_units(host, shared=shared)
    heavy = row(task_id="heavy", weight=8, expires_at=host.now() + 3 * 10**6)
    light = row(task_id="light", weight=1)

    def told() -> tuple[float, float, float, Candidate | None]:
        """The waits of the heavy task, of the light one and of any, and which is waited for."""
        now = host.monotonic()
        return own.wait(heavy, now), own.wait(light, now), gate.wait_of_any(now), own.awaited("a")

    gate.kept_out(light)  # by another gate
    assert told() == (0, 0, 0, None)
    inside = [own.enter(light, host.monotonic()) for _ in range(3)]
    assert told() == (math.inf, 0, 0, None)
    for next_one in (heavy, row(task_id="heavier", weight=9)):
        assert own.enter(next_one, host.monotonic()) is None
        assert told() == (math.inf, 3, 3, heavy)
    says = "a task of type a that weighs 8 tokens comes first, and has no room"
    assert gate.why(light, host.monotonic()) == says
    inside.pop().leave(HowItLeft())
    assert told() == (0, 3, 0, heavy)
    started = own.enter(heavy, host.monotonic())
    assert told() == (math.inf, math.inf, math.inf, None)
    started.undo()
    inside += [own.enter(light, host.monotonic())]
    for goes_away in (lambda: own.awaits_no_more("a"), lambda: host.advance(3)):
        assert own.enter(heavy, host.monotonic()) is None
        assert own.awaited("a") == heavy
        goes_away()
        assert told() == (math.inf, 0, 0, None)


@pytest.mark.parametrize("shared", [False, True])
def test_the_tasks_of_a_call_weigh_together_and_one_that_leaves_the_call_makes_room(shared):
    host, freed = ManualHost(), []
    own, gate = of_units(host, shared=shared)
    now = host.monotonic()
    own.on_free = lambda: freed.append(gate.inside)
    passed = own.enter(row(weight=3), now)
    assert passed.join(row(task_id="b", weight=4), now) is True
    assert passed.join(row(task_id="c", weight=4), now) is False
    assert gate.inside == 7
    passed.weighed("b", 0)
    assert passed.join(row(task_id="c", weight=4), now) is True
    passed.hangs()
    passed.weighed("t", 6)
    assert (gate.inside, own.stuck_types) == (10, ["a"])
    passed.leave(HowItLeft())
    assert (gate.inside, own.stuck_types, freed) == (0, [], [3, 10, 0])
    last = own.enter(ROW, now)
    last.weighed("t", 9)
    assert gate.wait_of_any(now) == 0
    last.weighed("t", 10)
    assert (gate.inside, own.stuck_types) == (10, [])


def test_tasks_without_a_weight_share_a_call_whatever_else_waits():
    host, freed = ManualHost(), []
    own = gates_of([("a", {"in_flight": 1})], host=host)
    own.on_free = lambda: freed.append(True)
    passed = own.enter(ROW, host.monotonic())
    assert passed.join(ROW, host.monotonic()) is True
    passed.weighed("t", 9)
    assert freed == []
    passed.hangs()
    assert (own.stuck_types, own.is_stuck) == (["a"], False)
    passed.undo()
    assert freed == [True]


# Those of a run, and their reasons


class Claimed:
    """Plays the tasks that a run has."""

    def __init__(self) -> None:
        self.ids, self.keys = set(), {}
        self.calls_not_settled, self.has_suspected_poison = 0, False

    def has(self, task_id, now):
        return task_id in self.ids

    def of_key(self, task_type, key):
        return self.keys.get(key, (0, 0))


class World:
    """The gates of one run, and what they ask."""

    def __init__(self, **terms) -> None:
        self.host, self.over = ManualHost(), None
        self.claimed = terms.pop("claimed", None) or Claimed()
        self.like, settings = [], terms.pop("settings", {})
        kinds = [("a", terms)]
        process = gates_of(kinds, host=self.host, **settings)
        self.process = process
        kind_of = {kind.name: kind for kind in process.setup.registry}.get
        self.run = RunGates(
            process,
            RunSetup(
                process=process.setup,
                kind_of=lambda name: kind_of(name) or kind_of("a"),
                types=Types.of(process.setup.registry, process.setup.settings),
                claimed=self.claimed,
                claiming=SimpleNamespace(claims_no_more=lambda _now: self.over),
                rows_like=lambda _row: iter(self.like),
                clock=self.host.now,
                ends_at=self.host.monotonic() + 100 * 10**6,
                key_starts=KeyStarts(self.host),
            ),
        )

    def reasons(self, row=ROW):
        return self.run.reasons(row, self.host.monotonic())


def fill_slots(world):
    enter_all(world.process, world.host, 9)


def hang_one(world):
    (passed,) = enter_all(world.process, world.host, 1)
    passed.hangs()


def fail_one(world):
    (passed,) = enter_all(world.process, world.host, 1)
    passed.leave(HowItLeft(failed=True))


def settle_none(world):
    world.claimed.calls_not_settled = 99


def poison(world):
    world.claimed.has_suspected_poison = True


def hold_key(world):
    world.claimed.keys["k"] = (0, 1)


def claim_key(world):
    world.claimed.keys["k"] = (1, 0)


def find_key_busy(world):
    world.run.enter_key(row(key="k"), world.host.monotonic())
    world.run.not_started("t", KeyBusy("a", "k"))


def nothing(_world):
    pass


def situation(gate, told, happens=nothing, *, of_row=None, **terms):
    return gate, terms, happens, of_row or {}, told


TOKENS = Rate(60, per="minute", of="tokens")
SHARED = {"shared_limits": True}
KEYED = {"key": "k"}
SITUATIONS = [
    situation(
        "run_over",
        "the worker claims no more tasks: its time is over",
        lambda world: setattr(world, "over", "its time is over"),
    ),
    situation(
        "time_left",
        "a task of type a may take 1 min, and the run has less time left; the next run starts it",
        lambda world: world.host.advance(90),
    ),
    situation(
        "too_many_unsettled",
        "outcomes are written slowly: 99 calls are claimed and not settled",
        settle_none,
    ),
    situation(
        "slots",
        "the worker is at its limit: 2 of 2 at work",
        fill_slots,
        settings={"in_flight": 2},
    ),
    situation("slots", "task type a is at its limit: 1 of 1 at work", fill_slots, in_flight=1),
    situation(
        "slots",
        "task type a is at its limit: 1 of 1 at work, 1 of them beyond their time",
        hang_one,
        in_flight=1,
    ),
    situation(
        "rate",
        "the worker starts 2.5 tasks per second, and no more",
        fill_slots,
        settings={"rate_limit": 2.5},
    ),
    situation(
        "rate", "task type a starts 3 tasks per second, and no more", fill_slots, rate_limit=3
    ),
    situation(
        "rate",
        "task type a starts 60 tokens per minute, and no more",
        fill_slots,
        rate_limit=(9, TOKENS),
        weight="tokens",
    ),
    situation(
        "units_in_flight",
        "task type a is at its limit: 3 of 3 tokens at work",
        fill_slots,
        units_in_flight=3,
        weight="tokens",
    ),
    situation(
        "quota",
        "task type a is limited to 2 tasks at a time and 9 starts per second over all workers; "
        "this worker's part of it is used",
        in_flight=2,
        rate_limit=9,
        settings=SHARED,
    ),
    situation(
        "quota",
        "the queue is limited to 8 tasks at a time over all workers; this worker's part of it is "
        "used",
        settings={"total_in_flight": 8, **SHARED},
    ),
    situation(
        "unit_quota",
        "task type a is limited to 3,000 tokens at a time over all workers; this worker's part of "
        "it has no room for 1,200 tokens",
        of_row={"weight": 1_200},
        units_in_flight=3_000,
        weight="tokens",
        settings=SHARED,
    ),
    situation(
        "cooldown",
        "a task of type a has just failed: none starts for 9 s",
        fail_one,
        cooldown=9,
    ),
    situation(
        "hours",
        "task type a runs at 00:00-00:01 Asia/Tokyo only",
        hours="00:00-00:01 Asia/Tokyo",
    ),
    situation(
        "suspected_poison",
        "a worker has died with it, and another such task is at work: they run one by one",
        poison,
        of_row={"suspected_poison": True},
    ),
    situation(
        "key_slots",
        "its key k is busy: a task of the same key is at work, 1 of 1 on this worker",
        hold_key,
        of_row=KEYED,
        per_key=1,
    ),
    situation(
        "key_slots",
        "its key k is busy: a task of the same key is at work, on another worker",
        find_key_busy,
        of_row=KEYED,
        per_key=1,
    ),
    situation(
        "key_rate",
        "its key k starts 2 tasks per second, and one has just started",
        claim_key,
        of_row=KEYED,
        rate_per_key=2,
    ),
    situation("known_type", "the worker has no handler for task type b", of_row={"task_type": "b"}),
    situation(
        "known_type",
        "task type e is for workers elsewhere",
        of_row={"task_type": "e"},
        settings={"types_elsewhere": frozenset("e")},
    ),
    situation(
        "already_claimed_or_refused",
        "this worker has it already, was just refused it, or has too little time left for it",
        lambda world: world.claimed.ids.add("t"),
    ),
    situation(
        "expired",
        "its deadline is over: it is shed, and DynamoDB deletes it in time",
        of_row={"expires_at": 1},
    ),
    situation(
        "damaged",
        "its item is damaged: taskKey is not a string; the next poll puts it into FAILURE",
        of_row={"damage": "taskKey is not a string"},
    ),
]


SHOWN_ELSEWHERE = {
    *("busy_downstream", "adaptive_concurrency", "cancelled_or_replaced", "batch"),
    "fair_share",
}
"""Gates whose situations take more than a line: they have tests of their own."""


def test_the_times_of_the_quotas_fit_each_other():
    order = (times.ANSWER_PATIENCE, RENEW_EVERY, times.RENEW_AFTER, QUOTA_LASTS - RENEWAL_PATIENCE)
    assert [*order] == sorted(set(order))
    assert times.REFUSED_FOR > RENEW_EVERY
    assert times.ASKS_AGAIN >= LONGEST_POLL


def test_each_gate_of_the_table_has_a_situation():
    shown = {name for name, *_ in SITUATIONS} | SHOWN_ELSEWHERE
    assert {row.name for row in all_gates.ROWS} == shown


def test_each_gate_holds_back_and_says_why():
    for name, terms, happens, of_row, told in SITUATIONS:
        world = World(**terms)
        waits = row(**of_row)
        happens(world)
        assert world.reasons(waits) == [(name, told)]
        if of_row and name != "unit_quota":
            assert world.reasons(ROW) == []  # it holds back no other


def test_a_shared_limit_on_tasks_and_one_on_units_say_each_what_it_is():
    terms = {"in_flight": 2, "units_in_flight": 3_000, "rate_limit": (9, TOKENS)}
    world = World(weight="tokens", settings=SHARED, **terms)
    reasons = world.reasons(row(weight=2))
    assert [(name, says.partition(" over all")[0]) for name, says in reasons] == [
        ("quota", "task type a is limited to 2 tasks at a time and 9 starts per second"),
        ("unit_quota", f"task type a is limited to 3,000 tokens at a time and {TOKENS}"),
    ]


def test_a_window_of_the_day_opens_and_closes_by_the_clock_of_its_zone():
    table = [
        # the window, a moment of UTC, and the seconds until it is open
        ("22:00-06:00", "2026-11-25T21:00", 3_600),
        ("22:00-06:00", "2026-11-25T23:00", 0),
        ("22:00-06:00", "2026-11-25T05:59", 0),
        ("22:00-06:00", "2026-11-25T06:00", 16 * 3_600),
        ("22:00-06:00", "2026-11-25T21:59:59.5", 1),
        ("22:00-06:00", "2026-11-25T22:00", 0),
        ("08:30-18:00", "2026-11-25T08:30", 0),
        ("08:30-18:00", "2026-11-25T18:00", 14.5 * 3_600),
        ("08:00-18:00 Europe/Zurich", "2026-10-24T16:00", 15 * 3_600),
        ("08:00-18:00 Europe/Zurich", "2026-11-25T06:59", 60),
        ("08:00-18:00 Europe/Zurich", "2026-07-01T06:00", 0),
        ("08:00-18:00 Europe/Zurich", "2026-10-24T17:00", 14 * 3_600),  # clocks are put back
        ("02:30-04:00 Europe/Zurich", "2026-10-25T00:15", 15 * 60),
        ("02:30-04:00 Europe/Zurich", "2026-10-25T01:00", 30 * 60),  # 02:00 for the second time
    ]
    for hours, moment, seconds in table:
        window = Window.of(TaskType(name="a", handler=print, hours=hours))
        now = round(datetime.fromisoformat(f"{moment}+00:00").timestamp() * 1e6)
        assert window.opens_in(now) == seconds, (hours, moment)
        assert window.closed_for >= seconds
    uneven = Window.of(TaskType(name="a", handler=print, hours="08:30-18:15 Europe/Zurich"))
    assert uneven.closed_for == 15.25 * 3_600  # in the night when clocks are put back
    for wrong in ("22-6", "22:00-22:00", "25:00-06:00", "08:00-18:00 Europe/Nowhere"):
        with pytest.raises(InvalidInput, match='such as "22:00-06:00"'):
            Processor(Queue.in_memory().store, registry_of(hours=wrong), WorkerSettings())


def registry_of(**terms):
    registry = Registry()
    registry.task("a", **terms)(lambda _payload, _context: None)
    return registry


@pytest.mark.parametrize(
    ("ages", "terms", "seconds"),
    [
        ((), {}, 0),
        ((0, 0), {}, 5),
        ((0, 4, 2), {}, 0),
        ((0, 4, 2, 0), {}, 0),
        ((0, 4), {}, 1),
        ((0, 5), {}, 0),
        ((-9, -9), {}, 5),  # a producer's clock is ahead
        ((0, 0), {"lifetime": 4}, 2),
        ((0, 0), {"suspected_poison": True}, 0),
        ((0, 0), {"preview": {Preview.ALONE: True}}, 0),
    ],
)
def test_a_batch_waits_until_it_is_full_or_its_first_has_waited_for_long_enough(
    ages, terms, seconds
):
    world, terms = World(batch=3, batch_wait=5), {"lifetime": 100, **terms}
    lifetime = terms.pop("lifetime") * 10**6

    def put(name: str, age: float) -> Candidate:
        created = world.host.now() - age * 10**6
        return row(task_id=f"{name}{age}", created=created, expires_at=created + lifetime, **terms)

    def waits() -> float:
        first = next(iter(world.like), row(**terms))
        return world.run.class_wait(first, world.host.monotonic())

    world.like = [put("first", age) for age in ages]
    assert waits() == pytest.approx(seconds)
    told = "its batch of 3 is not full yet; it waits 5 s at the most"
    assert world.reasons(next(iter(world.like), ROW)) == ([("batch", told)] if seconds else [])
    world.host.advance(seconds)
    assert waits() == 0
    world.like = [put("next", age) for age in ages]
    assert waits() == pytest.approx(seconds)


@pytest.mark.parametrize("gate", ["key_slots", "key_rate"])
def test_a_key_that_others_hold_is_left_alone_for_longer_each_time_until_it_was_free(gate):
    world = World(**{"per_key": 1} if gate == "key_slots" else {"rate_per_key": 2})
    keyed = row(key="k")

    def waits_after(error: Exception | None, *, confirmed: bool = True) -> float:
        world.run.enter_key(keyed, world.host.monotonic())
        if error is None:
            world.run.started("t")
            world.run.settled("t", HowItLeft(confirmed=confirmed))
        else:
            world.run.not_started("t", error)
        return world.run.key_wait(keyed, world.host.monotonic())

    busy = KeyBusy("a", "k")
    assert waits_after(StoreUnavailable("no answer")) == 0
    for pause in (0.5, 1, 2, 4, 4):
        assert waits_after(busy) == pause
        assert world.run.key_wait(row(key="other"), world.host.monotonic()) == 0
        assert [name for name, _ in world.reasons(keyed)] == [gate]
        world.host.advance(pause + 0.1)
        assert world.run.key_wait(keyed, world.host.monotonic()) == 0
    world.host.advance(LONGEST_KEY_PAUSE - 0.1)
    assert waits_after(busy) == 0.5
    assert waits_after(None) == 0
    assert waits_after(busy) == 0.5
    assert waits_after(None, confirmed=False) == (0.5 if gate == "key_slots" else 0)


def test_a_task_starts_as_long_as_its_own_time_is_left():
    world = World(timeout=10)
    world.host.advance(85)  # of a hundred seconds, five are for the outcome
    now = world.host.monotonic()
    task = SimpleNamespace(task_type="a", cancel_asked=None, preview={Preview.TIMEOUT: 10**7 + 1})
    assert world.run.class_is_open(ROW, now)
    assert world.run.refuses(ROW, None, now) is None
    assert world.run.refuses(ROW, SimpleNamespace(task=task, begin_by=math.inf), now) == "time_left"
    assert not world.run.class_is_open(ROW, now + 1)
    assert world.run.refuses(ROW, None, now + 1) == "time_left"


def test_after_the_claim_the_gates_are_asked_again():
    world = World(timeout=10)
    now = world.host.monotonic()
    task = SimpleNamespace(task_type="a", cancel_asked=None, preview={})
    claim = SimpleNamespace(task=task, begin_by=math.inf)
    assert world.run.refuses(ROW, claim, now) is None
    task.cancel_asked = 1
    assert world.run.refuses(ROW, claim, now) == "cancelled_or_replaced"
    task.cancel_asked, task.task_type = None, "b"
    assert world.run.refuses(ROW, claim, now) == "cancelled_or_replaced"
    world.host.advance(90)
    assert world.run.refuses(ROW, None, world.host.monotonic()) == "time_left"


# A share of a limit that holds over all workers

LEASE = 30.0


class Sharer:
    """One of the workers that share a limit on tasks of type a, or on all."""

    def __init__(
        self,
        store: Store,
        host: ManualHost,
        *,
        in_flight: int | None = None,
        rate: float | None = None,
        total: int | None = None,
        here: int = 10,
        **others: object,
    ) -> None:
        self.host, terms = host, {"in_flight": in_flight, "rate_limit": rate, **others}
        self.next = ROW
        """The task that waits."""
        self.gates = gates_of(
            [("a", terms), ("b", {})],
            host=host,
            store=store,
            shared_limits=True,
            total_in_flight=total,
            in_flight=here,
        )
        self.quotas = [
            quota for one in ("quota", "unit_quota") for quota in self.gates.named(one).values()
        ]
        self.renewals = Renewals(self.quotas, self.gates.lock)

    def enter(self) -> gates.Passage | None:
        return self.gates.enter(self.next, self.host.monotonic())

    def usable(self) -> bool:
        now = self.host.monotonic()
        return all(gate.may_begin(ROW, None, now) for gate in self.gates.of("a"))

    def ask_for_room(self) -> None:
        """A task waits, and is the next."""
        if self.gates.wait(self.next, self.host.monotonic()) > 0:
            assert not self.enter()

    def due(self) -> list:
        return self.renewals.due(self.host.monotonic())

    def take_renewals(self) -> list[bool]:
        """Make the renewals that are due while a task waits; whether more may start since."""
        self.ask_for_room()
        told = []
        while renewals := self.due():
            told += [self.renewals.take_answer(renewal()) for renewal in renewals]
        return told

    def starts(self) -> int:
        """Start as many tasks as the gates let through, and return their number."""
        return len(list(takewhile(bool, (self.enter() for _ in range(100)))))


@pytest.mark.parametrize("limit", [{"in_flight": 2}, {"total": 2}], ids=["a type's", "the total"])
def test_nothing_begins_on_a_quota_that_ran_out_and_no_lease_reaches_beyond_it(store, host, limit):
    worker = Sharer(store, host, in_flight=limit.get("in_flight"), total=limit.get("total"))
    assert not worker.enter()
    assert worker.take_renewals() == [True]
    assert worker.enter()
    host.advance(QUOTA_LASTS - 1)
    assert worker.usable()
    assert worker.renewals.lease("a", LEASE) == LEASE
    host.advance(1)
    assert not worker.usable()
    assert not worker.enter()
    host.advance(20)
    assert worker.renewals.lease("a", LEASE) == pytest.approx(10)
    host.advance(20)
    assert worker.renewals.lease("a", LEASE) == 0


def test_the_run_waits_a_tenth_of_a_second_for_the_answer_whether_the_next_task_may_start(
    store, host
):
    worker = Sharer(store, host, in_flight=2)
    worker.ask_for_room()
    for seconds, left in ((0.0, 0.1), (0.099, 0.001), (0.001, 0)):
        host.advance(seconds)
        assert worker.gates.awaits_answer("a", host.monotonic()) == (left > 0)
        assert worker.gates.wait_of_any(host.monotonic()) == left


def test_the_demand_forgets_the_task_that_was_not_started_and_no_other():
    demand = Demand(ManualHost())
    heavy = demand.entered(100, inside=100)
    demand.entered(1, inside=101)
    demand.undo_entered(heavy)
    assert demand.starts == 1


def test_the_demand_is_that_of_the_last_second_and_a_task_asks_again_within_half_a_second(host):
    demand = Demand(host)
    early = demand.entered(2, inside=7)
    demand.note_request(Amount(2, 1))
    found = []
    for seconds in (0.4, 0.1, 0.4, 0.1):
        host.advance(seconds)
        found.append((demand.most_inside(3), demand.starts, demand.asked, demand.asked_just_now))
    then, now = (7, 2, Amount(2, 1)), (3, 0, NONE)
    assert found == [(*then, True), (*then, False), (*then, False), (*now, False)]
    demand.entered(2, inside=5)
    host.advance(1)
    assert demand.starts == 0
    demand.undo_entered(early)  # which is forgotten, and does no harm


def test_a_quota_lasts_from_when_it_was_asked_for_however_late_the_answer(store, host, monkeypatch):
    worker, update = Sharer(store, host, in_flight=2), store.table.update

    def slow(task_id: str, change: Change) -> None:
        update(task_id, change)
        host.advance(2)

    monkeypatch.setattr(store.table, "update", slow)
    worker.take_renewals()
    assert worker.usable()
    host.advance(QUOTA_LASTS - 2)
    assert not worker.usable()


@pytest.mark.parametrize(("in_flight", "stuck"), [(1, ["a"]), (2, [])])
def test_handlers_that_hang_take_all_of_a_limit_only_where_no_more_of_it_may_be_had(
    store, host, in_flight, stuck
):
    worker = Sharer(store, host, in_flight=in_flight)
    worker.take_renewals()
    passed = worker.enter()
    for _ in range(4):  # no other task waits: what is not used goes back
        host.advance(RENEW_EVERY)
        for renewal in worker.due():
            worker.renewals.take_answer(renewal())
    passed.hangs()
    assert worker.gates.stuck_types == stuck


@pytest.mark.parametrize("room", [{"here": 2}, {"total": 2}], ids=["this worker's", "all workers'"])
def test_a_worker_wants_no_more_of_a_limit_than_other_tasks_leave_it_room_for(store, host, room):
    worker = Sharer(store, host, in_flight=10, **room)
    worker.next = row(task_id="of another type", task_type="b")
    worker.take_renewals()
    assert worker.enter()
    worker.next = ROW
    worker.take_renewals()
    table = QuotaTable.of(store.table.get(quota_table_id("a")), SharedLimit())
    assert [entry.wants.slots for entry in table.entries.values()] == [1]


def test_a_worker_keeps_as_many_shards_as_start_what_it_started_in_the_last_second(store, host):
    worker = Sharer(store, host, rate=4_000.0)  # in 1,000 shards
    worker.take_renewals()
    assert worker.starts() == 10
    host.advance(RENEW_EVERY)
    worker.next = row(task_id="of another type", task_type="b")
    worker.take_renewals()
    table = QuotaTable.of(store.table.get(quota_table_id("a")), SharedLimit())
    assert [entry.wants.shards for entry in table.entries.values()] == [3]


def test_of_a_rate_that_is_divided_nothing_is_used_twice_while_an_answer_is_on_its_way(store, host):
    first, second = (Sharer(store, host, rate=4) for _ in range(2))
    for _ in range(2):  # at its second renewal the second worker insists
        first.take_renewals()
        second.take_renewals()
        assert first.starts() > 0
        host.advance(RENEW_EVERY)
    (renewal,) = first.due()
    first.renewals.take_answer(renewal())  # it hears what is fair
    assert first.enter()  # one token is left
    (renewal,) = first.due()
    renewal()
    second.take_renewals()
    assert second.starts() == 0
    host.advance(1)
    assert (first.starts(), second.starts()) == (2, 2)


def test_a_start_on_a_divided_rate_that_is_undone_can_be_made_again(store, host):
    worker = Sharer(store, host, rate=1)
    worker.take_renewals()
    passed = worker.enter()
    assert worker.enter() is None
    passed.undo()
    assert worker.starts() == 1


def test_an_answer_that_a_later_renewal_has_overtaken_is_not_used(store, host):
    first, second = (Sharer(store, host, in_flight=4) for _ in range(2))
    first.ask_for_room()
    (renewal,) = first.due()
    answer = renewal()
    second.take_renewals()
    host.advance(RENEW_EVERY)
    second.take_renewals()
    host.advance(RENEWAL_PATIENCE - RENEW_EVERY)
    first.take_renewals()
    first.renewals.take_answer(answer)
    second.take_renewals()
    assert (first.starts(), second.starts()) == (2, 2)


def test_what_is_not_in_use_at_the_end_of_a_run_goes_back_though_it_was_a_moment_ago(store, host):
    ends, goes_on = (Sharer(store, host, in_flight=2) for _ in range(2))
    ends.take_renewals()
    for passed in (ends.enter(), ends.enter()):
        passed.leave(HowItLeft())
    for renewal in ends.renewals.last():
        ends.renewals.take_answer(renewal())
    goes_on.take_renewals()
    assert goes_on.starts() == 2


def renew(*sharers: Sharer) -> None:
    """Let time pass until the renewals of each are due, and make them."""
    sharers[0].host.advance(RENEW_EVERY)
    for one in sharers:
        for renewal in one.due():
            one.renewals.take_answer(renewal())


def test_a_shard_that_cannot_be_given_back_still_owes(store, host, monkeypatch):
    worker = Sharer(store, host, weight="tokens", rate_limit=Rate(60, per="minute", of="tokens"))
    worker.next = row(weight=9)
    worker.take_renewals()
    assert worker.starts() == 1  # a token was there: eight are owed
    (quota,) = worker.quotas
    monkeypatch.setattr(store.table, "update", Mock(side_effect=StoreUnavailable("no answer")))
    while quota.state.has != NONE:  # nothing more is used, and all of it is to go back
        renew(worker)
    assert quota.bucket.tokens(host.monotonic()) < 0


def test_a_task_that_is_too_heavy_needs_a_part_of_the_limit_to_fail_on():
    host = ManualHost()
    own = gates_of([("a", {"weight": "tokens", "units_in_flight": 9})], host=host)
    assert own.enter(row(weight=10), host.monotonic())
    shared = Sharer(Store(MemoryTable(), host=host), host, weight="tokens", units_in_flight=9)
    shared.next = row(weight=10)
    assert not shared.enter()
    shared.take_renewals()
    assert shared.enter()
    assert shared.quotas[0].inside == 1


@pytest.mark.parametrize(
    ("rate", "owed"),
    [
        (Rate(600, per="minute", of="tokens"), 100),
        (Rate(600, per="hour", of="tokens"), 100),
        (Rate(10, of="tokens"), 10),
    ],
)
def test_workers_owe_together_a_sixth_of_the_rates_time_or_a_seconds_worth(store, host, rate, owed):
    (quota,) = Sharer(store, host, weight="tokens", rate_limit=rate).quotas
    assert quota.shared.most_owed == owed


def test_what_a_call_weighs_in_truth_is_taken_from_a_divided_rate(store, host):
    worker = Sharer(store, host, weight="tokens", rate_limit=Rate(10, of="tokens"))
    worker.next = row(weight=3)
    worker.take_renewals()
    (quota,) = worker.quotas
    before = quota.bucket.tokens(host.monotonic())
    worker.enter().weighed("t", 7)
    assert quota.bucket.tokens(host.monotonic()) == before - 7


def test_two_workers_owe_together_no_more_than_one_would(store, host):
    tokens = Rate(600, per="minute", of="tokens")
    workers = [Sharer(store, host, weight="tokens", rate_limit=tokens) for _ in range(2)]
    for _ in range(4):
        for worker in workers:
            worker.next = row(weight=4)
            worker.take_renewals()
            worker.enter()
        renew(*workers)
    assert all(worker.quotas[0].state.has.shards in (4, 5) for worker in workers)
    started = []
    for _ in range(9):
        for worker in workers:
            worker.next = row(weight=90)  # nine of the ten shards may owe so much
            started += [worker] if worker.enter() else []
            worker.take_renewals()
        renew(*workers)
    assert len(started) == 1


def test_a_heavy_task_is_waited_for_until_the_others_have_given_back_what_it_needs(store, host):
    units = {"weight": "tokens", "units_in_flight": 100}
    light, heavy = (Sharer(store, host, **units) for _ in range(2))
    light.next, heavy.next = row(weight=10), row(weight=80)
    light.take_renewals()
    inside = list(takewhile(bool, (light.enter() for _ in range(20))))
    assert len(inside) == 10
    for _ in range(3):
        assert heavy.enter() is None
        renew(heavy, light)
    # One by one they end. No other starts in their place, though light tasks wait.
    while heavy.gates.wait(heavy.next, host.monotonic()) > 0:
        inside.pop().leave(HowItLeft())
        assert heavy.enter() is None
        assert light.enter() is None
        renew(light, heavy)
    assert len(inside) == 2
    newer = row(task_id="newer", weight=1)
    assert heavy.gates.awaited("a") == heavy.next
    assert heavy.gates.wait(newer, host.monotonic()) > 0
    assert heavy.enter()
