"""Exact percentiles at any size, in bounded memory.

The p-th percentile is the smallest value that at least p % of the values do not exceed, so it is
one that occurred. Two counting passes find it: the first counts values in bins, each of which is at
most a 128th as wide as its values are large, which tells the bin that holds the rank; the second
counts the different values in that bin alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from lifoq_analytics.columns import Array, count, fold

PERCENTS: Final = (50, 95, 99)
_BITS: Final = 7
_MANTISSA_BITS: Final = 52
_MOST_BINS: Final = 1 << 18
"""More than the bins of all whole numbers of 64 bits."""

_BIN: Final = ("measure", "group", "bin")

Percentiles = dict[int, int]
"""The value of each of ``PERCENTS``."""


@dataclass(frozen=True, kw_only=True)
class Measure:
    """Values whose percentiles are sought, separately for each group."""

    name: str
    values: Array
    """Whole numbers."""
    group: Array
    """The place in ``groups`` of each value's group."""
    groups: pa.Array
    """The names of the groups."""

    @property
    def keys(self) -> Array:
        """The bin of each value, in each group apart."""
        return self.group * (2 * _MOST_BINS) + bins(self.values) + _MOST_BINS


def bins(values: Array) -> Array:
    """The bin of each value; larger values are in the same bin or a later one.

    The upper bits of a number as a float, its exponent and ``_BITS`` digits more, are those of all
    that lie close to it.
    """
    size = np.abs(values).astype(np.float64).view(np.int64) >> (_MANTISSA_BITS - _BITS)
    return np.asarray(np.sign(values) * size)


def histogram(measures: Iterable[Measure]) -> pa.Table:
    """The first pass: ``measure``, ``group``, ``bin``, ``values``."""
    tables = []
    for measure in measures:
        keys, number = count(measure.keys)
        tables.append(_table(measure, keys, {"values": number}))
    return pa.concat_tables(tables)


def add_histograms(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, _BIN)


def ranks(histogram: pa.Table) -> pa.Table:
    """Return, for each percentile, the bin that holds it, and its rank inside that bin, from 1."""
    ordered = histogram.sort_by([(name, "ascending") for name in _BIN])
    up_to, begins, ends = _running(ordered, ("measure", "group"))
    before = np.append(0, up_to)[begins]
    whole = up_to[ends - 1] - before
    found = []
    for percent in PERCENTS:
        rank = -(-whole * percent // 100)
        row = np.searchsorted(up_to, before + rank)
        inside = before + rank - np.append(0, up_to)[row]
        one = ordered.select(_BIN).take(pa.array(row))
        one = one.append_column("percent", pa.repeat(percent, len(row)))
        found.append(one.append_column("rank", pa.array(inside)))
    return pa.concat_tables(found)


def values_in(measures: Iterable[Measure], ranks: pa.Table) -> pa.Table:
    """The second pass, in the bins that hold a rank: ``measure``, ``group``, ``bin``, ``value``,
    ``values``."""
    tables = []
    for measure in measures:
        its = ranks.filter(pa.compute.equal(ranks["measure"], measure.name))
        group = pa.compute.index_in(its["group"], measure.groups).fill_null(-1).to_numpy()
        sought = group * (2 * _MOST_BINS) + its["bin"].to_numpy() + _MOST_BINS
        keys = measure.keys
        here = np.isin(keys, sought[group >= 0])
        order = np.lexsort((measure.values[here], keys[here]))
        keys, values = keys[here][order], measure.values[here][order]
        begins = np.flatnonzero(
            (np.diff(keys, prepend=-1) != 0) | (np.diff(values, prepend=0) != 0)
        )
        number = np.diff(begins, append=len(keys))
        tables.append(_table(measure, keys[begins], {"value": values[begins], "values": number}))
    return pa.concat_tables(tables)


def add_values(tables: Sequence[pa.Table]) -> pa.Table:
    return fold(tables, (*_BIN, "value"))


def pick(ranks: pa.Table, values: pa.Table) -> dict[str, dict[str, Percentiles]]:
    """Return the percentiles by the measure's name and the group. A group without values has no
    entry."""
    ordered = values.sort_by([(name, "ascending") for name in (*_BIN, "value")])
    up_to, begins, _ = _running(ordered, _BIN)
    before = dict(
        zip(
            _tuples(ordered.take(pa.array(begins)), _BIN),
            np.append(0, up_to)[begins].tolist(),
            strict=True,
        )
    )
    result: dict[str, Any] = defaultdict(lambda: defaultdict(dict))
    value = ordered["value"].to_numpy()
    for row, key in zip(ranks.to_pylist(), _tuples(ranks, _BIN), strict=True):
        place = np.searchsorted(up_to, before[key] + row["rank"])
        result[row["measure"]][row["group"]][row["percent"]] = int(value[place])
    return result


def _table(measure: Measure, keys: Array, columns: dict[str, Array]) -> pa.Table:
    group, shifted = np.divmod(keys, 2 * _MOST_BINS)
    return pa.table(
        {
            "measure": pa.repeat(measure.name, len(keys)),
            "group": measure.groups.take(pa.array(group)),
            "bin": shifted - _MOST_BINS,
            **columns,
        }
    )


def _running(ordered: pa.Table, keys: Sequence[str]) -> tuple[Array, Array, Array]:
    """Return the number of values up to each row, and where the rows of each key begin and end."""
    up_to = np.cumsum(ordered["values"].to_numpy())
    number = ordered.num_rows
    changes = np.zeros(number, bool)
    changes[:1] = True
    for key in keys:
        column = ordered[key].combine_chunks()
        differs = pa.compute.not_equal(column.slice(1), column.slice(0, max(0, number - 1)))
        changes[1:] |= differs.to_numpy(zero_copy_only=False)
    begins = np.flatnonzero(changes)
    return up_to, begins, np.append(begins[1:], number)[: len(begins)]


def _tuples(table: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))
