"""What a scaffold writes, on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from alluvium.wording import counted

from .changes import WRITTEN
from .comments import MARK

if TYPE_CHECKING:
    from rich.console import Console

    from . import Scaffold

_STYLES = {"new": "green", "added": "green", "replaced": "red", "kept": "yellow", "same": "dim"}


def print_scaffold(console: Console, scaffold: Scaffold, *, is_dry: bool) -> None:
    """Print the files with what happens to each, the differences of those that were there, questions and notices.

    Args:
        console: to print to.
        scaffold: as planned.
        is_dry: whether nothing is written.
    """
    for change in scaffold.changes:
        console.print(Text(f"{change.kind:<8} {change.path}", style=_STYLES[change.kind]))
        if change.kind in ("added", "replaced", "kept") and change.difference:
            console.print(Text(change.difference.rstrip("\n")), soft_wrap=True)
    for feed in scaffold.feeds:
        for question in feed.questions:
            console.print(Text(f"? {feed.entity.name}: {question}", style="yellow"))
    for subject, notice in scaffold.notices:
        console.print(Text(f"! {subject}: {notice}", style="yellow"))
    questions = sum(len(feed.questions) for feed in scaffold.feeds)
    if questions:
        where = "where the comments stand in" if MARK in scaffold.changes[0].text else "in"
        console.print(f"{counted(questions, 'question')}: answer {where} {scaffold.sources}.")
    written = sum(change.kind in WRITTEN for change in scaffold.changes)
    kept = sum(change.kind == "kept" for change in scaffold.changes)
    console.print(
        f"{counted(written, 'file')} {'to write' if is_dry else 'written'}"
        f"{f', {kept} edited by hand and left (--force replaces them)' if kept else ''}."
    )
