"""Each promise of ``docs/invariants.md`` broken once, by hand, and what once slipped through."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.operators import Mutant


@dataclass(frozen=True)
class Break:
    """``was`` occurs once in the file; ``becomes`` stands there instead."""

    rule: str
    path: str
    was: str
    becomes: str


BREAKS: Final = (
    Break(
        "newest first",
        "lifoq/worker/sight.py",
        "one > other if self.newest_first",
        "one < other if self.newest_first",
    ),
    Break(
        "one holder: who has lost the lease changes nothing",
        "lifoq/items/transitions.py",
        "return StatusIs(Status.TAKEN), Equals(A.CLAIM_ID, claim_of(task))",
        "return (StatusIs(Status.TAKEN),)",
    ),
    Break(
        "one holder: a claim asks whether the task still waits",
        "lifoq/items/transitions.py",
        "when=(still_pending, not_expired)",
        "when=(not_expired,)",
    ),
    Break(
        "nothing stays TAKEN",
        "lifoq/items/transitions.py",
        "AtMost(A.LEASE_EXPIRES, now - 1)  # a heartbeat",
        "AtMost(A.LEASE_EXPIRES, now - 3_600_000_000)  # a heartbeat",
    ),
    Break(
        "the sweep ends only the claim that it saw",
        "lifoq/items/transitions.py",
        "return StatusIs(Status.TAKEN), lease_is_over, same_claim, NOTHING_PARKED",
        "return StatusIs(Status.TAKEN), lease_is_over, NOTHING_PARKED",
    ),
    Break(
        "a cancelled task never starts again",
        "lifoq/items/transitions.py",
        "when=(*_abandoned(task, now), NOT_CANCELLED),\n        set={\n            **_pending",
        "when=_abandoned(task, now),\n        set={\n            **_pending",
    ),
    Break(
        "expired is expired",
        "lifoq/items/transitions.py",
        "when=(still_pending, not_expired)",
        "when=(still_pending,)",
    ),
    Break(
        "TTL never removes work in flight",
        "lifoq/items/transitions.py",
        "A.TTL: now // MICROSECONDS + IN_FLIGHT_TTL,",
        "",
    ),
    Break(
        "an outcome is kept for its retention",
        "lifoq/items/transitions.py",
        "A.TTL: lifetimes.retained_until(Status.SUCCESS, now),",
        "",
    ),
    Break(
        "attempts are counted at the claim",
        "lifoq/items/transitions.py",
        "increment=A.ATTEMPTS,",
        "",
    ),
    Break(
        "shed only what still waits",
        "lifoq/items/transitions.py",
        "return still_waits, has_expired",
        "return (has_expired,)",
    ),
    Break(
        "a heartbeat that comes late does not shorten the lease",
        "lifoq/items/transitions.py",
        "when=(*_mine(task), not_longer, *news)",
        "when=(*_mine(task), *news)",
    ),
    Break(
        "the newest put counts: an end brings in what is parked",
        "lifoq/items/transitions.py",
        "return (*_mine(task), NOTHING_PARKED)",
        "return _mine(task)",
    ),
    Break(
        "a retry drops behind newer tasks",
        "lifoq/items/transitions.py",
        "A.TASK_CREATED: lifetimes.position(task),",
        "A.TASK_CREATED: now,",
    ),
    Break(
        "a bad mapping is refused early",
        "lifoq/ingest/mapping.py",
        "jmespath.compile(expression)",
        "str(expression)",
    ),
)


def made(root: Path) -> list[Mutant]:
    """ValueError where a break does not fit the code any more."""
    return [_mutant(root, each) for each in BREAKS]


def _mutant(root: Path, each: Break) -> Mutant:
    text = (root / each.path).read_text()
    if text.count(each.was) != 1:
        raise ValueError(
            f"{each.path} holds {text.count(each.was)} times, not once: {each.was!r}; "
            f"write the break of {each.rule!r} anew"
        )
    start = text.index(each.was)
    return Mutant(
        path=each.path,
        line=text.count("\n", 0, start) + 1,
        was=each.was,
        becomes=each.becomes,
        start=start,
        rule=each.rule,
    )
