"""The finding of a check."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from lifoq_cli.doctor.patient import Patient


@dataclass(frozen=True, kw_only=True)
class Finding:
    wrong: str
    meaning: str
    """The meaning for the queue's work."""
    remedy: str
    """The command that mends it, or shows what to mend."""


@dataclass(frozen=True, kw_only=True)
class Check:
    subject: str
    examine: Callable[[Patient], Iterator[Finding]]
