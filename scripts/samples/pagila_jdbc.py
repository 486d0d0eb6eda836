"""Pagila by Kafka Connect's JDBC source: three pairs of connectors, and dumps of what their queries have missed."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from scripts.samples import data as licensed
from scripts.samples import expected
from scripts.samples.connect import TIMESTAMP, Row, Schema, arrow_fields, struct
from scripts.samples.postgresql import INT16, INT32, TEXT
from scripts.samples.sinks import Files, Record, confluent, copied

UPDATED: Final = Schema("int64", name=TIMESTAMP, version=1)

COLUMNS: Final[Mapping[str, Mapping[str, Schema]]] = {
    "address": {
        "address_id": INT32,
        "address": TEXT,
        "address2": TEXT.nullable(),
        "district": TEXT,
        "city_id": INT16,
        "postal_code": TEXT.nullable(),
        "phone": TEXT,
        "last_update": UPDATED,
    },
    "city": {"city_id": INT32, "city": TEXT, "country_id": INT16, "last_update": UPDATED},
    "country": {"country_id": INT32, "country": TEXT, "last_update": UPDATED},
}
# InsertField and ReplaceField write optional fields of texts.
ADDED: Final = {
    "message_topic": "pagila.query",
    "message_source": "pagila",
    "message_source_engine": "postgresql",
    "environment": "development",
}
QUERY: Final = {
    "address_id": INT32,
    "address": TEXT,
    "address2": TEXT.nullable(),
    "city": TEXT,
    "state_province": TEXT,
    "postal_code": TEXT.nullable(),
    "country": TEXT,
    "phone": TEXT,
    "last_update": UPDATED,
    **{name: TEXT.nullable() for name in ADDED},
}
FLUSH_SIZE: Final = 100
DUMPED: Final = "full/2021-08-09T16-30-00"

SNAPSHOT, CHANGES, DUMP = "1-snapshot", "2-changes", "3-full-dump"


def _at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2021-08-09T{clock}").replace(tzinfo=timezone.utc)


# When each transaction was committed, and what it did: table, key, new values; no values for a delete. `last_update` is
# `now()`, the begin of the transaction, so the last but one commits rows that are older than what was polled before.
SCRIPT: Final[Sequence[tuple[datetime, Sequence[tuple[str, int, Row | None]]]]] = [
    (_at("14:10:29.130"), [("address", 100, {"address": "123 CDC Test Lane", "last_update": _at("14:10:29.126")})]),
    (_at("14:10:29.470"), [("address", 101, {"address2": "Apartment #2201", "last_update": _at("14:10:29.467")})]),
    (_at("14:10:29.590"), [("country", 110, {"country": "Wakanda", "last_update": _at("14:10:29.585")})]),
    (
        _at("14:10:29.690"),
        [("city", 601, {"city": "Birnin Zana", "country_id": 110, "last_update": _at("14:10:29.688")})],
    ),
    (_at("14:10:29.793"), [("address", 102, {"city_id": 601, "last_update": _at("14:10:29.789")})]),
    (_at("14:19:03.765"), [("address", 101, {"address2": "Apartment #2202", "last_update": _at("14:19:03.761")})]),
    (_at("15:56:53.330"), [("address", 102, {"district": "Lake Turkana", "last_update": _at("15:56:53.323")})]),
    (
        _at("15:57:02.000"),
        [
            ("address", 106, {"phone": "709935135488", "last_update": _at("15:56:50.250")}),
            (
                "address",
                606,
                {
                    "address": "1 Late Commit Street",
                    "address2": None,
                    "district": "Alberta",
                    "city_id": 300,
                    "postal_code": "",
                    "phone": "",
                    "last_update": _at("15:56:50.250"),
                },
            ),
        ],
    ),
    (_at("15:58:00.000"), [("address", 104, None)]),
]
# The polls that find something new, of one every 5 seconds, and the last one.
POLLS: Final = [_at("14:10:30"), _at("14:19:05"), _at("15:56:55"), _at("15:57:05"), _at("16:00:00")]

Database = dict[str, dict[int, Row]]


@dataclass
class TimestampQuery:
    """A query in `mode=timestamp`: what it has sent, and the newest `last_update` of that.

    Attributes:
        topic: where its rows go.
        schema: of a row, after the transforms.
        seen: the newest row of each key.
        sent: how many.
    """

    topic: str
    schema: Schema
    seen: dict[int, Row] = field(default_factory=dict)
    sent: int = 0
    _watermark: datetime = datetime(1970, 1, 1, tzinfo=timezone.utc)

    def poll(self, rows: Iterable[Row], at: datetime) -> list[Record]:
        """The rows with `last_update > ? and last_update < ?`, in its order."""
        key = next(iter(self.schema.fields))
        found = [row for row in rows if self._watermark < row["last_update"] < at]
        found.sort(key=lambda row: (row["last_update"], row[key]))
        records = [Record(self.sent + number, row, self.schema) for number, row in enumerate(found)]
        if found:
            self._watermark = found[-1]["last_update"]
        self.seen.update({row[key]: row for row in found})
        self.sent += len(found)
        return records


def addresses_of_query(database: Database) -> Iterator[Row]:
    """The rows of the third connector, `address` with its city and country, after the transforms of source and sink."""
    for address in database["address"].values():
        city = database["city"][address["city_id"]]
        country = database["country"][city["country_id"]]
        row = {**address, "city": city["city"], "state_province": address["district"], "country": country["country"]}
        yield {name: ADDED.get(name, row.get(name)) for name in QUERY}


def files(data: Path) -> Mapping[str, bytes]:
    """The samples of this source."""
    database = _initial(data / "pagila")
    queries = _queries()
    made: Files = {"LICENSE.txt": (data / "pagila" / "LICENSE.txt").read_bytes()}
    made |= copied(_polled(queries, database, _at("14:00:00")), SNAPSHOT)
    made |= expected.tables(SNAPSHOT, _expected(queries))
    pending = list(SCRIPT)
    for poll in POLLS:
        while pending and pending[0][0] < poll:
            _commit(database, pending.pop(0)[1])
        made |= copied(_polled(queries, database, poll), CHANGES)
    made |= expected.tables(CHANGES, _expected(queries))
    made |= copied(_dumps(database), DUMP)
    for name, rows in (("address", database["address"].values()), ("query", addresses_of_query(database))):
        queries[name].seen = {row["address_id"]: row for row in rows}
    shown = _expected(queries)
    made |= expected.tables(
        DUMP, {name: shown[name] for name in shown if not name.endswith(("alt_address", "city", "country"))}
    )
    made["dump/address.csv"] = _copy(database["address"].values(), COLUMNS["address"])
    return made


def _initial(folder: Path) -> Database:
    return {
        table: {row[f"{table}_id"]: row for row in _typed(folder / f"{table}.csv.gz", columns)}
        for table, columns in COLUMNS.items()
    }


def _typed(path: Path, columns: Mapping[str, Schema]) -> Iterator[Row]:
    for row in licensed.copied_rows(path):
        yield {name: _value(schema, row[name]) for name, schema in columns.items()}


def _value(schema: Schema, text: str | None) -> Any:
    if text is None or schema.type == "string":
        return text
    if schema.name == TIMESTAMP:
        return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)
    return int(text)


def _commit(database: Database, changes: Iterable[tuple[str, int, Row | None]]) -> None:
    for table, key, values in changes:
        if values is None:
            del database[table][key]
        else:
            old = database[table].get(key, {f"{table}_id": key})
            database[table][key] = {**old, **values}
            assert database[table][key].keys() == COLUMNS[table].keys(), (table, key)


def _queries() -> dict[str, TimestampQuery]:
    transformed = {name: TEXT.nullable() for name in ("message_topic", "message_source")}
    queries = {
        table: TimestampQuery(f"pagila.public.{table}", struct(table, columns)) for table, columns in COLUMNS.items()
    }
    alt = struct("address", {**COLUMNS["address"], **transformed})
    queries["alt_address"] = TimestampQuery("pagila.public.alt.address", alt)
    queries["query"] = TimestampQuery("pagila.query", struct(None, QUERY))
    return queries


def _polled(queries: Mapping[str, TimestampQuery], database: Database, at: datetime) -> Files:
    transformed = {"message_topic": "pagila.public.alt.address", "message_source": "pagila"}
    found = {table: list(database[table].values()) for table in COLUMNS}
    found["alt_address"] = [{**row, **transformed} for row in database["address"].values()]
    found["query"] = list(addresses_of_query(database))
    made: Files = {}
    for name, query in queries.items():
        records = query.poll(found[name], at)
        if name == "query":
            made |= {key: _parquet(part) for key, part in _by_country(query.topic, records).items()}
        else:
            made |= confluent(query.topic, records, "json_gzip", FLUSH_SIZE)
    return made


def _by_country(topic: str, records: Sequence[Record]) -> Mapping[str, Sequence[Record]]:
    parts: dict[str, list[Record]] = {}
    for record in records:
        parts.setdefault(record.value["country"], []).append(record)
    assert all(len(part) <= FLUSH_SIZE for part in parts.values())
    return {
        f"topics/{topic}/country={country}/{topic}+0+{part[0].offset:010d}.gz.parquet": part
        for country, part in parts.items()
    }


def _parquet(records: Sequence[Record]) -> bytes:
    buffer = io.BytesIO()
    table = pa.Table.from_pylist([dict(record.value) for record in records], pa.schema(arrow_fields(records[0].schema)))
    # 109 files of a few rows each: statistics and Arrow's own schema would be most of their bytes.
    pq.write_table(table, buffer, compression="gzip", use_dictionary=False, store_schema=False, write_statistics=False)
    return buffer.getvalue()


def _dumps(database: Database) -> Files:
    addresses = [Record(0, row, struct("address", COLUMNS["address"])) for row in database["address"].values()]
    lines = confluent("address", addresses, "json_gzip", len(addresses))
    joined = [Record(0, row, struct(None, QUERY)) for row in addresses_of_query(database)]
    return {
        f"topics/pagila.public.address/{DUMPED}/address.json.gz": next(iter(lines.values())),
        f"topics/pagila.query/{DUMPED}/query.gz.parquet": _parquet(joined),
    }


def _copy(rows: Iterable[Row], columns: Mapping[str, Schema]) -> bytes:
    """As COPY ... WITH (FORMAT csv, HEADER) writes them."""

    def cell(value: Any) -> str:
        written = expected.text(value)
        if written is None:
            return ""
        quoted = not written or any(mark in written for mark in ',"\n')
        return '"' + written.replace('"', '""') + '"' if quoted else f"{written}{'+00' * isinstance(value, datetime)}"

    lines = [",".join(columns), *(",".join(cell(row[name]) for name in columns) for row in rows)]
    return "".join(f"{line}\n" for line in lines).encode()


def _expected(queries: Mapping[str, TimestampQuery]) -> dict[str, tuple[list[Row], Sequence[str]]]:
    """What the queries have seen, and the marts over it."""
    tables: dict[str, tuple[list[Row], Sequence[str]]] = {
        f"slv_pagila_jdbc__{name}": (list(query.seen.values()), [next(iter(query.schema.fields))])
        for name, query in queries.items()
    }
    marts = _marts({table: queries[table].seen for table in COLUMNS})
    return {**tables, "dim_address": (marts[0], ["address_id"]), "agg_addresses_by_country": (marts[1], ["country_id"])}


def _marts(seen: Database) -> tuple[list[Row], list[Row]]:
    dimension: list[Row] = []
    for address in seen["address"].values():
        city = seen["city"][address["city_id"]]
        country = seen["country"][city["country_id"]]
        dimension.append(
            {
                "address_id": address["address_id"],
                "address": address["address"],
                "address2": address["address2"],
                "district": address["district"],
                "postal_code": address["postal_code"],
                "phone": address["phone"],
                "city_id": city["city_id"],
                "city": city["city"],
                "country_id": country["country_id"],
                "country": country["country"],
                "last_update": address["last_update"],
            }
        )
    counts = Counter(row["country_id"] for row in dimension)
    cities = {country: len({r["city_id"] for r in dimension if r["country_id"] == country}) for country in counts}
    names = {row["country_id"]: row["country"] for row in dimension}
    totals: list[Row] = [
        {"country_id": country, "country": names[country], "city_count": cities[country], "address_count": count}
        for country, count in counts.items()
    ]
    return dimension, totals
