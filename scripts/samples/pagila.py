"""Pagila, log-based: six tables by Debezium and the Confluent sink, gzip Parquet; envelopes first, flattened later.

The statements, their times and, where one is printed, their log sequence numbers are those of the document that the
source is from; README.md beside the samples names it. Of the films some are taken, with all that refers to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from scripts.samples import data as source_data
from scripts.samples import expected, postgresql
from scripts.samples.connect import Row, Schema, decimal, utc
from scripts.samples.postgresql import ENUM, INT16, INT32, MOMENT, TEXT, Database, Table
from scripts.samples.sinks import Files, copied

FILMS: Final = frozenset({*range(1, 11), 100, 375, 376})

YEAR: Final = Schema("int32", optional=True)
FEATURES: Final = Schema("array", optional=True, items=Schema("string", optional=True))
RATING: Final = Schema("string", True, ENUM, 1, {"allowed": "G,PG,PG-13,R,NC-17"}, "G")
TABLES: Final = {
    "actor": Table(
        "actor", {"actor_id": INT32, "first_name": TEXT, "last_name": TEXT, "last_update": MOMENT}, ["actor_id"]
    ),
    "category": Table("category", {"category_id": INT32, "name": TEXT, "last_update": MOMENT}, ["category_id"]),
    "film": Table(
        "film",
        {
            "film_id": INT32,
            "title": TEXT,
            "description": TEXT.nullable(),
            "release_year": YEAR,
            "language_id": INT16,
            "original_language_id": INT16.nullable(),
            "rental_duration": replace(INT16, default=3),
            "rental_rate": decimal(4, 2, default=Decimal("4.99")),
            "length": INT16.nullable(),
            "replacement_cost": decimal(5, 2, default=Decimal("19.99")),
            "rating": RATING,
            "last_update": MOMENT,
            "special_features": FEATURES,
        },
        ["film_id"],
    ),
    "film_actor": Table(
        "film_actor", {"actor_id": INT16, "film_id": INT16, "last_update": MOMENT}, ["actor_id", "film_id"]
    ),
    "film_category": Table(
        "film_category", {"film_id": INT16, "category_id": INT16, "last_update": MOMENT}, ["film_id", "category_id"]
    ),
    "language": Table("language", {"language_id": INT32, "name": TEXT, "last_update": MOMENT}, ["language_id"]),
}


def files(data: Path) -> Mapping[str, bytes]:
    """The files of the four loads, and the rows that the tables have after each; `data` has the folder pagila."""
    database = Database("pagila", "pagila", "public", "1.6.1.Final", lsn=1_177_089_474_560, transaction=18_422)
    made: Files = {}
    offsets: dict[str, int] = {}
    for number, (name, change, flattened) in enumerate(LOADS, start=1):
        load = f"{number}-{name}"
        start = len(database.changes)
        change(database, data)
        for table in TABLES.values():
            changes = database.changes[start:]
            made |= copied(postgresql.landed(database, table, changes, offsets, "parquet", flattened=flattened), load)
        made |= {f"expected/{load}/{relation}.jsonl": rows for relation, rows in _expected(database).items()}
    return made


def _snapshot(database: Database, data: Path) -> None:
    films = [_film(row) for row in _rows(data, "film") if int(row["film_id"]) in FILMS]
    film_actors = [_numbers(row) for row in _rows(data, "film_actor") if int(row["film_id"]) in FILMS]
    cast = {6, 7, *(row["actor_id"] for row in film_actors)}
    content: dict[str, Sequence[Row]] = {
        "actor": [_numbers(row) for row in _rows(data, "actor") if int(row["actor_id"]) in cast],
        "category": [_numbers(row) for row in _rows(data, "category")],
        "film": films,
        "film_actor": film_actors,
        "film_category": [_numbers(row) for row in _rows(data, "film_category") if int(row["film_id"]) in FILMS],
        "language": [_numbers(row) for row in _rows(data, "language")],
    }
    database.snapshot({name: (TABLES[name], content[name]) for name in TABLES}, utc("2021-08-19 02:32:14.432"))


def _first_changes(database: Database, _: Path) -> None:
    """The statements of the first script, each a transaction."""
    database.transaction = 18_443
    database.lsn = 1_177_693_455_424
    _insert(database, "2021-08-19 03:19:56.731", "category", {"category_id": 17, "name": "Techno Thriller"})
    database.lsn = _before(1_177_693_471_392)
    changed = {"release_year": 2021, "rental_rate": Decimal("2.99")}
    _update(database, "2021-08-19 03:19:57.100", "film", {(1,): changed}, now="2021-08-19 03:19:57.073053")
    _update(database, "2021-08-19 03:19:57.415", "film", {(2,): {"rental_duration": 3}})
    _update(database, "2021-08-19 03:19:57.732", "film_category", {(3, 6): {"category_id": 17}})
    kate = {"first_name": "KATE", "last_name": "WINSLET"}
    _update(database, "2021-08-19 03:19:58.069", "actor", {(6,): kate})
    database.lsn = _before(1_177_693_516_520)
    _delete(database, "2021-08-19 03:19:58.400", "film_actor", _cast_of(database, 375))


def _flattened(database: Database, _: Path) -> None:
    """The connector is set up anew with ExtractNewRecordState; later it takes a snapshot again."""
    database.lsn = _before(1_191_920_555_344)
    bob = {"first_name": "BOB"}
    _update(database, "2021-08-19 21:01:55.091", "actor", {(7,): bob}, now="2021-08-19 21:01:55.090858")
    database.lsn = _before(1_192_390_296_016)
    _delete(database, "2021-08-19 21:34:29.556", "film_actor", _cast_of(database, 376))
    database.lsn += 4_096
    content = {name: (table, database.content(table)) for name, table in TABLES.items()}
    database.rows = {}
    database.snapshot(content, utc("2021-08-20 01:43:37.108"))


def _film_changes(database: Database, _: Path) -> None:
    """The statements of the second script, at the times of its printed result."""
    changed = {"release_year": 2019, "rental_rate": Decimal("3.99")}
    _update(database, "2021-08-20 02:41:32.214", "film", {(1,): changed})
    _update(database, "2021-08-20 02:49:17.350", "film", {(2,): {"rental_duration": 3}})
    _update(database, "2021-08-20 02:49:33.020", "film", {(2,): {"rental_duration": 4}})
    _update(database, "2021-08-20 02:49:33.871", "film", {(2,): {"rental_duration": 7}})
    _insert(database, "2021-08-20 02:51:02.500", "category", {"category_id": 18, "name": "Steampunk"})
    _update(database, "2021-08-20 02:51:02.833", "film_category", {(3, 17): {"category_id": 18}})
    changed = {"release_year": 2017, "rental_rate": Decimal("3.99")}
    _update(database, "2021-08-20 02:55:23.667", "film", {(4,): changed})
    moved = {key: {"film_id": 100} for key in _cast_of(database, 5)}
    _update(database, "2021-08-20 03:00:48.310", "film_actor", moved)
    _update(database, "2021-08-20 03:00:48.694", "film_category", {(5, 8): {"film_id": 100}})
    _delete(database, "2021-08-20 03:00:49.402", "film", [(5,)])


# What each is called, what happens in it, and whether ExtractNewRecordState is set.
LOADS: Final = (
    ("snapshot", _snapshot, False),
    ("changes", _first_changes, False),
    ("flattened", _flattened, True),
    ("film-changes", _film_changes, True),
)


def _before(lsn: int) -> int:
    """The end of the log for the next change to have this number."""
    return lsn - postgresql.CHANGE


def _cast_of(database: Database, film: int) -> list[tuple[int, ...]]:
    return [key for key in sorted(database.rows["film_actor"]) if key[1] == film]


def _insert(database: Database, at: str, table: str, row: Row) -> None:
    database.commit(utc(at), ("insert", TABLES[table], {**row, "last_update": _moment(at, None)}))


def _update(
    database: Database, at: str, table: str, rows: Mapping[tuple[int, ...], Row], now: str | None = None
) -> None:
    """One statement; the trigger `last_updated` sets the time at which the transaction began."""
    touched = {"last_update": _moment(at, now)}
    changes = [("update", TABLES[table], (key, {**values, **touched})) for key, values in rows.items()]
    database.commit(utc(at), *changes)


def _delete(database: Database, at: str, table: str, keys: Iterable[tuple[int, ...]]) -> None:
    database.commit(utc(at), *(("delete", TABLES[table], key) for key in keys))


def _moment(at: str, now: str | None) -> str:
    """A transaction begins before it is committed; by how much is printed for two of them."""
    return postgresql.zoned(utc(now) if now else utc(at) - timedelta(microseconds=26_947))


def _rows(data: Path, table: str) -> Iterable[dict[str, str]]:
    return source_data.rows(data / "pagila" / f"{table}.csv.gz")


def _numbers(row: Mapping[str, str]) -> dict[str, Any]:
    """The keys as numbers, the time as the connector writes it, all else as it is."""
    values: dict[str, Any] = {name: int(value) if name.endswith("_id") else value for name, value in row.items()}
    return {**values, "last_update": postgresql.zoned(utc(row["last_update"]))}


def _film(row: Mapping[str, str]) -> dict[str, Any]:
    """A film without `fulltext`: the connector does not know the type tsvector, and leaves the column out."""
    numbers = ("film_id", "release_year", "language_id", "original_language_id", "rental_duration", "length")
    return {
        **{name: row[name] or None for name in ("title", "description", "rating")},
        **{name: int(row[name]) if row[name] else None for name in numbers},
        **{name: Decimal(row[name]) for name in ("rental_rate", "replacement_cost")},
        "last_update": postgresql.zoned(utc(row["last_update"])),
        "special_features": [feature.strip('"') for feature in row["special_features"].strip("{}").split(",")],
    }


def _expected(database: Database) -> dict[str, bytes]:
    """The tables as they are now, and the mart of the films: relation -> its rows as texts."""
    tables = {name: database.content(table) for name, table in TABLES.items()}
    found: dict[str, list[Row]] = {
        f"slv_pagila__{name}": [
            {**{column: row[column] for column in TABLES[name].columns}, "last_update": _spark_time(row["last_update"])}
            for row in content
        ]
        for name, content in tables.items()
    }
    found["dim_film"] = _dim_film(tables, _times_of_films(database))
    return {relation: expected.lines(rows) for relation, rows in found.items()}


def _times_of_films(database: Database) -> dict[int, int]:
    """When each film's newest event was, in milliseconds."""
    of_films = [change for change in database.changes if change.table.name == "film" and change.after]
    return {change.after["film_id"]: change.source["ts_ms"] for change in of_films if change.after}


def _dim_film(tables: Mapping[str, Sequence[Row]], changed_at: Mapping[int, int]) -> list[Row]:
    """One row per film, with the names of its language, categories and actors."""
    languages = {row["language_id"]: row["name"].rstrip() for row in tables["language"]}
    categories = {row["category_id"]: row["name"] for row in tables["category"]}
    actors = {row["actor_id"]: f"{row['first_name']} {row['last_name']}" for row in tables["actor"]}
    copied_columns = (
        "film_id",
        "title",
        "description",
        "release_year",
        "rental_duration",
        "rental_rate",
        "length",
        "replacement_cost",
        "special_features",
        "rating",
    )
    found: list[Row] = []
    for film in tables["film"]:
        number = film["film_id"]
        of_film = {
            "categories": [
                categories[row["category_id"]] for row in tables["film_category"] if row["film_id"] == number
            ],
            "actors": [actors[row["actor_id"]] for row in tables["film_actor"] if row["film_id"] == number],
        }
        found.append(
            {
                **{column: film[column] for column in copied_columns},
                "language": languages[film["language_id"]],
                "original_language": languages.get(film["original_language_id"]),
                **{column: sorted(names) for column, names in of_film.items()},
                "changed_at": datetime.fromtimestamp(changed_at[number] / 1000, timezone.utc),
            }
        )
    return found


def _spark_time(zoned: str) -> str:
    """A time that the connector has written, as Spark casts it to text."""
    return zoned.replace("T", " ").removesuffix("Z")
