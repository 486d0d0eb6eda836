"""The records of change files in Spark SQL, as everyone writes it by hand: a struct with the declared types."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.generator import FORMATS, Shape

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Types in the records, where they are not those of the columns.
_SENT = {"timestamp_ntz": "bigint", "decimal(12,2)": "string"}
_TYPED = {
    "timestamp_ntz": "cast(timestamp_micros({0}) as timestamp_ntz)",
    "decimal(12,2)": "cast({0} as decimal(12, 2))",
}


def record_type(shape: Shape) -> str:
    """The type of a JSON line, with the fields that are read."""
    row = ",".join(f"{name}:{_SENT.get(data_type, data_type)}" for name, data_type in shape.types.items())
    kind = FORMATS[shape.format]
    if kind.is_flattened:
        return f"struct<{row},__op:string,__source_lsn:bigint>"
    envelope = f"struct<before:struct<{row}>,after:struct<{row}>,source:struct<lsn:bigint>,op:string>"
    return f"struct<payload:{envelope}>" if kind.has_schema else envelope


def events_sql(shape: Shape, relation: str, extra: str = "") -> str:
    """A query with the typed columns, `lsn` and `op` of each record.

    Args:
        shape: of the data.
        relation: the files as Spark reads them: lines in `value`, or records of Avro or Parquet.
        extra: further columns of `relation`, each with a comma in front.
    """
    kind = FORMATS[shape.format]
    if kind.reader == "json":
        relation = f"(select *, from_json(value, '{record_type(shape)}') as event from {relation})"
    prefix = "" if kind.reader != "json" else "event.payload." if kind.has_schema else "event."
    if kind.is_flattened:
        lsn, op, column = f"{prefix}__source_lsn", f"{prefix}__op", f"{prefix}{{0}}"
    else:
        lsn, op, column = f"{prefix}source.lsn", f"{prefix}op", "image.{0}"
        relation = f"(select *, coalesce({prefix}after, {prefix}before) as image from {relation})"
    columns = ",\n        ".join(
        f"{_TYPED.get(data_type, '{0}').format(column.format(name))} as {name}"
        for name, data_type in shape.types.items()
    )
    return f"""
    select
        {columns},
        {lsn} as lsn,
        {op} as op{extra}
    from {relation}
"""


def latest_sql(shape: Shape, relation: str, extra: str = "") -> str:
    """A query with the latest event of each key.

    Args:
        shape: of the data.
        relation: events as `events_sql` gives them.
        extra: further columns of `relation`, each with a comma in front.
    """
    return f"""
    select {", ".join(shape.types)}, lsn, op{extra}
    from (
        select *, row_number() over (partition by id order by lsn desc) as newest_first
        from {relation}
    )
    where newest_first = 1
"""


def read_files(spark: SparkSession, shape: Shape, files: list[str]) -> DataFrame:
    """Change files as Spark's own reader gives them."""
    reader = FORMATS[shape.format].reader
    return spark.read.format("text" if reader == "json" else reader).load(files)
