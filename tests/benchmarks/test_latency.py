"""The hops of a journey are what its total is made of."""

import pytest

from benchmarks.latency.journey import HOPS, Journey


def test_the_hops_add_up_to_the_total_also_where_one_is_negative() -> None:
    moments = (0, 9_000, 8_000, 12_000, 13_000, 20_000, 21_000, 25_000, 31_000)
    journey = Journey(moments)

    assert len(moments) == len(HOPS) + 1
    assert list(journey.hops_ms) == [name for name, _ in HOPS]
    assert journey.hops_ms["stream"] == -1.0
    assert sum(journey.hops_ms.values()) == pytest.approx(journey.total_ms)
    assert journey.total_ms == 31.0
