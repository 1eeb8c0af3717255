"""Which task types are a worker's own; the others it passes over, for workers that know them."""

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
    """By default all types. Raises InvalidInput."""

    only: frozenset[str] | None = None
    elsewhere: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if (number := len(self.elsewhere)) > MOST_VALUES:
            problem = f"are {number} task types, {MOST_VALUES} at the most; use another queue"
            raise InvalidInput("elsewhere", sorted(self.elsewhere), problem)

    @classmethod
    def of(cls, registry: "Registry", settings: "WorkerSettings") -> "Types":
        """Those that a worker has a handler for; or all, where unknown ones are to fail."""
        waits = settings.unknown_types == "wait"
        only = frozenset(kind.name for kind in registry) if waits else None
        return cls(only=only, elsewhere=settings.types_elsewhere)

    def has(self, task_type: str) -> bool:
        """Whether a task of this type is one of its own."""
        return (self.only is None or task_type in self.only) and task_type not in self.elsewhere

    def knows(self, task_type: str) -> bool:
        """Whether it is one of its own, or of workers elsewhere."""
        return self.only is None or task_type in self.only or task_type in self.elsewhere

    @property
    def are_all(self) -> bool:
        """Whether no task is passed over."""
        return self.only is None and not self.elsewhere

    @property
    def where(self) -> tuple[Condition, ...]:
        """What holds for rows of its own tasks, and for no others unless the names of its types are
        too many for a query."""
        others = OneOf(Attribute.TASK_TYPE, self.elsewhere)
        own = () if self._own is None else (self._own,)
        return (*own, Not(others)) if self.elsewhere else own

    @property
    def where_not(self) -> tuple[Condition, ...]:
        """What holds for rows of all others, and of its own only where the names are too many."""
        if self.only is None:
            return (OneOf(Attribute.TASK_TYPE, self.elsewhere),) if self.elsewhere else ()
        return () if self._own is None or self.elsewhere & self.only else (Not(self._own),)

    @property
    def _own(self) -> OneOf | None:
        """None where no query can tell, since there are none, or too many."""
        fits = self.only is not None and 0 < len(self.only) <= MOST_VALUES
        return OneOf(Attribute.TASK_TYPE, self.only) if self.only and fits else None


ALL_TYPES: Final = Types()
