"""Comments of a source's YAML that ask: which of them stand there, and those that were answered taken out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from .yaml_text import EditError, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MARK = "# Answer before the first build: "
"""What the comments begin with; no other comment is ever taken out."""


def comments_in(text: str, path: Sequence[str | tuple[str, str]]) -> list[str]:
    """What is asked inside of a mapping or a list, without the mark.

    Args:
        text: of the file.
        path: that leads there, as of ``yaml_text.inserted``.
    """
    lines = text.splitlines()
    return [lines[number].strip().removeprefix(MARK) for number in _numbers(lines, lines_of(text, path))]


def with_comments(text: str, path: Sequence[str | tuple[str, str]], now: Callable[[str], str | None]) -> str:
    """The file with some of these comments changed or taken out, all other lines left as they are.

    Args:
        text: of the file.
        path: as of :func:`comments_in`.
        now: what a comment shall ask, by what it asks; None takes it out.

    Raises:
        EditError: the file would say something else then: a line is no comment, but part of a text.
    """
    lines = text.splitlines(keepends=True)
    for number in _numbers(lines, lines_of(text, path)):
        asked = lines[number].strip().removeprefix(MARK)
        wanted = now(asked)
        lines[number] = "" if wanted is None else lines[number].replace(asked, wanted)
    edited = "".join(lines)
    if edited != text and yaml.safe_load(edited) != yaml.safe_load(text):
        raise EditError(f"{' / '.join(map(str, path))} has a text with a line that begins with {MARK.strip()}")
    return edited


def on_one_line(text: str) -> str:
    """A text as a comment has it."""
    return " ".join(text.split())


def is_same(one: str, other: str) -> bool:
    """Whether two comments ask the same, however many rows were seen each time."""
    subjects, details = zip(*(_subject_and_details(comment) for comment in (one, other)), strict=True)
    return len(set(subjects)) == 1 and len({re.sub(r"\d+", "0", detail) for detail in details}) == 1


def is_of_one_subject(one: str, other: str) -> bool:
    """Whether two comments ask the same of the same columns, in words that may be those of other rows."""
    return _subject_and_details(one)[0] == _subject_and_details(other)[0]


def _subject_and_details(comment: str) -> tuple[str, str]:
    """What is asked, with the names of columns, and what was seen."""
    subject, _, details = comment.partition("?")
    return subject, details


def _numbers(lines: Sequence[str], where: range) -> Iterator[int]:
    return (number for number in where if number < len(lines) and lines[number].strip().startswith(MARK))
