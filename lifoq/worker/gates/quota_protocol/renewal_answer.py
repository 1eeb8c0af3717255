"""The answer to a renewal, as a message to the run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lifoq.errors import LifoqError

if TYPE_CHECKING:
    from lifoq.items.quota_table import Grant  # not where each worker has its own limits


@dataclass(frozen=True, kw_only=True)
class RenewalAnswer:
    """A quota was renewed at the quota table of its limit, or could not be (``error``)."""

    quota_table: str
    """The id of the limit's quota table."""
    number: int
    """The renewal that this answers; a later one has a higher number."""
    grant: "Grant | None" = None
    owed: float = 0.0
    """Tokens that the shards owe which were given back; where the renewal failed they have not
    gone."""
    error: LifoqError | None = None
