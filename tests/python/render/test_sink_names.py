"""Names of objects as Spark's macros read them; tests/python/inspection/test_names.py has the same table in Python."""

from __future__ import annotations

import re

import pytest

from alluvium.inspection.names import parse_name

from .feeds import feed
from .harness import Renderer, assert_expression_parses

# Layout, path, and what the path says: topic, partition, offset.
NAMES = [
    ("confluent", "t/partition=0/shop.a+b+3+0000000300.json.gz", ("shop.a+b", "3", "0000000300")),
    ("confluent", "t/shop.orders+3+300", ("shop.orders", "3", "300")),
    ("confluent_hdfs", "t/shop.orders+3+0000000300+0000000399.avro", ("shop.orders", "3", "0000000300")),
    (
        "msk",
        "c/shop.orders/year=2026/shop.orders+0+000000000000000042-000000-105a4e6efaa",
        ("shop.orders", "0", "000000000000000042"),
    ),
    ("lenses", "cdc/shop.orders(3_42).json", ("shop.orders", "3", "42")),
    ("lenses", "day=1/shop.orders(3_000000000042).json.gz", ("shop.orders", "3", "000000000042")),
    ("lenses", "cdc/shop.orders/0/000000000457.json", ("shop.orders", "0", "000000000457")),
    (
        "lenses",
        "cdc/shop.orders/11/000000000457_1700000000000_1700000001000.avro",
        ("shop.orders", "11", "000000000457"),
    ),
    ("lenses", "2024/05/01/12/shop.things(1_7).json", ("shop.things", "1", "7")),
    ("aiven", "shop.public.items-0-3", ("shop.public.items", "0", "3")),
    ("aiven", "shop-items-2-11-00000000000000000003.gz", ("shop-items-2", "11", "00000000000000000003")),
    ("aiven", "x/shop.items-0-0000000300.json", ("shop.items", "0", "0000000300")),
    ("aiven", "x/shop.items-0-300-20260131.snappy", ("shop.items", "0", "300")),
    ("secor", "shop.orders/dt=2026-01-31/1_0_00000000000000000123.gz", (None, "0", "00000000000000000123")),
    ("event_hubs", "ns/hub/7/2026/01/31/23/59/59.avro", ("hub", "7", None)),
    ("firehose", "2026/01/01/00/items-1-2026-01-01-00-05-00-3d1f6a52-7c0b-4b8e-9d55-0e6c1a2b3c4d", (None, None, None)),
    (None, "2024/05/01/orders.json", None),
    (None, "x/5_6.json", None),
    (None, "1/5_6.json", None),
    (None, "x(1/6).json", None),
    (None, "x/orders-2026-11.json", None),
    (None, "x/customers-2024-10-17.parquet", None),
    (None, "x/orders-10-7-2024.json", None),
    (None, "x/part-0-5.json", None),
    (None, "x/part-00000-3d1f6a52-7c0b-4b8e-9d55-0e6c1a2b3c4d-c000.snappy.parquet", None),
    (None, "x/20240501-1-5.json", None),
    (None, "counter/12-1609459200000000000.txt", None),
]


@pytest.mark.parametrize(("layout", "path", "said"), NAMES)
def test_layout_and_what_a_name_says(
    macros: Renderer, layout: str | None, path: str, said: tuple[str | None, ...] | None
) -> None:
    name = parse_name(path)
    assert name.layout == layout
    if layout is None or said is None:
        return
    found = macros.render("pattern_of_layout", layout)
    match = re.search(found["pattern"][1:-1], f"s3a://lake/{path}")
    assert match is not None
    number = "last_offset" if macros.render("has_last_offsets", feed(layout=layout)) else "offset"
    groups = found["groups"]
    assert tuple(match[groups[group]] if group in groups else None for group in ("topic", "partition", number)) == said
    assert (name.partition, name.offset) == tuple(None if part is None else int(part) for part in said[1:])


def test_sink_names(macros: Renderer) -> None:
    for layout in macros.render("sink_names"):
        for group in ("topic", "partition", "offset", "last_offset"):
            assert_expression_parses(macros.render("part_of_name", layout, group, "string"))


def test_require_layout(macros: Renderer) -> None:
    macros.render("require_layout", "m", feed(layout="confluent", order_by="offset"))
    macros.render("require_layout", "m", feed(layout="(?<topic>[^/]+)/(?<offset>[0-9]+)$", order_by="offset"))
    assert macros.refusal("require_layout", "m", feed(layout=5)).startswith("m: meta.cdc.layout is 5; allowed: ")
