"""A machine of the simulation: what it does, and what went wrong on it."""

from enum import StrEnum

from tests.virtual import machine
from tests.virtual.scheduler import Scheduler


class Role(StrEnum):
    """The role of a machine, and so the transitions that it may make."""

    CLIENT = "client"
    WORKER = "worker"
    SWEEP = "sweep"
    TTL = "ttl"


class Machine(machine.Machine):
    def __init__(self, name: str, role: Role, scheduler: Scheduler, *, skew: float = 0.0) -> None:
        """``skew``: seconds by which its clock is ahead."""
        super().__init__(name, scheduler, skew=skew)
        self.role = role
        self.faults = 0
        """Calls of this machine that went wrong so far, and calls that took very long."""
        self.claim_faults: set[str] = set()
        """Claims of which such a call was one."""
        self.outages = 0
        """Calls that an outage of the database refused."""
