"""Spark's Thrift server in a process of its own, over the session of the embedded target.

One place defines its settings, the profile's target with the method `session`. A target with the method `thrift`
reaches it. dbt and other clients share the session, so that what a run leaves for its later statements is there
whichever connection asks.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from alluvium import AlluviumError
from alluvium.runtime import session
from alluvium.server import security

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

    from alluvium.runtime.profile import SessionTarget

HOST = "127.0.0.1"
PORT = 10000
SECONDS_TO_START = 180
SECONDS_TO_STOP = 60
LINES_OF_AN_ERROR = 5


@dataclass(frozen=True)
class Address:
    """Where a server listens, and what runs it.

    Attributes:
        host: name or address.
        port: of TCP.
        pid: of the process.
    """

    host: str
    port: int
    pid: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port} (process {self.pid})"


class Place:
    """The files of a target's server, beside its warehouse.

    Attributes:
        log: what the server and Spark print.
        operation_logs: a directory for Hive's logs of single statements.
    """

    def __init__(self, target: SessionTarget) -> None:
        """Does not touch the files.

        Args:
            target: whose session the server has.
        """
        home = session.home(target.parameters, target.project_directory)
        self.log = home / "thrift_server.log"
        self.operation_logs = home / "thrift_operation_logs"
        self._address = home / "thrift_server.json"
        self._lock = home / "thrift_server.lock"

    def address(self) -> Address | None:
        """The running server's; None where none runs, or none is ready."""
        if not self.is_held():
            return None
        try:
            return Address(**json.loads(self._address.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None

    def is_held(self) -> bool:
        """Whether a living process has the place; a process that was killed leaves files and no lock.

        Raises:
            AlluviumError: its files cannot be written.
        """
        try:
            with self._locked() as is_ours:
                return not is_ours
        except FileNotFoundError:
            return False

    @contextmanager
    def _locked(self) -> Iterator[bool]:
        """Whether the lock is this process's meanwhile: False where another one has it."""
        try:
            lock = self._lock.open("a")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._unusable(error) from error
        with lock:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = True
            except OSError:
                is_ours = False
            yield is_ours

    def _unusable(self, error: OSError) -> AlluviumError:
        return AlluviumError(f"The server's files cannot be written: {self._lock}: {error.strerror or error}.")

    def taken(self) -> AlluviumError:
        """What to say where a server has the place."""
        return AlluviumError(f"A server runs already at {self.address() or 'this place'}: alluvium serve stop.")

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep the place for this process.

        Raises:
            AlluviumError: another one has it, or its files cannot be written.
        """
        try:
            self._lock.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from error
        with self._locked() as is_ours:
            if not is_ours:
                raise self.taken()
            self._address.unlink(missing_ok=True)
            try:
                yield
            finally:
                self._address.unlink(missing_ok=True)

    def publish(self, address: Address) -> None:
        """Say where the server listens; readers see all of it or nothing."""
        written = self._address.with_suffix(".new")
        written.write_text(json.dumps(asdict(address)), encoding="utf-8")
        written.rename(self._address)

    def last_lines(self, count: int, begin: int = 0) -> str:
        """The end of the log; empty where there is none.

        Args:
            count: how many lines at most.
            begin: position in the file, in bytes, before which no line is taken.
        """
        try:
            written = self.log.read_bytes()[begin:]
        except OSError:
            return ""
        return "\n".join(written.decode(errors="replace").splitlines()[-count:])


def run(target: SessionTarget, host: str = HOST, port: int = PORT) -> None:
    """Serve in this process until it is told to end (SIGTERM, SIGINT).

    Args:
        target: whose settings the session has.
        host: to listen at; one of this machine alone where the settings have no passwords and TLS.
        port: of TCP.

    Raises:
        AlluviumError: strangers could use the server, the port is taken, a server runs, or Spark cannot start.
    """
    security.require_safe(host, target.parameters, target.project_directory)
    place = Place(target)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with place.hold():
        if is_open(host, port):
            raise AlluviumError(f"serve: --port {port} is taken by another process; name a free one.")
        spark = listen(target, host, port)
        while not is_open(host, port) and not ended.wait(0.1):
            pass
        if not ended.is_set():
            place.publish(Address(host, port, os.getpid()))
            print(f"listening at {host}:{port}", flush=True)
        while not ended.wait(1):
            if not session.is_alive(spark):
                # Nothing is left to end in order, and Py4J would wait for answers.
                print(
                    "alluvium: Spark has ended, and so does its server: alluvium serve start.",
                    file=sys.stderr,
                    flush=True,
                )
                os._exit(1)
        session.stop(spark)


def listen(target: SessionTarget, host: str = HOST, port: int = PORT) -> SparkSession:
    """Make the session of this process a server's, which may not listen yet.

    Args:
        target: whose settings the session has.
        host: to listen at.
        port: of TCP.

    Raises:
        AlluviumError: Spark cannot start, or its server is not the one that was asked for.
    """
    from py4j.protocol import Py4JJavaError

    for name in [name for name in os.environ if name.startswith(security.VARIABLES)]:
        del os.environ[name]
    spark = session.get_or_create(_settings(target, host, port), target.project_directory)
    context = spark._jsparkSession.sqlContext()
    server = spark._jvm.org.apache.spark.sql.hive.thriftserver  # type: ignore[union-attr]  # a live session has one
    with security.prepared(spark, target.parameters):
        try:
            started = server.HiveThriftServer2.startWithContext(context)
        except Py4JJavaError as error:
            raise AlluviumError(f"serve: Spark's server does not start: {security.first_cause(error)}.") from error
    security.require_as_asked(started, host, target.parameters)
    _share_metastore(spark, started)
    return spark


def _share_metastore(spark: SparkSession, started: JavaObject) -> None:
    """Have the connections of clients ask the metastore with the options that the session has, where it is local.

    Spark (3.5.7) gives them one more of DataNucleus, and Hive keeps one set of options in a JVM: whenever a connection
    ended (SessionState.close) the metastore was opened anew, and by the session's next statement again. The one before
    was then closed by a finalizer of DataNucleus, which calls ``System.gc()``.
    """
    options, pattern = started.getHiveConf(), "jdo|datanucleus"
    own = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client().conf().getValByRegex(pattern)
    for name in set(options.getValByRegex(pattern)) - set(own):
        options.unset(name)


def start(target: SessionTarget, host: str = HOST, port: int = PORT, arguments: tuple[str, ...] = ()) -> Address:
    """Have a process of its own serve, and wait until it does.

    Args:
        target: whose settings the session has.
        host: to listen at; one of this machine alone where the settings have no passwords and TLS.
        port: of TCP.
        arguments: of ``alluvium serve run`` that name the target.

    Raises:
        AlluviumError: it has ended instead, or takes too long; with the end of what it has written to its log.
    """
    security.require_safe(host, target.parameters, target.project_directory)
    place = Place(target)
    if place.is_held():
        raise place.taken()
    place.log.parent.mkdir(parents=True, exist_ok=True)
    with place.log.open("ab") as log:
        log.write(f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC: a server starts\n".encode())
        log.flush()
        begin = log.tell()
        process = subprocess.Popen(
            [sys.executable, "-m", "alluvium.cli", "serve", "run", "--host", host, "--port", str(port), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + SECONDS_TO_START
    while (address := place.address()) is None:
        try:
            process.wait(timeout=0.2)
        except subprocess.TimeoutExpired:
            if time.monotonic() < deadline:
                continue
            process.terminate()
        said = place.last_lines(LINES_OF_AN_ERROR, begin)
        raise AlluviumError(f"The server did not start; the end of {place.log}:\n{said}")
    return address


def stop(target: SessionTarget) -> Address | None:
    """End a target's server and wait until it has ended; None where none ran.

    Raises:
        AlluviumError: it does not end.
    """
    place = Place(target)
    address = place.address()
    if address is None:
        return None
    os.kill(address.pid, signal.SIGTERM)
    deadline = time.monotonic() + SECONDS_TO_STOP
    while place.is_held():
        if time.monotonic() > deadline:
            raise AlluviumError(f"The server at {address} has not ended in {SECONDS_TO_STOP} s: kill -9 {address.pid}.")
        time.sleep(0.1)
    return address


def _settings(target: SessionTarget, host: str, port: int) -> dict[str, str]:
    return security.session_settings(target.parameters, target.project_directory) | {
        # What one statement of a run leaves, the next one finds on any connection (macros/lib/session.sql).
        "spark.sql.hive.thriftServer.singleSession": "true",
        # A build takes the session, as long as it runs. Among Spark's settings: no client's RESET ends it.
        "alluvium.is_shared": "true",
        "spark.hadoop.hive.server2.thrift.bind.host": host,
        "spark.hadoop.hive.server2.thrift.port": str(port),
        # By default below /tmp, one for all servers of a user: each that ends removes what the others have there.
        "spark.hadoop.hive.server2.logging.operation.log.location": str(Place(target).operation_logs),
    }


def free_port() -> int:
    """A port of loopback that nothing listens at now, for a server that is to be reached by this process alone."""
    with socket.create_server((HOST, 0)) as free:
        port: int = free.getsockname()[1]
        return port


def is_open(host: str, port: int) -> bool:
    """Whether anything listens there.

    Args:
        host: name or address.
        port: of TCP.
    """
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
