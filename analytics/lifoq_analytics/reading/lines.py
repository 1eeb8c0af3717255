"""Lines of JSON as Arrow tables: an explicit schema, no inference.

This is where the time goes, so it is Arrow's parser that reads whole blocks. It knows no bad line,
only bad blocks: one that it refuses is read again in Python, line by line.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from lifoq.items.schema import ATTRIBUTE_TYPES, Attribute
from lifoq_analytics.reading.attempts import HISTORY

ATTRIBUTES: Final = (
    Attribute.TASK_ID,
    Attribute.TASK_STATUS,
    Attribute.TASK_TYPE,
    Attribute.ENQUEUED_AT,
    Attribute.FIRST_TAKEN_AT,
    Attribute.TAKEN_AT,
    Attribute.FINISHED_AT,
    Attribute.EXPIRES_AT,
    Attribute.ATTEMPTS,
    Attribute.ERROR,
    Attribute.REPLACED,
    Attribute.TASK_KEY,
    Attribute.HISTORY,
)
"""The parser skips what nobody asks for: payloads, results, checkpoints."""

IMAGES: Final = ("Item", "NewImage", "OldImage")

_KINDS: Final = {attribute.value: ATTRIBUTE_TYPES[attribute] for attribute in ATTRIBUTES}
_TYPES: Final = {"S": pa.string(), "N": pa.string(), "L": HISTORY}
_IMAGE: Final = pa.struct(
    [(name, pa.struct([(kind, _TYPES[kind])])) for name, kind in _KINDS.items()]
)
_METADATA: Final = pa.struct([("WriteTimestampMicros", pa.struct([("N", pa.string())]))])
LINE: Final = pa.schema([*((name, _IMAGE) for name in IMAGES), ("Metadata", _METADATA)])
_FULL: Final = pa.schema([LINE.field("Item")])
_INCREMENTAL: Final = pa.schema([LINE.field(name) for name in LINE.names if name != "Item"])


@dataclass(frozen=True, kw_only=True)
class Lines:
    """The lines of a block: a row for each that is a JSON object in DynamoDB's notation."""

    table: pa.Table
    broken: Sequence[bytes]
    """The others."""
    block: bytes
    """The lines of the rows."""

    @cached_property
    def texts(self) -> Sequence[bytes]:
        return self.block.split(b"\n")


def parse(block: bytes, *, full: bool) -> Lines:
    """``full``: whether the block is of a full export, whose lines have an ``Item``. Parsing for
    what does not occur takes time: all images are looked for only where those expected are not
    there."""
    table = _parsed_at_once(block, _FULL if full else _INCREMENTAL)
    if table is not None and not pc.all(has_image(table)).as_py():
        table = _parsed_at_once(block, LINE)
    if table is None:
        return _parsed_singly(block)
    return Lines(table=table, broken=(), block=block)


def has_image(table: pa.Table) -> pa.ChunkedArray:
    """Return, for each row, True if the line shows a task at all."""
    return reduce(pc.or_, (table[name].is_valid() for name in IMAGES if name in table.column_names))


def _parsed_at_once(block: bytes, schema: pa.Schema) -> pa.Table | None:
    """Parse a block of lines at once. Return None where a line is not what it should be, or where
    lines cannot be told from rows."""
    try:
        table = pyarrow.json.read_json(
            pa.BufferReader(block),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=pyarrow.json.ParseOptions(
                explicit_schema=schema, unexpected_field_behavior="ignore"
            ),
        )
        table.validate(full=True)  # the parser takes any bytes for UTF-8
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == block.count(b"\n") else None


def _parsed_singly(block: bytes) -> Lines:
    rows, good, broken = [], [], []
    for text in block.split(b"\n"):
        if not text.strip():
            continue
        try:
            rows.append(_picked(json.loads(text.decode()), pa.struct(list(LINE))))
        except (ValueError, RecursionError):
            broken.append(text)
        else:
            good.append(text)
    return Lines(
        table=pa.Table.from_pylist(rows, LINE), broken=broken, block=b"\n".join((*good, b""))
    )


def _picked(value: Any, kind: pa.DataType) -> Any:
    """Return the part of a JSON value that fits its kind. Raises ``ValueError`` for any other
    value."""
    if value is None:
        return None
    if kind == pa.string():
        if not isinstance(value, str):
            raise ValueError("no string")
        value.encode()  # half a surrogate pair is no text
        return value
    if pa.types.is_list(kind):
        if not isinstance(value, list):
            raise ValueError("no list")
        return [_picked(entry, kind.value_type) for entry in value]
    if not isinstance(value, dict):
        raise ValueError("no object")  # noqa: TRY004 - one error for all that is not in the notation
    return {field.name: _member(value.get(field.name), field) for field in kind}


def _member(value: Any, field: pa.Field) -> Any:
    try:
        return _picked(value, field.type)
    except ValueError:
        if field.name != Attribute.HISTORY:
            raise
        return None  # a task counts without its history, too
