"""A dbt plugin: plain `dbt build` finds a Spark session that has Delta's jars, a Java and the project's functions.

dbt imports every installed module whose name begins with ``dbt_`` and initializes its `plugins`. dbt-spark's session
method then takes over the session that this one made. It keeps quiet in projects that have nothing to do with Alluvium:
the root project has to be Alluvium or to have it as an installed package (``dbt deps``), with a profile of type `spark`
and method `session`, or `thrift`, whose server has the session. Seeds are then written with their exact values, and
unit tests are rendered with the `graph` of the project,
and the docs site leaves out private macros.
`dbt parse`, `ls`, `deps`, `clean` and `debug` start no JVM through it.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dbt.flags import get_flags
from dbt.plugins.manager import dbt_hook, dbtPlugin
from dbt_common.invocation import get_invocation_id

from dbt_alluvium import private_macros, seed_values

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

# Those that run unit tests.
WITH_UNIT_TESTS = frozenset({"build", "retry", "test"})
# Those that read new files.
READING = frozenset({"build", "retry", "run"})


class AlluviumPlugin(dbtPlugin):
    """Makes the Spark session before dbt opens its first connection."""

    _project_directory: Path | None = None

    def initialize(self) -> None:
        """Called by dbt once a run, after it has read the project and before it parses the models."""
        flags = get_flags()  # type: ignore[no-untyped-call]  # dbt has no annotations here
        directory = Path(flags.PROJECT_DIR).resolve()
        if not concerns(self.project_name, directory):
            return
        private_macros.teach()
        if flags.WHICH not in COMMANDS:
            return
        self._project_directory = directory
        from alluvium.runtime import profile

        if flags.WHICH in WITH_UNIT_TESTS:
            from dbt_alluvium import unit_tests

            unit_tests.teach()
        chosen = profile.read_profile(of_retried_run(flags, directory))
        credentials = chosen.credentials
        parameters = profile.session_parameters(credentials)
        if parameters is not None:
            from alluvium.runtime import session

            write_seeds_exactly()
            session.get_or_create(parameters, directory, get_invocation_id())
        elif profile.is_thrift(credentials):
            from alluvium.server import security
            from dbt_alluvium import thrift_method

            security.require_private_password(
                chosen.target_name, credentials.host, credentials.auth, credentials.password, credentials.use_ssl
            )
            thrift_method.teach()

    @dbt_hook  # type: ignore[untyped-decorator]  # dbt has no annotations here
    def get_manifest_artifacts(self, manifest: Any) -> dict[str, Any]:
        """Called by dbt before it runs anything, with all sources: ends a run that would skip files.

        Args:
            manifest: dbt's.

        Raises:
            UnspelledNameError: there is such a file.
        """
        flags = get_flags()  # type: ignore[no-untyped-call]  # dbt has no annotations here
        if self._project_directory and flags.WHICH in READING:
            for source in manifest.sources.values():
                if source.external and source.external.location:
                    require_text_names(self._project_directory, source.external.location)
        return {}


def require_text_names(project_directory: Path, location: str) -> None:
    """Raise where Java could not open a local file.

    Args:
        project_directory: that relative locations start from.
        location: of a source.

    Raises:
        UnspelledNameError: there is such a file.
    """
    from alluvium.runtime.objects import LocalStorage, LocationError, UnspelledNameError

    path = location.removeprefix("file://").removeprefix("file:")
    if ":" in path.partition("/")[0]:
        return
    try:
        for _ in LocalStorage(project_directory / path).objects():
            pass
    except UnspelledNameError:
        raise
    except LocationError:
        pass  # Spark says it, of the sources that are read.


def of_retried_run(flags: Any, directory: Path) -> Any:
    """`dbt retry` (1.11) has the profile and the target of the run that it retries, whatever its own flags say.

    Args:
        flags: dbt's.
        directory: of the project.
    """
    if flags.WHICH != "retry":
        return flags
    results = directory / (flags.STATE or flags.TARGET_PATH or "target") / "run_results.json"
    if not results.is_file():
        return flags
    before = json.loads(results.read_text(encoding="utf-8"))["args"]
    return SimpleNamespace(
        PROJECT_DIR=flags.PROJECT_DIR, VARS=flags.VARS, PROFILE=before.get("profile"), TARGET=before.get("target")
    )


def concerns(project_name: str, directory: Path) -> bool:
    """Whether the root project is Alluvium or has it as an installed package."""
    if project_name == PROJECT:
        return True
    from dbt.config.project import load_raw_project

    packages = load_raw_project(str(directory)).get("packages-install-path") or "dbt_packages"
    return (directory / packages / PROJECT / "dbt_project.yml").is_file()


def write_seeds_exactly() -> None:
    """Have the session method of dbt-spark write the values of seeds as literals of Spark SQL.

    dbt-spark 1.11 puts texts between quotes as they are, so that a quote in one is a syntax error or worse; it makes
    numbers floats, which have 53 bits; and it cuts times to milliseconds.
    """
    from dbt.adapters.spark.session import SessionConnectionWrapper

    SessionConnectionWrapper._fix_binding = staticmethod(seed_values.literal)  # type: ignore[method-assign]


plugins = [AlluviumPlugin]
