"""Makes exports of any size in DynamoDB's layout, fast enough to measure with: DuckDB writes them.

    python -m benchmarks.analytics.exports 2000000 FOLDER

The queue is a steady overload at ρ = 1.6: tasks of four types arrive evenly over a day, 62.5 % are
claimed within seconds, most of the others are shed at their deadline of an hour. A full export at
the day's end shows what is still there; 24 hourly incremental ones show what was deleted, and once
more every tenth task that was finished. A line is about 300 bytes, like a real task with a small
payload.
"""

import base64
import hashlib
import json
import sys
from pathlib import Path

import duckdb

from lifoq.basics.times import iso

SECOND = 1_000_000
START = 1_763_596_800 * SECOND
DAY = 86_400 * SECOND
HOUR = 3_600 * SECOND
LINES_PER_FILE = 250_000
ARN = "arn:aws:dynamodb:us-east-1:123456789012:table/Tasks"

TASKS = """
create table tasks as
select
    'task-' || lpad(n::varchar, 12, '0') as id,
    ['mail', 'invoice', 'thumbnail', 'report'][1 + (hash(n) % 4)::int] as type,
    {start} + (n * {day} // {size})::bigint as enqueued,
    enqueued + {hour} as expires,
    hash(n, 1) % 1000 < 625 as served,
    enqueued + 1000 + ((hash(n, 2) % 1000000) ** 2 / 100000)::bigint as claimed,
    claimed + 50000 + (hash(n, 3) % 400000)::bigint as finished,
    expires + (hash(n, 4) % 7200) * 1000000 as deleted
from range({size}) numbers(n)
"""

IMAGE = """
'{{"taskId":{{"S":"' || id || '"}},"taskType":{{"S":"' || type
|| '"}},"enqueuedAt":{{"N":"' || enqueued || '"}},"expiresAt":{{"N":"' || expires
|| '"}},"payload":{{"S":"{{\\"to\\":\\"someone@example.com\\",\\"template\\":17}}"}},'
|| {state} || '}}'
"""
DONE = """
'"taskStatus":{"S":"SUCCESS"},"attempts":{"N":"1"},"firstTakenAt":{"N":"' || claimed
|| '"},"takenAt":{"N":"' || claimed || '"},"finishedAt":{"N":"' || finished || '"}'
"""
PENDING = """'"taskStatus":{"S":"PENDING"},"attempts":{"N":"0"}'"""


def main(size: int, folder: Path) -> None:
    database = duckdb.connect()
    database.execute(TASKS.format(start=START, day=DAY, hour=HOUR, size=size))
    done, pending = IMAGE.format(state=DONE), IMAGE.format(state=PENDING)
    end = START + DAY
    full = f"""
        select '{{"Item":' || case when served and finished <= {end} then {done} else {pending} end
            || '}}'
        from tasks where served or deleted >= {end}
    """  # noqa: S608 - of constants
    _export(database, folder, "01-full", {"exportType": "FULL_EXPORT", "exportTime": end}, full)
    for begin in range(START, end, HOUR):
        until = begin + HOUR
        change = """'{"Metadata":{"WriteTimestampMicros":{"N":"' || %s
            || '"}},"Keys":{"taskId":{"S":"' || id || '"}},"%s":' || %s || '}'"""
        window = f"""
            select {change % ("deleted", "OldImage", pending)} from tasks
            where not served and deleted >= {begin} and deleted < {until}
            union all
            select {change % ("finished", "NewImage", done)} from tasks
            where served and hash(id) % 10 = 0 and finished >= {begin} and finished < {until}
        """  # noqa: S608 - of constants
        times: dict[str, str | int] = {
            "exportType": "INCREMENTAL_EXPORT",
            "exportFromTime": begin,
            "exportToTime": until,
            "outputView": "NEW_AND_OLD_IMAGES",
        }
        _export(database, folder, f"02-{begin // SECOND}", times, window)


def _export(
    database: duckdb.DuckDBPyConnection,
    folder: Path,
    name: str,
    times: dict[str, str | int],
    query: str,
) -> None:
    export = folder / "AWSDynamoDB" / name
    data = export / "data" if name.startswith("01") else export.parent / "data"
    for each in (export, data):
        each.mkdir(parents=True, exist_ok=True)
    database.execute(f"create or replace temp table lines as select * from ({query}) as q(line)")  # noqa: S608 - ours
    (lines,) = database.execute("select count(*) from lines").fetchone() or (0,)
    entries = []
    for number in range(max(1, -(-lines // LINES_PER_FILE))):
        path = data / f"{name}-{number:04}.json.gz"
        first = number * LINES_PER_FILE
        last = first + LINES_PER_FILE - 1
        some = database.execute(
            f"copy (select line from lines where rowid between {first} and {last}) to '{path}' "  # noqa: S608
            "(format csv, header false, quote '', escape '', delimiter '\t', compression gzip)"
        ).fetchone() or (0,)
        digest = hashlib.md5(path.read_bytes(), usedforsecurity=False).digest()
        entries.append(
            {
                "itemCount": some[0],
                "md5Checksum": base64.b64encode(digest).decode(),
                "dataFileS3Key": str(path.relative_to(folder)),
            }
        )
    (export / "manifest-files.json").write_text("".join(json.dumps(e) + "\n" for e in entries))
    moments = {name: iso(at) if isinstance(at, int) else at for name, at in times.items()}
    summary = {"tableArn": ARN, "itemCount": lines, "outputFormat": "DYNAMODB_JSON", **moments}
    (export / "manifest-summary.json").write_text(json.dumps(summary))


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
