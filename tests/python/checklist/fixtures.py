"""Change files written by hand and the rows that have to come out of them (tests/fixtures/checklist)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pipeline.events import lines
from pipeline.project import REPOSITORY, Feed

from .containers import avro_file, parquet_file

FOLDER = REPOSITORY / "tests" / "fixtures" / "checklist"
FILE_NAME = re.compile(r"(?P<item>\d\d)_[a-z0-9]+(_[a-z0-9]+)*")
VARIANT_NAME = re.compile(r"([a-z0-9]+-)*(?P<encoding>json|avro|parquet)")
FIELDS = {"title", "cdc", "key", "columns", "rounds", "expected"}
EXPECTED = {"rows", "deleted", "kinds", "rejected", "versions", "source", "differences"}
# What is said of a row beside its columns where a fixture does not say it.
UNSAID = {"_cdc_unresolved_columns": None}

ExpectedRow = dict[str, Any]
"""Column -> text, NULL, or a list or object of them."""


@dataclass(frozen=True)
class Expected:
    """What has to come out.

    Attributes:
        rows: of the current table.
        deleted: rows of the state that do not live any more.
        kinds: `_cdc_kind` -> number of lines or records.
        rejected: reason, with its detail behind a colon, of each rejected line in the order of files and lines.
        versions: of the history; None where the fixture has none.
        source: CSV of what the database really has, where the events do not say it.
        differences: what `reconcile` prints of the two.
    """

    rows: list[ExpectedRow]
    deleted: list[ExpectedRow]
    kinds: dict[str, int]
    rejected: list[str]
    versions: list[ExpectedRow] | None
    source: str | None
    differences: list[str]


@dataclass(frozen=True)
class Fixture:
    """One variant of a fixture file.

    Attributes:
        name: such as ``21-resnapshot-json``, the id of its test.
        item: number in the checklist.
        title: what the events do.
        columns: name -> Spark type of the tables.
        feed: the source, its files and its models.
        rows_after: rows of the current table after a round, by its index.
        expected: what has to come out of all rounds.
    """

    name: str
    item: int
    title: str
    columns: dict[str, str]
    feed: Feed
    rows_after: dict[int, list[ExpectedRow]]
    expected: Expected


class _Loader(yaml.SafeLoader):
    """Refuses a name that an object has twice, of which YAML would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if len(names) != len(set(names)):
            raise ValueError(f"{node.start_mark}: a name stands twice in {names}")
        return super().construct_mapping(node, deep)


def fixture_files() -> list[Path]:
    """Every fixture file, by number."""
    return sorted(FOLDER.glob("[0-9]*.yml"))


def load_fixtures() -> list[Fixture]:
    """Every variant of every file."""
    return [fixture for path in fixture_files() for fixture in read_fixtures(path.stem, path.read_text("utf-8"))]


def read_fixtures(stem: str, text: str) -> Iterator[Fixture]:
    """The variants of a file.

    Args:
        stem: name of the file without its extension.
        text: its YAML.

    Raises:
        ValueError: it is not what the README beside the fixtures says.
    """
    document: dict[str, Any] = yaml.load(text, _Loader)
    match = FILE_NAME.fullmatch(stem)
    _require(match is not None, stem, "the file is not named NN_words")
    assert match is not None
    variants = document.pop("variants", None)
    _require(bool(variants), stem, "no variants")
    for variant, fields in variants.items():
        name = f"{stem.replace('_', '-', 1)}-{variant}".replace("_", "-")
        yield _fixture(name, int(match["item"]), _merged(document, fields or {}))


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a variant says goes over what the file says of all; in `cdc` and `expected` name by name."""
    merged = {**common, **own}
    for name in ("cdc", "expected"):
        merged[name] = {**common.get(name, {}), **own.get(name, {})}
    return merged


def _fixture(name: str, item: int, fields: dict[str, Any]) -> Fixture:
    encoding = VARIANT_NAME.search(name)
    _require(encoding is not None, name, "the variant does not end with its encoding")
    assert encoding is not None
    _require(fields.keys() >= FIELDS - {"key"}, name, f"lacks {sorted(FIELDS - fields.keys())}")
    _require(fields.keys() <= FIELDS, name, f"unknown {sorted(fields.keys() - FIELDS)}")
    expected = _expected(name, fields["expected"])
    declared = {column: _declared(type_) for column, type_ in fields["columns"].items()}
    left_out = fields["cdc"].get("except_column_list", [])
    columns = {column: type_ for column, (type_, _) in declared.items() if column not in left_out}
    rounds = [round_["files"] for round_ in fields["rounds"]]
    rows_after = {number: round_["rows"] for number, round_ in enumerate(fields["rounds"]) if "rows" in round_}
    for rows in (expected.rows, expected.deleted, expected.versions or [], *rows_after.values()):
        _check_rows(name, rows, columns)
    is_flat = fields["cdc"].get("shape", "envelope") != "envelope"
    landed = [{file: content_of(content, file, is_flat) for file, content in files.items()} for files in rounds]
    count = sum(_record_count(content) for files in rounds for content in files.values())
    _require(sum(expected.kinds.values()) == count, name, f"{count} lines, and kinds of {expected.kinds}")
    _require(expected.kinds.get("rejected", 0) == len(expected.rejected), name, "kinds and rejected do not agree")
    models = ["log", "state", "living"]
    models += ["quarantine"] * bool(expected.rejected) + ["history"] * (expected.versions is not None)
    feed = Feed(
        f"checklist_{name.replace('-', '_')}",
        declared,
        landed,
        key=fields.get("key", ["id"]),
        cdc=fields["cdc"],
        using=encoding["encoding"],
        models=models,
    )
    return Fixture(name, item, fields["title"], columns, feed, rows_after, expected)


def _declared(type_: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Spark type and `meta.cdc` of a column, which a fixture gives as one object."""
    if isinstance(type_, str):
        return type_, {}
    return type_["data_type"], {option: value for option, value in type_.items() if option != "data_type"}


def _expected(name: str, fields: Mapping[str, Any]) -> Expected:
    _require(fields.keys() <= EXPECTED, name, f"unknown {sorted(fields.keys() - EXPECTED)} in expected")
    _require(fields.keys() >= {"rows", "kinds"}, name, "expected lacks rows or kinds")
    _require(("source" in fields) == ("differences" in fields), name, "source and differences go together")
    return Expected(
        rows=fields["rows"],
        deleted=fields.get("deleted", []),
        kinds=fields["kinds"],
        rejected=fields.get("rejected", []),
        versions=fields.get("versions"),
        source=fields.get("source"),
        differences=fields.get("differences", []),
    )


def _check_rows(name: str, rows: list[ExpectedRow], columns: Mapping[str, str]) -> None:
    for row in rows:
        own = [column for column in row if not column.startswith("_")]
        _require(own == list(columns), name, f"a row has {own}, declared are {list(columns)}")
        for column, value in row.items():
            _require(_is_text(value), name, f"{column}: {value!r} is not written as text")


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_text, value))
    if isinstance(value, dict):
        return all(map(_is_text, (*value, *value.values())))
    return value is None or isinstance(value, str)


def _record_count(content: Any) -> int:
    if isinstance(content, str):
        return len(content.splitlines())
    return len(content if isinstance(content, list) else content["records"])


def content_of(content: Any, file: str, is_flat: bool) -> bytes:
    """The bytes of a file.

    Args:
        content: of JSON the text itself, or a list of its lines' values; of Avro and Parquet
            ``{row: Avro fields of the row, records}`` (or ``{schema: Avro schema of the record, records}``).
        file: its name.
        is_flat: the row is the record; else it is the row of an envelope.
    """
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, list):
        return lines(*content)
    write = {".avro": avro_file, ".parquet": parquet_file}[Path(file).suffix]
    return write(content.get("row"), content.get("schema"), content["records"], is_flat)


def text_of(value: Any, type_: str) -> Any:
    """A value as fixtures write it: plain text, bytes in hexadecimal; lists and objects of such texts.

    Args:
        value: as `Project.rows` gives it, dates and times as text already; bytes inside of arrays are a bytearray.
        type_: its Spark type, or that of the array that it is in.
    """
    if isinstance(value, list):
        return [text_of(item, type_) for item in value]
    if isinstance(value, dict):
        return {key: text_of(item, type_) for key, item in value.items()}
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, Decimal):
        # PySpark 3.5.7 hands decimals on in engineering notation, so -1E-10 has come as -100E-12.
        scale = type_.rpartition(",")[2].rstrip(")>")
        return f"{value:.{scale}f}"
    return str(value)


def _require(holds: bool, name: str, problem: str) -> None:
    if not holds:
        raise ValueError(f"{name}: {problem}")
