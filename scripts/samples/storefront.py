"""A storefront: three services' documents in MongoDB by Debezium, and the events that carry state between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from scripts.samples import expected
from scripts.samples.connect import EPOCH, Row
from scripts.samples.mongodb import Collection, Document
from scripts.samples.sinks import Files, copied

FIRST, CHANGES, COPIES = "1-first", "2-changes", "3-copies"
SUSAN, JOHN = "5b18661ebe417602a48132ed", "5b189af9a8d05613315b0212"
JOHNS_FIRST, JOHNS_SECOND = "df78784f-4d1d-48ad-a3e3-26a4fe7317a4", "29692d7f-3ca5-4684-b5fd-51dbcf40dc1e"
JOHNS_REQUEST = "5b189b3aa8d05609e6ff1852"
PRODUCTS: Final = {
    "Green Widget": ("7f3c9c22-3c0a-47a5-9a92-2bd2e23f6e37", "Gorgeous Green Widget", "11.99"),
    "Red Widget": ("d01fde07-7c24-49c5-a5f1-bc2ce1f14c48", "Reliable Red Widget", "3.99"),
    "Yellow Widget": ("a9d5a5c7-4245-4b4e-b1c3-1d3968f36b2d", "Amazing Yellow Widget", "5.99"),
}
# 2018-06-07 02:41:18.058 UTC, when John orders.
ORDERED: Final = 1528339278058
NAME: Final = ("title", "firstName", "middleName", "lastName", "suffix")
CONTACT: Final = ("primaryPhone", "secondaryPhone", "email")
ADDRESS: Final = ("type", "description", "address1", "address2", "city", "state", "postalCode")


@dataclass
class Topic:
    """A topic of a service's own events, which Spring Kafka writes as JSON.

    Attributes:
        name: of the topic.
        events: oldest first.
    """

    name: str
    events: list[Row] = field(default_factory=list)


@dataclass
class Storefront:
    """The three services: what each holds, and what it has told the others."""

    accounts: Collection = field(default_factory=lambda: Collection("storefront", "accounts", "customer.accounts"))
    orders: Collection = field(default_factory=lambda: Collection("storefront", "orders", "customer.orders"))
    fulfillment: Collection = field(
        default_factory=lambda: Collection("storefront", "fulfillment", "customer.fulfillment")
    )
    customer_change: Topic = field(default_factory=lambda: Topic("accounts.customer.change"))
    order_change: Topic = field(default_factory=lambda: Topic("fulfillment.order.change"))
    _written: dict[str, int] = field(default_factory=dict)

    def tell_of_customer(self, customer: str) -> None:
        """The accounts service's event: the customer without the credit cards, absent fields as nulls."""
        document = self.accounts.documents[customer]
        self.customer_change.events.append(
            {
                "id": customer,
                "name": _filled(document["name"], NAME),
                "contact": _filled(document["contact"], CONTACT),
                "addresses": [_filled(address, ADDRESS) for address in document["addresses"]],
            }
        )

    def tell_of_order(self, guid: str, status: str, timestamp: int) -> None:
        """The fulfillment service's event: one status that an order has come to."""
        event = {"timestamp": timestamp, "orderStatusType": status, "note": None}
        self.order_change.events.append({"guid": guid, "orderStatusEvent": event})

    def objects(self) -> Files:
        """What the sink writes of all that was sent since the last call: one file of each topic."""
        files: Files = {}
        sent = [(collection.topic, collection.sent) for collection in (self.accounts, self.orders, self.fulfillment)]
        sent += [(topic.name, topic.events) for topic in (self.customer_change, self.order_change)]
        for topic, values in sent:
            start = self._written.get(topic, 0)
            lines = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values[start:]]
            if lines:
                files[f"topics/{topic}/partition=0/{topic}+0+{start:010d}.json"] = ("\n".join(lines) + "\n").encode()
            self._written[topic] = len(values)
        return files


def files(data: Path) -> Mapping[str, bytes]:
    """The samples of this source."""
    folder = data / "storefront"
    store = Storefront()
    made: Files = {"LICENSE": (folder / "LICENSE").read_bytes()}
    account, orders, request = (
        json.loads((folder / f"customer-{name}.json").read_text()) for name in ("accounts", "orders", "fulfillment")
    )
    # The consumer keeps its copy under the producer's id; the three documents were printed after different runs.
    orders["_id"] = {"$oid": SUSAN}
    _first(store, account, orders, request)
    made |= _loaded(store, FIRST)
    _changes(store, orders, request)
    made |= _loaded(store, CHANGES)
    _copies(store)
    made |= _loaded(store, COPIES)
    return made


def _loaded(store: Storefront, load: str) -> Files:
    return copied(store.objects(), load) | expected.tables(load, _expected(store))


def _first(store: Storefront, account: Document, orders: Document, request: Document) -> None:
    """Susan's documents as the snapshots find them, amid her last order; then John registers and orders."""
    store.accounts.read(account, _at(0), last=True)
    store.tell_of_customer(SUSAN)
    amid = {**orders, "orders": [*orders["orders"][:-1], _with_statuses(orders["orders"][-1], 3)]}
    store.orders.read(amid, _at(0), last=True)
    created = {**request, "order": _with_statuses(request["order"], 0), "shippingStatusEvents": []}
    del created["shippingMethod"]
    store.fulfillment.read(created, _at(0), last=True)
    store.tell_of_order(amid["orders"][-1]["guid"], "PROCESSING", 1528334452800)

    store.accounts.save(_john(), _at(60))
    store.tell_of_customer(JOHN)
    store.orders.save(_copy_of(store, JOHN, []), _at(61))
    first = _order(JOHNS_FIRST, "CREATED APPROVED PROCESSING COMPLETED", [("Green Widget", 2), ("Red Widget", 3)])
    second = _order(JOHNS_SECOND, "CREATED APPROVED", [("Yellow Widget", 1)])
    store.orders.save(_copy_of(store, JOHN, [first]), _at(62))
    # In the same second: the number in it orders the two.
    store.orders.save(_copy_of(store, JOHN, [first, second]), _at(62), number=2)
    store.fulfillment.save(_request(store, second), _at(63))


def _changes(store: Storefront, orders: Document, request: Document) -> None:
    """Susan's order is received. John's account changes; the orders service is down and his copy stays."""
    store.tell_of_order(request["order"]["guid"], "COMPLETED", 1528334457603)
    store.orders.save(orders, _at(3600))
    store.fulfillment.save(request, _at(3601))

    john = store.accounts.documents[JOHN]
    contact = {**john["contact"], "email": "john.s.doe@internet.com"}
    store.accounts.save({**john, "contact": contact, "addresses": john["addresses"][1:]}, _at(3700))
    store.tell_of_customer(JOHN)
    store.tell_of_order(JOHNS_SECOND, "PROCESSING", ORDERED + 4_000_000)


def _copies(store: Storefront) -> None:
    """The orders service is back and takes over both events. An item of an order goes, and a request."""
    first, second = store.orders.documents[JOHN]["orders"]
    event = {"timestamp": _long(ORDERED + 4_000_000), "orderStatusType": "PROCESSING"}
    second = {**second, "orderStatusEvents": [*second["orderStatusEvents"], event]}
    store.orders.save(_copy_of(store, JOHN, [first, second]), _at(7200))
    first = {**first, "orderItems": first["orderItems"][1:]}
    store.orders.save(_copy_of(store, JOHN, [first, second]), _at(7300))
    store.fulfillment.delete(JOHNS_REQUEST, _at(7400))


def _at(seconds: int) -> datetime:
    return datetime(2018, 6, 7, 3, tzinfo=timezone.utc) + timedelta(seconds=seconds)


def _long(number: int) -> dict[str, str]:
    return {"$numberLong": str(number)}


def _with_statuses(order: Document, count: int) -> Document:
    return {**order, "orderStatusEvents": order["orderStatusEvents"][:count]}


def _john() -> Document:
    place = {"address1": "123 Oak Street", "city": "Sunrise", "state": "CA", "postalCode": "12345-6789"}
    return {
        "_id": {"$oid": JOHN},
        "name": dict(zip(NAME, ("Mr.", "John", "S.", "Doe", "Jr."), strict=True)),
        "contact": dict(zip(CONTACT, ("555-666-7777", "555-444-9898", "john.doe@internet.com"), strict=True)),
        "addresses": [
            {"type": "BILLING", "description": "My cc billing address", **place},
            {"type": "SHIPPING", "description": "My home address", **place},
        ],
        "_class": "com.storefront.model.Customer",
    }


def _copy_of(store: Storefront, customer: str, orders: Sequence[Document]) -> Document:
    """The orders service's document: the customer as the newest event has it, and the orders."""
    event = next(event for event in reversed(store.customer_change.events) if event["id"] == customer)
    parts = {name: _without_nulls(event[name]) for name in ("name", "contact")}
    addresses = [_without_nulls(address) for address in event["addresses"]]
    rest = {"addresses": addresses, "orders": list(orders), "_class": "com.storefront.model.CustomerOrders"}
    return {"_id": {"$oid": customer}, **parts, **rest}


def _order(guid: str, statuses: str, items: Sequence[tuple[str, int]]) -> Document:
    events = [{"timestamp": _long(ORDERED), "orderStatusType": status} for status in statuses.split()]
    products = [
        {
            "product": dict(zip(("guid", "title", "description", "price"), _product(title), strict=True)),
            "quantity": count,
        }
        for title, count in items
    ]
    return {"guid": guid, "orderStatusEvents": events, "orderItems": products}


def _product(title: str) -> tuple[str, str, str, str]:
    guid, description, price = PRODUCTS[title]
    return guid, title, description, price


def _request(store: Storefront, order: Document) -> Document:
    john = store.orders.documents[JOHN]
    items = [
        {"product": {name: item["product"][name] for name in ("guid", "title")}, "quantity": item["quantity"]}
        for item in order["orderItems"]
    ]
    return {
        "_id": {"$oid": JOHNS_REQUEST},
        "timestamp": _long(ORDERED + 60_000),
        "name": john["name"],
        "contact": john["contact"],
        "address": john["addresses"][1],
        "order": {"guid": order["guid"], "orderStatusEvents": [], "orderItems": items},
        "shippingMethod": "UPS",
        "shippingStatusEvents": [{"timestamp": _long(ORDERED + 70_000), "shippingStatusType": "SHIPPED"}],
        "_class": "com.storefront.model.FulfillmentRequestEvent",
    }


def _filled(part: Document, names: Sequence[str]) -> Document:
    return {name: part.get(name) for name in names}


def _without_nulls(part: Document) -> Document:
    return {name: value for name, value in part.items() if value is not None}


def _expected(store: Storefront) -> dict[str, tuple[list[Row], Sequence[str]]]:
    return {
        "slv_storefront__accounts": ([_person(row) for row in _documents(store.accounts)], ["_id"]),
        "slv_storefront__customer_change": ([_person(row, "id") for row in _newest_customers(store).values()], ["id"]),
        "slv_storefront__order_change": (
            [
                {"guid": guid, "orderStatusEvent": _filled(event, ("timestamp", "orderStatusType", "note"))}
                for guid, event in _newest_statuses(store).items()
            ],
            ["guid"],
        ),
        "slv_storefront__orders": (
            [
                {**_person(row), "orders": [_order_of(order) for order in row["orders"]]}
                for row in _documents(store.orders)
            ],
            ["_id"],
        ),
        "slv_storefront__fulfillment": ([_fulfillment(row) for row in _documents(store.fulfillment)], ["_id"]),
        "dim_storefront_customer": ([_customer(row) for row in _documents(store.accounts)], ["customer_id"]),
        "dim_storefront_customer_address": (list(_addresses(store)), ["customer_id", "ordinal"]),
        "dim_storefront_customer_copy": (list(_copy_states(store)), ["customer_id"]),
        "fct_storefront_order": (list(_orders(store)), ["order_guid"]),
        "fct_storefront_order_item": (list(_items(store)), ["order_guid", "ordinal"]),
        "fct_storefront_order_status": (list(_order_statuses(store)), ["order_guid", "ordinal"]),
        "fct_storefront_shipping_status": (list(_shipping_statuses(store)), ["fulfillment_id", "ordinal"]),
    }


def _documents(collection: Collection) -> list[Document]:
    return list(collection.documents.values())


def _newest_customers(store: Storefront) -> dict[str, Row]:
    return {event["id"]: event for event in store.customer_change.events}


def _newest_statuses(store: Storefront) -> dict[str, Row]:
    return {event["guid"]: event["orderStatusEvent"] for event in store.order_change.events}


def _id(document: Document) -> str:
    return str(document["_id"]["$oid"])


def _person(row: Document, key: str = "_id") -> dict[str, Any]:
    return {
        key: row["id"] if key == "id" else _id(row),
        "name": _filled(row["name"], NAME),
        "contact": _filled(row["contact"], CONTACT),
        "addresses": [_filled(address, ADDRESS) for address in row["addresses"]],
    }


def _order_of(order: Document) -> Document:
    return {
        "guid": order["guid"],
        "orderStatusEvents": [
            _filled(event, ("timestamp", "orderStatusType", "note")) for event in order["orderStatusEvents"]
        ],
        "orderItems": [
            {
                "product": _filled(item["product"], ("guid", "title", "description", "price")),
                "quantity": item["quantity"],
            }
            for item in order["orderItems"]
        ],
    }


def _fulfillment(row: Document) -> Row:
    return {
        "_id": _id(row),
        "timestamp": _moment(row["timestamp"]),
        "name": _filled(row["name"], NAME),
        "contact": _filled(row["contact"], CONTACT),
        "address": _filled(row["address"], ADDRESS),
        "order": _order_of(row["order"]),
        "shippingMethod": row.get("shippingMethod"),
        "shippingStatusEvents": list(row["shippingStatusEvents"]),
    }


def _moment(wrapped: Document) -> datetime:
    return EPOCH + timedelta(milliseconds=int(wrapped["$numberLong"]))


def _customer(row: Document) -> Row:
    name, contact = _filled(row["name"], NAME), _filled(row["contact"], CONTACT)
    columns = ("title", "first_name", "middle_name", "last_name", "suffix")
    return {
        "customer_id": _id(row),
        **dict(zip(columns, name.values(), strict=True)),
        **dict(zip(("primary_phone", "secondary_phone", "email"), contact.values(), strict=True)),
    }


def _addresses(store: Storefront) -> Iterator[Row]:
    columns = ("address_type", "description", "address1", "address2", "city", "state", "postal_code")
    for row in _documents(store.accounts):
        for ordinal, address in enumerate(row["addresses"], 1):
            values = dict(zip(columns, _filled(address, ADDRESS).values(), strict=True))
            yield {"customer_id": _id(row), "ordinal": ordinal, **values}


def _copy_states(store: Storefront) -> Iterator[Row]:
    events, copies = _newest_customers(store), store.orders.documents
    for row in _documents(store.accounts):
        account = _without_id(_person(row))
        event = _without_id(_person(events[_id(row)], "id"))
        yield {
            "customer_id": _id(row),
            "is_event_current": event == account,
            "is_copy_current": _without_id(_person(copies[_id(row)])) == account,
            "email": row["contact"]["email"],
            "email_of_event": event["contact"]["email"],
            "email_of_copy": copies[_id(row)]["contact"]["email"],
        }


def _without_id(person: Row) -> Row:
    return {name: value for name, value in person.items() if name not in ("_id", "id")}


def _all_orders(store: Storefront) -> Iterator[tuple[str, int, Document]]:
    for row in _documents(store.orders):
        for ordinal, order in enumerate(row["orders"], 1):
            yield _id(row), ordinal, order


def _orders(store: Storefront) -> Iterator[Row]:
    told = _newest_statuses(store)
    for customer, ordinal, order in _all_orders(store):
        events = order["orderStatusEvents"]
        yield {
            "order_guid": order["guid"],
            "customer_id": customer,
            "ordinal": ordinal,
            "created_at": _moment(events[0]["timestamp"]),
            "status": events[-1]["orderStatusType"],
            "status_changed_at": _moment(events[-1]["timestamp"]),
            "told_status": told.get(order["guid"], {}).get("orderStatusType"),
            "item_count": len(order["orderItems"]),
            "amount": sum((_amount(item) for item in order["orderItems"]), Decimal("0.00")),
        }


def _amount(item: Document) -> Decimal:
    return Decimal(item["product"]["price"]) * int(item["quantity"])


def _items(store: Storefront) -> Iterator[Row]:
    for customer, _, order in _all_orders(store):
        for ordinal, item in enumerate(order["orderItems"], 1):
            yield {
                "order_guid": order["guid"],
                "ordinal": ordinal,
                "customer_id": customer,
                "product_guid": item["product"]["guid"],
                "product_title": item["product"]["title"],
                "unit_price": item["product"]["price"],
                "quantity": item["quantity"],
                "amount": _amount(item),
            }


def _order_statuses(store: Storefront) -> Iterator[Row]:
    for _, _, order in _all_orders(store):
        for ordinal, event in enumerate(order["orderStatusEvents"], 1):
            yield {
                "order_guid": order["guid"],
                "ordinal": ordinal,
                "status": event["orderStatusType"],
                "changed_at": _moment(event["timestamp"]),
                "note": event.get("note"),
            }


def _shipping_statuses(store: Storefront) -> Iterator[Row]:
    for row in _documents(store.fulfillment):
        for ordinal, event in enumerate(row["shippingStatusEvents"], 1):
            yield {
                "fulfillment_id": _id(row),
                "ordinal": ordinal,
                "order_guid": row["order"]["guid"],
                "shipping_method": row.get("shippingMethod"),
                "status": event["shippingStatusType"],
                "changed_at": _moment(event["timestamp"]),
            }
