"""Files wherever Spark finds them: local folders and ``s3://`` alike, through Hadoop's file
systems, so that the job needs no client of its own and no credentials but Spark's."""

import re
from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]  # py4j brings no types
from pyspark.sql import SparkSession

from analytics.errors import StorageError


class Storage:
    """Small files, and what lies in folders."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        # PySpark offers Hadoop's file systems by no public name.
        self._jvm: Any = spark._jvm  # noqa: SLF001
        self._configuration: Any = spark._jsc.hadoopConfiguration()  # noqa: SLF001

    def exists(self, path: str) -> bool:
        """Raises ``StorageError`` where the path's file system is unknown or refuses."""
        try:
            return bool(self._system(path).exists(self._path(path)))
        except Py4JJavaError as error:
            complaint = str(error.java_exception.toString()).splitlines()[0]
            raise StorageError(path, complaint) from error

    def find(self, folders: Sequence[str], name: str) -> dict[str, bytes]:
        """The files whose names match in these folders and below, by path, with their content.

        Spark lists and reads them all in one job, side by side.
        """
        files = (
            self._spark.read.format("binaryFile")
            .options(recursiveFileLookup=True, pathGlobFilter=name)
            .load([pattern(folder) for folder in folders])
        )
        rows = files.select("path", "content").collect()
        return {without_scheme(row["path"]): bytes(row["content"]) for row in rows}

    def names(self, folder: str) -> frozenset[str]:
        """The names in a folder; none where there is no folder."""
        if not self.exists(folder):
            return frozenset()
        statuses = self._system(folder).listStatus(self._path(folder))
        return frozenset(str(status.getPath().getName()) for status in statuses)

    def write(self, path: str, text: str) -> None:
        system = self._system(path)
        system.setWriteChecksum(False)  # no .crc file beside it
        stream = system.create(self._path(path))
        try:
            stream.write(text.encode())
        finally:
            stream.close()

    def delete(self, path: str) -> None:
        """Delete a file or a folder with all that it holds, where it exists."""
        self._system(path).delete(self._path(path), True)  # noqa: FBT003 - recursive

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)

    def _system(self, path: str) -> Any:
        return self._path(path).getFileSystem(self._configuration)


def pattern(path: str) -> str:
    """The path for Spark's readers, which take brackets, braces and stars for patterns."""
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def without_scheme(path: str) -> str:
    """A local path as people write it; any other as it is. Java writes ``file:`` before it."""
    return re.sub(r"^file:/+", "/", path)
