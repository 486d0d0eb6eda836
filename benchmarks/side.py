"""What the two sides of the benchmark share: the session, and the sum of a table that both must agree on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import yaml

from benchmarks.generator import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROFILES = Path(__file__).resolve().parents[1] / "profiles.yml"


def session(home: Path) -> SparkSession:
    """A Spark session with the settings of the repository's profile, its warehouse and metastore below `home`."""
    from alluvium.runtime import session as launcher

    os.environ["ALLUVIUM_HOME"] = str(home)
    template = jinja2.Template(PROFILES.read_text(encoding="utf-8"))
    profile = yaml.safe_load(template.render(env_var=os.environ.get))["alluvium"]
    return launcher.get_or_create(profile["outputs"][profile["target"]]["server_side_parameters"], home)


def content(spark: SparkSession, table: str) -> dict[str, int | str]:
    """Number of rows, and a sum over the hash of every row that does not depend on their order."""
    columns = ", ".join(COLUMNS)
    row = spark.sql(f"""
        select count(*) as row_count, sum(cast(xxhash64(to_json(struct({columns}))) as decimal(38, 0))) as hash
        from {table}
    """).collect()[0]
    return {"rows": row["row_count"], "hash": str(row["hash"])}
