"""What the pages of docs/ say, taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
DOCS = REPOSITORY / "docs"
GUIDE = DOCS / "guide"
# Pages that are followed from top to bottom, in this order: the marts and the move are over the accounts of the first.
FOLLOWED = ("debezium", "jdbc", "outbox", "marts", "moving")
FENCE = re.compile(r"^```(?P<language>\w+)(?P<attributes>[^\n]*)\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: the page.
        language: after the fence.
        attributes: ``name=value`` after the language.
        body: the lines, each with its line ending.
        end: where the block ends in the page's text.
    """

    page: Path
    language: str
    attributes: dict[str, str]
    body: str
    end: int


def pages() -> list[Path]:
    """Every page below docs/."""
    return sorted(DOCS.rglob("*.md"))


def text(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str) -> list[Block]:
    """The fenced blocks of one language."""
    return [
        Block(
            page,
            match["language"],
            dict(pair.split("=", 1) for pair in match["attributes"].split()),
            match["body"],
            match.end(),
        )
        for match in FENCE.finditer(text(page))
        if match["language"] == language
    ]


def prose(page: Path) -> str:
    """The text without its fenced blocks."""
    return FENCE.sub("", text(page))


def code_words(cell: str) -> list[str]:
    """What stands in backticks."""
    return re.findall(r"`([^`]+)`", cell)


def anchors(page: Path) -> set[str]:
    """What a link to a heading has after its `#`, as GitHub makes it: a heading that comes again is numbered."""
    found: dict[str, int] = {}
    for heading in re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).strip().lower())
        name = words.replace(" ", "-")
        found[name] = found.get(name, -1) + 1
        if found[name]:
            found[f"{name}-{found[name]}"] = 0
    return set(found)


def tables(page_text: str) -> list[list[list[str]]]:
    """The tables of a text: rows of stripped cells, the heading first, without the line of dashes."""
    found: list[list[list[str]]] = []
    inside = False
    for line in page_text.splitlines():
        if line.startswith("|"):
            if not inside:
                found.append([])
            if not re.fullmatch(r"[|\- ]+", line) or not set(line) & {"-"}:
                found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
        inside = line.startswith("|")
    return found


def table_after(block: Block) -> list[list[str]] | None:
    """The table that directly follows a block, None where there is other text first."""
    rest = text(block.page)[block.end :].lstrip("\n")
    return tables(rest)[0] if rest.startswith("|") else None


def section(page: Path, heading: str) -> str:
    """The text below a heading of the second level, to the next one."""
    match = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text(page), re.DOTALL | re.MULTILINE)
    assert match is not None, f"{page.name} has no section {heading!r}"
    return match[1]
