"""Bring observations from those who read files to those who judge tasks: split by task, and as a
few large pieces of bytes rather than as rows.

Spark carries and stores the pieces; it need not know what is in them.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from lifoq_analytics.columns import Array

_LONGEST_ID: Final = 2_048
"""Bytes of DynamoDB's longest partition key."""
_WEIGHTS: Final = np.random.default_rng(seed=2_048).integers(
    0, np.iinfo(np.uint64).max, size=_LONGEST_ID, dtype=np.uint64
)


def split(table: pa.Table, partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """The rows of each partition; all of a task's are in one, whichever table they come from."""
    partition = partition_of(table["task_id"], partitions)
    order = np.argsort(partition, kind="stable")
    ordered = table.take(pa.array(order))
    ends = np.searchsorted(partition[order], np.arange(partitions + 1))
    for number in np.flatnonzero(np.diff(ends)).tolist():
        begin, end = ends[number : number + 2].tolist()
        yield number, ordered.slice(begin, end - begin)


def partition_of(task_ids: pa.ChunkedArray, partitions: int) -> Array:
    """Return each task's partition, from 0, by its id: a weighted sum of the id's bytes, cut to the
    number of partitions.

    A weight for each place makes the sum's upper half a universal hash, so that no habit in naming
    tasks fills one partition. Ids are not empty.
    """
    ids = task_ids.combine_chunks()
    offsets = np.frombuffer(ids.buffers()[1], np.int32)[ids.offset : ids.offset + len(ids) + 1]
    letters = np.frombuffer(ids.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
    begins = offsets[:-1] - offsets[0]
    place = np.arange(len(letters)) - np.repeat(begins, np.diff(offsets))
    sums = np.add.reduceat(letters * _WEIGHTS[place % _LONGEST_ID], begins)
    return ((sums >> np.uint64(32)) * np.uint64(partitions) >> np.uint64(32)).astype(np.int64)


def packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def unpacked(pieces: Iterable[bytes], schema: pa.Schema) -> pa.Table:
    """The tables of these pieces as one."""
    tables = [pa.ipc.open_stream(piece).read_all() for piece in pieces]
    whole = pa.concat_tables(tables) if tables else schema.empty_table()
    return whole.unify_dictionaries().combine_chunks()
