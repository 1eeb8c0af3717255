"""Export lines as observations of tasks: an explicit schema, no inference, bad lines told apart.

A line shows a task at some moment:

- a full export's ``Item``, alive at the export's moment;
- an incremental export's ``NewImage``, alive since its write;
- an ``OldImage`` alone: deleted by that write. It shows the task as it was before the export's
  window, hence "just before the window's start" is the moment that it is an image of.

Times are epoch microseconds. In Arrow's tables a time that is not known is null, in NumPy's arrays
it is ``NEVER``, so that the earlier of two times is their minimum, and "by now" a comparison.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lifoq.items.schema import ATTRIBUTE_TYPES, OWN_PREFIX, Attribute, Status
from lifoq_analytics import times
from lifoq_analytics.columns import NEVER, Array, column, moments
from lifoq_analytics.reading.attempts import HISTORY
from lifoq_analytics.reading.datafiles import KEPT_BYTES, LongLine
from lifoq_analytics.reading.lines import IMAGES, has_image, parse

_LATEST_MICROS: Final = times.from_iso("9999-12-31T23:59:59.999999")
"""No clock gives, and no calendar shows, a later time."""
_MOST_ATTEMPTS: Final = 2**31 - 1
_WHOLE_NUMBER: Final = r"^-?\d{1,18}$"

_STATUSES: Final = pa.array([status.value for status in Status])
_TIMES: Final = {
    "enqueued_at": Attribute.ENQUEUED_AT,
    "first_taken_at": Attribute.FIRST_TAKEN_AT,
    "taken_at": Attribute.TAKEN_AT,
    "finished_at": Attribute.FINISHED_AT,
    "expires_at": Attribute.EXPIRES_AT,
}

_NOT_JSON: Final = "not a JSON object in DynamoDB's notation"
_REASONS: Final = (
    "neither Item nor NewImage nor OldImage",
    "no usable WriteTimestampMicros",
    f"no {Attribute.TASK_ID}",
    f"no {Attribute.TASK_STATUS}",
    f"unknown {Attribute.TASK_STATUS}",
    f"no usable {Attribute.ENQUEUED_AT}",
    f"no usable {Attribute.EXPIRES_AT}",
)

OBSERVATION: Final = pa.schema(
    [
        ("task_id", pa.string()),
        ("task_status", pa.dictionary(pa.int32(), pa.string())),
        ("task_type", pa.dictionary(pa.int32(), pa.string())),
        ("enqueued_at", pa.int64()),
        ("first_taken_at", pa.int64()),
        ("taken_at", pa.int64()),
        ("finished_at", pa.int64()),
        ("expires_at", pa.int64()),
        ("attempts", pa.int32()),
        ("error", pa.string()),
        ("replaced", pa.int32()),
        ("task_key", pa.string()),
        ("history", HISTORY),
        ("image_order", pa.int64()),
        ("alive_at", pa.int64()),
        ("deleted_at", pa.int64()),
    ]
)
"""The image's attributes; its place among the task's images; the moment at which the task was seen
alive; the moment of its deletion."""

BAD_LINE: Final = pa.schema([("file", pa.string()), ("reason", pa.string()), ("line", pa.string())])
"""A line that cannot be used, as ``quarantine.parquet`` shows it; a long one is cut."""

ORDERS: Final = 4
"""``image_order`` is the moment that it is an image of, times this, plus a rank that decides
between images of one microsecond: 0 an OldImage, 1 an Item, 2 a NewImage. A full export's moment
may lie before or after a write of the same microsecond, but never after a later one."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The facts about an export that its lines do not carry."""

    file: str
    full_at: int | None
    """The moment of a full export."""
    window_from: int | None
    """The start of an incremental one."""
    cell: str = ""
    """The table's name, where several are read as one queue: an id that moved from one cell to
    another may be in both, as two tasks."""


@dataclass(frozen=True, kw_only=True)
class Observed:
    """The observations and the bad lines of one block."""

    observations: pa.Table
    bad_lines: pa.Table


def observe(block: bytes | LongLine, origin: Origin) -> Observed:
    """Judge the lines of a block, each for itself."""
    if isinstance(block, LongLine):
        reason = f"longer than any task: {block.length:,} bytes"
        return Observed(
            observations=OBSERVATION.empty_table(),
            bad_lines=_bad_lines(origin, [reason], [block.beginning]),
        )
    read = parse(block, full=origin.full_at is not None)
    observations = _observations(read.table, origin)
    wrong = _wrong(read.table, observations)
    bad = np.flatnonzero(wrong >= 0).tolist()
    if bad:  # among them whatever is no task's
        slots = _slots(read.table)
        bad = [row for row in bad if not slots[row]]
    return Observed(
        observations=observations.filter(pa.array(wrong < 0))
        if (wrong >= 0).any()
        else observations,
        bad_lines=_bad_lines(
            origin,
            [*(_NOT_JSON for _ in read.broken), *(_REASONS[wrong[row]] for row in bad)],
            [*read.broken, *(read.texts[row] for row in bad)],
        ),
    )


def _observations(table: pa.Table, origin: Origin) -> pa.Table:
    full, new = _shows(table, "Item"), _shows(table, "NewImage")
    alive = full | new
    seen = np.where(full, _or_never(origin.full_at), _written(table))
    before = NEVER if origin.window_from is None else (origin.window_from - 1) * ORDERS
    order = np.select(
        [seen == NEVER, full, new],
        [NEVER, seen * ORDERS + 1, seen * ORDERS + 2],
        default=before,
    )
    return pa.table(
        {
            "task_id": _in_cell(origin.cell, _attribute(table, Attribute.TASK_ID)),
            "task_status": pc.dictionary_encode(_attribute(table, Attribute.TASK_STATUS)),
            "task_type": pc.dictionary_encode(_attribute(table, Attribute.TASK_TYPE)),
            **{
                name: _whole(_attribute(table, attribute), most=_LATEST_MICROS)
                for name, attribute in _TIMES.items()
            },
            "attempts": _whole(_attribute(table, Attribute.ATTEMPTS), most=_MOST_ATTEMPTS),
            "error": _attribute(table, Attribute.ERROR),
            "replaced": _whole(_attribute(table, Attribute.REPLACED), most=_MOST_ATTEMPTS),
            "task_key": _attribute(table, Attribute.TASK_KEY),
            "history": _attribute(table, Attribute.HISTORY),
            "image_order": column(order),
            "alive_at": column(np.where(alive, seen, NEVER)),
            "deleted_at": column(np.where(alive, NEVER, seen)),
        }
    ).cast(OBSERVATION)


def _in_cell(cell: str, task_ids: pa.ChunkedArray) -> pa.ChunkedArray:
    if not cell:
        return task_ids
    named = pc.binary_join_element_wise(cell, task_ids, "/")
    return pc.if_else(pc.equal(task_ids, ""), task_ids, named)  # no id stays none


def _slots(table: pa.Table) -> Array:
    """Return, for each row, True if it shows a slot, which the queue keeps beside its tasks."""
    ids = pc.fill_null(_attribute(table, Attribute.TASK_ID), "")
    return np.asarray(pc.starts_with(ids, OWN_PREFIX).to_numpy())


def _wrong(table: pa.Table, observations: pa.Table) -> Array:
    """Return, for each row, the place in ``_REASONS`` of the reason not to use the line; -1 for
    none."""
    status = observations["task_status"].cast(pa.string())
    empty = pc.equal(observations["task_id"], "")
    wrong = (
        pc.invert(has_image(table)),
        observations["image_order"].is_null(),
        pc.fill_null(empty, True),  # noqa: FBT003 - Arrow's value for null
        status.is_null(),
        pc.invert(pc.is_in(status, _STATUSES)),
        observations["enqueued_at"].is_null(),
        observations["expires_at"].is_null(),
    )
    conditions = [condition.to_numpy() for condition in wrong]
    return np.select(conditions, range(len(_REASONS)), default=-1)


def _bad_lines(origin: Origin, reasons: Sequence[str], texts: Sequence[bytes]) -> pa.Table:
    shown = [text[:KEPT_BYTES].decode(errors="replace") for text in texts]
    return pa.table(
        {"file": [origin.file] * len(reasons), "reason": list(reasons), "line": shown},
        schema=BAD_LINE,
    )


def _attribute(table: pa.Table, attribute: Attribute) -> pa.ChunkedArray:
    """An attribute of the image that the line shows: Item, else NewImage, else OldImage."""
    field = [attribute.value, ATTRIBUTE_TYPES[attribute]]
    images = [table[name] for name in IMAGES if name in table.column_names]
    values = pc.struct_field(images[-1], field)
    for image in reversed(images[:-1]):
        values = pc.if_else(image.is_valid(), pc.struct_field(image, field), values)
    return values


def _shows(table: pa.Table, image: str) -> Array:
    if image not in table.column_names:
        return np.zeros(table.num_rows, bool)
    return np.asarray(table[image].is_valid().to_numpy())


def _written(table: pa.Table) -> Array:
    if "Metadata" not in table.column_names:
        return np.full(table.num_rows, NEVER)
    text = pc.struct_field(table["Metadata"], ["WriteTimestampMicros", "N"])
    return moments(_whole(text, most=_LATEST_MICROS))


def _whole(text: pa.ChunkedArray, *, most: int) -> pa.ChunkedArray:
    """Texts as whole numbers; null where it is none, or not from 0 to the most."""
    try:
        number = text.cast(pa.int64())
    except pa.ArrowInvalid:
        is_number = pc.match_substring_regex(text, _WHOLE_NUMBER)
        number = pc.if_else(is_number, text, None).cast(pa.int64())
    possible = pc.and_(pc.greater_equal(number, 0), pc.less_equal(number, most))
    return number if pc.all(possible).as_py() else pc.if_else(possible, number, None)


def _or_never(moment: int | None) -> int:
    return NEVER if moment is None else moment
