"""Names that can be completed: keywords, schemas, tables, columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from . import QueryError
from .statements import split

if TYPE_CHECKING:
    from .engine import Engine

# What stands before the cursor: a name that is being typed, behind the names that qualify it.
_BEGUN = re.compile(r"(?P<qualifier>(?:(?:\w+|`[^`]+`)\.)*)(?P<begin>`?\w*)$")
# A table in a statement, and what it is called there. Enough to propose columns, no parser.
_TABLE = re.compile(r"\b(?:from|join|table|describe|desc)\s+([\w.`]+)(?:\s+(?:as\s+)?(\w+))?", re.IGNORECASE)
_TABLE_EXPECTED = re.compile(r"\b(?:from|join|table|describe|desc|\\d)\s+$", re.IGNORECASE)


class Names:
    """The names that Spark's catalog has, read when they are first asked for.

    Args:
        engine: which is asked; nothing is known before it has started.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tables: dict[str, list[str]] = {}
        self._columns: dict[str, list[str]] = {}

    def forget(self) -> None:
        """Read tables and columns anew when they are next asked for: a statement may have changed them."""
        self._tables.clear()
        self._columns.clear()
        self.__dict__.pop("schemas", None)

    @cached_property
    def keywords(self) -> list[str]:
        """Spark's keywords, in lower case."""
        return sorted(row[0].lower() for row in self._engine.rows("select keyword from sql_keywords()"))

    @cached_property
    def schemas(self) -> list[str]:
        """The schemas of the current catalog."""
        return sorted(row[0] for row in self._engine.rows("show schemas"))

    def tables(self, schema: str) -> list[str]:
        """Tables and views of a schema, empty where there is none; temporary views are in no schema."""
        if schema not in self._tables:
            self._tables[schema] = []
            if schema in self.schemas:
                rows = self._engine.rows(f"show tables in {quoted(schema)}")
                self._tables[schema] = sorted(name for _, name, is_temporary in rows if not is_temporary)
        return self._tables[schema]

    def all_tables(self) -> list[tuple[str, str]]:
        """Schema and name of every table and view.

        Raises:
            QueryError: Spark cannot list them.
        """
        return [(schema, table) for schema in self.schemas for table in self.tables(schema)]

    def columns(self, table: str) -> list[str]:
        """Columns of a table, by its name in a statement; empty where there is none."""
        key = f"{self._engine.schema}: {table}"
        if key not in self._columns:
            try:
                described = self._engine.rows(f"describe query select * from {table}")
                self._columns[key] = [row[0] for row in described]
            except QueryError:
                self._columns[key] = []
        return self._columns[key]

    def completions(self, before: str) -> tuple[str, list[str]]:
        """What can stand at the cursor.

        Args:
            before: the text before it.

        Returns:
            What is typed of the name, and the names that begin with it, quoted where SQL needs it.
        """
        if not self._engine.is_ready or split(before).is_open:
            return "", []
        match = _BEGUN.search(before)
        assert match is not None, "it may be empty"
        begin = match["begin"].lstrip("`").lower()
        qualifier = match["qualifier"].rstrip(".").replace("`", "")
        candidates = self._qualified(qualifier, before) if qualifier else self._plain(before[: match.start()], before)
        found = dict.fromkeys(name for name in candidates if name.lower().startswith(begin))
        return match["begin"], [quoted(name) for name in found]

    def _qualified(self, qualifier: str, before: str) -> Iterator[str]:
        yield from self.tables(qualifier)
        called = {alias.lower(): table for table, alias in _TABLE.findall(before) if alias}
        named = {table.split(".")[-1].lower(): table for table, _ in _TABLE.findall(before)}
        yield from self.columns({**named, **called}.get(qualifier.lower(), qualifier))

    def _plain(self, preceding: str, before: str) -> Iterator[str]:
        if not _TABLE_EXPECTED.search(preceding):
            for table, _ in _TABLE.findall(before):
                yield from self.columns(table)
            yield from self.keywords
        yield from self.tables(self._engine.schema)
        yield from self.schemas


def quoted(name: str) -> str:
    """A name as SQL takes it: in backticks where it is more than letters, digits and ``_``."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else "`" + name.replace("`", "``") + "`"
