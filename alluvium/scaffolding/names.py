"""Names that dbt and Spark take."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def numbered(name: str) -> Iterator[str]:
    """The name, then the name with 2, 3, ..."""
    yield name
    yield from (f"{name}_{number}" for number in count(2))


def models_of(name: str) -> set[str]:
    """Of two entities ``orders`` and ``orders_state`` one would be called like the other's state."""
    return {f"{name}{suffix}" for suffix in ("", "_state", "_history")}


def slug(name: str) -> str:
    """A name that dbt and Spark take without quotes: ``Größe/2`` becomes ``gr_e_2``."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return f"t_{plain}" if not plain or plain[0].isdigit() else plain
