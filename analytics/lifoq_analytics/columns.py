"""Columns of times and durations: microseconds in NumPy's arrays, nulls in Arrow's tables.

A time that never came is ``NEVER``, the largest number there is: so the first of several times is
their minimum, and "by now" is a comparison, with no special case.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Array = npt.NDArray[Any]
"""A column: one-dimensional."""

NEVER: Final = np.iinfo(np.int64).max


def moments(column: pa.ChunkedArray | pa.Array) -> Array:
    """An Arrow column of whole numbers; ``NEVER`` where it is null."""
    return filled(column, NEVER)


def filled(column: pa.ChunkedArray | pa.Array, value: int) -> Array:
    return np.asarray(column.cast(pa.int64()).fill_null(value).to_numpy())


def column(values: Array, kind: pa.DataType | None = None) -> pa.Array:
    """The Arrow column of such an array; null where it is ``NEVER``."""
    array = pa.array(values, pa.int64(), mask=values == NEVER)
    return array if kind is None else array.cast(kind)


def between(start: Array, end: Array) -> Array:
    """Return the time from one moment to another; ``NEVER`` where either never came."""
    return np.where((start == NEVER) | (end == NEVER), NEVER, end - start)


def codes(column: pa.ChunkedArray) -> tuple[Array, pa.Array]:
    """Return the different words of a column, and for each row the place of its word among them."""
    encoded = column.cast(pa.string()).combine_chunks().dictionary_encode()
    return np.asarray(encoded.indices.to_numpy()).astype(np.int64), encoded.dictionary


def count(keys: Array) -> tuple[Array, Array]:
    """The different keys, in order, and how often each occurs."""
    if not len(keys):
        return keys, keys
    lowest, highest = int(keys.min()), int(keys.max())
    if highest - lowest > 4 * len(keys):
        return np.unique(keys, return_counts=True)
    counts = np.bincount(keys - lowest)  # keys that lie close together need no sorting
    there = np.flatnonzero(counts)
    return there + lowest, counts[there]


def fold(tables: Sequence[pa.Table], keys: Sequence[str]) -> pa.Table:
    """The rows of equal keys as one. By a column's name it is known how its values go together:
    ``max_``, ``min_``, else they are summed."""
    whole = pa.concat_tables(tables)
    values = [name for name in whole.column_names if name not in keys]
    how = [(name, name[:3] if name.startswith(("max_", "min_")) else "sum") for name in values]
    folded = whole.group_by(list(keys), use_threads=False).aggregate(how)
    names = [*keys, *(f"{name}_{function}" for name, function in how)]
    return folded.select(names).rename_columns([*keys, *values]).cast(whole.schema)


def groups(table: pa.Table, key: str) -> dict[str, pa.Table]:
    """The rows of each word in the key's column, by word, in order."""
    ordered = table.sort_by(key)
    which, names = codes(ordered[key])
    ends = np.flatnonzero(np.diff(which, append=-1)) + 1
    begins = np.append(0, ends)
    return {
        name: ordered.slice(begin, end - begin)
        for name, begin, end in zip(names.to_pylist(), begins, ends, strict=False)
    }
