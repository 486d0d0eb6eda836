"""Writes the guide's tables of rules from the data that the code reads; a test compares.

A page has ``<!-- rules NAME -->`` and ``<!-- end of rules -->`` around such a table.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from alluvium import rules
from alluvium.diagnosis.known_losses import KNOWN_LOSSES
from alluvium.inspection.operation_columns import CONVENTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

DOCS = Path(__file__).resolve().parents[1] / "docs"
BLOCK = re.compile(r"(<!-- rules (\w+) -->\n).*?(<!-- end of rules -->)", re.DOTALL)


def markdown(headings: list[str], rows: list[list[str]]) -> str:
    """A table of Markdown."""
    lines = [headings, ["--"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def _message_formats() -> str:
    return markdown(
        ["format", "what to do"],
        [
            [f"[{entry['name']}]({entry['source']})", entry.get("advice", "Rows or envelopes.")]
            for entry in rules.load("message_formats")
        ],
    )


def _operation_columns() -> str:
    rows = []
    for entry in CONVENTIONS:
        deletes = ", ".join(f"`{value}`" for value in entry.deletes)
        rows.append(
            [
                f"[{entry.tool}]({entry.source})",
                ", ".join(f"`{name}`" for name in entry.columns),
                deletes or ("not NULL" if entry.is_time else "true"),
                ", ".join(f"`{value}`" for value in entry.before),
            ]
        )
    return markdown(["tool", "column", "deletes", "images of before an update"], rows)


def _connectors() -> str:
    rows = []
    for name, rule in rules.load("connectors").items():
        fields = dict.fromkeys(field["field"] for part in rule.get("position", ()) for field in part["of"])
        order = ", ".join(f"`source.{field}`" for field in fields) or rule["advice"]
        rows.append([f"`{name}`", order, f"`op,{rule['add_fields']}`" if "add_fields" in rule else ""])
    return markdown(["connector", "its changes are ordered by", "`add.fields` of a flattened feed"], rows)


def _sink_names() -> str:
    rows = []
    for layout, rule in rules.load("sink_names").items():
        offset = "last record" if "<last_offset>" in rule["pattern"] else "first record"
        of = offset if "offset>" in rule["pattern"] else "none"
        rows.append([f"`{layout}`", f"[{rule['sinks']}]({rule['source']})", rule["names"], of])
    return markdown(["layout", "sinks", "names", "offset of"], rows)


def _placeholders() -> str:
    rows = []
    for rule in rules.load("unavailable_values")["placeholders"].values():
        images = "`before` and `after`" if rule["in_before"] else "`after`"
        rows.append([rule["product"], rule["since"], rule["values"], images, rule["remedy"]])
    return markdown(["connector", "since", "values", "images", "to get every value"], rows)


def _known_losses() -> str:
    return markdown(
        ["connector", "what may be lost", "fixed in", "since", "issue"],
        [
            [
                ", ".join(loss.connectors),
                loss.what,
                ", ".join(loss.fixed_in) or "none known",
                loss.since or "",
                loss.issue,
            ]
            for loss in KNOWN_LOSSES
        ],
    )


TABLES: dict[str, Callable[[], str]] = {
    "placeholders": _placeholders,
    "known_losses": _known_losses,
    "message_formats": _message_formats,
    "operation_columns": _operation_columns,
    "connectors": _connectors,
    "sink_names": _sink_names,
}
"""What makes each table, by its name."""


def with_tables(page: str) -> str:
    """The text of a page with its tables as the rules have them."""
    return BLOCK.sub(lambda block: block[1] + TABLES[block[2]]() + block[3], page)


def main() -> None:
    """Write every page that has such a table."""
    for path in sorted(DOCS.rglob("*.md")):
        page = path.read_text(encoding="utf-8")
        if (written := with_tables(page)) != page:
            path.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    main()
