"""Files that a scaffold changes: what happens to each, and the writing."""

from __future__ import annotations

import difflib
import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from alluvium import AlluviumError

from .project import newline_of, read_text, same_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

WRITTEN = ("new", "added", "replaced")


@dataclass(frozen=True)
class Change:
    """What a scaffold does to one file.

    Attributes:
        path: of the file, below the project.
        kind: ``new``; ``same`` (nothing is missing); ``added`` (entities or columns put into what is there);
            ``replaced`` (with force, or as it was written by this command and other answers are given now);
            ``kept`` (edited by hand, and left).
        text: what the file shall hold.
        difference: unified diff from what it holds, to what it would hold if it were written anew.
    """

    path: str
    kind: str
    text: str
    difference: str


def change(
    project: Path, path: str, text: str, *, added: str | None = None, is_own: bool = False, force: bool = False
) -> Change:
    """What happens to one file.

    Args:
        project: directory of dbt_project.yml.
        path: below it.
        text: as this command writes it.
        added: what is there with what it lacks; None where it cannot be added to.
        is_own: whether what is there was written by this command, and not edited.
        force: whether a file that was edited by hand is replaced.

    Raises:
        AlluviumError: the file cannot be read.
    """
    file = project / path
    if not file.exists():
        return Change(path, "new", text, _difference(path, "", text))
    there = read_text(file)
    written = same_lines(text).replace("\n", newline_of(there))
    if there == written or (added == there and not (force or is_own)):
        return Change(path, "same", there, _difference(path, there, written))
    if added is not None and (added == written or not (force or is_own)):
        return Change(path, "added", added, _difference(path, there, added))
    difference = _difference(path, there, written)
    return Change(path, "replaced", written, difference) if force or is_own else Change(path, "kept", there, difference)


def one_a_file(changes: Iterable[Change]) -> tuple[Change, ...]:
    """The changes, of a file that has several of them the last one that writes: it has what the others write."""
    found: dict[str, Change] = {}
    for one in changes:
        if one.path not in found or one.kind in WRITTEN or found[one.path].kind == "same":
            found[one.path] = one
    return tuple(found.values())


def write(project: Path, changes: Sequence[Change]) -> None:
    """Write the files that are new, added to or replaced; all of them, or none where one cannot be written.

    Raises:
        AlluviumError: a file cannot be written.
    """
    made: list[tuple[Path, Path]] = []
    file = project
    try:
        for one in changes:
            if one.kind in WRITTEN:
                file = (project / one.path).resolve()
                file.parent.mkdir(parents=True, exist_ok=True)
                temporary = file.with_name(f".{file.name}.{os.getpid()}")
                made.append((temporary, file))
                temporary.write_bytes(one.text.encode("utf-8"))
                if file.exists():
                    shutil.copymode(file, temporary)
        for temporary, file in made:
            temporary.replace(file)
    except OSError as error:
        raise AlluviumError(
            f"{file} cannot be written ({error.strerror}): mend that, and run alluvium scaffold again."
        ) from error
    finally:
        for temporary, _ in made:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _difference(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(
        same_lines(before).splitlines(keepends=True),
        same_lines(after).splitlines(keepends=True),
        f"a/{path}",
        f"b/{path}",
    )
    return "".join(lines)
