"""What came of a build, in one line."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from alluvium.wording import counted

TABLES = frozenset({"model", "seed", "snapshot"})
PASSED = frozenset({"success", "pass", "warn", "no-op", "reused"})
# Comments come first: dbt's own, and what a macro writes.
WRITES = re.compile(
    r"(?:\s|/\*.*?\*/|--[^\n]*\n)*(?:insert|merge|update|delete|create (?:or replace )?table)\b",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Outcome:
    """What came of one build.

    Attributes:
        has_passed: whether dbt says so.
        changed: models, seeds and snapshots whose table a statement has written.
        unchanged: those that passed without one; views are among them.
        failed: nodes that failed, tests and hooks among them.
        skipped: nodes that dbt skipped.
        warnings: of tests, models and hooks.
        error: why dbt ended before it had results, empty where it has some.
    """

    has_passed: bool
    changed: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    warnings: int = 0
    error: str = ""


class Watch:
    """Notes, of the events of one build, what its results do not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.clear()

    def clear(self) -> None:
        """Begins with the next build."""
        self.written: set[str] = set()
        self.warnings: set[str] = set()

    def note(self, event: Any) -> None:
        """Called by dbt, from several threads."""
        if event.info.name == "SQLQuery" and WRITES.match(event.data.sql):
            with self._lock:
                self.written.add(event.data.node_info.unique_id)
        elif event.info.name == "JinjaLogWarning":
            with self._lock:
                self.warnings.add(event.info.msg)

    def outcome(self, done: Any) -> Outcome:
        """What came of the build.

        Args:
            done: what dbt's runner returns.
        """
        results = [result for result in getattr(done.result, "results", None) or () if getattr(result, "node", None)]
        tables = [result.node for result in results if result.status in PASSED and result.node.resource_type in TABLES]
        return Outcome(
            has_passed=done.success,
            changed=tuple(node.name for node in tables if node.unique_id in self.written),
            unchanged=tuple(node.name for node in tables if node.unique_id not in self.written),
            failed=tuple(result.node.name for result in results if result.status not in PASSED | {"skipped"}),
            skipped=tuple(result.node.name for result in results if result.status == "skipped"),
            warnings=len(self.warnings) + sum(result.status == "warn" for result in results),
            error="" if done.exception is None else _one_line(done.exception),
        )


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def status_line(
    number: int, outcome: Outcome, failed_in_a_row: int, seconds: float, pause: float | None, now: datetime
) -> str:
    """For people.

    Args:
        number: of the build, from 1.
        outcome: what came of it.
        failed_in_a_row: builds, this one included.
        seconds: that it took.
        pause: seconds until the next one, None after the last.
        now: when it ended.
    """
    figures = {
        "changed": len(outcome.changed),
        "unchanged": len(outcome.unchanged),
        "failed": len(outcome.failed),
        "skipped": len(outcome.skipped),
    }
    said = ", ".join(f"{count} {name}" for name, count in figures.items() if count or name != "skipped")
    if outcome.warnings:
        said += f", {counted(outcome.warnings, 'warning')} in logs/dbt.log"
    parts = [f"{f'failed: {outcome.error}' if outcome.error else said}, {seconds:.1f} s"]
    if failed_in_a_row:
        parts.append(f"failed builds in a row: {failed_in_a_row}")
    if pause is not None:
        parts.append(f"next at {now + timedelta(seconds=pause):%H:%M:%S} UTC" if pause else "next now")
    return f"{now:%Y-%m-%d %H:%M:%S} UTC  build {number}: {'; '.join(parts)}"


def as_json(
    number: int, outcome: Outcome, failed_in_a_row: int, seconds: float, pause: float | None, now: datetime
) -> str:
    """The same for machines, one object; takes what `status_line` takes."""
    following = None if pause is None else (now + timedelta(seconds=pause)).isoformat(timespec="seconds")
    figures = {
        "ended_at": now.isoformat(timespec="seconds"),
        "build": number,
        **asdict(outcome),
        "failed_in_a_row": failed_in_a_row,
        "seconds": round(seconds, 1),
        "next_at": following,
    }
    return json.dumps(figures, ensure_ascii=False)
