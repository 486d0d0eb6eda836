"""Northwind's orders through an outbox: `cdc_events`, one document an order, upserted by triggers, by Debezium 1.7.

The rows are those that the triggers of the source's `03_cdc_events.sql` write: at first by `usp_init_order_events`,
then by the statements of the documents' update and insert examples. Every layout of the sinks has the same messages.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from scripts.samples import data, expected
from scripts.samples.connect import Row, days
from scripts.samples.postgresql import DAY, DOCUMENT, INT16, MOMENT, TEXT, Database, Table, records, zoned
from scripts.samples.sinks import Files, Record, confluent, copied, lenses


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TOPIC_PREFIX: Final = "msk"
LOADS: Final = ("1-snapshot", "2-update", "3-new-order")
# What every variant has: three orders of the snapshot, two of one customer, and the new one that grows.
VARIANT_ORDERS: Final = (10248, 10643, 10702, 11075)
NEW_ORDER: Final = 11075
UPDATED_ORDER: Final = 11077

CDC_EVENTS: Final = Table(
    "cdc_events",
    {
        "order_id": INT16,
        "customer_id": TEXT,
        "order_date": DAY.nullable(),
        "required_date": DAY.nullable(),
        "shipped_date": DAY.nullable(),
        "order_items": DOCUMENT.nullable(),
        "products": DOCUMENT.nullable(),
        "customer": DOCUMENT.nullable(),
        "employee": DOCUMENT.nullable(),
        "shipper": DOCUMENT.nullable(),
        "shipment": DOCUMENT.nullable(),
        "updated_at": MOMENT.nullable(),
    },
    ["order_id"],
)
_INITIALISED: Final = datetime(2021, 12, 8, 3, 12, 50, 207556, timezone.utc)
_SNAPSHOT: Final = datetime(2021, 12, 8, 3, 29, 18, 583000, timezone.utc)
_UPDATED: Final = datetime(2021, 12, 8, 4, 2, 7, 118093, timezone.utc)
_INSERTED: Final = datetime(2021, 12, 8, 4, 15, 31, 640218, timezone.utc)
_NUMBERS: Final = _names(
    "category_id discontinued discount employee_id freight order_id product_id quantity region_id "
    "reorder_level reports_to ship_via shipper_id supplier_id unit_price units_in_stock units_on_order "
)


def files(path: Path) -> Mapping[str, bytes]:
    """The samples of Northwind, by their path below `samples/northwind/`.

    Args:
        path: of the licensed data.
    """
    source = _Source.read(path / "northwind")
    history = _History(source)
    found: Files = {"LICENSE": (path / "northwind" / "LICENSE").read_bytes()}
    for load, messages in zip(LOADS, history.loads, strict=True):
        found |= copied(confluent(history.topic, messages, "json_gzip", 100), load)
    few = [record for load in history.loads for record in load if record.value["order_id"] in VARIANT_ORDERS]
    for name, objects in _variants(history.topic, few).items():
        found |= copied(objects, f"variants/{name}")
    for load, rows in zip(LOADS, history.documents, strict=True):
        tables = _expected(rows, source, history.events[load])
        left_out = () if load == LOADS[-1] else _EXPECTED_AT_THE_END
        found |= expected.tables(load, {name: table for name, table in tables.items() if name not in left_out})
    return found


def _variants(topic: str, few: Sequence[Record]) -> dict[str, Files]:
    """The other layouts of the documents, with a few orders: a sink that partitions writes a folder for each."""
    by = ("customer_id", "order_id")
    return {
        "lenses-partitioned": lenses("cdc-events", topic, few, 50, by),
        "lenses": lenses("cdc-events", topic, few, 4),
        "confluent-partitioned": confluent(topic, few, "json", 1, by),
        "confluent-json-with-schema": confluent(topic, few, "json_with_schema", 4),
        "confluent-avro": confluent(topic, few, "avro", 4),
    }


def _jsonb(value: Any) -> Any:
    """What jsonb keeps: the keys by their length, then by their bytes."""
    if isinstance(value, Mapping):
        names = sorted(value, key=lambda name: (len(name.encode()), name.encode()))
        return {name: _jsonb(value[name]) for name in names}
    return [_jsonb(item) for item in value] if isinstance(value, list) else value


def _jsonb_text(value: Any) -> str | None:
    """As PostgreSQL prints it."""
    return None if value is None else json.dumps(_jsonb(value), ensure_ascii=False)


def _typed(row: Mapping[str, str]) -> dict[str, Any]:
    """A row of a file as `row_to_json` has it: an empty field is NULL, a `real` has as few digits as tell it."""
    return {
        name: None if value == "" else json.loads(value) if name in _NUMBERS else value for name, value in row.items()
    }


@dataclass
class _Source:
    """The tables that the trigger reads.

    Attributes:
        orders: by their number.
        items: of `order_details`, by order.
        products: with their supplier and category, by product.
        customers: by their id.
        employees: with their territories, by employee.
        shippers: by their id.
    """

    orders: dict[int, dict[str, Any]]
    items: dict[int, list[dict[str, Any]]]
    products: dict[int, dict[str, Any]]
    customers: dict[str, dict[str, Any]]
    employees: dict[int, dict[str, Any]]
    shippers: dict[int, dict[str, Any]]

    @classmethod
    def read(cls, path: Path) -> _Source:
        """The tables from their files."""

        def rows(name: str) -> list[dict[str, Any]]:
            return [_typed(row) for row in data.rows(path / f"{name}.csv.gz")]

        def by(key: str, name: str) -> dict[Any, dict[str, Any]]:
            return {row[key]: row for row in rows(name)}

        suppliers, categories = by("supplier_id", "suppliers"), by("category_id", "categories")
        regions, territories = by("region_id", "region"), by("territory_id", "territories")
        items: dict[int, list[dict[str, Any]]] = {}
        for row in rows("order_details"):
            items.setdefault(row.pop("order_id"), []).append(row)
        employees = {number: {**row, "territories": []} for number, row in by("employee_id", "employees").items()}
        for row in rows("employee_territories"):
            territory = territories[row["territory_id"]]
            employees[row["employee_id"]]["territories"].append({**territory, **regions[territory["region_id"]]})
        return cls(
            by("order_id", "orders"),
            items,
            {
                number: {**row, **suppliers[row["supplier_id"]], **categories[row["category_id"]]}
                for number, row in by("product_id", "products").items()
            },
            by("customer_id", "customers"),
            employees,
            by("shipper_id", "shippers"),
        )

    def document(self, order: Mapping[str, Any], items: Sequence[Row], at: datetime) -> dict[str, Any]:
        """The row of `cdc_events` that the trigger writes for an order, its documents not yet text."""
        return {
            "order_id": order["order_id"],
            "customer_id": order["customer_id"],
            **{name: order[name] for name in ("order_date", "required_date", "shipped_date")},
            "order_items": [dict(item) for item in items] or None,
            "products": [self.products[item["product_id"]] for item in items] or None,
            "customer": self.customers[order["customer_id"]],
            "employee": self.employees[order["employee_id"]],
            "shipper": self.shippers[order["ship_via"]],
            "shipment": {"freight": order["freight"], **{name: order[name] for name in order if name[:5] == "ship_"}},
            "updated_at": at,
        }


class _History:
    """What happens to `cdc_events`, and the messages of each load."""

    def __init__(self, source: _Source) -> None:
        """The whole history."""
        self.database = Database(TOPIC_PREFIX, "devdb", "datalake", "1.7.1.Final", 27_955_536, 612)
        self.topic = self.database.topic(CDC_EVENTS)
        self._documents: dict[int, dict[str, Any]] = {}
        self.documents: list[list[dict[str, Any]]] = []
        self.events: dict[str, list[Row]] = {}
        self.loads: list[list[Record]] = []
        self._snapshot(source)
        self._update(source)
        self._insert(source)

    def _snapshot(self, source: _Source) -> None:
        for number, order in source.orders.items():
            if number != NEW_ORDER:
                self._documents[number] = source.document(order, source.items[number], _INITIALISED)
        rows = [_written(document) for document in self._documents.values()]
        self.database.snapshot({CDC_EVENTS.name: (CDC_EVENTS, rows)}, _SNAPSHOT)
        self._end_load()

    def _update(self, source: _Source) -> None:
        order = {**source.orders[UPDATED_ORDER], "shipped_date": "1998-06-15"}
        document = source.document(order, source.items[UPDATED_ORDER], _UPDATED)
        self._documents[UPDATED_ORDER] = document
        self.database.commit(_UPDATED, ("update", CDC_EVENTS, ((UPDATED_ORDER,), _written(document))))
        self._end_load()

    def _insert(self, source: _Source) -> None:
        """The trigger runs for the order, then for each of its rows in `order_details`: all see the same `now()`."""
        order, items = source.orders[NEW_ORDER], source.items[NEW_ORDER]
        grown = [source.document(order, items[:count], _INSERTED) for count in range(len(items) + 1)]
        self._documents[NEW_ORDER] = grown[-1]
        updates = [("update", CDC_EVENTS, ((NEW_ORDER,), _written(document))) for document in grown[1:]]
        self.database.commit(_INSERTED, ("insert", CDC_EVENTS, _written(grown[0])), *updates)
        self._end_load()

    def _end_load(self) -> None:
        load = LOADS[len(self.loads)]
        messages = records(self.database, CDC_EVENTS, self.database.changes, flattened=True)
        self.loads.append(messages[sum(map(len, self.loads)) :])
        self.documents.append([document for _, document in sorted(self._documents.items())])
        self.events[load] = [record.value for record in messages]


def _written(document: Row) -> Row:
    """A row of `cdc_events` in the connector's types."""
    row: dict[str, Any] = dict(document)
    for name in ("order_date", "required_date", "shipped_date"):
        row[name] = None if document[name] is None else days(date.fromisoformat(document[name]))
    for name in ("order_items", "products", "customer", "employee", "shipper", "shipment"):
        row[name] = _jsonb_text(document[name])
    return {**row, "updated_at": zoned(document["updated_at"])}


_ORDER: Final = ("order_id", "customer_id", "order_date", "required_date", "shipped_date", "updated_at")
_ITEM: Final = ("product_id", "unit_price", "quantity", "discount")
_PRODUCT: Final = _names(
    "product_id product_name quantity_per_unit unit_price units_in_stock units_on_order reorder_level "
    "discontinued category_id category_name description supplier_id company_name contact_name contact_title "
    "address city region postal_code country phone fax homepage"
)
_CUSTOMER: Final = _names(
    "customer_id company_name contact_name contact_title address city region postal_code country phone fax"
)
_EMPLOYEE: Final = _names(
    "employee_id last_name first_name title title_of_courtesy birth_date hire_date address city region "
    "postal_code country home_phone extension notes reports_to photo_path"
)
_TERRITORY: Final = ("territory_id", "territory_description", "region_id", "region_description")
_SHIPPER: Final = ("shipper_id", "company_name", "phone")
_SHIPMENT: Final = _names("freight ship_name ship_address ship_city ship_region ship_postal_code ship_country")
# Large, and of the same SQL as the items, which are held against every load.
_EXPECTED_AT_THE_END: Final = frozenset(
    f"fct_northwind_order_{name}" for name in ("product", "customer", "employee", "shipper", "shipment")
)
# The types of the marts: money and shares of a `real` with as many digits as the source has.
_DECIMALS: Final = {"unit_price": 2, "discount": 2, "freight": 2}


_Table = tuple[Iterable[Row], Sequence[str]]


def _expected(documents: Sequence[Row], source: _Source, events: Sequence[Row]) -> dict[str, _Table]:
    """Tables after a load, from the source's rows, with their keys."""

    def of_order(column: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        for document in documents:
            yield {"order_id": document["order_id"], **_values(document[column], names)}

    def of_items(column: str, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        for document in documents:
            for item in document[column] or ():
                yield {"order_id": document["order_id"], **_values(item, names)}

    employees = [
        {**row, "territories": _territories(source.employees[row["employee_id"]])}
        for row in of_order("employee", _EMPLOYEE)
    ]
    return {
        "slv_northwind__orders": ([{name: row[name] for name in _ORDER} for row in documents], ["order_id"]),
        "slv_northwind__events": ([_event(row) for row in events], ["order_id", "__lsn"]),
        "fct_northwind_order_item": (list(of_items("order_items", _ITEM)), ["order_id", "product_id"]),
        "fct_northwind_order_product": (list(of_items("products", _PRODUCT)), ["order_id", "product_id"]),
        "fct_northwind_order_customer": (list(of_order("customer", _CUSTOMER)), ["order_id"]),
        "fct_northwind_order_employee": (employees, ["order_id"]),
        "fct_northwind_order_shipper": (list(of_order("shipper", _SHIPPER)), ["order_id"]),
        "fct_northwind_order_shipment": (list(of_order("shipment", _SHIPMENT)), ["order_id"]),
        "agg_northwind_sales_by_country": (_sales(documents), ["ship_country"]),
    }


def _values(row: Row, names: Sequence[str]) -> dict[str, Any]:
    found = {name: row[name] for name in names}
    for name, digits in _DECIMALS.items():
        if found.get(name) is not None:
            found[name] = f"{Decimal(str(found[name])):.{digits}f}"
    return found


def _territories(employee: Row) -> list[Row]:
    return [{name: territory[name] for name in _TERRITORY} for territory in employee["territories"]]


def _event(row: Row) -> Row:
    return {name: row[name] for name in ("order_id", "customer_id", "__op", "__lsn", "__source_ts_ms", "__deleted")}


def _sales(documents: Sequence[Row]) -> list[Row]:
    found: dict[str, dict[str, Any]] = {}
    for document in documents:
        country = document["shipment"]["ship_country"]
        sales = found.setdefault(
            country,
            {"ship_country": country, "order_count": 0, "item_count": 0, "revenue": Decimal(0), "freight": Decimal(0)},
        )
        sales["order_count"] += 1
        sales["freight"] += Decimal(str(document["shipment"]["freight"]))
        for item in document["order_items"] or ():
            sales["item_count"] += 1
            gross = Decimal(str(item["unit_price"])) * item["quantity"]
            sales["revenue"] += gross * (1 - Decimal(str(item["discount"])))
    return [
        {**sales, "revenue": f"{sales['revenue']:.4f}", "freight": f"{sales['freight']:.2f}"}
        for sales in found.values()
    ]
