"""The order of a table's columns, which is the newest one's where it has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def newest_order(orders: Sequence[Sequence[str]]) -> list[str]:
    """All columns in the newest order; one that it lacks stands behind the one that it stood behind before.

    Args:
        orders: names of columns, the newest order last.
    """
    names: list[str] = []
    for order in reversed(orders):
        place = 0
        for name in order:
            if name not in names:
                names.insert(place, name)
            place = names.index(name) + 1
    return names
