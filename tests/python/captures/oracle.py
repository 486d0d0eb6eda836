"""Reads the oracle of a corpus: rows of a table at a checkpoint, and the cells that no reader can have."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .canonical import from_oracle
from .comparison import Key, Row
from .corpora import Corpus, Layout, Table


@dataclass(frozen=True)
class Known:
    """Cells that cannot be had from the events of a layout.

    Attributes:
        key: of the row, or None for every row of the table.
        column: name, or None for the whole row.
        why: as the corpus says it.
    """

    key: Key | None
    column: str | None
    why: str


def rows(corpus: Corpus, checkpoint: str, table: Table) -> list[Row]:
    """Every row of a table at a checkpoint: canonical text by column name, None for NULL."""
    types = {column.name: column.database_type for column in table.columns}
    return [
        {name: from_oracle(corpus.engine, types[name], text) for name, text in row.items()}
        for row in _json_lines(corpus.path / "oracle" / checkpoint / f"{table.name}.jsonl.gz")
    ]


def known(corpus: Corpus, layout: Layout, checkpoint: str, table: Table) -> list[Known]:
    """What the corpus lists as not to be had at a checkpoint of one layout."""
    types = [table.column(name).database_type for name in table.key]
    return [
        Known(
            key=None
            if entry["key"] == "*"
            else tuple(
                from_oracle(corpus.engine, type_, text) for type_, text in zip(types, entry["key"], strict=True)
            ),
            column=None if entry["column"] == "*" else entry["column"],
            why=entry["why"],
        )
        for entry in _json_lines(corpus.path / "oracle" / "known-differences.jsonl.gz")
        if entry["table"] == table.name and entry["checkpoint"] == checkpoint and layout.name in entry["layouts"]
    ]


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
