"""The part that gates have in common which count what is inside: tasks, or the units that they
weigh."""

from dataclasses import dataclass
from typing import Any

from lifoq.worker.gates.gate import Gate, HowItLeft


@dataclass(kw_only=True)
class CountedCall:
    """A call of a handler that is inside: the receipt of such a gate."""

    weight: int = 1
    """1, or the units that the call's tasks weigh."""
    hangs: bool = False


class CountingGate(Gate):
    """A gate that counts what is inside. It is told of each call that enters (``count``)."""

    inside = 0
    """The tasks that run, or their units."""
    hung = 0
    """The part of that which has outlived its attempt's timeout."""

    def count(self, call: CountedCall) -> None:
        """Count a call that enters."""
        self.inside += call.weight

    def reweigh(self, call: CountedCall, weight: int) -> None:
        """Count a call that is inside with another weight."""
        more, call.weight = weight - call.weight, weight
        self.inside += more
        self.hung += more if call.hangs else 0

    def undo(self, receipt: Any, *, after: float, error: Exception | None = None) -> None:
        self.inside -= receipt.weight

    def hangs(self, receipt: Any) -> None:
        receipt.hangs = True
        self.hung += receipt.weight

    def leave(self, receipt: Any, left: HowItLeft) -> None:
        self.inside -= receipt.weight
        self.hung -= receipt.weight if receipt.hangs else 0
