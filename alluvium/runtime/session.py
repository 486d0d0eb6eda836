"""The one Spark session of a process, made from the settings of a dbt profile."""

from __future__ import annotations

import atexit
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from alluvium import AlluviumError
from alluvium.runtime import jars, java, object_storage, yarn

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LOGGING = Path(__file__).with_name("log4j2.properties")
WAREHOUSE = "spark.sql.warehouse.dir"
METASTORE = "spark.hadoop.javax.jdo.option.ConnectionURL"
CLASS_PATH = "spark.driver.extraClassPath"
JVM_OPTIONS = "spark.driver.extraJavaOptions"
KEYSTORE_PASSWORD = "spark.hadoop.hive.server2.keystore.password"
DERBY = re.compile(r"^(jdbc:derby:(?:;databaseName=)?)([^;]+)(.*)$")

_claimed: dict[str, TextIO] = {}  # open, and so locked, as long as the process lives


def get_or_create(
    parameters: Mapping[str, str], project_directory: Path | None = None, run_id: str | None = None
) -> SparkSession:
    """The Spark session of this process: the running one, else one made from `parameters`.

    Args:
        parameters: Spark settings, as in a profile's ``server_side_parameters``.
        project_directory: what relative paths in `parameters` start from; the working directory when None.
        run_id: dbt's invocation id, None outside of dbt. A session that is made keeps it: in its first run Spark has
            listed no files yet, so the macros refresh no listing (macros/files/new_files.sql).

    Raises:
        AlluviumError: no Java, no jars, another process uses the metastore, or no cluster where one is asked for.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from alluvium.spark_udfs import register

    running = SparkContext._active_spark_context is not None
    builder = SparkSession.builder.enableHiveSupport()
    if not running:
        directory = (project_directory or Path.cwd()).resolve()
        settings = absolute(without_password(parameters), directory)
        claim(settings.get(METASTORE, ""))
        for key, value in complete(settings, directory).items():
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    if not running:
        atexit.register(stop, spark)
        if run_id:
            spark.conf.set("alluvium.made_for", run_id)
    if project_directory is not None and not yarn.is_meant(parameters):
        # Relative locations of external sources start from it; the nodes of a cluster have no such directory. Spark
        # would hide a path with `url` or `token` in it from the macros (macros/lib/hidden_text.sql).
        spark.conf.set("alluvium.project_directory", f"0x{str(project_directory.resolve()).encode().hex()}")
    register(spark)
    return spark


def complete(settings: Mapping[str, str], project_directory: Path) -> dict[str, str]:
    """`settings` with what the machine adds, or the cluster; and the environment of this process set accordingly.

    Args:
        settings: Spark's, by name.
        project_directory: whose files may be in S3.

    Raises:
        AlluviumError: no Java, no jars, Hudi where there is none, or this is not the cluster that `settings` ask for.
    """
    if yarn.is_meant(settings):
        yarn.require(os.environ)
        return with_runtime(yarn.with_defaults(settings, os.environ), [], None, jars.cache_directory())
    require_known_formats(settings)
    os.environ.update(environment())
    files = jars.class_path()
    if object_storage.is_meant(settings, project_directory, os.environ):
        settings = object_storage.with_defaults(settings, os.environ)
        files += jars.class_path(object_storage.LOCK)
    return with_runtime(settings, files, java.use(), jars.cache_directory())


def require_known_formats(settings: Mapping[str, str]) -> None:
    """Refuses Hudi's extension where the environment has no Hudi: Spark would go on without it, with a page of log.

    Raises:
        AlluviumError: Spark 4.
    """
    if java.IS_SPARK_4 and "hudi" in settings.get("spark.sql.extensions", ""):
        raise AlluviumError(
            f"Hudi is not there for Spark {java.SPARK_VERSION}: unset ALLUVIUM_FILE_FORMAT, or use the environment "
            "with Spark 3.5 ('make setup'; docs/guide/versions.md)."
        )


def environment() -> dict[str, str]:
    """Variables that keep Spark inside this environment, also when it is not activated.

    Without the first two the workers that run Python functions start whatever ``python3`` is on the path.
    """
    import pyspark

    return {
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
    }


def without_password(parameters: Mapping[str, str]) -> dict[str, str]:
    """`parameters` without the password of a Thrift server's key store, which only alluvium/server needs.

    PySpark (3.5.7) puts what a session is made with on the command line of its JVM.
    """
    return {name: value for name, value in parameters.items() if name != KEYSTORE_PASSWORD}


def absolute(parameters: Mapping[str, str], directory: Path) -> dict[str, str]:
    """`parameters` with the warehouse and a Derby metastore located below `directory` where they are relative."""
    settings = {key: str(value) for key, value in parameters.items()}
    warehouse = settings.get(WAREHOUSE)
    if warehouse and ":" not in warehouse:
        settings[WAREHOUSE] = str(directory / warehouse)
    database = DERBY.match(settings.get(METASTORE, ""))
    if database:
        settings[METASTORE] = f"{database[1]}{directory / database[2]}{database[3]}"
    return settings


def home(parameters: Mapping[str, str], project_directory: Path) -> Path:
    """Where a process keeps its own files: beside a warehouse on this machine, else in the project."""
    warehouse = absolute(parameters, project_directory).get(WAREHOUSE, "")
    is_local = warehouse and ":" not in warehouse
    return Path(warehouse).parent if is_local else project_directory / ".alluvium"


def with_runtime(
    settings: Mapping[str, str], files: list[Path], runtime: java.Java | None, cache: Path
) -> dict[str, str]:
    """`settings` with what depends on the machine: class path, logging, time zone, Derby's log, certificates.

    Args:
        settings: Spark's, by name.
        files: jars before those of `settings`.
        runtime: the selected Java; None for a cluster's own.
        cache: directory for what is derived.
    """
    result = dict(settings)
    # The class path, not spark.jars: the threads of a hosted Thrift server see nothing else (Spark 3.5.7).
    result[CLASS_PATH] = os.pathsep.join([*map(str, files), *filter(None, [settings.get(CLASS_PATH)])])
    # Hudi (1.2.0) names commits by the JVM's local time: rows of one that is named before an older one are lost.
    options = [f"-Dlog4j2.configurationFile=file:{LOGGING}", "-Duser.timezone=UTC"]
    options += java.options(runtime, cache) if runtime else []
    database = DERBY.match(settings.get(METASTORE, ""))
    if database:
        home = Path(database[2]).parent
        home.mkdir(parents=True, exist_ok=True)
        options.append(f"-Dderby.stream.error.file={home / 'derby.log'}")  # else derby.log in the working directory
    result[JVM_OPTIONS] = " ".join([*map(_quoted, options), *filter(None, [settings.get(JVM_OPTIONS)])])
    return result


def _quoted(option: str) -> str:
    return f'"{option}"' if " " in option else option


def claim(url: str) -> None:
    """Take a Derby metastore for this process, until it ends: one process at a time can use its database.

    Derby says so itself, in 9000 lines, and not before a statement needs the metastore.

    Raises:
        AlluviumError: another living process has it.
    """
    database = DERBY.match(url)
    if database is None or database[2] in _claimed:
        return
    import fcntl

    directory = Path(database[2])
    directory.parent.mkdir(parents=True, exist_ok=True)
    own = directory.with_name(directory.name + ".lock").open("a")
    try:
        fcntl.lockf(own, fcntl.LOCK_EX | fcntl.LOCK_NB)
        derbys = directory / "dbex.lck"
        if derbys.exists():  # held by a JVM whose Python was killed, or that is not ours
            with derbys.open("r+b") as file:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        own.close()
        raise AlluviumError(
            f"Another process uses {directory}: wait until it has ended (stop `alluvium run` with Ctrl-C, a Thrift "
            "server with `alluvium serve stop`), or set ALLUVIUM_HOME to another directory for this run."
        ) from None
    _claimed[database[2]] = own


def is_alive(spark: SparkSession) -> bool:
    """Whether the session's JVM runs; one that was killed, or had no memory left, has gone without a word."""
    return _has_jvm(spark.sparkContext)


def _has_jvm(context: SparkContext) -> bool:
    process: subprocess.Popen[bytes] | None = getattr(context._gateway, "proc", None)
    return process is None or process.poll() is None


def has_ended() -> bool:
    """Whether this process had a session that can do nothing any more.

    Its JVM has gone; or Spark has stopped itself, as it does when it has no memory left.
    """
    from py4j.protocol import Py4JError
    from pyspark import SparkContext

    context = SparkContext._active_spark_context
    if context is None:
        return False
    try:
        return not _has_jvm(context) or bool(context._jsc.sc().isStopped())
    except (Py4JError, OSError):
        return True


def stop(spark: SparkSession) -> None:
    """End the session and wait for its JVM, so that the next process finds the metastore closed."""
    from py4j.protocol import Py4JError

    gateway = spark.sparkContext._gateway
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if spark.sparkContext._jsc is not None:  # else somebody stopped it before
        with suppress(Py4JError, OSError):  # a JVM that has gone, or goes by the same signal
            spark.stop()
    if gateway:
        gateway.shutdown()  # from here on Py4J does not try to tell a JVM that has gone what Python has released
    if process and process.stdin:
        process.stdin.close()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
