"""The Spark session that the systems under test have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import yaml

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
