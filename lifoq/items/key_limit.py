"""The limits that hold for each key of a task type: how many of its tasks are TAKEN at a time, and
how often one of them starts."""

from dataclasses import dataclass

from lifoq.basics.host import microseconds


@dataclass(frozen=True, kw_only=True)
class KeyLimit:
    """The limits of a type, of which at least one is given."""

    per_key: int | None = None
    """Tasks of a key that are TAKEN at a time."""
    rate: float | None = None
    """Tasks of a key that start per second."""

    @property
    def interval(self) -> int:
        """The microseconds between two starts of a key; 0 if only the number at a time counts."""
        return 0 if self.rate is None else microseconds(1 / self.rate)
