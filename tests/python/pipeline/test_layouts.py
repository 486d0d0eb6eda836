"""Every folder and file name that a sink leaves is found, read once, and named in the lineage."""

from __future__ import annotations

import bz2
import json
from collections.abc import Callable
from urllib.parse import unquote

import pyarrow as pa
import pytest

from .events import flattened, lines, postgresql, stored, zipped
from .project import Feed, Project

# path below the topic's folder -> (partition, first offset) that its name tells; None: a name that tells none.
CONFLUENT = {
    "partition=0/shop.things+0+0000000000.json": (0, 0),
    "partition=0/shop.things+0+0000000001.json.gz": (0, 1),
    "partition=11/shop.things+11+0000000042.json": (11, 42),
    "partition=1/shop.things+1+9007199254740993.json": (1, 9007199254740993),
    "year=2024/month=05/day=01/hour=12/shop.things+0+0000000002.json": (0, 2),
    "year=2024/month=05/day=01/hour=13/shop.things+0+0000000003.json.gz": (0, 3),
    "country=United States/shop.things+0+0000000004.json": (0, 4),
    "name=O'Brien/shop.things+0+0000000005.json": (0, 5),
    'name="quoted"/shop.things+0+0000000006.json.gz': (0, 6),
    "share=100%/shop.things+0+0000000007.json": (0, 7),
    "share=100%25 %2F/shop.things+0+0000000008.json": (0, 8),
    "city=Zürich/shop.things+0+0000000009.json": (0, 9),
    "city=Zürich, 東京/shop.things+0+0000000010.json.gz": (0, 10),
    "sum=1+2+3/shop.things+0+0000000011.json": (0, 11),
    "empty=/shop.things+0+0000000012.json": (0, 12),
    "set={a,b}[c]*?/shop.things+0+0000000013.json": (0, 13),
    "set={a,b}[c]*?/shop.things+0+0000000014.json.gz": (0, 14),
    "back\\slash;semi#hash&and=$(x)/shop.things+0+0000000015.json": (0, 15),
    "colon=12:30/shop.things+0+0000000016.json": (0, 16),
    "odd/shop+things+2+0000000017.json": (2, 17),
    "odd/it's a file 100% ü,+0+0000000018.json": (0, 18),
    "odd/no number.json": (None, None),
    "odd/no extension": (None, None),
    # What they are called is not what they are: `FORMS`.
    "forms/shop.things+0+0000000019.json": (0, 19),
    "forms/shop.things+0+0000000020.json.gz": (0, 20),
    "forms/shop.things+0+0000000021": (0, 21),
    "forms/shop.things+0+0000000022.json": (0, 22),
    "forms/shop.things+0+0000000023.json": (0, 23),
    "forms/shop.things+0+0000000024.json.zst": (0, 24),
}
FORMS: dict[str, Callable[[bytes], bytes]] = {
    "forms/shop.things+0+0000000019.json": zipped,
    "forms/shop.things+0+0000000020.json.gz": bytes,
    "forms/shop.things+0+0000000021": bz2.compress,
    "forms/shop.things+0+0000000022.json": lambda record: b"[\n" + record + b"]\n",
    "forms/shop.things+0+0000000023.json": lambda record: json.dumps(json.loads(record), indent=2).encode(),
    "forms/shop.things+0+0000000024.json.zst": lambda record: bytes(pa.compress(record, "zstd", asbytes=True)),
}
# What the Confluent sink writes beside the values, with `store.kafka.keys` and `store.kafka.headers`.
BESIDE_VALUES = (
    "partition=0/shop.things+0+0000000000.keys.json",
    "partition=0/shop.things+0+0000000001.headers.json.gz",
    "partition=11/shop.things+11+0000000042.keys.json.gz",
)
LENSES = {
    "shop.things(0_12).json": (0, 12),
    "shop.things(3_000000000042).json.gz": (3, 42),
    "sub folder/region=A&B (x)/shop.things(0_0).json": (0, 0),
    "2024/05/01/12/shop.things(1_9007199254740993).json": (1, 9007199254740993),
}
STORED = {"shop.things(0_7).json": (0, 7), "kind=É%/shop.things(1_99).json.gz": (1, 99)}


def content(path: str, number: int, record: bytes) -> bytes:
    return FORMS.get(path, zipped if path.endswith(".gz") else bytes)(record)


def envelope(number: int) -> bytes:
    return lines(postgresql("c", 100 + number, {"id": number, "name": "n"}))


COLUMNS = {"id": "int", "name": "string"}
FEEDS = [
    Feed(
        "confluent",
        COLUMNS,
        [
            {path: content(path, number, envelope(number)) for number, path in enumerate(CONFLUENT)}
            | {path: content(path, 0, b'{"id": 1}\n') for path in BESIDE_VALUES}
        ],
        location="bucket of the shop, 100% (ü+é)/topics/shop.things",
        models=("log", "state"),
    ),
    Feed(
        "lenses",
        COLUMNS,
        [
            {
                path: content(path, number, lines(flattened("c", 100 + number, {"id": number, "name": "n"})))
                for number, path in enumerate(LENSES)
            }
            # The other topics of the bucket lie in the same folder.
            | {"shop.others(0_5).json": b"nothing of ours\n"}
        ],
        cdc={"layout": "lenses", "shape": "flattened"},
        options={"pathGlobFilter": "shop.things(*"},
        slow=True,
    ),
    Feed(
        "stored",
        COLUMNS,
        [
            {
                path: content(
                    path,
                    number,
                    lines(
                        *(
                            stored(postgresql("c", 100 + offset, {"id": 10 * number + line, "name": "n"}), offset, part)
                            for line, offset in enumerate((last - 2, last))
                        )
                    ),
                )
                for number, (path, (part, last)) in enumerate(STORED.items())
            }
        ],
        cdc={"layout": "lenses", "store_envelope": True},
    ),
]


@pytest.mark.parametrize(
    ("feed", "path"),
    [("confluent", p) for p in CONFLUENT] + [pytest.param("lenses", p, marks=pytest.mark.slow) for p in LENSES],
)
def test_file_is_read_once_with_its_lineage(project: Project, feed: str, path: str) -> None:
    paths = CONFLUENT if feed == "confluent" else LENSES
    (row,) = [row for row in project.log(feed) if row["id"] == list(paths).index(path)]
    assert unquote(row["_cdc_file_path"]).endswith("/" + path)
    assert (row["_cdc_kafka_partition"], row["_cdc_file_offset"]) == paths[path]
    assert (row["_cdc_line"], row["_cdc_kafka_offset"], row["_cdc_kind"]) == (1, None, "change")


def test_keys_and_headers_beside_the_values_are_no_lines(project: Project) -> None:
    assert len(project.log("confluent")) == len(CONFLUENT)


def test_location_with_odd_characters_gives_every_row_its_key(project: Project) -> None:
    assert sorted(row["id"] for row in project.state("confluent")) == list(range(len(CONFLUENT)))


@pytest.mark.slow
def test_other_topics_of_the_folder_are_left_out(project: Project) -> None:
    assert len(project.log("lenses")) == len(LENSES)


def test_store_envelope_gives_exact_offsets(project: Project) -> None:
    found = {row["id"]: (row["_cdc_kafka_partition"], row["_cdc_kafka_offset"]) for row in project.log("stored")}
    assert found == {0: (0, 5), 1: (0, 7), 10: (1, 97), 11: (1, 99)}
    assert {row["_cdc_file_offset"] for row in project.log("stored")} == {7, 99}


def test_ledger_has_each_file_once(project: Project) -> None:
    ledger = project.ledger("confluent")
    assert len(ledger) == len(CONFLUENT)
    assert {(row["line_count"], row["change_count"], row["batch"]) for row in ledger} == {(1, 1, 1)}
