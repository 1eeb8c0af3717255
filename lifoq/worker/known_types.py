"""The task types that a worker handles. It passes over tasks of all others, for workers that know
them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lifoq.errors import InvalidInput
from lifoq.items.change import MOST_VALUES, Condition, Not, OneOf
from lifoq.items.schema import Attribute

if TYPE_CHECKING:
    from lifoq.worker.handlers.registry import Registry
    from lifoq.worker.settings import WorkerSettings


@dataclass(frozen=True, kw_only=True)
class Types:
    """A choice of task types; by default all. Raises InvalidInput if ``elsewhere`` has too many.

    ``only``: the types of the worker's handlers; None for all. ``elsewhere``: types that workers of
    another kind handle.
    """

    only: frozenset[str] | None = None
    elsewhere: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if (number := len(self.elsewhere)) > MOST_VALUES:
            problem = f"are {number} task types, {MOST_VALUES} at the most; use another queue"
            raise InvalidInput("elsewhere", sorted(self.elsewhere), problem)

    @classmethod
    def of(cls, registry: "Registry", settings: "WorkerSettings") -> "Types":
        """Return the types that a worker has a handler for; all types if unknown ones are to
        fail."""
        waits = settings.unknown_types == "wait"
        only = frozenset(kind.name for kind in registry) if waits else None
        return cls(only=only, elsewhere=settings.types_elsewhere)

    def has(self, task_type: str) -> bool:
        """Return True if the worker handles tasks of this type."""
        return (self.only is None or task_type in self.only) and task_type not in self.elsewhere

    def knows(self, task_type: str) -> bool:
        """Return True if this worker or workers elsewhere handle tasks of this type."""
        return self.only is None or task_type in self.only or task_type in self.elsewhere

    @property
    def are_all(self) -> bool:
        """True if no task is passed over."""
        return self.only is None and not self.elsewhere

    @property
    def where(self) -> tuple[Condition, ...]:
        """The conditions of a query for rows that the worker handles. The rows may have others
        among them if the worker has no handler, or too many types for one query."""
        others = OneOf(Attribute.TASK_TYPE, self.elsewhere)
        own = () if self._own is None else (self._own,)
        return (*own, Not(others)) if self.elsewhere else own

    @property
    def where_not(self) -> tuple[Condition, ...]:
        """The conditions of a query for rows that the worker passes over. The rows may have the
        worker's own among them if its types are too many for one query."""
        if self.only is None:
            return (OneOf(Attribute.TASK_TYPE, self.elsewhere),) if self.elsewhere else ()
        return () if self._own is None or self.elsewhere & self.only else (Not(self._own),)

    @property
    def _own(self) -> OneOf | None:
        """The condition that a row is of one of the ``only`` types. None if no query can tell,
        since there are none, or too many."""
        fits = self.only is not None and 0 < len(self.only) <= MOST_VALUES
        return OneOf(Attribute.TASK_TYPE, self.only) if self.only and fits else None


ALL_TYPES: Final = Types()
