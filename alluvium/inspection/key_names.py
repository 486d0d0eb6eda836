"""Which columns are called like a key, and which of them after their own table."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENDINGS = ("id", "no", "key", "uuid")
_WHOLE_NAMES = ("id", "uuid", "sku", "code", "key")
MIN_ABBREVIATION = 3
"""Letters of the shortest abbreviation of a table's name (``cust_id`` of ``customer``)."""


def is_named_like_key(name: str) -> bool:
    """Whether a column is called like a key: ``order_id``, ``orderId``, ``CUST_ID``, ``Order No``, ``sku``."""
    words = _words(name)
    return bool(words) and (words in [[whole] for whole in _WHOLE_NAMES] or (words[-1] in _ENDINGS and len(words) > 1))


def is_own_key(name: str, entity: str, others: Sequence[str] = ()) -> bool:
    """Whether a column is called as the key of its own table: ``id``, ``order_id`` or ``orderid`` in ``orders``.

    Args:
        name: of the column.
        entity: name of the table.
        others: the other columns that are called like a key. Where there is none, an abbreviation of all of the table's
            words is the table's (``CUST_ID`` in ``CUSTOMER``); beside another one it may be a part of its name
            (``user_id`` in ``userroles``), as it is where another word follows (``user_id`` in ``user_roles``).
    """
    words = _words(name)
    if words == ["id"]:
        return True
    of_entity = [word for word in _words(entity) if not word.isdigit()]
    column, tables = "".join(words), _singulars("".join(_words(entity)))
    if any(column == table + ending for table in tables for ending in _ENDINGS):
        return True
    stem = "".join(words[:-1])
    is_abbreviation = (
        len(stem) >= MIN_ABBREVIATION
        and len(stem) > len("".join(of_entity[:-1]))
        and any(table.startswith(stem) for table in tables)
    )
    return not others and is_abbreviation and is_named_like_key(name)


def inner_columns(names: Sequence[str], folders: Sequence[str]) -> list[str]:
    """Without the columns of outer folders, where the one of a folder inside is among them.

    A partitioner that parts by customer and then by order says that a customer has several orders.

    Args:
        names: of columns.
        folders: columns that the files are parted by, the outermost first.
    """
    parted = [name for name in folders if name in names]
    return [name for name in names if name not in parted[:-1]]


def _words(name: str) -> list[str]:
    """``OrderNo``, ``order_no`` and ``Order No`` are ``order`` and ``no``."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return [word for word in re.split(r"[\W_]+", apart.lower()) if word]


def _singulars(name: str) -> list[str]:
    endings = (("", ""), ("s", ""), ("es", ""), ("ies", "y"))
    return [name.removesuffix(plural) + singular for plural, singular in endings if name.endswith(plural)]
