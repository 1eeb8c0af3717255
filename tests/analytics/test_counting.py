"""Counts of shares of the tasks add up to the counts of all together, in any number of shares."""

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lifoq.basics.times import spoken
from lifoq_analytics.answers import peak, percentiles, series
from lifoq_analytics.answers.buckets import LEFT, Buckets, Span
from lifoq_analytics.answers.peak import Peak
from lifoq_analytics.answers.percentiles import Measure
from lifoq_analytics.columns import NEVER
from lifoq_analytics.judging import exchange
from tests.analytics import truth


@pytest.mark.parametrize("seed", range(10))
def test_the_largest_backlog_is_found_in_steps(seed, monkeypatch):
    """With room for a few events and cells only, as if there were billions of them."""
    monkeypatch.setattr(peak, "_MOST_EVENTS", 20)
    monkeypatch.setattr(peak, "_MOST_CELLS", 16)
    rng = random.Random(seed)
    span = Span(size=1_000, start=500, as_of=20_000)
    stays = [
        (begin, rng.choice([begin, begin + rng.randrange(3_000), 30_000]))
        for begin in (rng.choice([500, rng.randrange(500, 20_000)]) for _ in range(300))
    ]
    shares = [
        pa.table({"enqueued_at": [a for a, _ in share], "left_at": [b for _, b in share]})
        for share in (stays[::2], stays[1::2])
    ]
    edges = np.arange(0, 22_000, span.size)
    flows = {
        name: np.histogram([at for at in moments if at <= span.as_of], edges)[0]
        for name, moments in (("arrivals", [a for a, _ in stays]), (LEFT, [b for _, b in stays]))
    }
    buckets = Buckets(flows=flows, oldest=np.full(span.number, NEVER))

    looks = 0
    cells = peak.cells(buckets, span)
    while not cells.are_moments:
        looks, number = looks + 1, len(cells.begins)
        assert cells.parts == cells.width or number * cells.parts <= max(16, 2 * number)
        seen = [peak.count_events(share, cells, as_of=span.as_of) for share in shares]
        cells = peak.narrow(cells, peak.add_events(seen))

    fates: Any = [SimpleNamespace(enqueued_at=begin, left_at=end) for begin, end in stays]
    backlog, at = truth.peak(fates, span.as_of)
    assert peak.highest(cells) == Peak(backlog=backlog, at=at)
    assert looks > 1


@pytest.mark.parametrize(
    ("put_at", "left_at", "found"),
    [(500, 700, (1, 500)), (500, 500, (0, None)), (1_500, 1_700, (1, 1_500))],
)
def test_one_task_alone_is_the_largest_backlog_if_it_waited_at_all(put_at, left_at, found):
    """Also if it was put in the very moment of the report."""
    edges = [0, 1_000, 1_500]
    flows = {n: np.histogram(at, edges)[0] for n, at in (("arrivals", put_at), (LEFT, left_at))}
    buckets = Buckets(flows=flows, oldest=np.full(2, NEVER))
    cells = peak.cells(buckets, Span(size=1_000, start=0, as_of=1_500))
    stay = pa.table({"enqueued_at": [put_at], "left_at": [left_at]})
    cells = peak.narrow(cells, peak.count_events(stay, cells, as_of=1_500))
    assert cells.are_moments
    assert peak.highest(cells) == Peak(backlog=found[0], at=found[1])


@pytest.mark.parametrize(("most_events", "parts"), [(7, 1_000), (6, 8)])
def test_only_cells_that_could_reach_the_largest_backlog_are_looked_into(
    most_events, parts, monkeypatch
):
    """Where something arrives, and what waits already is enough. With few events in them, each
    moment is looked at at once."""
    monkeypatch.setattr(peak, "_MOST_EVENTS", most_events)
    monkeypatch.setattr(peak, "_MOST_CELLS", 16)
    flows = {"arrivals": np.array([3, 0, 1, 0, 1]), LEFT: np.array([0, 0, 3, 1, 0])}
    buckets = Buckets(flows=flows, oldest=np.full(5, NEVER))
    found = peak.cells(buckets, Span(size=1_000, start=0, as_of=4_999))
    assert (found.begins.tolist(), found.before.tolist()) == ([0, 2_000], [0, 3])
    assert (found.ends.tolist(), found.width, found.parts) == ([3, 1], 1_000, parts)


def test_the_first_pass_tells_values_apart_by_less_than_a_hundredth_in_few_bins():
    """Few bins leave few values to send for the second pass, which knows the bin of a
    percentile."""
    values = np.arange(1, 1_000_000)
    bins = percentiles.bins(values)
    changes = np.flatnonzero(np.diff(bins)) + 1
    assert (np.diff(bins) >= 0).all()
    assert 1_000 < len(changes) < 3_000
    begins, ends = np.append(0, changes), np.append(changes, len(values)) - 1
    assert (values[ends] < values[begins] * 1.01).all()
    assert (percentiles.bins(-values) == -bins).all()


def test_values_that_lie_close_together_are_told_apart_and_equal_ones_counted():
    values, nobody = np.array([1_003, 1_000, 1_001, 1_002, 1_001]), np.zeros(5, np.int64)
    measure = Measure(name="wait", values=values, group=nobody, groups=pa.array(["all"]))
    ranks = percentiles.ranks(percentiles.histogram([measure]))
    counted = percentiles.values_in([measure], ranks)
    assert counted["value"].to_pylist() == [1_000, 1_001, 1_002, 1_003]
    assert counted["values"].to_pylist() == [1, 2, 1, 1]
    found = percentiles.pick(ranks, counted)["wait"]["all"]
    assert found == {50: 1_001, 95: 1_003, 99: 1_003}


@pytest.mark.parametrize("seed", range(10))
def test_percentiles_are_values_that_occurred(seed):
    """Also where values are nought, negative by a clock that is off, or years long."""
    rng = random.Random(seed)
    top = rng.choice([1, 100, 10**6, 10**15])
    values = {
        group: [rng.randrange(-top // 50, top) for _ in range(rng.choice([1, 2, 99, 100, 1_000]))]
        for group in ("a", "b")
    }

    def measures(share: int) -> list[Measure]:
        """Groups have other numbers in each share, and may be missing in one."""
        names = ["b", "a"] if share else ["a", "b"]
        pairs = [(names.index(name), value) for name in names for value in values[name][share::2]]
        group, value = np.array(pairs, np.int64).reshape(-1, 2).T
        return [Measure(name="wait", values=value, group=group, groups=pa.array(names))]

    histograms = [percentiles.histogram(measures(share)) for share in (0, 1)]
    ranks = percentiles.ranks(percentiles.add_histograms(histograms))
    seen = [percentiles.values_in(measures(share), ranks) for share in (0, 1)]
    found = percentiles.pick(ranks, percentiles.add_values(seen))

    for group, its in values.items():
        expected = truth.spread(its)
        told = {f"p{percent}": value / 10**6 for percent, value in found["wait"][group].items()}
        assert told == {name: expected[name] for name in told}
        assert len(told) == len(percentiles.PERCENTS)


@pytest.mark.parametrize(
    "name", ["{}", "task-{:012}", "{:036x}/report", "é{}" + "x" * 1_900], ids=range(4)
)
def test_tasks_are_spread_evenly_whatever_their_names(name):
    ids = [name.format(number) for number in range(4_000)]
    shares = dict(exchange.split(pa.table({"task_id": ids, "n": range(4_000)}), 8))

    assert sorted(n for share in shares.values() for n in share["n"].to_pylist()) == [*range(4_000)]
    assert all(400 < share.num_rows < 600 for share in shares.values())
    # Wherever else a task is met, it belongs to the same share.
    few = pa.table({"task_id": [*ids[7:9], "other", *ids[100:140]]}).slice(1)
    for number, share in exchange.split(few, 8):
        known = set(shares[number]["task_id"].to_pylist()) | {"other"}
        assert known >= set(share["task_id"].to_pylist())


def test_ages_are_told_about_three_to_a_decade():
    edges = ("10 ms", "30 ms", "100 ms", "300 ms", "1 s", "3 s", "10 s", "30 s", "1 min", "3 min")
    edges += ("10 min", "30 min", "1 h", "3 h", "12 h", "1 d")
    assert tuple(map(spoken, series.AGES)) == edges
    counted = pa.table({"kind": ["shed", "shed"], "bin": [15, 16], "tasks": [1, 1]})
    assert [row["age"] for row in series.ages(counted)] == ["< 1 d", "≥ 1 d"]
