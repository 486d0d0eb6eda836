"""pytest option and summary of the comparison with the recorded corpora.

Loaded by ``pytest_plugins = ["captures.plugin"]`` in tests/python/conftest.py: an option has to be known before the
folder of its tests is looked into.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .corpora import Corpus, discover
from .project import REPOSITORY

SAMPLES = REPOSITORY / "samples"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds ``--captures``."""
    parser.addoption(
        "--captures",
        type=Path,
        default=None,
        metavar="DIR",
        help="folder of recorded corpora (default: ../shared/data/captures if it is there, else samples/)",
    )


def captures_folder(config: pytest.Config) -> Path:
    """The folder of corpora to test.

    Raises:
        pytest.UsageError: the folder that was asked for has no corpus.
    """
    asked: Path | None = config.getoption("--captures")
    for folder in (asked,) if asked else (REPOSITORY.parent / "shared" / "data" / "captures", SAMPLES):
        if folder.is_dir() and discover(folder):
            return folder.resolve()
    raise pytest.UsageError(f"--captures: no recorded corpus in {asked or SAMPLES}")


def corpora(config: pytest.Config) -> tuple[Corpus, ...]:
    """The corpora to test."""
    return discover(captures_folder(config))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says how much was compared, and how much of it nobody could have."""
    totals = {"cells": 0, "excused": 0, "pending": 0}
    tables = 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            properties = dict(getattr(report, "user_properties", ()))
            if getattr(report, "when", None) == "call" and totals.keys() <= properties.keys():
                tables += 1
                totals = {name: total + int(properties[name]) for name, total in totals.items()}
    if tables:
        terminalreporter.write_line(
            f"recorded corpora: {tables} tables at their checkpoints, {totals['cells']} cells compared; "
            f"{totals['excused']} differences listed by the corpora, {totals['pending']} by not_equal_yet"
        )
