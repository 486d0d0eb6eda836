"""The jars that Spark needs beyond PySpark's own: fetched once by Spark's Ivy, verified against jars.lock, kept."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from alluvium import AlluviumError
from alluvium.runtime import java

# Of the Spark that is installed: 3.5 by default, 4.0 from requirements-spark4.lock.
LOCK = Path(__file__).with_name("jars-spark4.lock" if java.IS_SPARK_4 else "jars.lock")
MIRROR = "ALLUVIUM_IVY_SETTINGS"
# Spark's own variable for another repository than Maven Central.
REPOSITORY = "DEFAULT_ARTIFACT_REPOSITORY"
# Without POMs, since the lock names all that is wanted: one in ~/.m2 whose jar is missing would end the search there.
SETTINGS = """<ivysettings>
  <settings defaultResolver="all"/>
  <resolvers>
    <chain name="all" returnFirst="true">
      <ibiblio name="local" m2compatible="true" usepoms="false" root="file:${user.home}/.m2/repository"/>
      <ibiblio name="central" m2compatible="true" usepoms="false" root="${repository}"/>
    </chain>
  </resolvers>
</ivysettings>
"""
MODULE = """<ivy-module version="2.0">
  <info organisation="alluvium" module="jars"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>{}</dependencies>
</ivy-module>
"""
DEPENDENCY = '<dependency org="{}" name="{}" rev="{}" conf="default-&gt;default" transitive="false"/>'
THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Jar:
    """One line of jars.lock.

    Attributes:
        coordinate: Maven's ``group:artifact:version``.
        sha256: hexadecimal digest of the file.
    """

    coordinate: str
    sha256: str

    @property
    def file_name(self) -> str:
        """Name in the cache, ``artifact-version.jar``."""
        _, artifact, version = self.coordinate.split(":")
        return f"{artifact}-{version}.jar"

    def matches(self, path: Path) -> bool:
        """Whether `path` is a file with this digest."""
        try:
            return hashlib.sha256(path.read_bytes()).hexdigest() == self.sha256
        except OSError:
            return False


def read_lock(text: str) -> tuple[Jar, ...]:
    """The jars of a lock file: a coordinate and a digest a line, ``#`` begins a comment."""
    lines = (line.split("#")[0].split() for line in text.splitlines())
    return tuple(Jar(*line) for line in lines if line)


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """``$XDG_CACHE_HOME/alluvium``, by default ``~/.cache/alluvium``."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "alluvium"


def class_path(lock: Path | None = None) -> list[Path]:
    """The verified jars of a lock file, resolved first where the cache has not all of them.

    Args:
        lock: the file; that of the jars which every session needs when None.

    Raises:
        AlluviumError: they cannot be resolved, or are not the locked ones.
    """
    lock = LOCK if lock is None else lock
    jars = read_lock(lock.read_text(encoding="utf-8"))
    cache = cache_directory()
    directory = cache / "jars"
    if not all(jar.matches(directory / jar.file_name) for jar in jars):
        print(f"Fetching {', '.join(jar.file_name for jar in jars)}, once.", file=sys.stderr, flush=True)
        try:
            directory.mkdir(parents=True, exist_ok=True)
            resolve(jars, directory, cache)
        except OSError as error:
            raise AlluviumError(
                f"Cannot write {error.filename or directory} ({error.strerror}): free some space there, "
                "or name another directory in XDG_CACHE_HOME."
            ) from error
    return [directory / jar.file_name for jar in jars]


def resolve(jars: Iterable[Jar], directory: Path, cache: Path) -> None:
    """Fetch `jars` with Spark's Ivy into `directory`, each verified before it gets its name there.

    Raises:
        AlluviumError: with the reason and the remedy.
    """
    with tempfile.TemporaryDirectory(prefix="ivy-", dir=cache) as ivy:
        output = _run_ivy(jars, Path(ivy), cache)
        # A file that the settings include, or a variable, may have named it.
        require_https(re.findall(r"^downloading (\S+)", output, re.MULTILINE), f"the repository of {MIRROR}")
        for jar in jars:
            found = Path(ivy, "jars", jar.file_name)
            if not found.exists():
                raise AlluviumError(explain(output, jar, directory))
            if not jar.matches(found):
                raise AlluviumError(
                    f"{jar.coordinate} as downloaded is not the locked one (SHA-256 differs): something between this "
                    "machine and the repository alters files; try another network, then 'make setup' again."
                )
            # Another process may do the same at the same time: a rename is atomic, and both files are equal.
            found.replace(directory / jar.file_name)


def _run_ivy(jars: Iterable[Jar], ivy: Path, cache: Path) -> str:
    import pyspark

    named = os.environ.get(MIRROR)
    settings = Path(named).absolute() if named else ivy / "ivysettings.xml"
    repository = os.environ.get(REPOSITORY) or "https://repo1.maven.org/maven2/"
    if named:
        require_https(addresses_in(settings), f"{MIRROR} ({settings})")
    else:
        require_https([repository], REPOSITORY)
        settings.write_text(SETTINGS, encoding="utf-8")
    dependencies = "".join(DEPENDENCY.format(*jar.coordinate.split(":")) for jar in jars)
    (ivy / "ivy.xml").write_text(MODULE.format(dependencies), encoding="utf-8")
    runtime = java.use()
    # In a JVM of its own, with no jar on its class path but this one: what is fetched is not verified yet.
    (own,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    command = [
        str(runtime.home / "bin" / "java"),
        *java.options(runtime, cache),
        *proxy_options(urllib.request.getproxies()),
        f"-Drepository={repository}",
        *("-cp", str(own), "org.apache.ivy.Main"),
        *("-settings", str(settings), "-ivy", "ivy.xml", "-cache", "cache"),
        *("-retrieve", "jars/[artifact]-[revision].[ext]"),
    ]
    done = subprocess.run(command, cwd=ivy, capture_output=True, encoding="utf-8", errors="replace", check=False)
    return done.stdout + done.stderr


def addresses_in(settings: Path) -> list[str]:
    """The values of an Ivy settings file, addresses among them.

    Raises:
        AlluviumError: it cannot be read.
    """
    try:
        return [value for element in ElementTree.parse(settings).iter() for value in element.attrib.values()]
    except (OSError, ElementTree.ParseError) as error:
        raise AlluviumError(f"{MIRROR} is {settings}, which cannot be read: {error}.") from error


def require_https(addresses: Iterable[str], named_by: str) -> None:
    """Refuse what crosses a network in plain text, though a locked hash protects each jar.

    Passwords of mirrors are not protected, nor are POMs, which Ivy reads before a jar: they have no hash, and Ivy
    (2.5.1) expands external entities in them (CVE-2022-46751).

    Args:
        addresses: of repositories; other texts are ignored.
        named_by: what has them, for the message.

    Raises:
        AlluviumError: one is ``http://`` of another machine.
    """
    for address in addresses:
        parts = urllib.parse.urlsplit(address)
        if parts.scheme in {"http", "ftp"} and parts.hostname not in THIS_MACHINE:
            # Without what may be a password.
            raise AlluviumError(
                f"{named_by} has {parts.scheme}://{parts.hostname}; allowed: https://..., or http:// of "
                f"{', '.join(THIS_MACHINE)}."
            )


def proxy_options(proxies: Mapping[str, str]) -> list[str]:
    """JVM options for the proxies that pip and git take from the environment, which Java does not read."""
    options = []
    for scheme in ("http", "https"):
        proxy = proxies.get(scheme)
        if proxy:
            address = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
            options.append(f"-D{scheme}.proxyHost={address.hostname}")
            options.append(f"-D{scheme}.proxyPort={address.port or 80}")
    hosts = [host.strip() for host in proxies.get("no", "").split(",") if host.strip()]
    if options and hosts:
        options.append("-Dhttp.nonProxyHosts=" + "|".join("*" + h if h.startswith(".") else h for h in hosts))
    return options


def explain(output: str, jar: Jar, directory: Path) -> str:
    """One sentence for the user from what Ivy printed when it could not get `jar`."""
    elsewhere = f"or copy {jar.file_name} to {directory}"
    if "PKIX path building failed" in output:
        return (
            f"Java does not trust the certificate of the Maven repository that has {jar.coordinate}: name your "
            f"organisation's CA bundle in SSL_CERT_FILE, {elsewhere}, then run 'make setup' again."
        )
    if "No space left on device" in output:
        return f"The disk is full: free some space on the one of {directory}, then run 'make setup' again."
    if re.search(r"Host \S+ not found|Server access error|timed out", output):
        return (
            f"Cannot reach a Maven repository for {jar.coordinate}: connect to the network, or name the Ivy settings "
            f"of your mirror in {MIRROR}, {elsewhere}, then run 'make setup' again."
        )
    lines = [line.strip() for line in output.splitlines() if re.search("Exception|rror:|FAILED|not found", line)]
    reason = lines[0] if lines else "Java ended without a word"
    return f"Ivy cannot fetch {jar.coordinate} ({reason[:300]}): mend it, {elsewhere}, and run 'make setup' again."
