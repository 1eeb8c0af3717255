"""The answer to a renewal, as a message to the run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lifoq.errors import LifoqError

if TYPE_CHECKING:
    from lifoq.items.quota_table import Grant  # not where each worker has its own limits


@dataclass(frozen=True, kw_only=True)
class RenewalAnswer:
    """A quota was renewed at the quota table of its limit, or could not be (``error``)."""

    limit: str
    """The limit's name: a task type, or empty for the queue's own."""
    number: int
    """The renewal that this answers; a later one has a higher number."""
    grant: "Grant | None" = None
    error: LifoqError | None = None
