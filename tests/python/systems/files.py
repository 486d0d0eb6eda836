"""Files as the sinks of the seven source systems lay them out, with the rows that shall come out.

The configurations are those of shared/reference/source-systems.md: converters, transforms, partitioners, names.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from .loads import SAMPLES, expected_rows, loads

Row = dict[str, Any]

MOMA = SAMPLES / "moma" / "1-snapshot"


@dataclass(frozen=True)
class System:
    """Files of one system, in one of its variants.

    Attributes:
        name: of the dbt source.
        files: path -> content.
        tables: entity -> its living rows, each as Spark casts its values to text.
        key: entity -> columns that tell its rows apart.
        answers: entity -> what a user adds to its declaration, after a question in words; columns by name, and `cdc`.
        asked: a part of a question that has to be there, by entity.
    """

    name: str
    files: Mapping[str, bytes]
    tables: Mapping[str, Sequence[Row]]
    key: Mapping[str, Sequence[str]]
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)


def json_lines(*values: Any) -> bytes:
    return "".join(f"{json.dumps(value, separators=(',', ':'))}\n" for value in values).encode()


def with_schema(fields: Sequence[Mapping[str, Any]]) -> Callable[[Row], Row]:
    """JsonConverter's wrapper around a row."""
    schema = {"type": "struct", "fields": list(fields), "optional": False, "name": "row"}
    return lambda row: {"schema": schema, "payload": row}


def avro(schema: Mapping[str, Any], rows: Iterable[Row]) -> bytes:
    buffer = io.BytesIO()
    fastavro.writer(buffer, fastavro.parse_schema(dict(schema)), rows)
    return buffer.getvalue()


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="gzip")
    return buffer.getvalue()


def confluent(topic: str, offset: int, extension: str = "json", folder: str = "partition=0", partition: int = 0) -> str:
    return f"topics/{topic}/{folder}/{topic}+{partition}+{offset:010d}.{extension}"


TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
UPDATED = 1_487_151_930_000  # 2017-02-15 09:45:30 UTC


def pagila_by_jdbc() -> System:
    """`s3_00`: every row of a poll, JSON with its schema, no message key; a row comes again when it was updated."""
    wrapped = with_schema(
        [
            {"field": "address_id", "type": "int32", "optional": False},
            {"field": "address", "type": "string", "optional": False},
            {"field": "address2", "type": "string", "optional": True},
            {"field": "city_id", "type": "int16", "optional": False},
            {"field": "last_update", "type": "int64", "optional": False, "name": TIMESTAMP, "version": 1},
        ]
    )

    def address(number: int, text: str, city: int, milliseconds: int) -> Row:
        return {"address_id": number, "address": text, "address2": None, "city_id": city, "last_update": milliseconds}

    topic = "pagila.public.address"
    return System(
        "pagila_jdbc",
        {
            confluent(topic, 0): json_lines(
                *(wrapped(address(number, f"{number} Street", 7, UPDATED)) for number in (100, 101, 102))
            ),
            confluent(topic, 3): json_lines(
                wrapped(address(101, "101 First Avenue", 7, UPDATED + 1000)),
                wrapped(address(101, "101 Second Avenue", 601, UPDATED + 2000)),
            ),
        },
        {
            "address": [
                _texts(address_id=100, address="100 Street", city_id=7, last_update="2017-02-15 09:45:30"),
                _texts(address_id=101, address="101 Second Avenue", city_id=601, last_update="2017-02-15 09:45:32"),
                _texts(address_id=102, address="102 Street", city_id=7, last_update="2017-02-15 09:45:30"),
            ]
        },
        {"address": ["address_id"]},
        asked={"address": "is the key address_id, or is it city_id?"},
    )


def pagila_by_query() -> System:
    """`s3_02`: Parquet by country, with the space in the folder's name and the column still in the file."""
    times = pa.timestamp("ms", tz="UTC")

    def rows(*values: tuple[int, str, str, int]) -> pa.Table:
        columns = list(zip(*values, strict=True))
        return pa.table(
            {
                "address_id": pa.array(columns[0], pa.int32()),
                "address": pa.array(columns[1], pa.string()),
                "country": pa.array(columns[2], pa.string()),
                "last_update": pa.array(columns[3], times),
                "message_source": pa.array(["pagila"] * len(values), pa.string()),
            }
        )

    topic, state = "pagila.query", "United States"
    first = rows((4, "1411 Lillydale Drive", state, UPDATED), (42, "1542 Tarlac Parkway", state, UPDATED))
    return System(
        "pagila_query",
        {
            confluent(topic, 0, "gz.parquet", f"country={state}"): parquet(first),
            confluent(topic, 2, "gz.parquet", "country=Japan"): parquet(rows((6, "1121 Loja", "Japan", UPDATED))),
            confluent(topic, 3, "gz.parquet", f"country={state}"): parquet(
                rows((42, "1 New Street", state, UPDATED + 5))
            ),
        },
        {
            "query": [
                _texts(address_id=4, address="1411 Lillydale Drive", country=state, last_update="2017-02-15 09:45:30"),
                _texts(address_id=6, address="1121 Loja", country="Japan", last_update="2017-02-15 09:45:30"),
                _texts(address_id=42, address="1 New Street", country=state, last_update="2017-02-15 09:45:30.005"),
            ]
        },
        {"query": ["address_id"]},
        asked={"query": "does a row ever move to another folder (country)?"},
        answers={"query": {"cdc": {"order_by": "offset"}}},
    )


_DATE = {"data_type": "date", "config": {"meta": {"cdc": {"semantic_type": "io.debezium.time.Date"}}}}
_DATES = dict.fromkeys(("order_date", "required_date", "shipped_date"), _DATE)


def northwind(variant: str, *, says_types: bool = False) -> System:
    """An outbox of orders in one of the layouts of its sinks; in few files nothing tells the key.

    Args:
        variant: folder of the sample.
        says_types: whether the records have a schema.
    """
    root = SAMPLES / "northwind" / "variants" / variant
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    load = loads("northwind")[-1]
    orders = [
        row
        for row in expected_rows("northwind", load, "slv_northwind__orders")
        if row["order_id"] in ("10248", "10643", "10702", "11075")
    ]
    return System(
        f"northwind_{variant.replace('-', '_')}",
        files,
        {"cdc_events": orders},
        {"cdc_events": ["order_id"]},
        answers={"cdc_events": {"cdc": {"key": ["order_id"]}, "columns": {} if says_types else _DATES}},
        asked={"cdc_events": "is the key order_id"},
    )


def mysql_customer() -> System:
    """Debezium's envelope of MySQL over two files of the binlog, the later one with the lower position."""

    def event(op: str, before: Row | None, after: Row | None, file: int, position: int) -> Row:
        source = {"version": "1.9.7.Final", "connector": "mysql", "name": "srv", "ts_ms": 1_700_000_000_000, "db": "s"}
        place = {"table": "CUSTOMER", "file": f"binlog.{file:06d}", "pos": position, "row": 0}
        return {"before": before, "after": after, "source": {**source, **place}, "op": op, "ts_ms": 1_700_000_000_500}

    def customer(number: int, name: str) -> Row:
        return {"CUST_ID": number, "NAME": name, "MKTSEGMENT": "BUILDING"}

    topic = "srv.s.CUSTOMER"
    return System(
        "mysql_customer",
        {
            confluent(topic, 0): json_lines(
                event("c", None, customer(1, "Ada"), 1, 900),
                event("c", None, customer(2, "Blaise"), 1, 950),
                event("c", None, customer(3, "Carl"), 1, 990),
            ),
            confluent(topic, 3): json_lines(
                event("u", customer(1, "Ada"), customer(1, "Ada L."), 2, 10),
                event("d", customer(2, "Blaise"), None, 2, 20),
            ),
        },
        {
            "CUSTOMER": [
                {"CUST_ID": "1", "NAME": "Ada L.", "MKTSEGMENT": "BUILDING"},
                {"CUST_ID": "3", "NAME": "Carl", "MKTSEGMENT": "BUILDING"},
            ]
        },
        {"CUSTOMER": ["CUST_ID"]},
    )


def pagila_sales() -> System:
    """Avro containers with a schema and no position; a payment is sent again when it is corrected."""
    fields = [
        {"name": "payment_id", "type": "int"},
        {"name": "customer_id", "type": "int"},
        {"name": "amount", "type": "float"},
        {"name": "payment_date", "type": "string"},
        {"name": "country", "type": "string"},
    ]
    schema = {"type": "record", "name": "ConnectDefault", "namespace": "io.confluent.connect.avro", "fields": fields}

    def sale(number: int, amount: float, country: str) -> Row:
        date = "2007-02-15 22:25:46.996577"
        return {"payment_id": number, "customer_id": 269, "amount": amount, "payment_date": date, "country": country}

    topic = "pagila.sales.csv"
    return System(
        "pagila_sales",
        {
            confluent(topic, 0, "avro"): avro(
                schema, [sale(16_050, 1.99, "United States"), sale(16_051, 0.99, "Peru")]
            ),
            confluent(topic, 2, "avro"): avro(schema, [sale(16_051, 9.98, "Peru")]),
        },
        {
            "csv": [
                {"payment_id": "16050", "amount": "1.99", "country": "United States"},
                {"payment_id": "16051", "amount": "9.98", "country": "Peru"},
            ]
        },
        {"csv": ["payment_id"]},
        asked={"csv": "is the key"},
    )


def pagila_film() -> System:
    """Gzip Parquet of flattened records: a delete is a row whose `__deleted` is true."""

    def films(*values: tuple[int, str, str, int, str]) -> pa.Table:
        names = ("film_id", "title", "__op", "__lsn", "__deleted")
        types = (pa.int32(), pa.string(), pa.string(), pa.int64(), pa.string())
        columns = zip(*values, strict=True)
        return pa.table(
            {name: pa.array(column, type_) for name, column, type_ in zip(names, columns, types, strict=True)}
        )

    topic = "pagila.public.film"
    return System(
        "pagila_film",
        {
            confluent(topic, 0, "gz.parquet"): parquet(
                films((1, "ACADEMY DINOSAUR", "r", 10, "false"), (5, "AFRICAN EGG", "r", 10, "false"))
            ),
            confluent(topic, 2, "gz.parquet"): parquet(
                films((1, "ACADEMY DINOSAUR 2", "u", 20, "false"), (5, "", "d", 30, "true"))
            ),
        },
        {"film": [{"film_id": "1", "title": "ACADEMY DINOSAUR 2"}]},
        {"film": ["film_id"]},
    )


def storefront() -> System:
    """Service events: nested JSON documents without key, schema or position."""
    topic = "accounts.customer.change"

    def customer(id_: str, name: str, city: str) -> Row:
        contact = {"primaryPhone": "555-666-7777", "email": f"{name.lower()}@internet.com"}
        return {
            "id": id_,
            "name": {"first": name},
            "contact": contact,
            "addresses": [{"type": "BILLING", "city": city}],
        }

    def texts(id_: str, name: str, city: str) -> Row:
        return {
            "id": id_,
            "name": json.dumps({"first": name}, separators=(",", ":")),
            "addresses": f'[{{"type":"BILLING","city":"{city}"}}]',
        }

    return System(
        "storefront",
        {
            confluent(topic, 0): json_lines(customer("5b18", "John", "Utica"), customer("5b19", "Mary", "Spokane")),
            confluent(topic, 2): json_lines(customer("5b18", "John", "Albany")),
        },
        {"change": [texts("5b18", "John", "Albany"), texts("5b19", "Mary", "Spokane")]},
        {"change": ["id"]},
        asked={"change": "is the key id?"},
    )


def _texts(**values: Any) -> Row:
    return {name: None if value is None else str(value) for name, value in values.items()}


def moma(folder: str, *entities: str) -> System:
    """The museum's own files, as the sink has written them: two schemas of one topic, one in each folder."""
    files = {path.name: path.read_bytes() for path in sorted((MOMA / folder).glob("*.avro"))}
    tables: dict[str, list[Row]] = {}
    for entity in entities:
        records: list[Any] = [
            record
            for name, content in files.items()
            if f".{entity}+" in name
            for record in fastavro.reader(io.BytesIO(content))
        ]
        tables[entity] = [
            {
                name: None if value is None else str(value)
                for name, value in record.get("after", record).items()
                if not name.startswith("__")
            }
            for record in records
        ]
    key = {entity: [f"{entity.removesuffix('s')}_id"] for entity in entities}
    return System(f"moma_{folder.partition('-')[0]}", files, tables, key)


SYSTEMS = (
    moma("envelope-avro", "artists"),
    moma("unwrapped-avro", "artists", "artworks"),
    pagila_by_jdbc(),
    pagila_by_query(),
    northwind("lenses-partitioned"),
    northwind("lenses"),
    northwind("confluent-partitioned"),
    northwind("confluent-json-with-schema", says_types=True),
    northwind("confluent-avro", says_types=True),
    mysql_customer(),
    pagila_sales(),
    pagila_film(),
    storefront(),
)
