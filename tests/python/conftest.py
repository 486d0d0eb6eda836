"""The Spark session that all tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
import pytest
import yaml
from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]  # pytest-xdist has no annotations

from alluvium.runtime import jars, java, session
from alluvium.runtime.profile import SessionTarget
from alluvium.server import hosting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).resolve().parents[2]

pytest_plugins = ["captures.plugin", "properties.plugin"]

# Folders whose tests start no Spark session. All others are run by one worker of pytest-xdist, one after the other.
WITHOUT_SPARK = (
    "render",
    "setup",
    "inspection",
    "diagnosis",
    "first_sight",
    "scaffolding",
    "new_project",
    "query",
    "builds",
    "serve",
    "emr",
    "bench",
    "hudi",
)


# What `--file-format` names.
FILE_FORMATS = ("delta", "hudi_cow", "hudi_mor")
# What `--target` names: dbt in the session of `spark`, or over its Thrift server.
TARGETS = ("local", "thrift")
# What `--hudi` names: of alluvium/runtime/jars.lock, or of EMR's releases.
JARS_OF_EMR = Path(__file__).with_name("hudi") / "jars-emr.lock"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options that build in another format, and over a Thrift server; the rows have to be the same."""
    parser.addoption("--file-format", choices=FILE_FORMATS, default="delta")
    parser.addoption("--hudi", choices=("locked", "emr"), default="locked", help="whose Hudi the session has")
    parser.addoption("--target", choices=TARGETS, default="local", help="what dbt builds with in captures and pipeline")


def pytest_configure(config: pytest.Config) -> None:
    """Before anything reads the profile: the session of `spark` depends on it."""
    os.environ["ALLUVIUM_FILE_FORMAT"] = config.getoption("--file-format").partition("_")[0]
    if config.getoption("--hudi") == "emr":
        jars.LOCK = JARS_OF_EMR
    if config.getoption("--target") == "thrift":
        os.environ["DBT_TARGET"] = "thrift"
        os.environ["ALLUVIUM_THRIFT_PORT"] = str(hosting.free_port())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Tests of what Hudi itself does need a session that knows it; tests/python/hudi/test_in_hudi.py runs them."""
    is_of_hudi = collection_path.name.endswith("_of_hudi.py")
    runs_hudi = collection_path.name == "test_in_hudi.py"
    is_left_out = (is_of_hudi and config.getoption("--file-format") == "delta") or (runs_hudi and java.IS_SPARK_4)
    return True if is_left_out else None


@pytest.fixture(scope="session")
def format_variables(request: pytest.FixtureRequest) -> dict[str, str]:
    """Variables of dbt's that say how the tables are built."""
    _, _, table_type = request.config.getoption("--file-format").partition("_")
    return {"hudi_table_type": table_type} if table_type else {}


class OneSparkSession(LoadScopeScheduling):  # type: ignore[misc]  # so its classes are of any type
    """Gives the tests that share the Spark session to one worker.

    pytest-xdist's own groups (3.8.0, ``--dist loadgroup``) have no effect with pytest 9.2.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if Path(path).parent.name in WITHOUT_SPARK else "spark"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSparkSession:
    """Called by pytest-xdist, where it has workers."""
    return OneSparkSession(config, log)


@pytest.fixture(scope="session", autouse=True)
def alluvium_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A warehouse and a metastore of their own: whichever test starts Spark or dbt first, the profile leads there."""
    home = tmp_path_factory.mktemp("alluvium")
    patch = pytest.MonkeyPatch()
    patch.setenv("ALLUVIUM_HOME", str(home))
    patch.setenv("ALLUVIUM_LANDING", str(home / "landing"))
    # Put back never: the session and the threads of dbt outlive every test.
    return home


@pytest.fixture(scope="session")
def session_parameters(alluvium_home: Path) -> dict[str, str]:
    """Settings of the repository's profile, as dbt would read them; `alluvium_home` has set what they depend on."""
    text = jinja2.Template((REPOSITORY / "profiles.yml").read_text(encoding="utf-8")).render(env_var=os.environ.get)
    document = yaml.safe_load(text)["alluvium"]
    parameters: dict[str, str] = document["outputs"][document["target"]]["server_side_parameters"]
    return parameters


@pytest.fixture(scope="session")
def spark(session_parameters: dict[str, str], request: pytest.FixtureRequest) -> SparkSession:
    """The session that a plain `dbt build` would make, and the one that dbt finds in this process or over Thrift."""
    if request.config.getoption("--target") == "thrift":
        target = SessionTarget(REPOSITORY, "local", "silver", session_parameters)
        port = int(os.environ["ALLUVIUM_THRIFT_PORT"])
        served = hosting.listen(target, port=port)
        while not hosting.is_open(hosting.HOST, port):
            pass
        return served
    return session.get_or_create(session_parameters)
