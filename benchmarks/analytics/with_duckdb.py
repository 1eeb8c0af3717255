"""The same answers from the same files by DuckDB: what a single machine can do.

python -m benchmarks.analytics.with_duckdb FOLDER OUT
"""

import json
import sys
import time
from datetime import datetime
from pathlib import Path

import duckdb

ATTRIBUTES = {
    "taskId": "S", "taskStatus": "S", "taskType": "S", "enqueuedAt": "N", "firstTakenAt": "N",
    "takenAt": "N", "finishedAt": "N", "expiresAt": "N", "attempts": "N", "error": "S",
}  # fmt: skip
IMAGE = (
    "struct("
    + ", ".join(f'"{name}" struct("{kind}" varchar)' for name, kind in ATTRIBUTES.items())
    + ")"
)

LINES = """
select coalesce("Item", "NewImage", "OldImage") as image,
    "Item" is null and "NewImage" is null as deleted,
    coalesce(("Metadata"->>'$.WriteTimestampMicros.N')::bigint, {as_of}) as written
from read_json('{folder}/AWSDynamoDB/**/*.json.gz', format = 'newline_delimited',
    columns = {{"Item": '{image}', "NewImage": '{image}', "OldImage": '{image}',
        "Metadata": 'json'}})
"""

FACTS = """
create table facts as
with latest as (
    select image."taskId"."S" as id, arg_max(image, written * 4 + (not deleted)::int) as image,
        max(case when deleted then written end) as deleted_at,
        max(case when not deleted then written end) as alive_at
    from ({lines}) group by 1
), plain as (
    select id, image."taskType"."S" as type, image."taskStatus"."S" as status,
        image."enqueuedAt"."N"::bigint as enqueued, image."firstTakenAt"."N"::bigint as claimed,
        image."takenAt"."N"::bigint as taken, image."finishedAt"."N"::bigint as finished,
        image."expiresAt"."N"::bigint as expires,
        image."attempts"."N"::int as attempts, image."error"."S" as error,
        coalesce(deleted_at >= coalesce(alive_at, 0), false) as deleted
    from latest
), judged as (
    select *, case
        when status = 'SUCCESS' then 'succeeded' when status = 'FAILURE' then 'failed'
        when status = 'CANCELLED' then 'cancelled' when deleted then 'shed'
        when status = 'TAKEN' then 'taken' when expires <= {as_of} then 'shed'
        else 'waiting' end as outcome
    from plain
)
select *, case when outcome = 'shed' then expires end as shed,
    greatest(enqueued,
        least(claimed, finished, case when outcome = 'shed' then expires end)) as left_at,
    claimed - enqueued as wait, finished - taken as service, finished - enqueued as sojourn
from judged
"""

BUCKETS = """
create table buckets as
with events as (
    select type, unnest([enqueued, claimed, case when outcome = 'succeeded' then finished end, shed,
        left_at]) as moment,
        unnest(['arrival', 'claim', 'success', 'shed', 'left']) as flow from facts
), flows as (
    select type, moment // 60000000 as bucket, count(*) filter (flow = 'arrival') as arrivals,
        count(*) filter (flow = 'claim') as claims, count(*) filter (flow = 'success') as succeeded,
        count(*) filter (flow = 'shed') as shed, count(*) filter (flow = 'left') as gone
    from events where moment <= {as_of} group by all
), stays as (
    select type, enqueued // 60000000 as first,
        coalesce(left_at, {as_of} + 60000000) // 60000000 as beyond,
        min(enqueued) as oldest from facts group by all having beyond > first
), present as (
    select type, unnest(range(first, beyond)) as bucket, oldest from stays
), oldest as (
    select type, bucket, min(oldest) as oldest from present group by all
)
select *, sum(coalesce(arrivals, 0) - coalesce(gone, 0))
    over (partition by type order by bucket) as backlog
from flows full join oldest using (type, bucket)
"""

PEAK = """
select max(level) from (
    select sum(sum(step)) over (order by moment) as level from (
        select enqueued as moment, 1 as step from facts union all
        select left_at, -1 from facts where left_at <= {as_of}
    ) group by moment
)
"""

SPREADS = """
select type, count(*), count(*) filter (outcome = 'shed'), count(*) filter (outcome = 'succeeded'),
    quantile_disc(wait, [0.5, 0.95, 0.99]), quantile_disc(service, [0.5, 0.95, 0.99]),
    quantile_disc(sojourn, [0.5, 0.95, 0.99])
from facts group by grouping sets ((), (type)) order by type nulls first
"""


def main(folder: Path, out: Path) -> dict[str, object]:
    out.mkdir(parents=True, exist_ok=True)
    summary = json.loads((folder / "AWSDynamoDB" / "01-full" / "manifest-summary.json").read_text())
    as_of = round(datetime.fromisoformat(summary["exportTime"]).timestamp() * 1_000_000)
    lines = LINES.format(folder=folder, image=IMAGE, as_of=as_of)
    begun = time.perf_counter()
    database = duckdb.connect()
    database.execute("set threads = 2; set memory_limit = '8GB'; set timezone = 'UTC'")
    database.execute(FACTS.format(lines=lines, as_of=as_of))
    database.execute(f"copy facts to '{out}/tasks.parquet'")
    database.execute(BUCKETS.format(as_of=as_of))
    database.execute(f"copy buckets to '{out}/buckets.parquet'")
    ((peak,),) = database.execute(PEAK.format(as_of=as_of)).fetchall()
    (_, created, shed, _, wait, *_), *_ = database.execute(SPREADS).fetchall()
    return {
        "processing_seconds": round(time.perf_counter() - begun, 2),
        "answers": {
            "created": created,
            "shed": shed,
            "backlog": int(peak),
            "wait": [value / 1_000_000 for value in wait],
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
