"""Each source system is built once a session, load by load, whichever module asks for it first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .loads import Loaded, load_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def loaded(spark: SparkSession, format_variables: dict[str, str]) -> Callable[[str], Loaded]:
    """The system after all of its loads, with what its tables held after each."""
    known: dict[str, Loaded] = {}

    def of_source(source: str) -> Loaded:
        if source not in known:
            known[source] = load_all(source, spark, format_variables)
        return known[source]

    return of_source


@pytest.fixture(scope="session")
def landing() -> Path:
    """Where the declarations of the repository's sources look for files."""
    return Path(os.environ["ALLUVIUM_LANDING"])
