"""Functions that the models call by name; each does what native Spark SQL cannot (see README.md)."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, cast

from alluvium.spark_udfs import decimals, reader
from alluvium.spark_udfs.decimals import decimal_text
from alluvium.spark_udfs.reader import read_records
from alluvium.spark_udfs.record import Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.udtf import UserDefinedTableFunction

__all__ = ["Record", "decimal_text", "read_records", "register"]


def register(spark: SparkSession) -> None:
    """Register every function of this package in a session, under the name the models use.

    The code travels with the function, so the workers need fastavro and pyarrow but not this package.

    Args:
        spark: a running session; all queries of this session see the functions.
    """
    from pyspark import cloudpickle
    from pyspark.sql.functions import udtf

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]  # cloudpickle has none
    # The Arrow path of Spark 3.5.7 is not faster here and needs pandas (figures in README.md).
    function = cast("UserDefinedTableFunction", udtf(reader.ReadRecords, returnType=reader.RETURN_TYPE, useArrow=False))
    spark.udtf.register(reader.NAME, function)
    spark.udf.register(decimals.NAME, decimal_text, "string")
