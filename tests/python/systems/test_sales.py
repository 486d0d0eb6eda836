"""The printed windows of the sales stream, totals by region, and windows that late payments change.

A slow suite.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import fastavro
import pytest

from .loads import REPOSITORY, SAMPLES, Loaded, SystemUnderTest, expected_rows, loads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

# sales_region, sales, orders, window_start, window_end
WINDOWS = [
    ("Asia & Pacific", "1,593.74", "226", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Europe", "833.89", "111", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Latin America", "686.00", "100", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("North America", "274.57", "43", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Africa", "216.70", "30", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Middle East", "164.77", "23", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Unassigned", "86.88", "12", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Arab States", "58.92", "8", "2021-10-03 22:30", "2021-10-03 22:40"),
    ("Asia & Pacific", "1,828.41", "259", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Europe", "878.79", "121", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Latin America", "861.76", "124", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Africa", "284.60", "40", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("North America", "284.56", "44", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Middle East", "175.76", "24", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Unassigned", "93.87", "13", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Arab States", "78.89", "11", "2021-10-03 22:25", "2021-10-03 22:35"),
    ("Asia & Pacific", "1,744.52", "248", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("Europe", "948.64", "136", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("Latin America", "840.81", "119", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("Africa", "299.59", "41", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("North America", "282.59", "41", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("Middle East", "181.74", "26", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("Unassigned", "101.84", "16", "2021-10-03 22:20", "2021-10-03 22:30"),
    ("Arab States", "64.92", "8", "2021-10-03 22:20", "2021-10-03 22:30"),
]
WINDOW_MART = "gold.agg_rental_sales_by_window"
COLUMNS = ["region", "window_start", "window_end", "orders", "sales"]


@pytest.fixture(scope="module")
def sales(loaded: Callable[[str], Loaded]) -> SystemUnderTest:
    """After its last load."""
    return loaded("sales").system


def test_printed_table_of_the_windows(sales: SystemUnderTest, spark: SparkSession) -> None:
    found = spark.sql(f"""
        select
            region,
            format_number(sales, 2),
            format_number(orders, 0),
            date_format(window_start, 'yyyy-MM-dd HH:mm'),
            date_format(window_end, 'yyyy-MM-dd HH:mm')
        from {WINDOW_MART}
        where window_start between '2021-10-03 22:20' and '2021-10-03 22:30'
        order by window_start desc, sales desc
    """).collect()
    assert [tuple(row) for row in found] == WINDOWS


def test_late_payments_have_changed_closed_windows() -> None:
    """Before they came the windows were others, and these are held against the tables load by load, too."""
    before, after = (
        {
            (row["region"], row["window_start"]): row
            for row in expected_rows("sales", load, "agg_rental_sales_by_window")
        }
        for load in ("3-large", "4-late")
    )
    closed = ("Asia & Pacific", "2021-10-03 22:20:00")
    assert (before[closed]["orders"], after[closed]["orders"]) == ("240", "248")
    assert before.keys() == after.keys()


def test_incremental_windows_are_those_of_a_full_refresh(sales: SystemUnderTest, spark: SparkSession) -> None:
    """Payments that were sent again have left windows: those of 21:50 and 21:55 are gone."""
    from dbt.cli.main import dbtRunner

    incremental = texts(sales)
    assert not [row for row in incremental if "21:50" <= str(row["window_start"])[11:16] < "22:00"]
    places = ("--project-dir", str(REPOSITORY), "--profiles-dir", str(REPOSITORY))
    selection = ("--select", "agg_rental_sales_by_window", "--full-refresh")
    assert dbtRunner().invoke(["--quiet", "run", *selection, *places]).success
    assert texts(sales) == incremental


def texts(sales: SystemUnderTest) -> list[dict[str, str | None]]:
    """The windows, sorted."""
    return sorted(sales.texts(WINDOW_MART, COLUMNS), key=str)


def test_every_payment_is_as_its_newest_message_says(sales: SystemUnderTest) -> None:
    newest: dict[int, Any] = {}
    for load in loads("sales"):
        for file in sorted((SAMPLES / "sales" / load).rglob("*[0-9].avro")):
            records: list[Any] = list(fastavro.reader(io.BytesIO(file.read_bytes())))
            newest |= {record["payment_id"]: record for record in records}
    columns = ["payment_id", "customer_id", "payment_date", "city", "district", "country"]
    expected = [{name: record[name] for name in columns} for _, record in sorted(newest.items())]
    found = sorted(sales.rows("slv_sales__payments", columns), key=lambda row: int(row["payment_id"]))
    assert len(found) == 2050
    assert found == expected


def test_quotes_and_accents_of_the_look_up_are_there(sales: SystemUnderTest, spark: SparkSession) -> None:
    query = 'select region from silver.sales_regions where country = "Côte D\'Ivoire"'
    assert [tuple(row) for row in spark.sql(query).collect()] == [("Africa",)]
    assert spark.table("silver.sales_regions").count() == 246
