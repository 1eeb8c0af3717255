"""The hops of a journey are what its total is made of."""

import pytest

from benchmarks.latency.__main__ import HOPS, hops


def test_the_hops_add_up_to_the_whole_also_where_one_is_negative():
    journey = (0, 9_000, 8_000, 12_000, 13_000, 20_000, 21_000, 25_000, 31_000)

    *parts, whole = hops([journey], [journey])

    assert [part.hop for part in parts] == list(HOPS)
    assert parts[1].warm_p50 == -1.0
    assert sum(part.warm_p50 for part in parts) == pytest.approx(whole.warm_p50) == 31.0
