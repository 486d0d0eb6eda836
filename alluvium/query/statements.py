"""Cuts a text into SQL statements as Spark's lexer would (Spark 3.5, ``SqlBaseLexer.g4``).

sqlparse, which dbt brings, ends a nested comment at the first ``*/`` (0.6.1), so that a semicolon behind it cuts, and
does not say whether a text ends inside a string, which a prompt has to know. Spark's own lexer is not there before
Spark has started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""
      (?P<end> ; )
    | (?P<comment> --(?:\\\n|[^\r\n])*\r?\n? )             # a backslash at its end continues it
    | (?P<block> /\*(?!\+) )                               # /*+ begins a hint, which is no comment
    | (?P<text> [rR]'[^']*' | [rR]"[^"]*"
        | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`]|``)*` )
    | (?P<open> [rR]?['"] | ` )                            # a quote that nothing closes
    | (?P<word> \w+ )                                      # whole: the r of bar'x' begins no raw string
    | (?P<space> \s+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_UNSEEN = ("comment", "block", "space")
_BLOCK = re.compile(r"/\*(?!\+)|\*/")


@dataclass(frozen=True)
class Split:
    """A text cut into statements.

    Attributes:
        statements: those that a semicolon ends, without it; none that is blank or a comment alone.
        rest: what follows the last semicolon, "" where it is blank or a comment alone.
        is_open: whether the text ends inside a string, a quoted name or a comment.
    """

    statements: tuple[str, ...]
    rest: str
    is_open: bool

    @property
    def all(self) -> tuple[str, ...]:
        """All statements, that without a semicolon too."""
        return (*self.statements, self.rest) if self.rest else self.statements


def split(text: str) -> Split:
    r"""Cut `text` at the semicolons that end statements: not those in strings, quoted names and comments.

    >>> split("select ';' -- a; b\n; select 2").all
    ("select ';' -- a; b", 'select 2')
    """
    statements: list[str] = []
    begin = 0
    has_tokens = is_open = False
    for token in _tokens(text):
        is_open = token.is_open
        if token.kind == "end":
            if has_tokens:
                statements.append(text[begin : token.begin].strip())
            begin, has_tokens = token.end, False
        elif token.kind not in _UNSEEN:
            has_tokens = True
    return Split(tuple(statements), text[begin:].strip() if has_tokens else "", is_open)


def words(text: str) -> list[str]:
    """The words and signs of a text in lower case, without comments, strings and quoted names.

    >>> words("/* a */ Select 'b' + 1")
    ['select', '+', '1']
    """
    return [text[token.begin : token.end].lower() for token in _tokens(text) if token.kind in ("word", "other")]


class _Token(NamedTuple):
    kind: str | None
    begin: int
    end: int
    is_open: bool  # the text ends inside


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None, "every character is a token"
        kind, end, is_open = match.lastgroup, match.end(), False
        if kind == "block":
            end, is_open = _end_of_comment(text, end)
        elif kind == "open":
            end, is_open = len(text), True
        yield _Token(kind, position, end, is_open)
        position = end


def _end_of_comment(text: str, position: int) -> tuple[int, bool]:
    """Where the comment ends that began before `position`, and whether the text ends in it. Comments nest."""
    depth = 1
    for mark in _BLOCK.finditer(text, position):
        depth += -1 if mark[0] == "*/" else 1
        if depth == 0:
            return mark.end(), False
    return len(text), True
