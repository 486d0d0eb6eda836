"""Files that may be of several tables, and tables whose files may lie in several folders; as questions."""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MAX_NAMED = 3
"""Tables or folders that a question names; of more it says how many there are."""


def question_of_tables(tables: Collection[str], columns: Mapping[str, Collection[str]]) -> str | None:
    """What has to be asked about the tables that the records of one entity are of.

    Args:
        tables: names that the records say.
        columns: by file, those of its rows.
    """
    if len(tables) > 1:
        return (
            f"are {_named(sorted(tables))} parts of one table, and which columns are its key? If they are not, each "
            "needs a topic or a folder of its own."
        )
    apart = None if tables else _with_few_columns_in_common(columns)
    return apart and (
        f"are the rows of {apart[0]} and of {apart[1]}, which have few columns in common, of one table, and which "
        "columns are its key? If they are not, each table needs a location, or a pathGlobFilter, of its own."
    )


def question_of_folders(folder: str, alike: Sequence[str]) -> str | None:
    """What has to be asked where other folders may have files of the same table.

    Args:
        folder: of the entity.
        alike: all folders that may be of one table, this one among them.
    """
    others = [other or "." for other in alike if other != folder]
    if not others:
        return None
    return (
        f"is it one table with the files in {_named(others)}? "
        "If so, say the folder that they share as the location of one, and drop the others."
    )


def without_numbers(folder: str) -> str:
    """The name of a folder, by which those are alike that differ in numbers alone."""
    return re.sub(r"\d+", "0", folder)


def _with_few_columns_in_common(columns: Mapping[str, Collection[str]]) -> tuple[str, str] | None:
    """Two files that have no more than half of the columns of the one with fewer in common."""
    files: dict[frozenset[str], list[str]] = defaultdict(list)
    for path, names in columns.items():
        files[frozenset(names)].append(path)
    for one, two in combinations(files, 2):
        if one and two and len(one & two) * 2 <= min(len(one), len(two)):
            return files[one][0], files[two][0]
    return None


def _named(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    shown = [*names[:MAX_NAMED], *([f"{more} more"] if more > 0 else [])]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
