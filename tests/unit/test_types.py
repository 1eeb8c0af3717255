"""Which task types are a worker's own."""

import pytest

from lifoq.errors import InvalidInput
from lifoq.items.change import Condition
from lifoq.worker.types import Types


def names(number: int) -> frozenset[str]:
    return frozenset(f"type-{n}" for n in range(number))


@pytest.mark.parametrize("which", ["only", "elsewhere"])
def test_a_query_names_a_hundred_types_and_no_more(which: str) -> None:
    where: tuple[Condition, ...] = Types(**{which: names(100)}).where
    assert len(where) == 1
    with pytest.raises(InvalidInput, match="are 101 task types, 100 at the most"):
        Types(**{which: names(101)})
