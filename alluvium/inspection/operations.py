"""Columns that may say what has happened to their row: no row says by itself that it is a delete."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .operation_columns import CONVENTIONS, Convention

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from .before_images import BeforeImages
    from .types import Values

# In lower case. Words that are no sign of an operation by themselves, such as `new`, stand beside one that is.
_DELETES = {"d", "-d", "del", "delete", "deleted", "remove", "removed", "destroy", "destroyed", "erased", "dl"}
_BEFORE = {
    "b", "-u", "ub", "uo", "before", "preimage", "before_image", "before_update", "update_before", "update_preimage",
    "update-before", "updatebefore", "update-delete",
}  # fmt: skip
_OTHERS = {
    "i", "u", "c", "r", "a", "m", "l", "t", "k", "+i", "+u", "un", "up", "pt", "rr", "ins", "insert", "inserted", "upd",
    "update", "updated", "upsert", "create", "created", "add", "added", "new", "modify", "modified", "change",
    "changed", "replace", "merge", "read", "load", "refresh", "snapshot", "truncate", "update_after", "after",
    "update_postimage", "updateafter", "after_image", "update-insert",
}  # fmt: skip
# Sets of which two together are a sign, whatever the column is called.
_SIGNS = (
    {"I", "U", "D"}, {"i", "u", "d"}, {"c", "u", "d", "r"}, {"+i", "-u", "+u", "-d"}, {"+I", "-U", "+U", "-D"},
    {"insert", "update", "delete"}, {"INSERT", "UPDATE", "DELETE"}, {"Insert", "Update", "Delete"},
)  # fmt: skip
_OPERATION = re.compile(
    r"(?:^|_)(op|oper|operation|opcode|action|dml|(op|oper|operation|action|change|cdc|dml|crud|event)_?"
    r"(type|kind|mode|code|flag|ind|indicator|oper|operation|op))$"
)
# Of events and actions there are many kinds, of operations few.
_CODE = re.compile(r"(op|oper|operation|opcode|dml|crud|cdc)(_|$)")
_DELETED = (
    r"(?:^|_)(?:is_?)?(?:soft_?|marked_(?:as_|for_)?)?(?:deleted?|deletion|del|removed?|removal|purged|tombstone)"
)
_FLAG = re.compile(rf"{_DELETED}(?:_?(?:flag|flg|ind|indicator|mark|marker|yn))?$")
_TIME = re.compile(rf"{_DELETED}_?(?:at|on|date|day|time|ts|timestamp|datetime|dt)(?:_(?:utc|ms|us))?$")
# More words than these are a sentence.
_MOST_PARTS = 3
_TRUE = {"true": "false", "t": "f", "yes": "no", "y": "n", "1": "0", "x": ""}


@dataclass(frozen=True)
class Operation:
    """What a column seems to say.

    Attributes:
        deletes: condition of deletes, in SQL; None where nothing says which of its values are deletes.
        before: condition of images of before an update, in SQL; None without such images.
        tool: that writes such a column, or None.
    """

    deletes: str | None
    before: str | None = None
    tool: str | None = None


@dataclass(frozen=True)
class Operations:
    """What changes do to rows.

    Attributes:
        counts: number of changes by ``op``; empty for rows.
        deletes_without_image: number of deletes that do not say which row they are of.
        partial_updates: number of updates that have what was changed, and not the document (MongoDB).
        columns: of rows and flattened rows, that may say which of them are deletes; each is asked about.
        before_images: of a PostgreSQL table.
    """

    counts: Mapping[str, int]
    deletes_without_image: int
    partial_updates: int
    columns: tuple[str, ...]
    before_images: BeforeImages


def operation_of(name: str, values: Values, *, is_row: bool = True) -> Operation | None:
    """What a column seems to say of operations, by its name and its values.

    Args:
        name: of the column.
        values: what was seen of it.
        is_row: whether nothing else says which rows are deletes.

    Returns:
        None of a column that says nothing of the kind.
    """
    quoted = name if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) else f"`{name.replace('`', '``')}`"
    found = next((entry for entry in CONVENTIONS if entry.is_of(name)), None)
    if found and _fits(found, values):
        return _by_convention(found, quoted, values)
    plain = _in_words(name)
    if is_row and _TIME.search(plain):
        has_zero = values.lowest is not None and values.lowest <= 0
        return Operation(f"{quoted} > 0" if has_zero else f"{quoted} is not null")
    if _FLAG.search(plain) and (is_row or _flag(quoted, values)):
        return Operation(_flag(quoted, values))
    is_named = _OPERATION.search(plain) is not None
    if _are_operations(values.words, is_named=is_named, is_row=is_row):
        deletes = sorted(word for word in values.words if _parts(word) & _DELETES)
        before = sorted(word for word in values.words if _parts(word) & _BEFORE)
        return Operation(_one_of(quoted, deletes or _unseen_deletes(values.words)), _one_of(quoted, before))
    if is_named and is_row and _are_codes(values, digits=2 if _CODE.match(plain) else 1):
        return Operation(None)
    return None


def question_of_operation(name: str, operation: Operation, data_type: str) -> str:
    """What to ask of a column that seems to say operations."""
    deletes = operation.deletes or f"{name} = (its value for deletes)"
    before = (
        f" Then also set ignore_rows: {_in_yaml(operation.before)} for the images of before an update."
        if operation.before
        else ""
    )
    added = "" if operation.tool else " If ExtractNewRecordState added it, set shape: flattened and add_fields_prefix."
    tool = f" ({operation.tool})" if operation.tool else ""
    return (
        f"does {name}{tool} say which rows are deletes? Then set apply_as_deletes: {_in_yaml(deletes)}; "
        f"except_column_list leaves the column out of the tables.{before}{added} "
        f"Either way set data_type: {data_type}."
    )


def _in_yaml(condition: str) -> str:
    return f'"{condition}"' if condition.startswith("`") else condition


def _fits(convention: Convention, values: Values) -> bool:
    """Whether values that were seen are those of the convention; it needs none to be seen."""
    known = {value.lower() for value in (*convention.deletes, *convention.others, *convention.before)}
    seen = {word.lower() for word in values.words} | {
        str(number) for number in (values.lowest, values.highest) if number is not None
    }
    return not known or not seen or bool(known & seen)


def _by_convention(convention: Convention, quoted: str, values: Values) -> Operation:
    before = None
    if convention.condition:
        deletes: str | None = convention.condition.format(quoted)
        before = convention.before_condition and convention.before_condition.format(quoted)
    elif convention.is_time:
        deletes = f"{quoted} is not null"
    elif not convention.deletes:
        deletes = _flag(quoted, values) or quoted
    else:
        is_number = bool(values.kinds["integer"])
        deletes = _one_of(quoted, _as_seen(convention.deletes, values.words), is_number=is_number)
        if convention.before:
            before = _one_of(quoted, _as_seen(convention.before, values.words), is_number=is_number)
    return Operation(deletes, before, convention.tool)


def _as_seen(values: Collection[str], words: Collection[str]) -> list[str]:
    """All values of a convention, in the case of those that were seen: one that was not seen yet may come."""
    if any(map(str.isupper, words)):
        return [value.upper() for value in values]
    return [value.lower() for value in values] if words and {*words} == {*map(str.lower, words)} else list(values)


def _one_of(quoted: str, values: Collection[str], *, is_number: bool = False) -> str | None:
    if not values:
        return None
    texts = [value if is_number else f"'{value}'" for value in values]
    return f"{quoted} = {texts[0]}" if len(texts) == 1 else f"{quoted} in ({', '.join(texts)})"


def _flag(quoted: str, values: Values) -> str | None:
    kinds = values.kinds.keys() - {"null"}
    if kinds <= {"boolean"}:
        return quoted if kinds else None
    if kinds == {"integer"}:
        is_flag = values.lowest in (0, 1) and values.highest in (0, 1)
        return f"{quoted} = 1" if is_flag else None
    words = {word.strip().lower() for word in values.words}
    for yes, no in _TRUE.items():
        if words and words <= {yes, no}:
            seen = {word for word in values.words if word.strip().lower() == yes}
            if len(seen) > 1 or values.words not in ({*map(str.upper, values.words)}, {*map(str.lower, values.words)}):
                return f"lower({quoted}) = '{yes}'" if yes else None
            return f"{quoted} = '{seen.pop() if seen else yes.upper() if any(map(str.isupper, values.words)) else yes}'"
    return None


def _in_words(name: str) -> str:
    """A name in lower case, with ``_`` between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def _parts(word: str) -> set[str]:
    """A word in lower case, and its parts if they are words (``ItemDeleted``, ``INSERT_ROWS``, ``Row Delete``)."""
    plain = word.strip()
    parts = re.split(r"[\s_.:-]+", _in_words(plain))
    return {plain.lower(), *(part for part in parts if len(part) > 2 and len(parts) <= _MOST_PARTS)}


def _are_operations(words: Collection[str], *, is_named: bool, is_row: bool) -> bool:
    seen = {word.strip().lower() for word in words}
    parts = set[str]().union(*map(_parts, words))
    # A letter is no word: grades have a D, too.
    long = {part for part in parts if len(part) > 2}
    known = _DELETES | _BEFORE | _OTHERS
    is_sign = any(len(sign.intersection(map(str.strip, words))) > 1 for sign in _SIGNS)
    if is_named:
        return bool(parts & _DELETES or long & known or (seen and seen <= _OTHERS | _BEFORE) or is_sign)
    # A letter of one's own for deletes, beside I and U.
    strangers = len(seen - known)
    return (is_sign and strangers <= (seen >= {"i", "u"})) or (is_row and bool(long & (_DELETES | _BEFORE)))


def _unseen_deletes(words: Collection[str]) -> list[str]:
    """How such a column would say delete, by the values that it has; nothing where they do not tell."""
    sign = next((sign for sign in _SIGNS if sign.intersection(words)), set[str]())
    is_whole = {word.strip().lower() for word in words} <= _DELETES | _BEFORE | _OTHERS
    return [word for word in sign if is_whole and word.lower() in _DELETES]


def _are_codes(values: Values, digits: int) -> bool:
    """Whether they are a few numbers, of which nothing says what they mean."""
    ends = [str(end) for end in (values.lowest, values.highest) if end is not None]
    seen = [*values.words, *ends]
    return bool(seen) and all(re.fullmatch(rf"-?[0-9]{{1,{digits}}}", value) for value in seen)
