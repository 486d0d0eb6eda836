"""What a user wants of the files that a scaffold writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Choices:
    """The options of a scaffold.

    Attributes:
        entities: names of those that are wanted; empty for all.
        history: whether each gets a history; one that is there is kept up to date without it.
        deletes: ``soft`` keeps the last values of a deleted row, ``hard`` only its key; None for what an existing state
            has, else soft.
        file_format: ``delta`` or ``hudi``, of states and histories; None for what an existing one has, else the
            project's.
        force: whether files that were edited by hand are replaced.
    """

    entities: Sequence[str] = ()
    history: bool = False
    deletes: str | None = None
    file_format: str | None = None
    force: bool = False
