from __future__ import annotations

import pytest

from alluvium.inspection.names import ObjectName, name_of_folder, parse_name, without_partitions
from alluvium.runtime.objects import is_hidden

CONFLUENT = ObjectName("topics/shop.orders", "shop.orders", "confluent", 2, 300, "json", None, ())


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("topics/shop.orders/partition=2/shop.orders+2+0000000300.json", CONFLUENT),
        (
            "topics/shop.orders/year=2026/month=11/day=22/shop.orders+2+0000000300.json.gz",
            ObjectName(
                "topics/shop.orders", "shop.orders", "confluent", 2, 300, "json", "gzip", ("year", "month", "day")
            ),
        ),
        (
            "topics/shop.orders/2026/11/22/shop.orders+2+300.avro",
            ObjectName("topics/shop.orders", "shop.orders", "confluent", 2, 300, "avro", None, ()),
        ),
        (
            "topics/pagila.query/country=United States/pagila.query+0+0000000000.gz.parquet",
            ObjectName("topics/pagila.query", "pagila.query", "confluent", 0, 0, "parquet", "gzip", ("country",)),
        ),
        (
            "cdc/customer_id=ALFKI/order_id=10702/nw.cdc(1_457).json",
            ObjectName("cdc", "nw.cdc", "lenses", 1, 457, "json", None, ("customer_id", "order_id")),
        ),
        ("cdc/nw.cdc/1/000000000457.json", ObjectName("cdc/nw.cdc", None, "lenses", 1, 457, "json", None, ())),
        (
            "nw.cdc/000000000012/000000000457_1700000000000_1700000001000.avro",
            ObjectName("nw.cdc", None, "lenses", 12, 457, "avro", None, ()),
        ),
        (
            "nw.cdc/1/457_1700000000000_1700000001000.json.gz",
            ObjectName("nw.cdc", None, "lenses", 1, 457, "json", "gzip", ()),
        ),
        ("orders/5/17.json", ObjectName("orders", None, None, None, None, "json", None, ())),
        ("5/000000000457.json", ObjectName("", None, "lenses", 5, 457, "json", None, ())),
        ("t%3D/a+b+0+7.json", ObjectName("t%3D", "a+b", "confluent", 0, 7, "json", None, ())),
        (
            "topics/t/partition=0/t+0+0000000000.keys.avro",
            ObjectName("topics/t", None, None, None, None, None, None, ()),
        ),
        (
            "topics/t/partition=0/t+0+0000000000.headers.json.gz",
            ObjectName("topics/t", None, None, None, None, None, None, ()),
        ),
        ("topics/t.keys/t.keys+0+7.json", ObjectName("topics/t.keys", "t.keys", "confluent", 0, 7, "json", None, ())),
        ("dms/LOAD00000001.parquet", ObjectName("dms", None, None, None, None, "parquet", None, ())),
        ("LICENSE", ObjectName("", None, None, None, None, None, None, ())),
    ],
)
def test_what_a_path_says(path: str, expected: ObjectName) -> None:
    assert parse_name(path) == expected


@pytest.mark.parametrize(
    "day",
    [
        "2024-05-01",
        "2024-05",
        "20240501",
        "2024050112",
        "2024.05.01",
        "2024_05_01",
        "2024-05-01T10",
        "2024-05-01-10-30",
        "2024-W18",
        "01-05-2024",
        "dt-2024",
        "hour=05/2024.05.01",
        "2024/05/01",
        "dt=2024-05-01",
    ],
)
def test_folders_of_a_time_are_no_tables(day: str) -> None:
    assert parse_name(f"orders/{day}/part-1.json").folder == "orders"


@pytest.mark.parametrize(
    "name",
    [
        "orders_2026-11-20.json",
        "orders.2026-11-20.json",
        "orders2026-12-31.json",
        "shop_orders_full_2026-11-20.jsonl.gz",
        "orders-2026-11-20.json",
    ],
)
def test_a_date_is_no_partition_and_offset(name: str) -> None:
    said = parse_name(f"daily/{name}")
    assert (said.folder, said.layout, said.partition, said.offset) == ("daily", None, None, None)


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("items/batch_000001/shop.public.items+0+7.json", "items"),
        ("items/2026/Q1/shop.public.items+0+7.json", "items"),
        ("raw/shop.public.items/v1/2026/01/shop.public.items+0+7.json", "raw/shop.public.items"),
        ("all/ingest=2026-01-01/eu-west-1/shop.public.items+0+7.json", "all"),
        ("2026/landing/shop.public.items+0+7.json", "2026/landing"),
        # Without a topic in its name nothing says where the table ends.
        ("raw/2026/orders/part-1.json", "raw/2026/orders"),
        ("raw/batch_000001/shop.public.items+0+7.json", "raw/batch_000001"),
    ],
)
def test_folder_of_a_topic(path: str, folder: str) -> None:
    assert parse_name(path).folder == folder


def test_folder_of_a_part_that_is_inspected_alone() -> None:
    assert without_partitions("s3://b/items/batch_1/2026", "shop.public.items") == "s3://b/items"
    assert without_partitions("s3://b/items/batch_1/2026") == "s3://b/items/batch_1"
    assert without_partitions("/items/a/b/c/d/e", "shop.public.items") == "/items/a/b/c/d/e"


@pytest.mark.parametrize("folder", ["1001", "20241301x", "v2", "orders_2024", "table=orders", "topic=shop.orders"])
def test_other_folders_are(folder: str) -> None:
    assert parse_name(f"raw/{folder}/dt=2024/part-1.json").folder == f"raw/{folder}"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3a://lake/raw/orders", "orders"),
        ("/landing/orders/2024-05-01", "orders"),
        ("raw/table=orders", "orders"),
        ("raw/table=", "table="),
        ("/", None),
        ("", None),
    ],
)
def test_name_of_a_folder(path: str, expected: str | None) -> None:
    assert name_of_folder(path) == expected


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("_SUCCESS", True),
        ("a/.tmp/b.json", True),
        ("a/b.json._COPYING_", True),
        ("_delta_log/00.json", True),
        ("_region=eu/a.json", False),
        ("a/b.json", False),
    ],
)
def test_spark_passes_over_hidden_files(path: str, hidden: bool) -> None:
    assert is_hidden(path) == hidden
