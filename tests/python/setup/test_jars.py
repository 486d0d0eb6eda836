"""The jars' lock file, their cache, and what is said when they cannot be had."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

import pyspark
import pytest

from alluvium import AlluviumError
from alluvium.runtime import jars

CONTENT = b"a jar"
JAR = jars.Jar("org.example:thing_2.12:1.0", hashlib.sha256(CONTENT).hexdigest())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and a lock of one jar."""
    lock = tmp_path / "jars.lock"
    lock.write_text(f"# comment\n{JAR.coordinate} {JAR.sha256}\n\n", encoding="utf-8")
    monkeypatch.setattr(jars, "LOCK", lock)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "alluvium"


class Ivy:
    """In place of Spark's Ivy: puts one file where Ivy would."""

    def __init__(self, content: bytes | None, output: str = "") -> None:
        self.content, self.output, self.runs = content, output, 0

    def __call__(self, locked: Iterable[jars.Jar], ivy: Path, cache: Path) -> str:
        self.runs += 1
        if self.content is not None:
            (ivy / "jars").mkdir()
            for jar in locked:
                (ivy / "jars" / jar.ivy_name).write_bytes(self.content)
        return self.output


@pytest.mark.parametrize(
    ("name", "scala", "spark"),
    [("jars.lock", "2.12", "requirements.lock"), ("jars-spark4.lock", "2.13", "requirements-spark4.lock")],
)
def test_lock_names_delta_hudi_and_this_sparks_avro(name: str, scala: str, spark: str) -> None:
    text = jars.LOCK.with_name(name).read_text(encoding="utf-8")
    locked = {jar.coordinate.rsplit(":", 1)[0]: jar for jar in jars.read_lock(text)}
    (version,) = re.findall(
        r"^pyspark==(\S+)", (jars.LOCK.parents[2] / spark).read_text(encoding="utf-8"), re.MULTILINE
    )
    hudi = {f"org.apache.hudi:hudi-spark3.5-bundle_{scala}"} if version.startswith("3.5.") else set()
    assert set(locked) == hudi | {
        f"io.delta:delta-spark_{scala}",
        "io.delta:delta-storage",
        f"org.apache.spark:spark-avro_{scala}",
    }
    assert locked[f"org.apache.spark:spark-avro_{scala}"].coordinate.endswith(f":{version}")
    assert all(len(jar.sha256) == 64 for jar in locked.values())


def test_pyspark_has_what_its_lock_leaves_out() -> None:
    names = {path.name for path in Path(pyspark.__file__).parent.glob("jars/*.jar")}
    (left_out,) = re.findall(r"has them: (.*)\.$", jars.LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"{jar.replace(' ', '-')}.jar" for jar in left_out.split(", ")} <= names


def test_names() -> None:
    assert JAR.file_name == "thing_2.12-1.0.jar"
    assert JAR.ivy_name == "org.example_thing_2.12-1.0.jar"


def test_resolved_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ivy = Ivy(CONTENT)
    monkeypatch.setattr(jars, "_run_ivy", ivy)
    assert jars.class_path() == jars.class_path() == [cache / "jars" / JAR.file_name]
    assert ivy.runs == 1
    assert [path.name for path in cache.iterdir()] == ["jars"]


def test_damaged_file_in_the_cache_is_replaced(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_run_ivy", Ivy(CONTENT))
    (file,) = jars.class_path()
    file.write_bytes(CONTENT[:-1])
    assert jars.class_path()[0].read_bytes() == CONTENT


def test_other_file_than_locked_is_refused_and_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_run_ivy", Ivy(b"another jar"))
    with pytest.raises(AlluviumError, match="is not the locked one"):
        jars.class_path()
    assert list((cache / "jars").iterdir()) == []


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("\tHost repo.example not found. url=x\nException in thread", "Cannot reach a Maven repository"),
        ("Server access error at url x (java.net.ConnectException: refused)", "ALLUVIUM_IVY_SETTINGS"),
        ("x (javax.net.ssl.SSLHandshakeException: PKIX path building failed: y)", "SSL_CERT_FILE"),
        ("java.io.IOException: No space left on device", "The disk is full"),
        ("[FAILED] download failed: org.example#thing;1.0!thing.jar", "~/.m2/repository"),
        ("Exception in thread main: something new", "something new"),
        ("", "Java ended without a word"),
    ],
)
def test_failure_is_one_sentence(cache: Path, monkeypatch: pytest.MonkeyPatch, output: str, sentence: str) -> None:
    monkeypatch.setattr(jars, "_run_ivy", Ivy(None, output))
    with pytest.raises(AlluviumError) as caught:
        jars.class_path()
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_unwritable_cache_is_one_sentence(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with pytest.raises(AlluviumError, match="XDG_CACHE_HOME"):
        jars.class_path()


def test_proxies_of_the_environment_reach_java() -> None:
    assert jars.proxy_options({"https": "http://proxy.example:3128", "no": "localhost,.example"}) == [
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=3128",
        "-Dhttp.nonProxyHosts=localhost|*.example",
    ]
    assert jars.proxy_options({"no": "localhost"}) == []
