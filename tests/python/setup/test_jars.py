"""The jars' lock file, their cache, where they may come from, and what is said when they cannot be had."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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
                (ivy / "jars" / jar.file_name).write_bytes(self.content)
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


@pytest.mark.parametrize("lock", sorted(jars.LOCK.parent.glob("jars*.lock")), ids=lambda lock: lock.name)
def test_each_jar_has_a_locked_hash(lock: Path) -> None:
    locked = jars.read_lock(lock.read_text(encoding="utf-8"))
    assert locked
    assert [jar for jar in locked if not re.fullmatch("[0-9a-f]{64}", jar.sha256)] == []


def test_pyspark_has_what_its_lock_leaves_out() -> None:
    names = {path.name for path in Path(pyspark.__file__).parent.glob("jars/*.jar")}
    (left_out,) = re.findall(r"has them: (.*)\.$", jars.LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert {f"{jar.replace(' ', '-')}.jar" for jar in left_out.split(", ")} <= names


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
        (
            "\t[FAILED     ] org.example#thing_2.12;1.0!thing_2.12.jar: why",
            "org.example#thing_2.12;1.0!thing_2.12.jar: why",
        ),
        ("\t\tmodule not found: org.example#thing_2.12;1.0", "(module not found: org.example#thing_2.12;1.0)"),
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


class Repository(ThreadingHTTPServer):
    """A Maven repository of this machine.

    Attributes:
        files: what it has, by address.
        asked: addresses that were asked for and are there.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.asked: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    server: Repository

    def do_GET(self) -> None:
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.server.asked.add(self.path)
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    do_HEAD = do_GET  # noqa: N815 its name for the server

    def log_message(self, *_: object) -> None:
        """Nothing."""


POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>{}</artifactId><version>1.0</version>
<dependencies><dependency><groupId>org.example</groupId><artifactId>other</artifactId><version>1.0</version></dependency>
</dependencies></project>"""
SETTINGS = """<ivysettings xmlns:m="http://ant.apache.org/ivy/maven">
<!-- http://www.apache.org/licenses/LICENSE-2.0 -->
<settings defaultResolver="mirror"/>
<resolvers><ibiblio name="mirror" m2compatible="true" root="{}"/></resolvers></ivysettings>"""


@pytest.fixture
def repository() -> Iterator[Repository]:
    with Repository() as server:
        for name, content in (("thing_2.12", CONTENT), ("other", b"not locked")):
            place = f"/org/example/{name}/1.0/{name}-1.0"
            server.files |= {f"{place}.jar": content, f"{place}.pom": POM.format(name).encode()}
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def mirror(repository: Repository, cache: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    address = f"http://127.0.0.1:{repository.server_port}/"
    monkeypatch.setenv(jars.REPOSITORY, address)
    if variable == jars.MIRROR:
        settings = cache.parent / "ivysettings.xml"
        settings.parent.mkdir()
        settings.write_text(SETTINGS.format(address), encoding="utf-8")
        monkeypatch.setenv(variable, str(settings))


@pytest.mark.parametrize("variable", [jars.MIRROR, jars.REPOSITORY])
def test_mirror_is_asked_for_locked_jars_alone(
    cache: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """At an address of this machine, which crosses no network, plain HTTP will do."""
    mirror(repository, cache, monkeypatch, variable)
    (file,) = jars.class_path()
    assert file.read_bytes() == CONTENT
    assert {path for path in repository.asked if path.endswith(".jar")} == {
        "/org/example/thing_2.12/1.0/thing_2.12-1.0.jar"
    }


@pytest.mark.parametrize("variable", [jars.MIRROR, jars.REPOSITORY])
def test_other_jar_of_a_mirror_is_refused_and_not_kept(
    cache: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    mirror(repository, cache, monkeypatch, variable)
    repository.files["/org/example/thing_2.12/1.0/thing_2.12-1.0.jar"] = b"another jar"
    with pytest.raises(AlluviumError, match=r"org\.example:thing_2\.12:1\.0 as downloaded is not the locked one"):
        jars.class_path()
    assert list((cache / "jars").iterdir()) == []


def test_jar_that_a_mirror_lacks_is_one_sentence(
    cache: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror(repository, cache, monkeypatch, jars.MIRROR)
    repository.files.clear()
    with pytest.raises(AlluviumError, match=r"Ivy cannot fetch .* \(module not found: org\.example#thing_2\.12;1\.0\)"):
        jars.class_path()


@pytest.mark.parametrize(
    "address", ["http://user:secret@nexus.example:8081/maven", "HTTP://127.0.0.1.example/", "ftp://nexus.example/"]
)
@pytest.mark.parametrize("variable", [jars.MIRROR, jars.REPOSITORY])
def test_plain_http_of_another_machine_is_refused_before_it_is_asked(
    cache: Path, monkeypatch: pytest.MonkeyPatch, variable: str, address: str
) -> None:
    settings = cache.parent / "ivysettings.xml"
    settings.parent.mkdir()
    settings.write_text(SETTINGS.format(address), encoding="utf-8")
    monkeypatch.setenv(variable, str(settings) if variable == jars.MIRROR else address)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("Ivy was started"))
    with pytest.raises(
        AlluviumError, match=r"has (http|ftp)://[a-z0-9.]+example; allowed: https://\.\.\., or http:// of"
    ) as caught:
        jars.class_path()
    assert variable in str(caught.value)
    assert "secret" not in str(caught.value)


def test_plain_http_that_the_settings_include_is_refused(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "_run_ivy", Ivy(CONTENT, "downloading http://nexus.example/thing.jar ..."))
    with pytest.raises(AlluviumError, match=r"has http://nexus\.example; allowed: https"):
        jars.class_path()
    assert list((cache / "jars").iterdir()) == []


@pytest.mark.parametrize("text", [None, "<ivysettings>"])
def test_unreadable_settings_are_one_sentence(cache: Path, monkeypatch: pytest.MonkeyPatch, text: str | None) -> None:
    settings = cache.parent / "ivysettings.xml"
    settings.parent.mkdir()
    if text:
        settings.write_text(text, encoding="utf-8")
    monkeypatch.setenv(jars.MIRROR, str(settings))
    with pytest.raises(AlluviumError, match=r"ALLUVIUM_IVY_SETTINGS is \S+ivysettings\.xml, which cannot be read: "):
        jars.class_path()


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
