"""Which columns are the primary key, and what says so."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from alluvium.wording import counted

from .delete_images import columns_of_deletes
from .key_names import inner_columns, is_named_like_key, is_own_key
from .living_rows import Inserts, count_inserts, is_key, values_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from .living_rows import RowChange

MAX_KEY_COLUMNS = 4
"""Longest key that is looked for in the data; a longer one has to be seen in message keys or schema changes."""
MAX_SETS = 1_000
"""Sets of columns that are tried, those first that are called like a key: a hundred columns have millions of sets."""
MAX_PLAYED_SETS = 50
"""Those of them that tell all rows apart which were inserted, and are held against the other changes, too."""
_HAS_IT_A_KEY = "has the table a key? Say `key: [column, ...]`, or `key: []` if it has none."
MIN_TESTS = 10
"""Rows that could have contradicted a column before it is believed, where it is not called after its table."""
MIN_TESTS_OF_FIRST = 100
"""The same, where other columns are called like a key too, which might be the other half of it."""


@dataclass(frozen=True)
class Key:
    """A proposed key.

    Attributes:
        columns: in their order; none where the table seems to have no key.
        why: what says so: the message key, the schema changes, the outbox router, or the data.
        question: what has to be confirmed, or None where the key is certain.
    """

    columns: tuple[str, ...]
    why: str
    question: str | None = None


def key_of_messages(keys: Sequence[Any], columns: Iterable[str]) -> Key | None:
    """The key by the messages' own keys, which a sink with a store envelope keeps.

    Args:
        keys: as ``json.loads`` gives them, those that are null left out.
        columns: of the row.
    """
    names = {tuple(key) for key in keys if isinstance(key, dict)}
    if len(names) != 1 or not set(next(iter(names))) <= set(columns):
        return None
    return Key(next(iter(names)), f"the message keys of {len(keys)} records")


def contradicted(of_messages: Key, by_data: Key) -> Key:
    """The key of messages that the rows do not bear out, as a question; neither is taken before that is answered.

    Args:
        of_messages: by the messages' own keys.
        by_data: by the changes, or by the rows.
    """
    question = f"{_is_the_key(of_messages.columns)}, as the messages have it"
    if by_data.columns:
        question += f", or is it {', '.join(by_data.columns)}"
    said = (
        "Several rows have one value of it, or one row has several: message.key.columns and ValueToKey make such keys."
    )
    return Key((), f"{of_messages.why}, which the rows do not bear out", f"{question}? {said}")


def is_coarser(columns: Sequence[str], key: Key, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether bare rows, which may have one row several times, are told apart by another key than by these columns.

    Args:
        columns: that are said to be the key.
        key: by the rows.
        rows: of the files.
    """
    told, said = (len({values_of(row, names) for row in rows}) for names in (key.columns, columns))
    return bool(key.columns) and said < told == len(rows)


def held_against_messages(key: Key, keys: Sequence[Any], images: Iterable[Mapping[str, Any]]) -> Key:
    """The key, with a question where single values as message keys tell fewer rows apart than its columns do.

    Args:
        key: by the data.
        keys: of the messages, as ``json.loads`` gives them; those that are no objects do not say their columns.
        images: of the rows.
    """
    plain = {str(value) for value in keys if not isinstance(value, dict)}
    rows = {values_of(image, key.columns) for image in images} - {None}
    if key.question or not key.columns or not 0 < len(plain) < len(rows):
        return key
    said = f"{len(rows)} values of it have no more than {len(plain)} message keys"
    return replace(key, question=f"{_is_the_key(key.columns)}? The {said}.")


def asked_for_deliveries(key: Key, doubtful: int) -> Key:
    """The key, with a question where equal rows were taken for deliveries of one.

    Args:
        key: by the data.
        doubtful: creates that may be rows of their own.
    """
    if key.question or not key.columns or not doubtful:
        return key
    said = f"{counted(doubtful, 'create')} with the lsn and the values of the one before"
    return replace(
        key,
        question=f"{_is_the_key(key.columns)}? There {'is' if doubtful == 1 else 'are'} {said}: delivered twice, or "
        "equal rows of one COPY into a table without a key (key: []).",
    )


def key_by_data(
    entity: str, changes: Sequence[RowChange], candidates: Sequence[str], folders: Sequence[str] = ()
) -> Key:
    """The key by the changes: what the images of deletes have of their rows, or else what no two rows have at once.

    Args:
        entity: name of the table, for columns that are called after it.
        changes: in the order of their partitions.
        candidates: columns that are never null, in their order.
        folders: columns that the files are parted by, the outermost first.
    """
    unique = _unique(entity, changes, candidates, folders)
    named, doubtful = columns_of_deletes(changes, unique.columns, candidates) if unique.columns else ((), ())
    if not named:
        return unique
    question = None
    if doubtful:
        question = (
            f"{_is_the_key(named)}? The deletes have one value of {', '.join(doubtful)} only, which may be the default."
        )
    return Key(named, "all that the images of deletes have of their rows", question)


def key_of_rows(
    entity: str, rows: Sequence[Mapping[str, Any]], candidates: Sequence[str], folders: Sequence[str] = ()
) -> Key:
    """The key of bare rows, which may have one row several times: by name where no column is unique.

    Args:
        entity: name of the table, for columns that are called after it.
        rows: of the files.
        candidates: columns that are never null, in their order.
        folders: columns that the files are parted by, the outermost first.
    """
    named = [name for name in candidates if is_named_like_key(name)]
    unique = [name for name in named if _count(rows, name) == len(rows)]
    if unique:
        return _named_key(
            entity,
            unique,
            named,
            folders,
            rows,
            Inserts(len(rows), len(rows) - 1),
            f"unique in {counted(len(rows), 'row')}",
        )
    if not named:
        return Key((), f"no column of {len(rows)} rows is called like a key", "which columns are the key?")
    first = min(named, key=lambda name: not is_own_key(name, entity))
    why = f"its name; {len(rows)} rows have {_count(rows, first)} values of it"
    return Key((first,), why, f"{_is_the_key([first])}? Bare rows do not say which of them are one row.")


def _unique(entity: str, changes: Sequence[RowChange], candidates: Sequence[str], folders: Sequence[str]) -> Key:
    """The shortest set of columns by which the changes make sense: no two rows of a table have it at once.

    Inserts of a key that lives are allowed inside a transaction (a swap of keys) as long as one row is left at its end.
    """
    rows = [change.after for change in changes if change.after]
    why = f"unique in {counted(len(rows), 'image')} of the data"
    named = [name for name in candidates if is_named_like_key(name)]
    apart = _rows_apart(changes, candidates)
    unique = [name for name in named if apart.are_told_by([name]) and is_key(changes, [name])]
    if unique:
        return _named_key(entity, unique, named, folders, rows, count_inserts(changes), why)
    images = counted(len(rows), "image")
    if not apart.are_told_by(candidates):
        return Key((), f"not even all columns without NULL are unique together in {images}", _HAS_IT_A_KEY)
    others = [name for name in candidates if name not in named]
    sets = (
        tuple(name for name in candidates if name in names)
        for length in range(1, min(MAX_KEY_COLUMNS, len(candidates)) + 1)
        for names in combinations([*named, *others], length)
    )
    likely = (columns for columns in islice(sets, MAX_SETS) if apart.are_told_by(columns))
    for columns in islice(likely, MAX_PLAYED_SETS):
        if is_key(changes, columns):
            return Key(columns, why, f"{_is_the_key(columns)}?")
    tried = "no set" if next(sets, None) is None else "none of the sets that were tried"
    return Key((), f"{tried} of up to {MAX_KEY_COLUMNS} columns is unique in {images}", _HAS_IT_A_KEY)


@dataclass(frozen=True)
class _RowsApart:
    """Rows of which no two have one key, by column: it takes less time to count values than to play all changes."""

    count: int
    values: Mapping[str, Sequence[str]]

    def are_told_by(self, columns: Sequence[str]) -> bool:
        """Whether the columns have other values in each row."""
        return len(set(zip(*(self.values[name] for name in columns), strict=True))) == self.count


def _rows_apart(changes: Sequence[RowChange], columns: Sequence[str]) -> _RowsApart:
    """The rows of one snapshot, or those that were created, where no row was deleted: whichever are more."""
    groups: dict[Hashable, list[Mapping[str, Any]]] = defaultdict(list)
    can_come_again = any(change.op in ("d", "t") for change in changes)
    for change in changes:
        if change.after is not None and change.op == "r" and change.transaction is not None:
            groups[change.transaction].append(change.after)
        elif change.after is not None and change.op == "c" and not can_come_again:
            groups[None].append(change.after)
    rows = max(groups.values(), key=len, default=[])
    return _RowsApart(len(rows), {name: [str(row.get(name)) for row in rows] for name in columns})


def _named_key(
    entity: str,
    unique: Sequence[str],
    named: Sequence[str],
    folders: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    inserts: Inserts,
    why: str,
) -> Key:
    """The best of the columns that are called like a key and unique, with what has to be asked about it.

    Args:
        entity: name of the table.
        unique: those columns, in their order.
        named: all columns that are called like a key.
        folders: columns that the files are parted by, the outermost first.
        rows: images of the table.
        inserts: what could have contradicted a column.
        why: what says so.
    """
    inner = inner_columns(unique, folders)
    own = {name for name in unique if is_own_key(name, entity, [other for other in named if other != name])}
    ranked = sorted(own or inner, key=lambda name: (name.lower() != "id", -_count(rows, name)))
    first, rivals = ranked[0], [name for name in ranked[1:] if name not in own]
    is_certain = bool(own) or len(inner) < len(unique)
    question = None
    if not (inserts.rows if own else inserts.tests):
        question = f"{_is_the_key([first])}? Nothing in the files could show that it is not."
    # Of two answers none is taken before the user has: the wrong one would make one row of several, without a word.
    elif rivals:
        return Key((), why, f"{_is_the_key([first])}, or is it {', or '.join(rivals)}? Each is unique in these files.")
    elif not is_certain and len(named) > 1 and inserts.tests < MIN_TESTS_OF_FIRST:
        others = ", ".join(name for name in named if name != first)
        return Key((), why, f"{_is_the_key([first])} alone, or together with {others}?")
    elif not is_certain and inserts.tests < MIN_TESTS:
        question = f"{_is_the_key([first])}? It may be unique by chance in {len(rows)} images."
    return Key((first,), why, question)


def _is_the_key(columns: Sequence[str]) -> str:
    return f"is the key {', '.join(columns)}"


def _count(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return len({str(row.get(name)) for row in rows})
