"""Northwind's outbox: what the documents print of it, from the files of the sample to the tables."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .loads import SAMPLES, Loaded, expected_rows, loads

FIRST, UPDATE, NEW_ORDER = loads("northwind")
PARTITION = "topics/msk.datalake.cdc_events/partition=0"


def lines(load: str) -> list[dict[str, Any]]:
    """The events of a load, in the order of their offsets."""
    found = []
    for file in sorted((SAMPLES / "northwind" / load / PARTITION).iterdir()):
        found += [json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().split("\n") if line]
    return found


def order(load: str, number: str) -> dict[str, str | None]:
    """An order after a load."""
    (row,) = [row for row in expected_rows("northwind", load, "slv_northwind__orders") if row["order_id"] == number]
    return row


def test_829_orders_at_creation() -> None:
    assert len(lines(FIRST)) == 829
    assert len(expected_rows("northwind", FIRST, "slv_northwind__orders")) == 829
    assert len(expected_rows("northwind", NEW_ORDER, "slv_northwind__orders")) == 830


def test_update_event_of_order_11077() -> None:
    """The date is an INT32 of days in the file, and one in the table."""
    before, after = (next(event for event in lines(load) if event["order_id"] == 11077) for load in (FIRST, UPDATE))
    assert (before["shipped_date"], after["shipped_date"]) == (None, 10392)
    assert (order(FIRST, "11077")["shipped_date"], order(UPDATE, "11077")["shipped_date"]) == (None, "1998-06-15")


def test_insert_event_of_order_11075() -> None:
    """Four objects: the first without items and products, the others with one more each."""
    events = lines(NEW_ORDER)
    assert [event["order_id"] for event in events] == [11075] * 4
    assert [event["order_items"] and len(json.loads(event["order_items"])) for event in events] == [None, 1, 2, 3]
    assert [event["products"] and len(json.loads(event["products"])) for event in events] == [None, 1, 2, 3]
    assert len({event["updated_at"] for event in events}) == 1


@pytest.mark.slow
def test_simplified_event_record_of_order_10248(loaded: Callable[[str], Loaded]) -> None:
    """The record that the first document shows, out of the typed tables."""
    system = loaded("northwind").system

    def rows(relation: str, *columns: str) -> list[tuple[str | None, ...]]:
        found = [row for row in system.texts(relation, ("order_id", *columns)) if row["order_id"] == "10248"]
        return sorted(tuple(row[column] for column in columns) for row in found)

    assert rows("slv_northwind__orders", "customer_id", "order_date", "required_date", "shipped_date") == [
        ("VINET", "1996-07-04", "1996-08-01", "1996-07-16")
    ]
    assert rows("fct_northwind_order_item", "product_id", "quantity", "unit_price", "discount") == [
        ("11", "12", "14.00", "0.00"),
        ("42", "10", "9.80", "0.00"),
        ("72", "5", "34.80", "0.00"),
    ]
    assert rows("fct_northwind_order_product", "product_id", "product_name") == [
        ("11", "Queso Cabrales"),
        ("42", "Singaporean Hokkien Fried Mee"),
        ("72", "Mozzarella di Giovanni"),
    ]
    assert rows("fct_northwind_order_customer", "customer_id", "company_name") == [
        ("VINET", "Vins et alcools Chevalier")
    ]
    assert rows("fct_northwind_order_employee", "employee_id", "last_name", "title") == [
        ("5", "Buchanan", "Sales Manager")
    ]
    assert rows("fct_northwind_order_shipper", "company_name") == [("Federal Shipping",)]
    assert rows("fct_northwind_order_shipment", "freight", "ship_name") == [("32.38", "Vins et alcools Chevalier")]


@pytest.mark.slow
def test_documents_come_through_unchanged(loaded: Callable[[str], Loaded]) -> None:
    documents = ("order_items", "products", "customer", "employee", "shipper", "shipment")
    newest = {event["order_id"]: event for load in loads("northwind") for event in lines(load)}
    rows = loaded("northwind").system.rows("slv_northwind__orders", ("order_id", *documents))
    assert {row["order_id"]: [row[name] for name in documents] for row in rows} == {
        number: [event[name] for name in documents] for number, event in newest.items()
    }


@pytest.mark.slow
def test_events_that_are_sent_again_are_there_once(loaded: Callable[[str], Loaded], landing: Path) -> None:
    """A connector that starts again repeats what it has not committed: the same events under new offsets."""
    system = loaded("northwind").system
    columns = ("order_id", "__lsn", "__op", "order_items")
    before = sorted(map(str, system.rows("slv_northwind__events", columns)))
    assert len(before) == 829 + 1 + 4
    again = landing / "northwind" / PARTITION
    content = (again / "msk.datalake.cdc_events+0+0000000830.json.gz").read_bytes()
    (again / "msk.datalake.cdc_events+0+0000000834.json.gz").write_bytes(content)
    system.build()
    assert len(system.rows("stg_northwind__events", ("order_id",))) == 829 + 1 + 4 + 4
    assert sorted(map(str, system.rows("slv_northwind__events", columns))) == before
    (grown,) = [row for row in system.rows("slv_northwind__orders") if row["order_id"] == 11075]
    assert len(json.loads(grown["order_items"])) == 3
