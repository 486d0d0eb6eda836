"""A session on a cluster: what is the cluster's stays the cluster's."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import jinja2
import pytest
import yaml

from alluvium import AlluviumError
from alluvium.runtime import java, session, yarn

ROOT = Path(__file__).resolve().parents[3]
# As emr-7.10.0 has it, shortened.
DEFAULTS = """\
spark.master                     yarn
spark.driver.extraClassPath      /usr/lib/hadoop-lzo/lib/*:/usr/share/aws/hmclient/lib/glue.jar
# spark.executor.extraClassPath  /commented/out.jar
spark.driver.defaultJavaOptions  -XX:OnOutOfMemoryError='kill -9 %p'
spark.empty
spark.eventLog.enabled=true
"""
SETTINGS = {"spark.master": "yarn", session.CLASS_PATH: "/delta.jar", "spark.executor.extraClassPath": "/own.jar"}


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """SPARK_HOME of a cluster, whose PySpark this process would import."""
    home = tmp_path / "spark"
    for name, text in {
        "bin/spark-submit": "",
        "python/pyspark/__init__.py": "",
        "conf/spark-defaults.conf": DEFAULTS,
    }.items():
        (home / name).parent.mkdir(parents=True)
        (home / name).write_text(text, encoding="utf-8")
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("PYSPARK_PYTHON", "./environment/bin/python")
    monkeypatch.setenv("ALLUVIUM_WAREHOUSE", "s3://tables/warehouse")
    monkeypatch.setenv("ALLUVIUM_PYTHON_ARCHIVE", "/environment.tar.gz")
    pyspark_is_that_of(monkeypatch, home / "python" / "pyspark")
    return home


def pyspark_is_that_of(monkeypatch: pytest.MonkeyPatch, directory: Path) -> None:
    spec = ModuleSpec("pyspark", None, origin=str(directory / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)


def test_class_path_of_the_cluster_follows(cluster: Path) -> None:
    """Without it there is neither EMR's file system nor Glue's catalog."""
    result = yarn.with_defaults(SETTINGS, os.environ)
    assert result[session.CLASS_PATH] == "/delta.jar:/usr/lib/hadoop-lzo/lib/*:/usr/share/aws/hmclient/lib/glue.jar"
    assert result["spark.executor.extraClassPath"] == "/own.jar"
    assert result.keys() == SETTINGS.keys()


def test_configuration_may_lie_elsewhere_or_nowhere(cluster: Path, tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text("spark.driver.extraClassPath=/else.jar\n", encoding="utf-8")
    elsewhere = {**os.environ, "SPARK_CONF_DIR": str(tmp_path)}
    assert yarn.with_defaults(SETTINGS, elsewhere)[session.CLASS_PATH] == "/delta.jar:/else.jar"
    assert yarn.with_defaults(SETTINGS, {"SPARK_HOME": str(tmp_path / "x")}) == SETTINGS


def test_cluster_keeps_its_spark_java_and_python(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> java.Java:
        raise AssertionError("Java is the cluster's")

    monkeypatch.setattr(java, "use", never)
    before = dict(os.environ)
    result = session.complete(SETTINGS, ROOT)
    assert dict(os.environ) == before
    assert result[session.CLASS_PATH].startswith("/delta.jar:/usr/lib/hadoop-lzo/")
    assert result[session.JVM_OPTIONS] == f"-Dlog4j2.configurationFile=file:{session.LOGGING} -Duser.timezone=UTC"


@pytest.mark.parametrize("name", ["SPARK_HOME", "PYSPARK_PYTHON", "ALLUVIUM_WAREHOUSE", "ALLUVIUM_PYTHON_ARCHIVE"])
def test_other_machines_are_refused_in_one_sentence(cluster: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(AlluviumError, match=f"and {name} is not set: 'alluvium emr build'"):
        session.complete(SETTINGS, ROOT)


def test_spark_home_without_spark_is_refused(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    with pytest.raises(AlluviumError, match="and SPARK_HOME is /nowhere: "):
        session.complete(SETTINGS, ROOT)


def test_pyspark_of_another_spark_is_refused(cluster: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Versions of the two differ by a release, and what breaks then is hard to understand."""
    pyspark_is_that_of(monkeypatch, tmp_path / "site-packages" / "pyspark")
    with pytest.raises(AlluviumError, match=rf"PySpark that of {tmp_path}/site-packages/pyspark: put {cluster}/python"):
        session.complete(SETTINGS, ROOT)


def test_a_machine_alone_has_no_cluster() -> None:
    assert not yarn.is_meant({})
    assert not yarn.is_meant({"spark.master": "local[2]"})


# What spark-submit is started with; no JVM is needed to see that.
SUBMIT = """\
#!/bin/sh
printf '%s\\n' "$@" >"$SAID"
exit 1
"""
SESSION = "import json, sys; from alluvium.runtime import session; session.get_or_create(json.loads(sys.argv[1]))"


def test_spark_submit_of_the_cluster_gets_the_profile(cluster: Path, tmp_path: Path) -> None:
    import pyspark

    variables = {**os.environ, "ALLUVIUM_FILE_FORMAT": "hudi"}
    text = jinja2.Template((ROOT / "profiles.yml").read_text(encoding="utf-8")).render(env_var=variables.get)
    parameters = yaml.safe_load(text)["alluvium"]["outputs"]["emr"]["server_side_parameters"]
    shutil.rmtree(cluster / "python" / "pyspark")
    (cluster / "python" / "pyspark").symlink_to(Path(pyspark.__file__).parent)
    (cluster / "bin" / "spark-submit").write_text(SUBMIT, encoding="utf-8")
    (cluster / "bin" / "spark-submit").chmod(0o755)
    said = tmp_path / "said"
    python_path = f"{cluster / 'python'}{os.pathsep}{ROOT}"
    process = subprocess.run(
        [sys.executable, "-c", SESSION, json.dumps(parameters)],
        cwd=tmp_path,
        env={**variables, "SAID": str(said), "PYTHONPATH": python_path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "JAVA_GATEWAY_EXITED" in process.stderr, process.stderr
    words = said.read_text(encoding="utf-8").splitlines()
    assert words[-1] == "pyspark-shell"
    settings = dict(word.split("=", 1) for word in words if word.startswith("spark."))
    jars = parameters["spark.jars"].split(",")
    assert jars[-1] == "/usr/lib/hudi/hudi-spark-bundle.jar"
    assert settings["spark.master"] == "yarn"
    assert settings["spark.jars"].split(",") == jars
    assert settings[session.CLASS_PATH].split(":")[: len(jars)] == jars
    assert settings[session.CLASS_PATH].endswith("/usr/share/aws/hmclient/lib/glue.jar")
    assert settings["spark.yarn.dist.archives"] == "/environment.tar.gz#environment"
    assert settings[session.WAREHOUSE] == "s3://tables/warehouse"
    assert settings["spark.sql.catalogImplementation"] == "hive"
