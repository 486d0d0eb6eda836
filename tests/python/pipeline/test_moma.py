"""The nine Avro files that the Confluent S3 sink wrote: every record of every file, column by column.

A slow suite.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import fastavro
import pytest

from .project import REPOSITORY, Feed, Project, Row

pytestmark = pytest.mark.slow
SAMPLES = REPOSITORY / "samples" / "moma"
FOLDERS = {"artists": "envelope-avro", "artists_flattened": "unwrapped-avro", "artworks": "unwrapped-avro"}
ENTITIES = ["artists", "artists_flattened", "artworks"]
ARTISTS = {
    "artist_id": "int",
    "name": "string",
    "nationality": "string",
    "gender": "string",
    "birth_year": "int",
    "death_year": "int",
}
ARTWORK_NUMBERS = ("artwork_id", "artist_id", "date", "durations")


def files(entity: str) -> list[Path]:
    """The entity's files in the order of their offsets."""
    topic = f"moma.public.{entity.removesuffix('_flattened')}"
    return sorted((SAMPLES / "1-snapshot" / FOLDERS[entity]).glob(f"{topic}+0+*.avro"))


def records(content: bytes) -> list[dict[str, Any]]:
    """The row images of one file as fastavro reads them: a reader that shares no code with the pipeline's decoder."""
    read: list[Any] = list(fastavro.reader(io.BytesIO(content)))
    return [record.get("after", record) for record in read]


def columns(entity: str) -> dict[str, str]:
    """Columns with their types, as the writer schema names them."""
    if entity != "artworks":
        return ARTISTS
    names = [name for name in records(files(entity)[0].read_bytes())[0] if not name.startswith("__")]
    return {name: "int" if name in ARTWORK_NUMBERS else "string" for name in names}


def rounds(entity: str) -> list[dict[str, bytes]]:
    """Two files, then the last one; of the flattened topics all in one batch."""
    first, second, last = ({path.name: path.read_bytes()} for path in files(entity))
    return [first | second, last] if entity == "artists" else [first | second | last]


def with_changes() -> dict[str, bytes]:
    """The flattened artists, and what happens to two of them afterwards, at the end a delete."""
    changed = sorted(SAMPLES.glob("*/topics/moma.public.artists/*/*.avro"))
    return {path.name: path.read_bytes() for path in [*files("artists_flattened"), *changed]}


FEEDS = [
    Feed(
        f"moma_{entity}",
        columns(entity),
        rounds(entity),
        key=["artwork_id" if entity == "artworks" else "artist_id"],
        cdc={"shape": "envelope" if entity == "artists" else "flattened"},
        using="avro",
        models=("log", "state", "living"),
        tests=True,
    )
    for entity in FOLDERS
]
FEEDS.append(
    Feed(
        "moma_deletes",
        ARTISTS,
        [with_changes()],
        key=["artist_id"],
        cdc={"shape": "flattened"},
        using="avro",
        models=("log", "state", "hard"),
    )
)


@pytest.mark.parametrize("entity", ENTITIES)
def test_every_record_is_a_living_row_with_equal_values(project: Project, entity: str) -> None:
    names = columns(entity)
    expected = [
        {name: record[name] for name in names} for path in files(entity) for record in records(path.read_bytes())
    ]
    assert len(expected) == 900

    def ordered(rows: list[Row]) -> list[list[Any]]:
        return sorted(([row[name] for name in names] for row in rows), key=lambda values: values[0])

    assert ordered(project.living(f"moma_{entity}")) == ordered(expected)


@pytest.mark.parametrize("entity", ENTITIES)
def test_every_row_names_the_file_and_record_that_made_it(project: Project, entity: str) -> None:
    key = next(iter(columns(entity)))
    expected = {
        record[key]: (path.name, line)
        for path in files(entity)
        for line, record in enumerate(records(path.read_bytes()), 1)
    }
    found = {
        row[key]: (row["_cdc_file_path"].rsplit("/", 1)[-1], row["_cdc_line"])
        for row in project.living(f"moma_{entity}")
    }
    assert found == expected


def test_null_and_empty_stay_apart(project: Project) -> None:
    envelope = {row["artist_id"]: row["nationality"] for row in project.living("moma_artists")}
    flattened = {row["artist_id"]: row["nationality"] for row in project.living("moma_artists_flattened")}
    missing = [artist for artist, nationality in envelope.items() if nationality is None]
    assert len(missing) == 3
    assert {flattened[artist] for artist in missing if artist in flattened} <= {""}


@pytest.mark.parametrize(
    ("role", "values"),
    [
        (
            "state",
            {
                299: ("Gerhard M. Bakker", "German", "Male", 1905, 1989),
                441: ("J. J. Beljon", "Dutch", "Male", 1922, 2002),
            },
        ),
        ("hard", {299: (None,) * 5, 441: (None,) * 5}),
    ],
)
def test_soft_delete_keeps_the_values_and_hard_delete_the_key_alone(
    project: Project, role: str, values: dict[int, tuple[Any, ...]]
) -> None:
    deleted = [row for row in project.state("moma_deletes", role=role) if row["_is_deleted"]]
    assert {row["artist_id"]: tuple(row[name] for name in list(ARTISTS)[1:]) for row in deleted} == values
