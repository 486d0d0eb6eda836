"""Words for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# Where a file that is a link in the repository is not there.
INSTALL_WITH_LINKS = (
    "install Alluvium from a checkout with symbolic links ('git config core.symlinks true'), or from a wheel that was "
    "built in one."
)


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, in the singular for one: ``1 file``, ``2 files``.

    Args:
        number: how many.
        noun: what, in the singular.
        plural: its plural where that is not the noun with an s.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def first_of(names: Sequence[str]) -> str:
    """The first three of some names, with dots for the others: ``a, b, c, ...``."""
    return ", ".join([*names[:3], *["..."][: len(names) - 3]])
