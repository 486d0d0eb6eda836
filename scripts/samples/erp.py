"""The table CUSTOMER of a MariaDB shop: recorded changes, laid out by the checkpoints of their recording.

Nothing is made up here: the objects are those of the recording, compressed as the sink does it with
`s3.compression.type=gzip`, and the expected rows are what the database itself held at each checkpoint.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from scripts.samples import expected
from scripts.samples.connect import Row
from scripts.samples.sinks import Files

CORPUS: Final = Path("captures") / "mariadb-envelope-json"
TOPIC: Final = "erp.shop.CUSTOMER"
# Checkpoint of the recording -> load.
LOADS: Final = {
    "00-snapshot": "1-snapshot",
    "01-before-ddl": "2-before-ddl",
    "02-after-widening": "3-after-widening",
    "03-before-truncate": "4-before-truncate",
    "04-final": "5-final",
}
_NAME: Final = re.compile(rf"{re.escape(TOPIC)}\+(\d+)\+(\d+)\.json")
# Their cast to text is none: the tests of the recording compare them as bytes.
_BINARY: Final = "data"


def files(path: Path) -> Mapping[str, bytes]:
    """The samples of the shop, by their path below `samples/erp/`.

    Args:
        path: of the licensed data and the recordings.
    """
    found: Files = {}
    for place, content in _objects(path / CORPUS):
        found[f"{_load(path / CORPUS, place)}/{place}.gz"] = gzip.compress(content, mtime=0)
    for checkpoint, load in LOADS.items():
        rows = list(_table(path / CORPUS / "oracle" / checkpoint / "CUSTOMER.jsonl.gz"))
        found |= expected.tables(
            load,
            {"slv_erp__customer": (rows, ["id"]), "agg_erp_customers_by_status": (_by_status(rows), ["status"])},
        )
    return found


def _objects(corpus: Path) -> Iterator[tuple[str, bytes]]:
    root = corpus / "bronze" / "confluent-json"
    for file in sorted((root / "topics" / TOPIC).rglob("*.json")):
        yield file.relative_to(root).as_posix(), file.read_bytes()


def _load(corpus: Path, place: str) -> str:
    """The first checkpoint whose end lies after the object's first offset: no object spans a checkpoint."""
    match = _NAME.fullmatch(Path(place).name)
    assert match, place
    partition, offset = match.groups()
    for checkpoint in json.loads((corpus / "oracle" / "checkpoints.json").read_text()):
        if int(offset) < checkpoint["end_offsets"][f"{TOPIC}:{partition}"]:
            return LOADS[checkpoint["checkpoint"]]
    raise AssertionError(place)


def _table(file: Path) -> Iterator[dict[str, Any]]:
    """A table of the oracle, in the texts of the declared types."""
    for line in gzip.decompress(file.read_bytes()).decode().removesuffix("\n").split("\n"):
        row = json.loads(line)
        yield {name: _text(name, value) for name, value in row.items() if name != _BINARY} | {"id": int(row["id"])}


def _text(column: str, value: str | None) -> str | None:
    """A text of MariaDB as Spark casts the column's value to text."""
    if value is None or (column == "birth" and value.startswith("0000")):
        # The connector sends NULL for a zero date.
        return None
    if column in ("fl", "db"):
        return _floating(float(value))
    if column in ("created", "placed", "updated"):
        return value.rstrip("0").rstrip(".") if "." in value else value
    if column == "at_time":
        return f"{value}000"
    return {"0": "false", "1": "true"}[value] if column == "flag_bit" else value


def _floating(value: float) -> str:
    """As Java writes it: plain from 0.001 up to 10 million, else with an exponent."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    mantissa, exponent = f"{Decimal(repr(value)).normalize():E}".split("E")
    return f"{mantissa if '.' in mantissa else f'{mantissa}.0'}E{int(exponent)}"


def _by_status(rows: list[dict[str, Any]]) -> Iterator[Row]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["status"] or "unknown", []).append(row)
    for status, group in found.items():
        balance = sum((Decimal(row["balance"] or 0) for row in group), Decimal(0))
        yield {"status": status, "customer_count": len(group), "balance": f"{balance:.4f}"}
