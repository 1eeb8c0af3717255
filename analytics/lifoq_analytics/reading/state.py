"""Keep what a run has learnt, so that a daily run reads a day's exports and not all of them.

Each run leaves the latest observation of every task that its exports show in a partition of its
own, named by the window: running the window again overwrites it. Merging observations is
associative and ignores repetition, so the merged partitions say exactly what one run over all
exports would. A partition is as large as the number of tasks that its window touched.
"""

import json
import posixpath
from collections.abc import Iterable
from typing import Final

from lifoq_analytics import storage
from lifoq_analytics.reading.intake import Intake
from lifoq_analytics.storage import File

_OBSERVATIONS: Final = "observations"
_QUARANTINE: Final = "quarantine"


class State:
    """``<folder>/observations/window=<name>/``, ``<folder>/quarantine/window=<name>/`` where lines
    were bad, and, once these are complete, ``<folder>/intakes/<name>.json``."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def intakes(self) -> list[Intake]:
        """Return the intakes of the complete partitions."""
        marks = storage.listed(posixpath.join(self._folder, "intakes"))
        contents = storage.read_all(mark.path for mark in marks).values()
        return [Intake.from_json(json.loads(content)) for content in contents]

    def files(self, intakes: Iterable[Intake]) -> list[File]:
        """Return the files with the observations of these intakes."""
        folders = (self._partition(_OBSERVATIONS, intake) for intake in intakes)
        return [file for folder in folders for file in storage.listed(folder)]

    def begin(self, intake: Intake) -> str:
        """The folder for the observations of a window, which does not count before ``complete``."""
        storage.delete(self._mark(intake))
        folder = self._partition(_OBSERVATIONS, intake)
        storage.delete(folder)
        return folder

    def complete(self, intake: Intake, *, quarantine: str) -> None:
        """``quarantine``: the folder with the window's bad lines, if there were any."""
        kept = self._partition(_QUARANTINE, intake)
        storage.delete(kept)
        storage.copy(quarantine, kept)
        storage.write(self._mark(intake), json.dumps(intake.to_json()).encode())

    def add_quarantine(self, intakes: Iterable[Intake], quarantine: str) -> None:
        """Put the bad lines of these intakes beside the others."""
        for intake in intakes:
            folder = self._partition(_QUARANTINE, intake)
            storage.copy(folder, quarantine, prefix=f"{intake.name}-")

    def _partition(self, table: str, intake: Intake) -> str:
        return posixpath.join(self._folder, table, f"window={intake.name}")

    def _mark(self, intake: Intake) -> str:
        return posixpath.join(self._folder, "intakes", f"{intake.name}.json")
