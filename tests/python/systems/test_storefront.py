"""The storefront: documents flattened into tables, and a consumer's copy that follows its producer's events."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from .loads import SAMPLES, SystemUnderTest, Texts, expected_rows, loads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = "storefront"
SUSAN, JOHN = "5b18661ebe417602a48132ed", "5b189af9a8d05613315b0212"
FIRST_ORDER, SECOND_ORDER = "df78784f-4d1d-48ad-a3e3-26a4fe7317a4", "29692d7f-3ca5-4684-b5fd-51dbcf40dc1e"


def by_load(relation: str, *columns: str, **where: str) -> list[list[list[str | None]]]:
    """Some cells of what a relation has to hold after each load."""
    return [
        [
            [row[name] for name in columns]
            for row in expected_rows(SOURCE, load, relation)
            if all(row[name] == value for name, value in where.items())
        ]
        for load in loads(SOURCE)
    ]


class TestSamples:
    """The files and what is expected of them, without Spark."""

    def test_envelopes_have_the_document_as_a_text(self) -> None:
        topic = "storefront.accounts.customer.accounts"
        file = SAMPLES / SOURCE / "1-first" / "topics" / topic / "partition=0" / f"{topic}+0+0000000000.json"
        read, created = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
        assert (read["op"], created["op"]) == ("r", "c")
        assert read["after"].startswith('{"_id": {"$oid": "5b18661ebe417602a48132ed"},"name": {"title": "Ms.",')
        topic = "storefront.orders.customer.orders"
        file = SAMPLES / SOURCE / "1-first" / "topics" / topic / "partition=0" / f"{topic}+0+0000000000.json"
        assert '{"timestamp": {"$numberLong": "1528334452800"}' in json.loads(file.read_text().splitlines()[0])["after"]

    def test_events_leave_the_credit_cards_out(self) -> None:
        files = (SAMPLES / SOURCE).glob("*/topics/accounts.customer.change/*/*.json")
        events = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        assert {tuple(event) for event in events} == {("id", "name", "contact", "addresses")}
        assert all(address["address2"] is None for event in events for address in event["addresses"])

    def test_copy_follows_the_events(self) -> None:
        cells = ("is_event_current", "is_copy_current", "email_of_copy")
        assert by_load("dim_storefront_customer_copy", *cells, customer_id=JOHN) == [
            [["true", "true", "john.doe@internet.com"]],
            [["true", "false", "john.doe@internet.com"]],
            [["true", "true", "john.s.doe@internet.com"]],
        ]
        assert by_load("fct_storefront_order", "status", "told_status", order_guid=SECOND_ORDER) == [
            [["APPROVED", None]],
            [["APPROVED", "PROCESSING"]],
            [["PROCESSING", "PROCESSING"]],
        ]

    def test_vanished_elements_are_gone(self) -> None:
        addresses = by_load("dim_storefront_customer_address", "ordinal", "address_type", customer_id=JOHN)
        assert addresses == [[["1", "BILLING"], ["2", "SHIPPING"]], [["1", "SHIPPING"]], [["1", "SHIPPING"]]]
        items = by_load("fct_storefront_order_item", "ordinal", "product_title", order_guid=FIRST_ORDER)
        assert items == [[["1", "Green Widget"], ["2", "Red Widget"]]] * 2 + [[["1", "Red Widget"]]]
        shipments = by_load("fct_storefront_shipping_status", "ordinal", "status", order_guid=SECOND_ORDER)
        assert shipments == [[["1", "SHIPPED"]], [["1", "SHIPPED"]], []], "the request was withdrawn"


@pytest.fixture(scope="module")
def system(spark: SparkSession) -> SystemUnderTest:
    """After the last load; how the tables are after each one is in test_expected_tables."""
    system = SystemUnderTest(SOURCE, spark)
    for load in loads(SOURCE):
        system.land(load)
    system.build()
    return system


@pytest.mark.slow
class TestTables:
    """The tables."""

    def test_customers_printed_document(self, system: SystemUnderTest) -> None:
        (susan,) = [row for row in system.texts("dim_storefront_customer", PERSON) if row["customer_id"] == SUSAN]
        assert list(susan.values())[1:] == ["Ms.", "Susan", "Blackstone", "433-544-6555", "223-445-6767", MAIL]

    def test_statuses_of_an_order_in_their_order(self, system: SystemUnderTest) -> None:
        rows = ordered(system.texts("fct_storefront_order_status", ["order_guid", "ordinal", "status", "changed_at"]))
        guid = "f52e2930-ef31-44db-a53c-b7ba4ae3f5cf"
        assert [(row["status"], row["changed_at"]) for row in rows if row["order_guid"] == guid] == [
            ("CREATED", "2018-06-07 01:12:06.586"),
            ("APPROVED", "2018-06-07 01:12:06.586"),
            ("PROCESSING", "2018-06-07 01:20:52.8"),
            ("COMPLETED", "2018-06-07 01:20:57.603"),
        ]

    def test_all_files_at_once_or_load_by_load(self, system: SystemUnderTest) -> None:
        names = ["order_guid", "ordinal", "product_title", "quantity", "amount"]
        found = ordered(system.texts("fct_storefront_order_item", names))
        expected = expected_rows(SOURCE, loads(SOURCE)[-1], "fct_storefront_order_item")
        assert found == [{name: row[name] for name in names} for row in ordered(expected)]

    def test_credit_cards_are_in_no_table(self, system: SystemUnderTest) -> None:
        for relation in ("stg_storefront__accounts", "slv_storefront__accounts_state", "slv_storefront__accounts"):
            assert not {"creditcards"} & {name.lower() for name in system.columns(relation)}, relation


MAIL = "susan.m.blackstone@emailisus.com"
PERSON = ("customer_id", "title", "first_name", "last_name", "primary_phone", "secondary_phone", "email")


def ordered(rows: list[Texts]) -> list[Texts]:
    return sorted(rows, key=lambda row: (row["order_guid"], int(row["ordinal"] or 0)))
