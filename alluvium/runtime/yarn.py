"""The Spark of a cluster: where the master is `yarn`, Spark, its jars and Java are the cluster's own.

What runs there is started by deploy/emr/step.sh, which says in its environment where they are.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path

from alluvium import AlluviumError

__all__ = ["is_meant", "require", "with_defaults"]

MASTER = "spark.master"
# A session's own value of these replaces the cluster's, which on EMR leads to its file system and to Glue: seen on
# emr-7.10.0 by others (apache/hudi#10609). So the cluster's follows, after this separator.
EXTENDED = {
    "spark.driver.extraClassPath": ":",
    "spark.executor.extraClassPath": ":",
    "spark.driver.extraJavaOptions": " ",
}
NEXT = "'alluvium emr build' and 'alluvium emr serve' run it on one."
PROPERTY = re.compile(r"^[ \t]*([^\s=:#!]+)(?:[ \t]*[=:][ \t]*|[ \t]+)(.*?)[ \t]*$", re.MULTILINE)


def is_meant(settings: Mapping[str, str]) -> bool:
    """Whether settings are for the Spark of a cluster.

    Args:
        settings: Spark's, by name.
    """
    return settings.get(MASTER) == "yarn"


def require(environ: Mapping[str, str]) -> None:
    """See that this process is on a cluster, and uses the cluster's PySpark.

    Args:
        environ: of the process.

    Raises:
        AlluviumError: it is not, or does not.
    """
    home = Path(environ.get("SPARK_HOME", ""))
    if not (home / "bin" / "spark-submit").is_file():
        said = environ.get("SPARK_HOME") or "not set"
        raise AlluviumError(f"The target has the Spark of a cluster, and SPARK_HOME is {said}: {NEXT}")
    for name in ("ALLUVIUM_WAREHOUSE", "ALLUVIUM_PYTHON_ARCHIVE", "PYSPARK_PYTHON"):
        if not environ.get(name):
            raise AlluviumError(f"The target has the Spark of a cluster, and {name} is not set: {NEXT}")
    found = importlib.util.find_spec("pyspark")
    origin = Path(found.origin) if found and found.origin else None
    if origin is None or not any(
        one.is_relative_to(other)
        for one, other in ((origin, home / "python"), (origin.resolve(), (home / "python").resolve()))
    ):
        raise AlluviumError(
            f"Spark is that of {home}, and PySpark that of {origin and origin.parent}: "
            f"put {home / 'python'} into PYTHONPATH, as deploy/emr/step.sh does."
        )


def with_defaults(settings: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Settings whose class paths and options of the JVM are followed by those of the cluster's own configuration.

    Args:
        settings: Spark's, by name.
        environ: of the process.
    """
    directory = environ.get("SPARK_CONF_DIR") or str(Path(environ["SPARK_HOME"], "conf"))
    try:
        text = Path(directory, "spark-defaults.conf").read_text(encoding="utf-8")
    except FileNotFoundError:
        text = ""
    defaults = dict(PROPERTY.findall(text))
    result = dict(settings)
    for name, separator in EXTENDED.items():
        if name in result:
            result[name] = separator.join(filter(None, [result[name], defaults.get(name)]))
    return result
