"""What a session is made with: the profile's settings, and what the machine adds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jinja2
import pytest
import yaml

from alluvium import AlluviumError
from alluvium.runtime import jars, java, prepare, session

ROOT = Path(__file__).resolve().parents[3]
JAVA = java.Java(Path("/java"), 17, "PATH")


def profile(target: str = "local", **environment: str) -> dict[str, str]:
    """Settings of a target of profiles.yml with `environment` set."""
    text = jinja2.Template((ROOT / "profiles.yml").read_text(encoding="utf-8")).render(
        env_var=lambda name, default: environment.get(name, default)
    )
    document = yaml.safe_load(text)["alluvium"]
    assert document["target"] == "local"
    output = document["outputs"][target]
    assert (output["type"], output["method"], output["schema"]) == ("spark", "session", "silver")
    settings: dict[str, str] = output["server_side_parameters"]
    return settings


@pytest.mark.parametrize("target", ["local", "emr"])
def test_every_setting_is_text(target: str) -> None:
    """dbt hands them to Spark as they are; a YAML boolean would arrive as `True`."""
    assert {key: value for key, value in profile(target).items() if not isinstance(value, str)} == {}


def test_cluster_differs_where_the_machine_is_another_one() -> None:
    local, cluster = profile(), profile("emr")
    assert {name for name in local if name not in cluster} == {
        "spark.hadoop.javax.jdo.option.ConnectionURL",
        "spark.hadoop.hive.metastore.disallow.incompatible.col.type.changes",
        "spark.sql.shuffle.partitions",
        "spark.databricks.delta.snapshotPartitions",
        "spark.ui.enabled",
        "spark.sql.ui.explainMode",
        "spark.driver.host",
        "spark.driver.bindAddress",
    }
    assert {name for name in cluster if cluster[name] != local.get(name)} == {
        "spark.master",
        "spark.sql.warehouse.dir",
        "spark.yarn.dist.archives",
        "spark.hadoop.fs.s3.maxConnections",
        "spark.hadoop.fs.s3a.connection.maximum",
        "spark.driver.extraClassPath",
        "spark.jars",
        "spark.driver.memory",
        "spark.driver.extraJavaOptions",
    }


@pytest.mark.parametrize("file_format", ["delta", "hudi"])
def test_jars_of_the_cluster_are_for_the_driver_and_the_executors(file_format: str) -> None:
    settings = profile("emr", ALLUVIUM_FILE_FORMAT=file_format)
    on_class_path = settings["spark.driver.extraClassPath"].split(":")
    assert on_class_path == settings["spark.jars"].split(",")
    assert ("/usr/lib/hudi/hudi-spark-bundle.jar" in on_class_path) == (file_format == "hudi")
    assert ("HoodieSparkSessionExtension" in settings["spark.sql.extensions"]) == (file_format == "hudi")


def test_tables_of_the_cluster_are_where_the_step_says() -> None:
    said = {"ALLUVIUM_WAREHOUSE": "s3://tables/warehouse", "ALLUVIUM_PYTHON_ARCHIVE": "/e.tar.gz"}
    settings = session.absolute(profile("emr", **said), Path("/project"))
    assert settings[session.WAREHOUSE] == "s3://tables/warehouse"
    assert settings["spark.yarn.dist.archives"] == "/e.tar.gz#environment"
    assert session.METASTORE not in settings


def test_locations_are_below_the_project(tmp_path: Path) -> None:
    settings = session.absolute(profile(), tmp_path)
    assert settings[session.WAREHOUSE] == str(tmp_path / ".alluvium" / "warehouse")
    assert settings[session.METASTORE] == f"jdbc:derby:;databaseName={tmp_path}/.alluvium/metastore_db;create=true"


def test_alluvium_home_moves_them(tmp_path: Path) -> None:
    settings = session.absolute(profile(ALLUVIUM_HOME=str(tmp_path / "h")), Path("/elsewhere"))
    assert settings[session.WAREHOUSE] == str(tmp_path / "h" / "warehouse")
    assert f"={tmp_path}/h/metastore_db;" in settings[session.METASTORE]


@pytest.mark.parametrize("location", ["s3a://bucket/warehouse", "file:/warehouse", "/warehouse"])
def test_absolute_locations_stay(location: str) -> None:
    assert session.absolute({session.WAREHOUSE: location}, Path("/p")) == {session.WAREHOUSE: location}


def test_other_metastores_stay() -> None:
    settings = {session.METASTORE: "jdbc:postgresql://host/metastore"}
    assert session.absolute(settings, Path("/p")) == settings


def test_jars_are_on_the_class_path_before_the_users(tmp_path: Path) -> None:
    files = [Path("/jars/a.jar"), Path("/jars/b.jar")]
    result = session.with_runtime({session.CLASS_PATH: "/own.jar"}, files, JAVA, tmp_path)
    assert result[session.CLASS_PATH] == "/jars/a.jar:/jars/b.jar:/own.jar"
    assert "spark.jars" not in result
    assert "spark.jars.packages" not in result


def test_jvm_options(tmp_path: Path) -> None:
    url = f"jdbc:derby:;databaseName={tmp_path}/my home/metastore_db;create=true"
    result = session.with_runtime({session.METASTORE: url, session.JVM_OPTIONS: "-Xss4m"}, [], JAVA, tmp_path)
    assert result[session.JVM_OPTIONS] == (
        f"-Dlog4j2.configurationFile=file:{session.LOGGING} -Duser.timezone=UTC "
        f'"-Dderby.stream.error.file={tmp_path}/my home/derby.log" -Xss4m'
    )
    assert session.LOGGING.is_file()


@pytest.mark.parametrize(
    ("target", "environment", "options"),
    [
        ("local", {}, "-XX:+UseParallelGC"),
        ("local", {"ALLUVIUM_JVM_OPTIONS": "-Xss4m"}, "-Xss4m"),
        ("local", {"JAVA_TOOL_OPTIONS": "-XX:+UseSerialGC"}, ""),
        ("local", {"JDK_JAVA_OPTIONS": "-XX:+UseZGC"}, ""),
        ("emr", {}, ""),
    ],
)
def test_java_gets_one_collector(target: str, environment: dict[str, str], options: str) -> None:
    """It refuses to start with two, and a cluster has one of its own."""
    assert profile(target, **environment)[session.JVM_OPTIONS] == options


def test_hudi_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = profile(ALLUVIUM_FILE_FORMAT="hudi")
    monkeypatch.setattr(java, "IS_SPARK_4", False)
    session.require_known_formats(settings)
    monkeypatch.setattr(java, "IS_SPARK_4", True)
    session.require_known_formats(profile())
    with pytest.raises(AlluviumError, match="unset ALLUVIUM_FILE_FORMAT"):
        session.require_known_formats(settings)


@pytest.mark.parametrize(("settings", "names"), [({}, ["jars"]), ({"spark.hadoop.fs.s3a.x": "y"}, ["jars", "s3"])])
def test_jars_of_s3_are_for_who_has_files_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], names: list[str]
) -> None:
    monkeypatch.setattr(jars, "class_path", lambda lock=None: [Path("s3" if lock else "jars")])
    monkeypatch.setattr(java, "use", lambda: JAVA)
    found = session.complete(settings, tmp_path)
    assert found[session.CLASS_PATH].split(":") == names
    assert ("spark.hadoop.fs.s3a.impl" in found) == ("s3" in names)


def test_workers_run_this_python() -> None:
    assert session.environment()["PYSPARK_PYTHON"] == sys.executable


HOLD = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); input()"


@pytest.mark.parametrize("lock", ["metastore_db.lock", "metastore_db/dbex.lck"])
def test_second_process_is_refused_in_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    """Whether the first one has opened Derby already or not."""
    monkeypatch.setattr(session, "_claimed", {})
    url = f"jdbc:derby:;databaseName={tmp_path}/metastore_db;create=true"
    (tmp_path / lock).parent.mkdir(exist_ok=True)
    (tmp_path / lock).touch()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        with pytest.raises(AlluviumError, match="set ALLUVIUM_HOME to another directory"):
            session.claim(url)
        process.communicate(b"\n")
    session.claim(url)  # the file is left behind, nobody holds it
    session.claim(url)  # and a process may ask twice


def test_sparks_own_configuration(tmp_path: Path) -> None:
    """For `dbt debug`, which loads no plugin."""
    prepare.configure_spark(tmp_path, [Path("/jars/a.jar"), Path("/jars/b.jar")])
    conf = tmp_path / "conf"
    assert (conf / "spark-defaults.conf").read_text(encoding="utf-8").split() == [
        session.CLASS_PATH,
        "/jars/a.jar:/jars/b.jar",
    ]
    assert (conf / "log4j2.properties").read_bytes() == session.LOGGING.read_bytes()
    sourced = subprocess.run(
        ["sh", "-c", f'. {conf}/spark-env.sh; echo "$JAVA_HOME"'],
        env={"PATH": "/usr/bin:/bin", "JAVA_HOME": "/gone"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert java.inspect(Path(sourced.stdout.strip()), "JAVA_HOME") is not None
