"""Rows as aligned text, for people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

# A text and its style, as rich has them.
Segment = tuple[str, str]
Line = list[Segment]

NULL = "NULL"
GAP = "  "
# A text that is cut shorter than this tells nothing: rather one line for each value.
LEAST_WIDTH = 16
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True)
class Column:
    """A heading.

    Attributes:
        name: the heading.
        is_number: whether values stand at the right.
        may_be_cut: whether values may be shortened: texts may, numbers and times may not.
    """

    name: str
    is_number: bool = False
    may_be_cut: bool = True


@dataclass(frozen=True)
class Layout:
    """Lines to print, and how many values were shortened in them."""

    lines: list[Line]
    cut: int


def shown(text: str) -> str:
    """A text as it stands in a table: itself, or a literal of Spark SQL where it could be taken for something else.

    That is an empty text, the text NULL, one with blanks at its ends, a quote at its begin or characters that are not
    seen.
    """
    if text and text != NULL and text == text.strip() and text[0] != "'" and text.isprintable():
        return text
    return "'" + "".join(_ESCAPES.get(character) or _visible(character) for character in text) + "'"


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def lay_out(columns: Sequence[Column], rows: Iterable[Sequence[str | None]], width: int | None = None) -> Layout:
    """Align rows below their headings.

    Args:
        columns: the headings.
        rows: texts as `shown` returns them; None is NULL.
        width: of the terminal, in cells; None where lines may be of any length. Texts are shortened to fit it, and
            where too little of them would be left, each row becomes a block with one line for each value.
    """
    values = list(rows)
    headings = ["".join(map(_visible, column.name)) for column in columns]
    widths = [max(cell_len(_styled(text)[0]) for text in texts) for texts in zip(headings, *values, strict=True)]
    if width is not None:
        fitting = _fit(widths, columns, width)
        if fitting is None:
            return _blocks(headings, values, width)
        widths = fitting
    lines = [
        _line(
            [_cell(name, room, column, "bold") for name, room, column in zip(headings, widths, columns, strict=True)]
        ),
        _line([("-" * room, "") for room in widths]),
    ]
    cut = 0
    for row in values:
        cells = []
        for value, room, column in zip(row, widths, columns, strict=True):
            text, style = _styled(value)
            cut += cell_len(text) > room
            cells.append(_cell(text, room, column, style))
        lines.append(_line(cells))
    return Layout(lines, cut)


def _styled(value: str | None) -> Segment:
    return (NULL, "dim italic") if value is None else (value, "")


def _fit(widths: list[int], columns: Sequence[Column], width: int) -> list[int] | None:
    """Widths that fit `width`, taken from the widest of the columns that may be cut; None where none do."""
    room = width - len(GAP) * (len(widths) - 1)
    least = [
        min(each, LEAST_WIDTH) if column.may_be_cut else each for each, column in zip(widths, columns, strict=True)
    ]
    if sum(least) > room:
        return None
    fitting = [min(each, max(room, low)) for each, low in zip(widths, least, strict=True)]
    while sum(fitting) > room:
        widest = max((x for x in range(len(fitting)) if fitting[x] > least[x]), key=fitting.__getitem__)
        fitting[widest] -= 1
    return fitting


def _cell(text: str, room: int, column: Column, style: str = "") -> Segment:
    text = _cut(text, room)
    blanks = " " * (room - cell_len(text))
    return (blanks + text if column.is_number else text + blanks), style


def _cut(text: str, room: int) -> str:
    return text if cell_len(text) <= room else set_cell_size(text, room - 1) + "…"


def _line(cells: Sequence[Segment]) -> Line:
    last, style = cells[-1]
    return [part for cell in cells[:-1] for part in (cell, (GAP, ""))] + [(last.rstrip(" "), style)]


def _blocks(headings: Sequence[str], rows: Sequence[Sequence[str | None]], width: int) -> Layout:
    """A block for each row, a line for each value."""
    indent = max(map(cell_len, headings)) + 2 * len(GAP)
    room = max(width - indent, LEAST_WIDTH)
    lines: list[Line] = []
    cut = 0
    for number, row in enumerate(rows, start=1):
        lines.append([(f"row {number}", "bold")])
        for heading, value in zip(headings, row, strict=True):
            text, style = _styled(value)
            cut += cell_len(text) > room
            lines.append(
                [(GAP + heading + " " * (indent - len(GAP) - cell_len(heading)), ""), (_cut(text, room), style)]
            )
    return Layout(lines, cut)
