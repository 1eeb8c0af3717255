"""What earlier runs have learnt, so that a daily run reads a day's exports and not all of them.

Each run leaves the latest observation of every task that its exports show in a partition of its
own, named by the window: running the window again overwrites it. Merging observations is
associative and ignores repetition, so the merged partitions say exactly what one run over all
exports would. A partition is as large as the number of tasks that its window touched.
"""

import json
import posixpath
from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from analytics.intake import Intake
from analytics.storage import Storage


class State:
    """``<folder>/observations/window=<name>/``, ``<folder>/quarantine/window=<name>/`` where lines
    were bad, and, once these are complete, ``<folder>/intakes/<name>.json``."""

    def __init__(self, spark: SparkSession, storage: Storage, folder: str) -> None:
        self._spark = spark
        self._storage = storage
        self._folder = folder

    def intakes(self) -> list[Intake]:
        """What the complete partitions are from."""
        folder = posixpath.join(self._folder, "intakes")
        if not self._storage.exists(folder):
            return []
        files = self._storage.find([folder], "*.json")
        return [Intake.from_json(json.loads(content)) for _, content in sorted(files.items())]

    def write(self, intake: Intake, observations: DataFrame) -> None:
        """Begin to keep a window; it does not count before ``complete``."""
        self._storage.delete(self._mark(intake))
        observations.write.parquet(self._partition("observations", intake), "overwrite")

    def write_quarantine(self, intake: Intake, lines: DataFrame) -> None:
        lines.write.parquet(self._partition("quarantine", intake), "overwrite")

    def complete(self, intake: Intake) -> None:
        self._storage.write(self._mark(intake), json.dumps(intake.to_json()) + "\n")

    def read(self, intakes: Iterable[Intake]) -> DataFrame:
        return self._read("observations", intakes)

    def read_quarantine(self, intakes: Iterable[Intake]) -> DataFrame:
        """Of intakes that have bad rows."""
        return self._read("quarantine", intakes)

    def _read(self, table: str, intakes: Iterable[Intake]) -> DataFrame:
        return self._spark.read.parquet(*(self._partition(table, intake) for intake in intakes))

    def _partition(self, table: str, intake: Intake) -> str:
        return posixpath.join(self._folder, table, f"window={intake.name}")

    def _mark(self, intake: Intake) -> str:
        return posixpath.join(self._folder, "intakes", f"{intake.name}.json")
