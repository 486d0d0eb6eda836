"""The usual hand-written job: read the new files, keep the last event of each key, merge it into a Delta table.

It does what such scripts do and no more: no change log, no quarantine, no lineage, no tombstones, and which files are
done stands in a file beside the table. Run by `benchmarks.smoke` in a process of its own for every step.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import side

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

TABLE = "plain.accounts"
ROW = "struct<id:bigint,name:string,status:string,balance:string,updated_at:bigint>"
ENVELOPE = f"struct<before:{ROW},after:{ROW},source:struct<lsn:bigint>,op:string>"
LATEST = f"""
    with events as (
        select from_json(value, '{ENVELOPE}') as event
        from lines
    ),
    ordered as (
        select
            coalesce(event.after, event.before) as image,
            event.op,
            event.source.lsn,
            row_number() over (
                partition by coalesce(event.after, event.before).id order by event.source.lsn desc
            ) as newest_first
        from events
    )
    select
        image.id,
        image.name,
        image.status,
        cast(image.balance as decimal(12, 2)) as balance,
        cast(timestamp_micros(image.updated_at) as timestamp_ntz) as updated_at,
        lsn,
        op
    from ordered
    where newest_first = 1
"""
CREATE = f"""
    create table {TABLE} (
        id bigint, name string, status string, balance decimal(12, 2), updated_at timestamp_ntz, lsn bigint
    )
    using delta
    tblproperties ('delta.enableDeletionVectors' = 'true')
"""
INSERT = f"""
    insert into {TABLE}
    select id, name, status, balance, updated_at, lsn from latest where op <> 'd'
"""
MERGE = f"""
    merge into {TABLE} as target
    using latest as source
    on target.id = source.id
    when matched and source.op = 'd' and source.lsn > target.lsn then delete
    when matched and source.op <> 'd' and source.lsn > target.lsn then update set
        name = source.name,
        status = source.status,
        balance = source.balance,
        updated_at = source.updated_at,
        lsn = source.lsn
    when not matched and source.op <> 'd' then insert (id, name, status, balance, updated_at, lsn)
        values (source.id, source.name, source.status, source.balance, source.updated_at, source.lsn)
"""


def apply(spark: SparkSession, location: Path, done_file: Path) -> int:
    """Merges the files that `done_file` does not list; returns their number."""
    done: set[str] = set(json.loads(done_file.read_text(encoding="utf-8"))) if done_file.exists() else set()
    new = sorted({str(path) for path in location.rglob("*.json")} - done)
    if not new:
        return 0
    lines: DataFrame = spark.read.text(new)
    lines.createOrReplaceTempView("lines")
    spark.sql(LATEST).createOrReplaceTempView("latest")
    if done:
        spark.sql(MERGE)
    else:
        spark.sql("create schema if not exists plain")
        spark.sql(CREATE)
        spark.sql(INSERT)
    done_file.write_text(json.dumps(sorted(done | set(new))), encoding="utf-8")
    return len(new)


def main(arguments: list[str]) -> None:
    """Runs one step; the arguments are the files' location, the home and the file for the figures."""
    location, home, figures = map(Path, arguments)
    spark = side.session(home)
    started = time.monotonic()
    apply(spark, location, home / "done.json")
    found: dict[str, Any] = {"seconds": time.monotonic() - started}
    figures.write_text(json.dumps(found | side.content(spark, TABLE)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
