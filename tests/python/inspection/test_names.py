from __future__ import annotations

import pytest

from alluvium.inspection.names import ObjectName, parse_name
from alluvium.inspection.objects import is_hidden

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
        ("t%3D/a+b+0+7.json", ObjectName("t%3D", "a+b", "confluent", 0, 7, "json", None, ())),
        ("dms/LOAD00000001.parquet", ObjectName("dms", None, None, None, None, "parquet", None, ())),
        ("LICENSE", ObjectName("", None, None, None, None, None, None, ())),
    ],
)
def test_what_a_path_says(path: str, expected: ObjectName) -> None:
    assert parse_name(path) == expected


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ("_SUCCESS", True),
        ("a/.tmp/b.json", True),
        ("_delta_log/00.json", True),
        ("_region=eu/a.json", False),
        ("a/b.json", False),
    ],
)
def test_spark_passes_over_hidden_files(path: str, hidden: bool) -> None:
    assert is_hidden(path) == hidden
