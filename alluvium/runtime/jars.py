"""The jars that Spark needs beyond PySpark's own: resolved once by Spark's Ivy, verified against jars.lock, kept."""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from alluvium import AlluviumError
from alluvium.runtime import java

# Of the Spark that is installed: 3.5 by default, 4.0 from requirements-spark4.lock.
LOCK = Path(__file__).with_name("jars-spark4.lock" if java.IS_SPARK_4 else "jars.lock")
# PySpark has the very version that Delta asks for: 3.5.7 has 4.9.3, 4.0.2 has 4.13.1.
EXCLUDES = ("org.antlr:antlr4-runtime",)


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

    @property
    def ivy_name(self) -> str:
        """Name that Spark's Ivy gives to the file, ``group_artifact-version.jar``."""
        return self.coordinate.split(":")[0] + "_" + self.file_name

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
    """Resolve `jars` with Spark's Ivy into `directory`, each verified before it gets its name there.

    Raises:
        AlluviumError: with the reason and the remedy.
    """
    with tempfile.TemporaryDirectory(prefix="ivy-", dir=cache) as ivy:
        output = _run_ivy(jars, Path(ivy), cache)
        for jar in jars:
            found = Path(ivy, "jars", jar.ivy_name)
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
    from pyspark import SparkConf
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    runtime = java.use()
    own_spark()
    conf = SparkConf(loadDefaults=False)
    conf.set("spark.jars.packages", ",".join(jar.coordinate for jar in jars))
    conf.set("spark.jars.excludes", ",".join(EXCLUDES))
    conf.set("spark.jars.ivy", str(ivy))
    # In client mode spark-submit resolves in the JVM that it starts with these options.
    options = [*java.options(runtime, cache), *proxy_options(urllib.request.getproxies())]
    conf.set("spark.driver.extraJavaOptions", " ".join(options))
    settings = os.environ.get("ALLUVIUM_IVY_SETTINGS")
    if settings:
        conf.set("spark.jars.ivySettings", str(Path(settings).absolute()))
    with tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="replace") as log:
        try:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": log, "stderr": log})  # type: ignore[no-untyped-call]  # PySpark has no annotations here
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait(timeout=60)
        except PySparkRuntimeError:
            pass  # the log has the reason
        log.seek(0)
        return log.read()


def own_spark() -> None:
    """Make PySpark use the Spark inside the environment, whatever SPARK_HOME says: the jars fit this one only."""
    import pyspark

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)


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
            f"of your mirror in ALLUVIUM_IVY_SETTINGS, {elsewhere}, then run 'make setup' again."
        )
    if "download failed" in output:
        return (
            f"Ivy knows {jar.coordinate} but has no file of it, most likely a half-filled ~/.m2/repository: "
            "remove its folder there, then run 'make setup' again."
        )
    lines = [line.strip() for line in output.splitlines() if "Exception" in line or "rror:" in line]
    reason = lines[0] if lines else "Java ended without a word"
    return f"Spark cannot resolve {jar.coordinate} ({reason[:300]}): mend it, {elsewhere}, and run 'make setup' again."
