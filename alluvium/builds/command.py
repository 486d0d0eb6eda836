"""What ``alluvium run`` does with its options."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TextIO

import click
from dbt.cli.main import cli, dbtRunner

from alluvium import AlluviumError
from alluvium.runtime import profile, session

from . import lock
from .kept_manifest import KeptManifest
from .outcome import Outcome, Watch, as_json, status_line
from .schedule import Signals, repeat


def options_of_build(arguments: Sequence[str]) -> dict[str, Any]:
    """What dbt understands by the arguments of `dbt build`.

    Raises:
        AlluviumError: dbt has no such options.
        SystemExit: one of them, such as --help, has been answered.
    """
    try:
        return cli.commands["build"].make_context("dbt build", list(arguments)).params
    except click.UsageError as error:
        raise AlluviumError(
            f"{error.format_message()} Options after -- are those of `dbt build`: see `dbt build --help`."
        ) from error
    except click.exceptions.Exit as end:
        raise SystemExit(end.exit_code) from end


def run(
    options: Sequence[str], every: float, builds: int | None = None, *, is_json: bool = False, is_verbose: bool = False
) -> bool:
    """Build again and again; returns whether the last build has passed.

    Args:
        options: of `dbt build`.
        every: seconds from the beginning of one build to that of the next.
        builds: how many; without limit when None.
        is_json: whether the standard output has JSON, and everything else goes to the standard error.
        is_verbose: whether all of dbt's lines are shown.

    Raises:
        AlluviumError: there is no such project, target or option, another process has the lock, or this one cannot
            go on.
    """
    given = options_of_build(options)
    target = profile.read_target(
        Path(given["project_dir"]), Path(given["profiles_dir"]), given["target"], given["profile"], given["vars"]
    )
    output = _own_output() if is_json else sys.stdout
    arguments = ["build", *([] if is_verbose else ["--quiet"]), *options]
    watch = Watch()
    with Signals() as signals, lock.held(lock.place_of(target)) as require_lock, KeptManifest().used():
        runner = dbtRunner(callbacks=[signals.keep, watch.note])

        def build() -> Outcome:
            watch.clear()
            return watch.outcome(runner.invoke(arguments))

        def report(number: int, outcome: Outcome, failed_in_a_row: int, seconds: float, pause: float | None) -> None:
            form = as_json if is_json else status_line
            now = datetime.now(timezone.utc)
            print(form(number, outcome, failed_in_a_row, seconds, pause, now), file=output, flush=True)
            gc.collect()  # now: else in the middle of the next build, which has let go of this one's manifest

        def check() -> None:
            require_lock()
            if session.has_ended():
                raise AlluviumError("Spark has ended, and no build can follow: start `alluvium run` again.")

        return repeat(build, report, check, signals, every=every, builds=builds)


def _own_output() -> TextIO:
    """The standard output for this command only: what dbt and Spark's process print goes to the standard error."""
    sys.stdout.flush()
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own
