"""Where the recorded change files are, and a session of its own as long as the tests share none."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

CAPTURES = Path(__file__).parents[4] / "shared" / "data" / "captures"


@pytest.fixture(scope="session")
def captures() -> Path:
    """The folder of recorded change files, which a checkout does not have to have."""
    if not CAPTURES.is_dir():
        pytest.skip("no recorded change files beside the checkout; the same rules are tested on made files")
    return CAPTURES


if not (Path(__file__).parents[1] / "conftest.py").is_file():

    @pytest.fixture(scope="session")
    def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
        """A small local session with a warehouse of its own."""
        from pyspark.sql import SparkSession

        # Otherwise the workers are the first python3 on the path, which need not have the libraries.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        yield session
        session.stop()
