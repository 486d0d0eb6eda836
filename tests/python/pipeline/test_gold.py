"""The repository's own models of the shop: an incremental mart equals its full refresh."""

from __future__ import annotations

import io
import shutil
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .events import Event, avro, lines, postgresql, stored
from .project import BRONZE, GOLD, REPOSITORY, SILVER, Feed, Project, Row

ENTITIES = ("order_items", "orders", "products")
LANDING = "{{ env_var('ALLUVIUM_LANDING', 'landing') }}"
MODELS = [
    f"{prefix}_shop__{entity}{suffix}"
    for entity in ENTITIES
    for prefix, suffix in (("stg", ""), ("slv", "_state"), ("slv", ""))
]
MART = "fct_order_item"
AGGREGATE = "agg_sales_by_region"
COUNT = "agg_item_count"

ITEM = pa.struct(
    [
        ("region", pa.string()),
        ("order_no", pa.int32()),
        ("line_no", pa.int16()),
        ("sku", pa.string()),
        ("qty", pa.int32()),
        ("price", pa.decimal128(10, 4)),
    ]
)
SOURCE = pa.struct([("lsn", pa.int64()), ("sequence", pa.string()), ("ts_ms", pa.int64())])
ITEMS = pa.schema([("before", ITEM), ("after", ITEM), ("source", SOURCE), ("op", pa.string()), ("ts_ms", pa.int64())])
PRODUCT = {
    "type": "record",
    "name": "Value",
    "fields": [{"name": "sku", "type": "string"}, {"name": "title", "type": ["null", "string"]}],
}
PRODUCTS = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", PRODUCT]},
        {"name": "after", "type": ["null", "Value"]},
        {
            "name": "source",
            "type": {
                "type": "record",
                "name": "Source",
                "fields": [{"name": "lsn", "type": "long"}, {"name": "sequence", "type": "string"}],
            },
        },
        {"name": "op", "type": "string"},
    ],
}


def item(op: str, lsn: int, order: int, line: int, sku: str, qty: int = 1) -> Event:
    price = Decimal("2.5000")
    return postgresql(
        op, lsn, {"region": "eu", "order_no": order, "line_no": line, "sku": sku, "qty": qty, "price": price}
    )


def order(op: str, lsn: int, number: int, status: str) -> Event:
    return postgresql(op, lsn, {"region": "eu", "order_no": number, "customer_id": 7, "status": status})


def product(op: str, lsn: int, sku: str, title: str | None) -> Event:
    return postgresql(op, lsn, {"sku": sku, "title": title})


def items_file(*events: Event) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(events), schema=ITEMS), sink)
    return sink.getvalue()


def orders_file(*events: Event) -> bytes:
    return lines(*(stored(event, number) for number, event in enumerate(events)))


# (items, orders, products) that land before each round.
ROUNDS: list[tuple[list[Event], list[Event], list[Event]]] = [
    (
        [
            item("c", 1, 1, 1, "a"),
            item("c", 2, 1, 2, "b"),
            item("c", 3, 2, 1, "a"),
            item("c", 4, 3, 1, "none"),
            item("d", 5, 4, 1, "a"),
        ],
        [order("c", 6, 1, "new"), order("c", 7, 2, "new"), order("c", 8, 3, "new"), order("d", 9, 4, "new")],
        [product("c", 10, "a", "Apple"), product("c", 11, "b", "Bread")],
    ),
    (
        # An item changed, one deleted, one created, one that was deleted has a late event.
        [item("u", 21, 1, 2, "b", 9), item("d", 22, 1, 1, "a"), item("c", 23, 2, 2, "b"), item("u", 4, 4, 1, "a")],
        # An order changed and then a late event, one deleted, one created again.
        [order("u", 24, 2, "paid"), order("u", 8, 2, "late"), order("d", 25, 3, "new"), order("c", 26, 4, "again")],
        # A product changed, one deleted, one there at last.
        [product("u", 27, "a", "Apfel"), product("d", 28, "b", None), product("c", 29, "none", "Nuts")],
    ),
]
PRICE = Decimal("2.5000")
EXPECTED: list[dict[tuple[int, int], tuple[Any, ...]]] = [
    {
        (1, 1): ("Apple", "new", 1, PRICE),
        (1, 2): ("Bread", "new", 1, PRICE),
        (2, 1): ("Apple", "new", 1, PRICE),
        (3, 1): (None, "new", 1, PRICE),
    },
    {
        (1, 2): (None, "new", 9, 9 * PRICE),
        (2, 1): ("Apfel", "paid", 1, PRICE),
        (2, 2): (None, "paid", 1, PRICE),
        (3, 1): ("Nuts", None, 1, PRICE),
    },
]


NULL_KEYS = "agg_null_keys"
NULL_KEYS_SQL = """
{{ config(contract={"enforced": false}) }}
{{ incremental_mart(["id", "part"], deleted_with="slv_pipe__null_keys_state") }}
select living.id, living.part, living.name
from {{ ref("slv_pipe__null_keys") }} as living
inner join ({{ changed_keys(ref("slv_pipe__null_keys_state"), ["id", "part"]) }}) as changed
    on living.id <=> changed.id and living.part <=> changed.part
"""


def named(op: str, lsn: int, number: int | None, name: str) -> Event:
    return postgresql(op, lsn, {"id": number, "part": 1, "name": name})


FEEDS = [
    Feed(
        "null_keys",
        {"id": ("int", {"nullable": True}), "part": "int", "name": "string"},
        [
            {"t+0+0.json": lines(named("c", 1, None, "a"), named("c", 2, 1, "a"), named("c", 3, 2, "a"))},
            {"t+0+3.json": lines(named("u", 4, None, "b"), named("u", 5, 1, "b"), named("d", 6, 2, "a"))},
            {"t+0+6.json": lines(named("u", 7, None, "c"))},
        ],
        key=("id", "part"),
        models=("log", "state", "living"),
        before={2: lambda project: run(project, "--select", NULL_KEYS)},
    )
]


def test_mart_has_one_row_of_a_key_with_a_null(project: Project) -> None:
    run(project, "--select", NULL_KEYS)
    rows = [(row["id"], row["part"], row["name"]) for row in project.rows(f"{GOLD}.{NULL_KEYS}")]
    assert sorted(rows, key=str) == [(1, 1, "b"), (None, 1, "c")]


def prepare(project: Project, *, slow: bool) -> None:
    """Puts the repository's models of the shop into the project, over a landing zone of their own."""
    models, target = REPOSITORY / "models", project.folder / "models"
    landing = project.landing / "samples of the shop"
    shutil.copytree(models / "_docs", target / "_docs")
    sources = (models / "bronze" / "shop" / "_shop__sources.yml").read_text(encoding="utf-8")
    moved = sources.replace(LANDING, str(landing)).replace("schema: bronze\n", f"schema: {BRONZE}\n")
    assert str(landing) in moved
    assert BRONZE in moved
    (target / "_shop__sources.yml").write_text(moved, encoding="utf-8")
    (target / "silver").mkdir(exist_ok=True)
    for name in MODELS:
        shutil.copy(models / "silver" / "shop" / f"{name}.sql", target / "silver")
    (target / "gold").mkdir(exist_ok=True)
    for name in (MART, AGGREGATE):
        shutil.copy(models / "gold" / "sales" / f"{name}.sql", target / "gold")
        # Without its unit tests, which each build would run.
        described, _, _ = (
            (models / "gold" / "sales" / f"{name}.yml").read_text(encoding="utf-8").partition("\nunit_tests:")
        )
        (target / "gold" / f"{name}.yml").write_text(described, encoding="utf-8")
    living = "slv_shop__order_items"
    shutil.copy(models / "silver" / "shop" / f"{living}.sql", target / "silver")
    sql = f'{{{{ config(contract={{"enforced": false}}) }}}}\nselect count(*) as items from {{{{ ref("{living}") }}}}'
    (target / "gold" / f"{COUNT}.sql").write_text(sql + "\n", encoding="utf-8")
    (target / "gold" / f"{NULL_KEYS}.sql").write_text(NULL_KEYS_SQL.lstrip(), encoding="utf-8")
    project.more_models = [*MODELS, MART, AGGREGATE, living, COUNT, NULL_KEYS]
    for number, (items, orders, products) in enumerate(ROUNDS if slow else ROUNDS[:1]):
        confluent = "samples of the shop/shop/confluent-{}/topics/shop.public.{}/partition=0/shop.public.{}+0+{}.{}"
        entities = {
            ("parquet", "order_items"): items_file(*items),
            ("avro", "products"): avro(PRODUCTS, *products),
        }
        files = {
            confluent.format(format_, entity, entity, 100 * number, format_): content
            for (format_, entity), content in entities.items()
        }
        files[f"samples of the shop/shop/lenses-envelope/cdc-envelope/shop.public.orders(0_{100 * number}).json"] = (
            orders_file(*orders)
        )
        project.more_files.append(files)


def mart(rows: list[Row]) -> dict[tuple[int, int], tuple[Any, ...]]:
    return {
        (row["order_no"], row["line_no"]): (row["product_title"], row["order_status"], row["quantity"], row["amount"])
        for row in rows
    }


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_mart_follows_items_orders_and_products(project: Project, number: int) -> None:
    rows = project.rows(f"{GOLD}.{MART}", project.versions[number][MART])
    assert mart(rows) == EXPECTED[number]
    assert len(rows) == len(EXPECTED[number])


@pytest.mark.parametrize("number", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_aggregate_is_computed_anew_when_its_table_has_changed(project: Project, number: int) -> None:
    expected = EXPECTED[number]
    (row,) = project.rows(f"{GOLD}.{AGGREGATE}", project.versions[number][AGGREGATE])
    assert row == {
        "region": "eu",
        "order_count": len({order for order, _ in expected}),
        "item_count": len(expected),
        "quantity": sum(quantity for _, _, quantity, _ in expected.values()),
        "revenue": sum(amount for *_, amount in expected.values()),
    }


def run(project: Project, *arguments: str) -> None:
    outcome = project.dbt("run", *arguments)
    assert (outcome.failed, outcome.error) == (set(), "")


@pytest.mark.slow
def test_aggregate_is_left_alone_until_something_behind_it_changes(project: Project) -> None:
    """Its table, also when that is made anew with the same rows, or its own SQL."""
    run(project, "--select", AGGREGATE)
    before = project.version(AGGREGATE)
    run(project, "--select", AGGREGATE)
    assert project.version(AGGREGATE) == before
    run(project, "--full-refresh", "--select", MART)
    run(project, "--select", AGGREGATE)
    after = project.version(AGGREGATE)
    assert (after or 0) > (before or 0)
    sql = project.folder / "models" / "gold" / f"{AGGREGATE}.sql"
    sql.write_text(sql.read_text(encoding="utf-8").replace("sum(quantity)", "sum(quantity) * 2"), encoding="utf-8")
    run(project, "--select", AGGREGATE)
    (row,) = project.rows(f"{GOLD}.{AGGREGATE}")
    assert row["quantity"] == 2 * sum(quantity for _, _, quantity, _ in EXPECTED[-1].values())


@pytest.mark.slow
def test_mart_is_computed_anew_when_a_view_behind_it_changes(project: Project) -> None:
    assert project.rows(f"{GOLD}.{COUNT}") == [{"items": len(EXPECTED[-1])}]
    view = project.folder / "models" / "silver" / "slv_shop__order_items.sql"
    text = view.read_text(encoding="utf-8")
    view.write_text(f"select * from ({text}) where qty = 9\n", encoding="utf-8")
    run(project, "--select", "slv_shop__order_items", COUNT)
    assert project.rows(f"{GOLD}.{COUNT}") == [{"items": 1}]
    view.write_text(text, encoding="utf-8")
    run(project, "--select", "slv_shop__order_items", COUNT)


@pytest.mark.slow
def test_incremental_mart_equals_full_refresh(project: Project) -> None:
    def contents() -> list[str]:
        return sorted(map(str, project.rows(f"{GOLD}.{MART}")))

    incremental = contents()
    run(project, "--full-refresh", "--select", MART)
    assert contents() == incremental


@pytest.mark.slow
def test_mart_follows_a_state_that_was_built_anew_alone(project: Project) -> None:
    """The same batches with other values: the log is rewritten behind dbt's back, as a corrected decoder would."""
    project.spark.sql(f"update {SILVER}.stg_shop__products set title = 'Pomme' where title = 'Apfel'")
    run(project, "--full-refresh", "--select", "slv_shop__products_state")
    run(project, "--select", MART)
    titles = {row["product_title"] for row in project.rows(f"{GOLD}.{MART}")}
    assert ("Pomme" in titles, "Apfel" in titles) == (True, False)


def test_no_sample_event_is_rejected(project: Project) -> None:
    for entity in ENTITIES:
        assert {row["_cdc_reject_detail"] for row in project.rows(f"{SILVER}.stg_shop__{entity}")} == {None}
