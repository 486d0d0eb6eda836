"""One `alluvium run` at a time on a warehouse."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

from alluvium import AlluviumError
from alluvium.runtime import session
from alluvium.runtime.profile import SessionTarget, Target


def place_of(target: Target) -> Path:
    """Of the lock: beside a local warehouse, so that each ALLUVIUM_HOME has its own; else in the project.

    Not in dbt's target directory: `dbt clean` deletes that, and the lock of a file that is gone keeps nobody out.
    """
    if isinstance(target, SessionTarget):
        return session.home(target.parameters, target.project_directory) / "run.lock"
    return target.project_directory / ".alluvium" / f"run_{target.host}_{target.port}.lock"


@contextmanager
def held(path: Path) -> Iterator[Callable[[], None]]:
    """Hold a lock that the system ends with the process; gives a function that raises once it is lost.

    Args:
        path: of the file, which says who holds it.

    Raises:
        AlluviumError: another process holds it, or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except OSError as error:
        raise AlluviumError(f"The lock {path} cannot be written: {error.strerror or error}.") from error
    with file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise AlluviumError(
                f"Another `alluvium run` builds on this warehouse ({file.read().strip() or 'just started'}; {path}): "
                "stop it, or wait until it has ended."
            ) from None
        file.truncate(0)
        file.write(f"process {os.getpid()} since {datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC\n")
        file.flush()

        def require() -> None:
            try:
                is_ours = os.path.samestat(os.fstat(file.fileno()), path.stat())
            except FileNotFoundError:
                is_ours = False
            if not is_ours:
                raise AlluviumError(
                    f"The lock {path} was removed or replaced, so another process may build: start this one again."
                )

        yield require
