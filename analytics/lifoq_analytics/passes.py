"""Run on Spark's executors: three passes over the data.

1. **read**: data files → observations, split by task (``exchange``), with a record of each file.
2. **judge**: the observations of a share of the tasks → a part of ``tasks.parquet``, and what its
   tasks add to the answers (``Tally``).
3. **look closer**, once or a few times: parts of ``tasks.parquet`` → the values around the
   percentiles, and what happened around the largest backlog.

Between the first two lies Spark's shuffle, whose files outlast the first pass. So errors of the
input are known before anything is written, and the input is still read only once. A task that Spark
repeats writes the same file again. The driver receives answers, never data.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import RDD, SparkContext

from lifoq_analytics import storage
from lifoq_analytics.answers import buckets, keys, peak, percentiles, rankings, series, summary
from lifoq_analytics.answers.buckets import Span
from lifoq_analytics.answers.peak import Cells
from lifoq_analytics.answers.percentiles import Measure
from lifoq_analytics.columns import NEVER
from lifoq_analytics.judging import exchange, tasks
from lifoq_analytics.reading import attempts, datafiles, images
from lifoq_analytics.reading.datafiles import Digest, LongLine, UnreadableError
from lifoq_analytics.reading.images import BAD_LINE, OBSERVATION, Observed
from lifoq_analytics.reading.sources import Source

PARTITION_BYTES: Final = 8 * 1024 * 1024
"""Bytes of stored input for one task of Spark, so that its tables fit into memory. A file is never
split; it is read as a stream."""
_ROWS_AT_ONCE: Final = 250_000
"""Observations that a reader holds before it hands them on."""

_OBSERVED, _BAD = "observed", "bad"
_SOURCE: Final = pa.field("source", pa.int32())
_CARRIED: Final = OBSERVATION.append(_SOURCE)


@dataclass(frozen=True, kw_only=True)
class Record:
    """The record of one data file: what was in it, and what was wrong with it."""

    source: int
    rows: int
    bad_rows: int
    complaint: str | None
    """A sentence, where the file is not what its manifest says; then nothing of it counts."""
    earliest: int | None
    """When the first task by the report's moment that it tells of was enqueued."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The questions that the judges answer, and the folders that they write into."""

    span: Span
    points: int
    """Microseconds that a point of the charts over time stands for."""
    left_out: frozenset[int]
    """Files that do not count."""
    tasks: str
    quarantine: str
    state: str | None
    """The place of the images that this run's own files show; None where no state is kept."""


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The part of the answers that a share of the tasks adds: small tables."""

    counts: pa.Table
    flows: pa.Table
    stays: pa.Table
    histogram: pa.Table
    ages: pa.Table
    failures: pa.Table
    oldest: pa.Table
    keys: pa.Table
    attempts: pa.Table

    @classmethod
    def of(cls, judged: pa.Table, plan: Plan) -> "Tally":
        as_of = plan.span.as_of
        return cls(
            counts=summary.count(judged, as_of=as_of),
            flows=buckets.count_flows(judged, plan.span),
            stays=buckets.count_stays(judged, plan.span),
            histogram=percentiles.histogram(measures(judged, points=plan.points)),
            ages=series.count_ages(judged, as_of=as_of),
            failures=rankings.count_failures(judged),
            oldest=rankings.find_oldest(judged, as_of=as_of),
            keys=keys.count(judged),
            attempts=attempts.count(judged),
        )

    @classmethod
    def together(cls, tallies: Sequence["Tally"], span: Span) -> "Tally":
        return cls(
            counts=summary.add_counts([each.counts for each in tallies]),
            flows=buckets.add_flows([each.flows for each in tallies]),
            stays=buckets.add_stays([each.stays for each in tallies], span),
            histogram=percentiles.add_histograms([each.histogram for each in tallies]),
            ages=series.add_ages([each.ages for each in tallies]),
            failures=rankings.add_failures([each.failures for each in tallies]),
            oldest=rankings.oldest_of([each.oldest for each in tallies]),
            keys=keys.add([each.keys for each in tallies]),
            attempts=attempts.add([each.attempts for each in tallies]),
        )


def measures(judged: pa.Table, *, points: int) -> list[Measure]:
    """All whose percentiles the report tells."""
    return [*summary.measures(judged), series.waits_measure(judged, length=points)]


class Reading:
    """The files of a run, read; their observations wait, split by task, to be judged."""

    def __init__(
        self,
        spark: SparkContext,
        sources: Sequence[Source],
        *,
        as_of: int,
        longest_line: int,
    ) -> None:
        self._spark = spark
        cores = spark.defaultParallelism
        shares = max(cores, -(-sum(source.length for source in sources) // PARTITION_BYTES))
        self.partitions = shares
        batches = _batches(sources, shares)

        def read(batches: Iterable[Sequence[Source]]) -> Iterator[tuple[int, Any]]:
            for batch in batches:
                yield from _read(batch, shares, as_of=as_of, longest_line=longest_line)

        # One partition more than there are judges: for the records.
        self._pieces: RDD[tuple[int, Any]] = (
            spark.parallelize(batches, max(1, len(batches)))
            .mapPartitions(read)
            .partitionBy(shares + 1, int)
        )

    def records(self) -> list[Record]:
        """Have Spark read the files, and return the record of each."""
        found = self._spark.runJob(self._pieces.values(), list, [self.partitions])
        self._number = sum((one for one in found if isinstance(one, Counter)), Counter())
        records = (one for one in found if isinstance(one, Record))
        return sorted(records, key=lambda record: record.source)

    def judge(self, plan: Plan) -> Tally:
        """Judge the tasks of each partition. Called after ``records``, which tells how many pieces
        each partition has: where Spark ends a task that it needs no more, the task's Python sees
        its pieces end early, and must not write what it has over what another attempt has
        written."""

        def judge(partition: int, pieces: Iterable[tuple[int, Any]]) -> Iterator[Tally]:
            if partition < partitions:
                found = [piece for _, piece in pieces]
                if len(found) != number[partition]:
                    raise EOFError(f"{len(found)} of {number[partition]} pieces came")
                yield _judge(partition, found, plan)

        partitions, number = self.partitions, self._number
        tallies = self._pieces.mapPartitionsWithIndex(judge).collect()
        return Tally.together(tallies, plan.span)


def look_closer(
    spark: SparkContext,
    partitions: int,
    plan: Plan,
    ranks: pa.Table | None,
    cells: Cells,
) -> tuple[pa.Table | None, pa.Table]:
    """The values that may be percentiles, where ``ranks`` are asked for, and what happened in the
    parts of the cells."""

    def look(partition: int) -> tuple[pa.Table | None, pa.Table]:
        columns = ["enqueued_at", "left_at"]
        if ranks is not None:
            columns += ["task_type", "first_taken_at", "wait_us", "service_us", "sojourn_us"]
        judged = storage.read_parquet(part(plan.tasks, partition), columns)
        values = None
        if ranks is not None:
            values = percentiles.values_in(measures(judged, points=plan.points), ranks)
        return values, peak.count_events(judged, cells, as_of=plan.span.as_of)

    found = spark.parallelize(range(partitions), partitions).map(look).collect()
    values = None if ranks is None else percentiles.add_values([values for values, _ in found])
    return values, peak.add_events([events for _, events in found])


def part(folder: str, partition: int) -> str:
    """The name that a task of Spark writes to, whenever it does."""
    return f"{folder}/part-{partition:05}.parquet"


def _batches(sources: Sequence[Source], number: int) -> list[list[Source]]:
    """The files in so many batches of about one length."""
    batches: list[list[Source]] = [[] for _ in range(number)]
    lengths = [(0, batch) for batch in range(number)]
    for source in sorted(sources, key=lambda source: -source.length):
        length, shortest = lengths[0]
        batches[shortest].append(source)
        heapq.heapreplace(lengths, (length + source.length + 1, shortest))
    return [batch for batch in batches if batch]


def _read(
    batch: Sequence[Source], shares: int, *, as_of: int, longest_line: int
) -> Iterator[tuple[int, Any]]:
    """Pieces by the share of tasks that they belong to, and by the number after it records, and
    how many pieces each share has."""
    number: Counter[int] = Counter()
    for share, found in _found(batch, shares, as_of=as_of, longest_line=longest_line):
        number[share] += share < shares
        yield share, found
    yield shares, number


def _found(
    batch: Sequence[Source], shares: int, *, as_of: int, longest_line: int
) -> Iterator[tuple[int, Any]]:
    held: list[pa.Table] = []
    for source in batch:
        rows, bad_rows, earliest = 0, 0, NEVER
        blocks = _Blocks(source, longest_line)
        for observed in blocks:
            rows += observed.observations.num_rows
            bad_rows += observed.bad_lines.num_rows
            earliest = min(earliest, _earliest(observed.observations, as_of))
            if observed.bad_lines.num_rows:
                piece = (_BAD, source.number, exchange.packed(observed.bad_lines))
                yield source.number % shares, piece
            held.append(_numbered(observed.observations, source.number))
            if sum(table.num_rows for table in held) >= _ROWS_AT_ONCE:
                yield from _pieces(held, shares)
                held = []
        record = Record(
            source=source.number,
            rows=rows + bad_rows,
            bad_rows=bad_rows,
            complaint=blocks.complaint(),
            earliest=None if earliest == NEVER else earliest,
        )
        yield shares, record
    yield from _pieces(held, shares)


class _Blocks:
    """The content of a file, block by block; afterwards, what is wrong with it."""

    def __init__(self, source: Source, longest_line: int) -> None:
        self._source = source
        self._longest_line = longest_line
        self._lines = 0
        self._md5: str | None = None
        self._is_unreadable = False

    def __iter__(self) -> Iterator[Observed]:
        if self._source.origin is None:
            earlier = storage.read_parquet(self._source.path).cast(OBSERVATION)
            yield Observed(observations=earlier, bad_lines=BAD_LINE.empty_table())
            return
        with storage.open_stream(self._source.path) as stream:
            stored = Digest(stream)
            try:
                for block in datafiles.blocks(stored, longest_line=self._longest_line):
                    self._lines += 1 if isinstance(block, LongLine) else block.count(b"\n")
                    yield images.observe(block, self._source.origin)
            except UnreadableError:
                self._is_unreadable = True
            self._md5 = stored.rest()

    def complaint(self) -> str | None:
        path, items, md5 = self._source.path, self._source.items, self._source.md5
        if md5 not in (None, self._md5):
            return (
                f"{path} is truncated or changed: its MD5 is {self._md5}, its manifest says {md5}"
            )
        if self._is_unreadable:
            return f"{path} is truncated or not gzip"
        if self._lines < (items or 0):
            return f"{path} is truncated: it has {self._lines} lines, its manifest says {items}"
        return None


def _earliest(observations: pa.Table, as_of: int) -> int:
    enqueued_at = observations["enqueued_at"].to_numpy()
    return int(enqueued_at[enqueued_at <= as_of].min(initial=NEVER))


def _numbered(observations: pa.Table, source: int) -> pa.Table:
    number = pa.repeat(pa.scalar(source, pa.int32()), observations.num_rows)
    return observations.append_column(_SOURCE, number)


def _pieces(tables: Sequence[pa.Table], shares: int) -> Iterator[tuple[int, Any]]:
    whole = pa.concat_tables([_CARRIED.empty_table(), *tables]).unify_dictionaries()
    if whole.num_rows:
        for share, rows in exchange.split(whole.combine_chunks(), shares):
            yield share, (_OBSERVED, 0, exchange.packed(rows))


def _judge(partition: int, pieces: Sequence[tuple[str, int, bytes]], plan: Plan) -> Tally:
    bad = [piece for kind, source, piece in pieces if kind == _BAD and source not in plan.left_out]
    if bad:
        storage.write_parquet(part(plan.quarantine, partition), exchange.unpacked(bad, BAD_LINE))
    observed = [piece for kind, _, piece in pieces if kind == _OBSERVED]
    merged = _merged(exchange.unpacked(observed, _CARRIED), partition, plan)
    judged = tasks.judge(merged, as_of=plan.span.as_of)
    storage.write_parquet(part(plan.tasks, partition), judged)
    return Tally.of(judged, plan)


def _merged(observations: pa.Table, partition: int, plan: Plan) -> pa.Table:
    """The latest images; with a state, what this run's own files show of them is kept there."""
    if plan.left_out:
        left_out = pc.is_in(observations["source"], pa.array(plan.left_out, pa.int32()))
        observations = observations.filter(pc.invert(left_out))
    if plan.state is None:
        return tasks.merge(observations)
    is_own = pc.greater_equal(observations["source"], 0)
    own = tasks.merge(observations.filter(is_own))
    storage.write_parquet(part(plan.state, partition), own)
    earlier = observations.filter(pc.invert(is_own)).select(OBSERVATION.names)
    return tasks.merge(pa.concat_tables([own, earlier]).unify_dictionaries())
