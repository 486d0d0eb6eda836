"""A dbt plugin: plain `dbt build` finds a Spark session that has Delta's jars, a Java and the project's functions.

dbt imports every installed module whose name begins with ``dbt_`` and initializes its `plugins`. dbt-spark's session
method then takes over the session that this one made. It keeps quiet in projects that have nothing to do with Alluvium:
the root project has to be Alluvium or to have it as an installed package (``dbt deps``), with a profile of type `spark`
and method `session`. Seeds are then written with their exact values. `dbt parse`, `ls`, `deps`, `clean` and `debug`
start no JVM through it.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from dbt.flags import get_flags
from dbt.plugins.manager import dbtPlugin

PROJECT = "alluvium"
# Values of dbt's WHICH flag whose command talks to the database; "generate" is `dbt docs generate`.
COMMANDS = frozenset(
    {
        "build",
        "clone",
        "compile",
        "freshness",
        "generate",
        "retry",
        "run",
        "run-operation",
        "seed",
        "show",
        "snapshot",
        "test",
    }
)


class AlluviumPlugin(dbtPlugin):
    """Makes the Spark session before dbt opens its first connection."""

    def initialize(self) -> None:
        """Called by dbt once a run, after it has read the project and before it parses the models."""
        flags = get_flags()  # type: ignore[no-untyped-call]  # dbt has no annotations here
        directory = Path(flags.PROJECT_DIR).resolve()
        if flags.WHICH not in COMMANDS or not concerns(self.project_name, directory):
            return
        parameters = session_parameters(flags)
        if parameters is not None:
            from alluvium import session

            write_seeds_exactly()
            session.get_or_create(parameters, directory)


def concerns(project_name: str, directory: Path) -> bool:
    """Whether the root project is Alluvium or has it as an installed package."""
    if project_name == PROJECT:
        return True
    from dbt.config.project import load_raw_project

    packages = load_raw_project(str(directory)).get("packages-install-path") or "dbt_packages"
    return (directory / packages / PROJECT / "dbt_project.yml").is_file()


def session_parameters(flags: Any) -> dict[str, str] | None:
    """The Spark settings of the profile and target that dbt will use, None when it is not a Spark session."""
    from alluvium import profile

    return profile.session_parameters(profile.read_profile(flags).credentials)


def write_seeds_exactly() -> None:
    """Have the session method of dbt-spark write the values of seeds as literals of Spark SQL.

    dbt-spark 1.11 puts texts between quotes as they are, so that a quote in one is a syntax error or worse; it makes
    numbers floats, which have 53 bits; and it cuts times to milliseconds.
    """
    from dbt.adapters.spark.session import SessionConnectionWrapper

    SessionConnectionWrapper._fix_binding = staticmethod(literal)  # type: ignore[method-assign]


def literal(value: Any) -> str:
    """A value of a seed in Spark SQL; what stands around it casts it to the column's type."""
    if value is None:
        return "null"
    if isinstance(value, datetime.datetime):
        return f"'{value:%Y-%m-%d %H:%M:%S.%f}'"
    text = f"{value:f}" if isinstance(value, Decimal) else str(value)
    text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


plugins = [AlluviumPlugin]
