"""The record of what runs have read: the stretches of time that their exports cover, and how
much."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from lifoq_analytics.reading.exports import Export, Kind


@dataclass(frozen=True, kw_only=True, order=True)
class Stretch:
    """The time that an export is about, in epoch microseconds; a full one's is one moment."""

    start: int
    end: int
    full: bool
    cell: str = ""
    """The table's name, where several are read as one queue."""

    @classmethod
    def of(cls, export: Export, *, cells: bool = False) -> "Stretch":
        return cls(
            start=export.start,
            end=export.end,
            full=export.kind is Kind.FULL,
            cell=export.table_name if cells else "",
        )


def by_cell(stretches: Iterable[Stretch]) -> list[list[Stretch]]:
    """Return the stretches of each cell, in order; those of one queue are one list."""
    cells: defaultdict[str, list[Stretch]] = defaultdict(list)
    for stretch in sorted(set(stretches)):
        cells[stretch.cell].append(stretch)
    return list(cells.values())


@dataclass(frozen=True, kw_only=True)
class Intake:
    """The stretches that one run has read."""

    stretches: tuple[Stretch, ...]
    files: int
    rows: int = 0
    bad_rows: int = 0
    missing: tuple[str, ...] = ()
    """A sentence for each file that could not be read and was left out."""

    @property
    def name(self) -> str:
        """The name that every run over the same window of the same tables has."""
        start = min(stretch.start for stretch in self.stretches)
        window = f"{start}-{max(stretch.end for stretch in self.stretches)}"
        cells = sorted({stretch.cell for stretch in self.stretches} - {""})
        return "-".join([window, *cells])

    @classmethod
    def together(cls, intakes: Iterable["Intake"]) -> "Intake":
        several: Sequence[Intake] = list(intakes)
        return cls(
            stretches=tuple(stretch for one in several for stretch in one.stretches),
            files=sum(one.files for one in several),
            rows=sum(one.rows for one in several),
            bad_rows=sum(one.bad_rows for one in several),
            missing=tuple(sentence for one in several for sentence in one.missing),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Intake":
        """Fields that are unknown here are left out: a later release may have written them."""
        stretches = tuple(Stretch(**_known(Stretch, stretch)) for stretch in data["stretches"])
        known = _known(cls, data)
        return cls(**{**known, "stretches": stretches, "missing": tuple(data["missing"])})


def _known(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    names = {one.name for one in fields(kind)}
    return {name: value for name, value in data.items() if name in names}
