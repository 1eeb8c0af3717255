"""The same answers from the same files by plain Spark SQL: what a data engineer would write first.

python -m benchmarks.analytics.with_sql FOLDER OUT
"""

import json
import sys
import time
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

ATTRIBUTES = {
    "taskId": "S", "taskStatus": "S", "taskType": "S", "enqueuedAt": "N", "firstTakenAt": "N",
    "takenAt": "N", "finishedAt": "N", "expiresAt": "N", "attempts": "N", "error": "S",
}  # fmt: skip
IMAGE = f"struct<{','.join(f'{name}:struct<{kind}:string>' for name, kind in ATTRIBUTES.items())}>"
LINE = (
    f"Item {IMAGE}, NewImage {IMAGE}, OldImage {IMAGE}, "
    "Metadata struct<WriteTimestampMicros:struct<N:string>>"
)

FACTS = """
with lines as (
    select coalesce(Item, NewImage, OldImage) as image,
        Item is null and NewImage is null as deleted,
        coalesce(cast(Metadata.WriteTimestampMicros.N as bigint), {as_of}) as written
    from exports
), latest as (
    select image.taskId.S as id, max_by(image, written * 4 + cast(not deleted as int)) as image,
        max(case when deleted then written end) as deleted_at,
        max(case when not deleted then written end) as alive_at
    from lines group by image.taskId.S
), plain as (
    select id, image.taskType.S as type, image.taskStatus.S as status,
        cast(image.enqueuedAt.N as bigint) as enqueued,
        cast(image.firstTakenAt.N as bigint) as claimed, cast(image.takenAt.N as bigint) as taken,
        cast(image.finishedAt.N as bigint) as finished,
        cast(image.expiresAt.N as bigint) as expires, cast(image.attempts.N as int) as attempts,
        image.error.S as error, coalesce(deleted_at >= coalesce(alive_at, 0), false) as deleted
    from latest
), judged as (
    select *, case
        when status = 'SUCCESS' then 'succeeded' when status = 'FAILURE' then 'failed'
        when status = 'CANCELLED' then 'cancelled' when deleted then 'shed'
        when status = 'TAKEN' then 'taken' when expires <= {as_of} then 'shed'
        else 'waiting' end as outcome
    from plain
), gone as (
    select *, case when outcome = 'shed' then expires end as shed,
        least(claimed, finished, case when outcome = 'shed' then expires end) as left_first
    from judged
)
select *, case when left_first is not null then greatest(enqueued, left_first) end as left_at,
    claimed - enqueued as wait, finished - taken as service, finished - enqueued as sojourn
from gone
"""

BUCKETS = """
with events as (
    select type, explode(map(
        'arrival', enqueued, 'claim', claimed, 'shed', shed, 'left', left_at,
        'success', case when outcome = 'succeeded' then finished end)) as (flow, moment)
    from facts
), flows as (
    select type, moment div 60000000 as bucket,
        count_if(flow = 'arrival') as arrivals, count_if(flow = 'claim') as claims,
        count_if(flow = 'success') as succeeded, count_if(flow = 'shed') as shed,
        count_if(flow = 'left') as gone
    from events where moment <= {as_of} group by all
), stays as (
    select type, enqueued div 60000000 as first,
        coalesce(left_at, {as_of} + 60000000) div 60000000 as beyond, min(enqueued) as oldest
    from facts group by all having beyond > first
), oldest as (
    select type, bucket, min(oldest) as oldest
    from (select type, explode(sequence(first, beyond - 1)) as bucket, oldest from stays)
    group by all
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
select type, count(*), count_if(outcome = 'shed'), count_if(outcome = 'succeeded'),
    percentile_disc(0.5) within group (order by wait),
    percentile_disc(0.95) within group (order by wait),
    percentile_disc(0.99) within group (order by wait),
    percentile_disc(0.5) within group (order by service),
    percentile_disc(0.99) within group (order by service),
    percentile_disc(0.5) within group (order by sojourn),
    percentile_disc(0.99) within group (order by sojourn)
from facts group by grouping sets ((), (type)) order by type nulls first
"""


def main(folder: Path, out: Path) -> dict[str, object]:
    summary = json.loads((folder / "AWSDynamoDB" / "01-full" / "manifest-summary.json").read_text())
    as_of = round(datetime.fromisoformat(summary["exportTime"]).timestamp() * 1_000_000)
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "8")  # 200 by default: too many for one machine
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    begun = time.perf_counter()
    exports = spark.read.schema(LINE).option("recursiveFileLookup", "true")
    exports.option("pathGlobFilter", "*.json.gz").json(str(folder)).createTempView("exports")
    spark.sql(FACTS.format(as_of=as_of)).write.parquet(str(out / "tasks.parquet"))
    spark.read.parquet(str(out / "tasks.parquet")).createTempView("facts")
    spark.sql(BUCKETS.format(as_of=as_of)).write.parquet(str(out / "buckets.parquet"))
    ((peak,),) = spark.sql(PEAK.format(as_of=as_of)).collect()
    (_, created, shed, _, p50, p95, p99, *_), *_ = spark.sql(SPREADS).collect()
    seconds = time.perf_counter() - begun
    spark.stop()
    return {
        "processing_seconds": round(seconds, 2),
        "answers": {
            "created": created,
            "shed": shed,
            "backlog": peak,
            "wait": [float(value) / 1_000_000 for value in (p50, p95, p99)],
        },
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), Path(sys.argv[2]))))
