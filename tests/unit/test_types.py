"""Which task types are a worker's own."""

import pytest

from lifoq.errors import InvalidInput
from lifoq.worker.types import Types


def names(number: int) -> frozenset[str]:
    return frozenset(f"type-{n}" for n in range(number))


def test_no_more_types_are_left_to_others_than_a_query_can_name():
    assert len(Types(elsewhere=names(100)).where) == 1
    with pytest.raises(InvalidInput, match="are 101 task types, 100 at the most"):
        Types(elsewhere=names(101))


@pytest.mark.parametrize(("number", "conditions"), [(0, 0), (1, 1), (100, 1), (101, 0)])
def test_a_worker_may_have_more_of_its_own(number, conditions):
    types = Types(only=names(number))
    assert (len(types.where), len(types.where_not)) == (conditions, conditions)
    assert [types.has(name) for name in (f"type-{number - 1}", "another")] == [number > 0, False]
