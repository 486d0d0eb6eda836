"""Which columns are the primary key, and what says so."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from alluvium.wording import counted

from .before_images import columns_of_deletes
from .current_rows import Inserts, count_inserts, has_values, is_key, values_of
from .key_names import inner_columns, is_named_like_key, is_own_key

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence

    from .current_rows import RowChange

MAX_CANDIDATES = 8
"""Answers that a question names."""
MAX_KEY_COLUMNS = 4
"""Longest key that is looked for in the data; a longer one has to be seen in message keys or schema changes."""
MAX_SETS = 1_000
"""Sets of columns that are tried, those first that are called like a key: a hundred columns have millions of sets."""
MAX_PLAYED_SETS = 50
"""Those of them that tell all rows apart which were inserted, and are compared with the other changes, too."""
_HAS_IT_A_KEY = "has the table a key? Say `key: [column, ...]`, or `key: []` if it has none."
MIN_TESTS = 10
"""Rows that could have contradicted a column before it is believed, where it is not called after its table."""
MIN_TESTS_OF_FIRST = 100
"""The same, where other columns are called like a key too, which might be the other half of it."""


@dataclass(frozen=True)
class Key:
    """A proposed key.

    Attributes:
        columns: in their order; none where the table seems to have no key, or where it is asked about: with a wrong key
            one row would overwrite another.
        why: what says so: the message key, the schema changes, the outbox router, or the data.
        question: what the files cannot tell, or None where the key is certain.
        candidates: the possible answers, the likeliest first.
    """

    columns: tuple[str, ...]
    why: str
    question: str | None = None
    candidates: tuple[tuple[str, ...], ...] = ()

    @property
    def likely(self) -> tuple[str, ...]:
        """The key, or the likeliest answer to the question: to look at the events with, not to write."""
        return self.columns or next(iter(self.candidates), ())


@dataclass(frozen=True)
class Candidates:
    """The columns that a key may have.

    Attributes:
        entity: name of the table, for columns that are called after it.
        columns: that are never NULL, in their order.
        folders: columns that the files are parted by, the outermost first.
        weak: columns that are no key alone, whatever their values: times, fractions, lists.
    """

    entity: str
    columns: Sequence[str]
    folders: Sequence[str] = ()
    weak: Collection[str] = ()

    @property
    def named(self) -> list[str]:
        """Those that are called like a key."""
        return [name for name in self.columns if is_named_like_key(name)]


def _asked(candidates: Sequence[Sequence[str]], why: str, doubt: str, more: str = "") -> Key:
    """No key, and the question for it.

    Args:
        candidates: the possible answers, the likeliest first.
        why: what speaks for them.
        doubt: why none of them is taken.
        more: the rest of the question, behind the candidates.
    """
    named = [", ".join(columns) for columns in candidates[:MAX_CANDIDATES]]
    question = f"is the key {', or is it '.join(named)}{more}? {doubt}"
    return Key((), why, question, tuple(tuple(columns) for columns in candidates))


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
    question = f"is the key {', '.join(of_messages.columns)}, as the messages have it"
    if by_data.likely:
        question += f", or is it {', '.join(by_data.likely)}"
    said = (
        "Several rows have one value of it, or one row has several: message.key.columns and ValueToKey make such keys."
    )
    return Key(
        (),
        f"{of_messages.why}, which the rows do not bear out",
        f"{question}? {said}",
        (*by_data.candidates, of_messages.columns) if by_data.candidates else (by_data.columns, of_messages.columns),
    )


def is_coarser(columns: Sequence[str], key: Key, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether plain rows, which may have one row several times, are told apart by another key than by these columns.

    Args:
        columns: that are said to be the key.
        key: by the rows.
        rows: of the files.
    """
    told, said = (len({values_of(row, names) for row in rows}) for names in (key.likely, columns))
    return bool(key.likely) and said < told == len(rows)


def checked_against_message_keys(key: Key, keys: Sequence[Any], images: Iterable[Mapping[str, Any]]) -> Key:
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
    return _asked([key.columns], key.why, f"The {len(rows)} values of it have no more than {len(plain)} message keys.")


def questioned_by_duplicates(key: Key, doubtful: int) -> Key:
    """The key, with a question where equal rows were taken for deliveries of one.

    Args:
        key: by the data.
        doubtful: creates that may be rows of their own.
    """
    if key.question or not key.columns or not doubtful:
        return key
    said = f"{counted(doubtful, 'create')} with the lsn and the values of the one before"
    return _asked(
        [key.columns],
        key.why,
        f"There {'is' if doubtful == 1 else 'are'} {said}: delivered twice, or "
        "equal rows of one COPY into a table without a key (key: []).",
    )


def key_by_data(candidates: Candidates, changes: Sequence[RowChange]) -> Key:
    """The key by the changes: what the images of deletes have of their rows, or else what no two rows have at once.

    Args:
        candidates: for the key.
        changes: in the order of their partitions.
    """
    changes = [
        change
        for change in changes
        if change.op == "t" or has_values(change.before if change.op == "d" else change.after)
    ]
    unique = _unique(candidates, changes)
    for columns in [unique.columns] if unique.columns else unique.candidates:
        named, doubtful = columns_of_deletes(changes, columns, candidates.columns)
        if named:
            return _key_of_deletes(named, doubtful)
    return unique


def _key_of_deletes(named: tuple[str, ...], doubtful: tuple[str, ...]) -> Key:
    why = f"the only column{'s' if len(named) > 1 else ''} in the before images of deletes"
    if not doubtful:
        return Key(named, why)
    without = tuple(name for name in named if name not in doubtful)
    doubt = f"The deletes have one value of {', '.join(doubtful)} only, which may be the default."
    return _asked([named, without], why, doubt)


def key_of_rows(candidates: Candidates, rows: Sequence[Mapping[str, Any]]) -> Key:
    """The key of plain rows, which may have one row several times: by name where no column is unique.

    Args:
        candidates: for the key.
        rows: of the files.
    """
    named = candidates.named
    unique = [name for name in candidates.columns if _count(rows, name) == len(rows)]
    if any(name in named for name in unique):
        why = f"unique in {counted(len(rows), 'row')}"
        return _single_key(candidates, unique, Inserts(len(rows), len(rows) - 1), rows, why)
    if not named:
        return Key((), f"no column of {len(rows)} rows is called like a key", "which columns are the key?")
    named.sort(key=lambda name: not is_own_key(name, candidates.entity))
    why = f"its name; {len(rows)} rows have {_count(rows, named[0])} values of it"
    return _asked([(name,) for name in named], why, "Bare rows do not say which of them are one row.")


def _unique(candidates: Candidates, changes: Sequence[RowChange]) -> Key:
    """The shortest sets of columns by which the changes make sense: no two rows of a table have one of them at once.

    Two rows may have one key inside a transaction (a swap of keys) as long as one of them is left at its end.
    """
    rows = [change.after for change in changes if change.after]
    images = counted(len(rows), "image")
    why = f"unique in {images} of the data"
    apart = _distinct_rows(changes, candidates.columns)
    if not apart.are_unique_by(candidates.columns):
        return Key((), f"not even all columns without NULL are unique together in {images}", _HAS_IT_A_KEY)
    named = candidates.named
    ordered = [*named, *(name for name in candidates.columns if name not in named)]
    tried = 0
    for length in range(1, min(MAX_KEY_COLUMNS, len(ordered)) + 1):
        sets = (tuple(name for name in candidates.columns if name in names) for names in combinations(ordered, length))
        chosen = list(islice(sets, max(0, MAX_SETS - tried)))
        tried += len(chosen)
        likely = islice((columns for columns in chosen if apart.are_unique_by(columns)), MAX_PLAYED_SETS)
        found = [columns for columns in likely if is_key(changes, columns)]
        if found and length == 1:
            return _single_key(candidates, [name for (name,) in found], count_inserts(changes), rows, why)
        if found:
            doubt = "Each is unique in these files." if len(found) > 1 else "It may be unique by chance."
            return _asked(found, why, doubt)
        if next(sets, None) is not None:
            tried_sets = f"none of the sets that were tried of up to {MAX_KEY_COLUMNS} columns"
            return Key((), f"{tried_sets} is unique in {images}", _HAS_IT_A_KEY)
    return Key((), f"no set of up to {MAX_KEY_COLUMNS} columns is unique in {images}", _HAS_IT_A_KEY)


@dataclass(frozen=True)
class _DistinctRows:
    """Rows of which no two have one key, by column: it takes less time to count values than to play all changes."""

    count: int
    values: Mapping[str, Sequence[str]]

    def are_unique_by(self, columns: Sequence[str]) -> bool:
        """Whether the columns have other values in each row."""
        return len(set(zip(*(self.values[name] for name in columns), strict=True))) == self.count


def _distinct_rows(changes: Sequence[RowChange], columns: Sequence[str]) -> _DistinctRows:
    """The rows of one snapshot, or those that were created, where no row was deleted: whichever are more."""
    groups: dict[Hashable, list[Mapping[str, Any]]] = defaultdict(list)
    can_come_again = any(change.op in ("d", "t") for change in changes)
    for change in changes:
        if change.after is not None and change.op == "r" and change.transaction is not None:
            groups[change.transaction].append(change.after)
        elif change.after is not None and change.op == "c" and not can_come_again:
            groups[None].append(change.after)
    rows = max(groups.values(), key=len, default=[])
    return _DistinctRows(len(rows), {name: [str(row.get(name)) for row in rows] for name in columns})


def _single_key(
    candidates: Candidates, unique: Sequence[str], inserts: Inserts, rows: Sequence[Mapping[str, Any]], why: str
) -> Key:
    """The column that is the key: by its name, or where enough rows could have contradicted it and no other.

    Args:
        candidates: for the key.
        unique: those that are unique, in their order.
        inserts: what could have contradicted a column.
        rows: of the files.
        why: what says so.
    """
    named = candidates.named
    own = [name for name in unique if is_own_key(name, candidates.entity, [other for other in named if other != name])]
    # The conventional name: other columns may be unique beside it (an email, a name).
    own = [name for name in own if name.lower() == "id"] or own
    inner = inner_columns(unique, candidates.folders)
    strong = [name for name in inner if name not in candidates.weak] or inner
    ranked = sorted(strong, key=lambda name: (name not in own, name not in named))
    # A folder inside of another one's: a customer has several orders.
    parted = [name for name in candidates.folders if name in inner] if len(inner) < len(unique) else []
    best = own or parted or ranked
    answers = [(name,) for name in dict.fromkeys([*best, *ranked])]
    if not (inserts.rows if own else inserts.tests):
        return _asked(answers, why, "Nothing in the files could show that it is not.")
    if len(best) > 1:
        return _asked(answers, why, "Each is unique in these files.")
    (first,) = best
    others = [name for name in named if name != first]
    # Where a key has two columns, the tenant or the like comes first; a reference comes behind the `id`.
    before = candidates.columns[: candidates.columns.index(first)]
    scopes = [name for name in others if name in before and _count(rows, name) == 1]
    if scopes and first.lower() == "id":
        more = f" alone, or together with {', '.join(scopes)}"
        return _asked(answers, why, f"All rows have one value of {', '.join(scopes)}.", more)
    if not own and not parted:
        if first not in named:
            return _asked(answers, why, "Its name does not say so.")
        if others and inserts.tests < MIN_TESTS_OF_FIRST:
            return _asked(answers, why, "It may be unique by chance.", f" alone, or together with {', '.join(others)}")
        if inserts.tests < MIN_TESTS:
            return _asked(answers, why, f"It may be unique by chance in {counted(inserts.rows, 'row')}.")
    return Key((first,), why)


def _count(rows: Sequence[Mapping[str, Any]], name: str) -> int:
    return len({str(row.get(name)) for row in rows})
