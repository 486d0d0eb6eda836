"""MoMA: artists and artworks by Debezium and the Confluent sink, Avro; the museum's own files, and changes after them.

The snapshots are files that were really written, envelopes first and flattened later. The changes are those of the
document that the source is from; README.md beside the samples names it.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import fastavro

from scripts.samples import data as source_data
from scripts.samples import expected, postgresql
from scripts.samples.connect import Row, utc
from scripts.samples.postgresql import INT32, TEXT, Database, Table
from scripts.samples.sinks import Files, copied

# Offsets of the captured files.
CAPTURED: Final = (0, 300, 600)
AFTER_CAPTURE: Final = 900

NUMBERS: Final = frozenset({"artwork_id", "artist_id", "date", "durations", "birth_year", "death_year"})
ARTWORK_COLUMNS: Final = (
    "title",
    "artist_id",
    "name",
    "date",
    "medium",
    "dimensions",
    "acquisition_date",
    "credit",
    "catalogue",
    "department",
    "classification",
    "object_number",
    "diameter_cm",
    "circumference_cm",
    "height_cm",
    "length_cm",
    "width_cm",
    "depth_cm",
    "weight_kg",
    "durations",
)
ARTISTS: Final = Table(
    "artists",
    {
        "artist_id": INT32,
        **{name: TEXT.nullable() for name in ("name", "nationality", "gender")},
        **{name: INT32.nullable() for name in ("birth_year", "death_year")},
    },
    ["artist_id"],
)
ARTWORKS: Final = Table(
    "artworks",
    {
        "artwork_id": INT32,
        **{name: (INT32 if name in NUMBERS else TEXT).nullable() for name in ARTWORK_COLUMNS},
        # In its place, and the only one of them that has to be there.
        "artist_id": INT32,
    },
    ["artwork_id"],
)

PICASSO: Final = 4609
PICADOR: Final = 128447
BAKKER: Final = 299
BELJON: Final = 441
# With an apostrophe for the inch, which the third update puts right; what is not known of the row is empty.
PICADOR_ROW: Final = {
    **dict.fromkeys(ARTWORKS.columns),
    "artwork_id": PICADOR,
    "title": "Picador (La Pique)",
    "artist_id": PICASSO,
    "name": "Pablo Picasso",
    "dimensions": "composition: 20 13/16 x 25 3/16' (52.9 x 64 cm); sheet: 24 7/16 x 29 1/2' (62.1 x 75 cm)",
    "classification": "Print",
}
IN_INCHES: Final = "composition: 20 13/16 x 25 3/16 in (52.9 x 64 cm); sheet: 24 7/16 x 29 1/2 in (62.1 x 75 cm)"

Artists = dict[int, Row]


def files(data: Path) -> Mapping[str, bytes]:
    """The files of the six loads, and the rows that the tables have after each; `data` has the folder moma."""
    database = Database("moma", "moma", "public", "1.7.0.Final", lsn=3_600_591_880_192, transaction=217_094)
    made: Files = _captured(data)
    # Of the envelopes' artists some are in no later file, and nothing says that they have gone.
    earlier: Artists = {
        record["after"]["artist_id"]: record["after"]
        for path, content in made.items()
        if "/envelope-avro/" in path
        for record in _records(content)
    }
    offsets = {database.topic(table): AFTER_CAPTURE for table in (ARTISTS, ARTWORKS)}
    before: dict[str, bytes] = {}
    for number, (name, change) in enumerate(LOADS, start=1):
        load = f"{number}-{name}"
        start = len(database.changes)
        change(database, data, made)
        for table in (ARTISTS, ARTWORKS):
            changes = database.changes[start:]
            made |= copied(postgresql.landed(database, table, changes, offsets, "avro", flattened=True), load)
        now = expected.tables(load, _content(database, earlier))
        # A table that a load leaves as it was is not written down again.
        content = {path.rpartition("/")[2]: rows for path, rows in now.items()}
        made |= {path: rows for path, rows in now.items() if before.get(path.rpartition("/")[2]) != rows}
        before = content
    return made


def _captured(data: Path) -> Files:
    tables = (("envelope-avro", ARTISTS), ("unwrapped-avro", ARTISTS), ("unwrapped-avro", ARTWORKS))
    names = [
        f"{folder}/moma.public.{table.name}+0+{offset:010d}.avro" for folder, table in tables for offset in CAPTURED
    ]
    return {f"1-{LOADS[0][0]}/{name}": (data / "moma" / name).read_bytes() for name in names}


def _records(content: bytes) -> list[dict[str, Any]]:
    return list(fastavro.reader(io.BytesIO(content)))  # type: ignore[arg-type]


def _snapshot(database: Database, data: Path, made: Files) -> None:
    """The captured rows are the database's; those that the changes and the join need are read with them."""
    artists = _source_rows(data, "artists", lambda row: int(row["artist_id"]) == PICASSO)
    prints = _source_rows(
        data,
        "artworks_small",
        lambda row: int(row["artist_id"]) == PICASSO and row["classification"] == "Print",
    )
    content = {"artists": (ARTISTS, artists), "artworks": (ARTWORKS, [*prints, PICADOR_ROW])}
    database.snapshot(content, utc("2021-12-25 03:11:34.191"))
    for table in (ARTISTS, ARTWORKS):
        for path, written in made.items():
            if f"/unwrapped-avro/moma.public.{table.name}+" in path:
                rows = ({name: row[name] for name in table.columns} for row in _records(written))
                database.rows[table.name] |= {table.identity(row): row for row in rows}


def _first_changes(database: Database, _: Path, __: Files) -> None:
    """The artwork's five updates, an artist's delete at its printed place and time, an artist's years of life."""
    database.transaction = 221_300
    database.lsn = 3_692_597_003_784
    _update(database, "2021-12-29 19:42:10.615", ARTWORKS, PICADOR, {"date": 1959})
    _update(database, "2021-12-29 19:51:36.208", ARTWORKS, PICADOR, {"acquisition_date": "2009-04-15"})
    _update(database, "2021-12-29 19:58:03.977", ARTWORKS, PICADOR, {"dimensions": IN_INCHES})
    _update(database, "2021-12-29 20:06:44.351", ARTWORKS, PICADOR, {"acquisition_date": "2009-04-19"})
    _update(database, "2021-12-29 20:49:27.802", ARTWORKS, PICADOR, {"date": 1960})
    database.lsn = 3_692_866_569_488 - postgresql.CHANGE
    database.commit(utc("2021-12-29 21:47:16.010"), ("delete", ARTISTS, (BELJON,)))
    database.lsn = 3_702_529_196_360
    _update(database, "2021-12-30 13:21:40.126", ARTISTS, BAKKER, {"birth_year": 1907})
    _update(database, "2021-12-30 13:24:58.540", ARTISTS, BAKKER, {"death_year": 1989})


def _name(database: Database, _: Path, __: Files) -> None:
    _update(database, "2021-12-30 14:18:52.093", ARTISTS, BAKKER, {"name": "Gerhard M. Bakker"})


def _nationality(database: Database, _: Path, __: Files) -> None:
    _update(database, "2021-12-30 14:40:57.334", ARTISTS, BAKKER, {"nationality": "German"})


def _birth_year(database: Database, _: Path, __: Files) -> None:
    _update(database, "2021-12-30 17:17:46.869", ARTISTS, BAKKER, {"birth_year": 1905})


def _delete(database: Database, _: Path, __: Files) -> None:
    database.commit(utc("2021-12-30 18:02:31.447"), ("delete", ARTISTS, (BAKKER,)))


# What each is called, and what happens in it: each but the first ends where a state of artist 299 is printed.
LOADS: Final = (
    ("snapshot", _snapshot),
    ("first-changes", _first_changes),
    ("name", _name),
    ("nationality", _nationality),
    ("birth-year", _birth_year),
    ("delete", _delete),
)


def _update(database: Database, at: str, table: Table, key: int, values: Row) -> None:
    database.commit(utc(at), ("update", table, ((key,), values)))


def _source_rows(data: Path, table: str, wanted: Callable[[Mapping[str, str]], bool]) -> list[Row]:
    """Rows of the table's own copy: a number that is not there is null, a text an empty one."""
    rows = source_data.rows(data / "moma" / "source-txt" / f"moma_public_{table}.txt.gz", delimiter="|")
    return [
        {name: (int(value) if value else None) if name in NUMBERS else value for name, value in row.items()}
        for row in rows
        if wanted(row)
    ]


def _content(database: Database, earlier: Artists) -> dict[str, tuple[Iterable[Row], Sequence[str]]]:
    """The tables as they are now, and the marts: relation -> rows and key."""
    deleted = {change.before["artist_id"] for change in database.changes if change.op == "d" and change.before}
    now = {row["artist_id"]: row for row in database.content(ARTISTS)}
    artists = {key: row for key, row in {**earlier, **now}.items() if key not in deleted}
    artworks = database.content(ARTWORKS)
    counts = Counter(row["artist_id"] for row in artworks)
    return {
        "slv_moma__artists": ([_stored(row, "nationality") for row in artists.values()], ["artist_id"]),
        "slv_moma__artworks": ([_stored(row, "classification") for row in artworks], ["artwork_id"]),
        "dim_artist": ([_dim_artist(row, counts[key]) for key, row in artists.items()], ["artist_id"]),
        "dim_artwork": ([_dim_artwork(row, artists.get(row["artist_id"])) for row in artworks], ["artwork_id"]),
        "agg_artworks_by_classification": (_by_classification(artworks), ["classification"]),
    }


def _stored(row: Row, partition: str) -> Row:
    """A table that is partitioned by a text has no empty one: Delta's log says null for it."""
    return {**row, partition: row[partition] or None}


def _dim_artist(row: Row, artworks: int) -> Row:
    return {
        "artist_id": row["artist_id"],
        "artist_name": row["name"],
        **{name: row[name] or None for name in ("nationality", "gender", "birth_year", "death_year")},
        "artwork_count": artworks,
    }


def _dim_artwork(row: Row, artist: Row | None) -> Row:
    return {
        "artwork_id": row["artwork_id"],
        "title": row["title"],
        "created_year": row["date"],
        "artist_id": row["artist_id"],
        "artist_name": artist["name"] if artist else row["name"],
        "nationality": (artist["nationality"] or None) if artist else None,
        "classification": row["classification"] or None,
    }


def _by_classification(artworks: Sequence[Row]) -> list[Row]:
    found: list[Row] = []
    for classification in sorted({row["classification"] for row in artworks}):
        of_class = [row for row in artworks if row["classification"] == classification]
        years = [row["date"] for row in of_class if row["date"] is not None]
        found.append(
            {
                "classification": classification,
                "artwork_count": len(of_class),
                "artist_count": len({row["artist_id"] for row in of_class}),
                "earliest_year": min(years, default=None),
                "latest_year": max(years, default=None),
            }
        )
    return found
