"""Lines of a data file: parsed at once or one by one, they tell the same."""

import gzip
import hashlib
import io
import json

import pyarrow as pa
import pytest

from lifoq_analytics.reading import datafiles, lines
from lifoq_analytics.reading.datafiles import Digest, LongLine
from tests.analytics.exportfiles import full_line, incremental_line
from tests.analytics.items import at, item

TASK = item("t", "SUCCESS", firstTakenAt=10, takenAt=10, finishedAt=12)
LINES = [
    full_line(TASK),
    {"Item": {"taskId": None, "payload": {"M": {"deep": {"L": [1, "}"]}}}}},
    incremental_line("t", at(5), None, TASK),
    incremental_line("t", at(5), TASK, None),
    {"NewImage": {}, "other": [1.5, None, True]},
]
BROKEN = [
    b"{",
    b"[]",
    b'"text"',
    b'{"Item": 5}',
    b'{"Item": {"taskId": {"S": 5}}}',
    b'{"Item": {"taskId": {"S": "\xff"}}}',
    b'{"Item": {"taskId": {"S": "\\ud800"}}}',
    b"[" * 100_000,
]


def _block(*texts: bytes) -> bytes:
    return b"".join(text + b"\n" for text in texts)


@pytest.mark.parametrize("full", [True, False])
def test_a_broken_line_changes_nothing_about_the_others(*, full):
    good = [json.dumps(line).encode() for line in LINES]
    alone = lines.parse(_block(*good), full=full)
    mixed = [text for pair in zip(BROKEN, [*good, b"", b"  ", b"\r"], strict=True) for text in pair]

    among = lines.parse(_block(*mixed), full=full)
    spaced = lines.parse(_block(b"", *good), full=full)

    assert [text.rstrip() for text in among.broken] == BROKEN
    assert among.table.to_pylist() == alone.table.select(among.table.column_names).to_pylist()
    for told in (among, alone, spaced):
        assert list(told.texts[: len(good)]) == good


@pytest.mark.parametrize("longest", [10, 17, 1_000, 10_000])
@pytest.mark.parametrize("last", [-1, 1])
def test_a_line_of_any_length_is_told_apart_by_its_length_alone(longest, last):
    """Wherever the chunks end that the file is read in, and also without a newline at its end."""
    lengths = (3, longest, longest + 1, 0, 5 * longest, 1, longest + last)
    texts = [b"x" * length for length in lengths]
    stored = gzip.compress(b"\n".join(texts))
    source = Digest(pa.PythonFile(io.BytesIO(stored), mode="r"))

    told: list[bytes] = []
    for block in datafiles.blocks(source, longest_line=longest):
        if isinstance(block, LongLine):
            assert texts[len(told)].startswith(block.beginning)
            assert len(block.beginning) <= datafiles.KEPT_BYTES
            assert block.length > longest
            told.append(b"x" * block.length)
        else:
            assert all(len(text) <= longest for text in block.splitlines())
            told += block.removesuffix(b"\n").split(b"\n")

    assert told == texts
    unread = Digest(pa.PythonFile(io.BytesIO(stored), mode="r"))
    for digest in (source, unread):
        assert digest.rest() == hashlib.md5(stored, usedforsecurity=False).hexdigest()
