"""The hosted Thrift server: its commands, and the project built over it; what starts a server is a slow suite."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyhive import hive  # type: ignore[import-untyped]  # it has no annotations

from alluvium import AlluviumError, cli
from alluvium.runtime import java, profile, session
from alluvium.runtime.profile import SessionTarget
from alluvium.server import hosting, security
from alluvium.server.hosting import Address, Place
from scripts.demo import loads

REPOSITORY = Path(__file__).parents[3]
TABLES = ("slv_moma__artists", "slv_moma__artworks")
FIRST, SECOND, THIRD, FOURTH, FIFTH = loads("moma")[:5]
PAGE = REPOSITORY / "docs" / "guide" / "thrift-server.md"


@pytest.fixture
def target(tmp_path: Path) -> SessionTarget:
    return SessionTarget(tmp_path, "local", "silver", {"spark.sql.warehouse.dir": ".alluvium/warehouse"})


def test_files_lie_beside_the_warehouse(target: SessionTarget) -> None:
    assert Place(target).log == target.project_directory / ".alluvium" / "thrift_server.log"


def test_only_lines_of_this_start_are_its_reason(
    target: SessionTarget, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(target)
    place.log.parent.mkdir()
    place.log.write_text("of the server before\nlistening at 127.0.0.1:10000\n", encoding="utf-8")
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\necho alluvium: why >&2\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    with pytest.raises(AlluviumError) as failed:
        hosting.start(target)
    assert str(failed.value) == f"The server did not start; the end of {place.log}:\nalluvium: why"
    before, began, why = place.last_lines(3).splitlines()
    assert (before, why) == ("listening at 127.0.0.1:10000", "alluvium: why")
    assert began.endswith(" UTC: a server starts")


def test_logs_of_no_server(
    target: SessionTarget, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(profile, "session_target", lambda *_: target)
    monkeypatch.setattr("sys.argv", ["alluvium", "serve", "logs"])
    with pytest.raises(SystemExit):
        cli.main()
    assert capsys.readouterr().out == "no log: no server was started yet\n"


def thrown(*said: str) -> Py4JJavaError:
    """What Py4J raises for a chain of Java's exceptions, the outermost first."""
    exception = None
    for one in reversed(said):
        cause, exception = exception, Mock(_target_id="o1")
        exception.toString.return_value = one
        exception.getMessage.return_value = one.partition(": ")[2]
        exception.getCause.return_value = cause
    return Py4JJavaError("An error occurred while calling o1.", exception)


def test_first_cause_is_said_where_sparks_server_does_not_start(
    target: SessionTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Mock()
    start = spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext
    start.side_effect = thrown("a.ServiceException: Error initializing", "java.net.BindException: Address in use.")
    monkeypatch.setattr(session, "get_or_create", lambda *_: spark)
    with pytest.raises(AlluviumError) as failed:
        hosting.listen(target)
    assert str(failed.value) == "serve: Spark's server does not start: java.net.BindException: Address in use."


def test_connections_have_the_options_of_the_sessions_metastore(
    target: SessionTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    spark = Mock()
    started = spark._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext.return_value
    client = spark._jsparkSession.sharedState().externalCatalog().unwrapped().client()
    client.conf().getValByRegex.side_effect = {"jdo|datanucleus": {"javax.jdo.a": "1"}}.get
    started.getHiveConf().getValByRegex.side_effect = {
        "jdo|datanucleus": {"javax.jdo.a": "1", "datanucleus.b": "2"}
    }.get
    monkeypatch.setattr(session, "get_or_create", lambda *_: spark)
    monkeypatch.setattr(security, "require_as_asked", lambda *_: None)
    assert hosting.listen(target) is spark
    started.getHiveConf().unset.assert_called_once_with("datanucleus.b")


def test_each_server_has_its_own_logs_of_statements(target: SessionTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hive's default is one directory for all servers of a user."""
    settings: dict[str, str] = {}

    def get_or_create(given: dict[str, str], _: Path) -> NoReturn:
        settings.update(given)
        raise AlluviumError("no session")

    monkeypatch.setattr(session, "get_or_create", get_or_create)
    with pytest.raises(AlluviumError, match="no session"):
        hosting.listen(target)
    location = settings["spark.hadoop.hive.server2.logging.operation.log.location"]
    assert location == str(target.project_directory / ".alluvium" / "thrift_operation_logs")


LOGS = """
import os
from alluvium.runtime import java, session
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
java.use(); os.environ.update(session.environment())
options = {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{session.LOGGING}"}
gateway = launch_gateway(SparkConf(loadDefaults=False).setAll(options.items()))
java = gateway.jvm.java
log = gateway.jvm.org.apache.logging.log4j.LogManager.getLogger("of.Spark")
log.error("first", java.lang.RuntimeException("outer", java.lang.RuntimeException("inner", java.io.IOException("why"))))
log.error("second")
log.error("third", java.lang.RuntimeException("alone"))
log.error("fourth")
gateway.shutdown()
"""


def test_log_has_causes_and_a_line_for_each_entry() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOGS], cwd=REPOSITORY, env=os.environ, capture_output=True, text=True, check=True
    )
    written = [line for line in done.stderr.splitlines() if not re.match(r"\t\.\.\. ", line)]
    assert [re.sub(r"^[\d:]{8} ", "", line) for line in written] == [
        "ERROR Spark: first",
        "java.io.IOException: why",
        "Wrapped by: java.lang.RuntimeException: inner",
        "Wrapped by: java.lang.RuntimeException: outer",
        "ERROR Spark: second",
        "ERROR Spark: third",
        "java.lang.RuntimeException: alone",
        "ERROR Spark: fourth",
    ]


def test_nothing_runs(target: SessionTarget) -> None:
    assert Place(target).address() is None
    assert hosting.stop(target) is None


def test_files_of_a_killed_server_are_none_of_a_running_one(target: SessionTarget) -> None:
    place, address = Place(target), Address("127.0.0.1", 10000, os.getpid())
    place.log.parent.mkdir()
    # A lock is its process's, so another one has to look.
    look = f"""
from pathlib import Path
from alluvium.runtime.profile import SessionTarget
from alluvium.server.hosting import Place
print(Place(SessionTarget(Path({str(target.project_directory)!r}), "local", "silver", {target.parameters!r})).address())
"""
    with place.hold():
        place.publish(address)
        assert said(sys.executable, "-c", look) == f"{address}\n"
    assert said(sys.executable, "-c", look) == "None\n"
    place.publish(address)
    assert said(sys.executable, "-c", look) == "None\n"


def test_home_that_is_none_is_no_running_server(target: SessionTarget) -> None:
    (target.project_directory / ".alluvium").write_text("a file", encoding="utf-8")
    for asked in (Place(target).is_held, lambda: hosting.start(target), lambda: hosting.stop(target)):
        with pytest.raises(AlluviumError, match=r"files cannot be written: \S+thrift_server\.lock: Not a directory"):
            asked()
    with pytest.raises(AlluviumError, match="cannot be written"), Place(target).hold():
        pass


def test_port_that_is_taken(target: SessionTarget) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AlluviumError, match=f"--port {port} is taken"):
            hosting.run(target, port=port)
    for number, handler in before.items():
        signal.signal(number, handler)


def said(*command: str) -> str:
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout


class Cable:
    """Between clients and a server, until it is cut."""

    def __init__(self, port: int) -> None:
        self._to = ("127.0.0.1", port)
        self._ends: list[socket.socket] = []
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._connect, daemon=True).start()

    def _connect(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(self._to)
                self._ends += [client, server]
                for one, other in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while some := one.recv(65536):
                other.sendall(some)

    def cut(self) -> None:
        """Nothing arrives any more, on either side."""
        for end in (self._listener, *self._ends):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class Terminal:
    """A shell in the repository, with tables, landed files and a port of its own."""

    def __init__(self, home: Path) -> None:
        self.port = hosting.free_port()
        self.landing = home / "landing" / "moma"
        self.environment = os.environ | {
            "ALLUVIUM_HOME": str(home / "tables"),
            "ALLUVIUM_LANDING": str(home / "landing"),
            "ALLUVIUM_THRIFT_PORT": str(self.port),
            "DBT_TARGET_PATH": str(home / "target"),
            "DBT_LOG_PATH": str(home / "logs"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def begins(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=REPOSITORY,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def types(self, *command: str, code: int = 0) -> str:
        """What a command prints; it ends with `code`."""
        process = self.begins(*command)
        printed, _ = process.communicate(timeout=600)
        assert process.returncode == code, printed
        return printed

    @contextlib.contextmanager
    def over_a_cable(self) -> Iterator[Cable]:
        """The commands that it types reach the server through it."""
        cable = Cable(self.port)
        self.environment["ALLUVIUM_THRIFT_PORT"] = str(cable.port)
        try:
            yield cable
        finally:
            self.environment["ALLUVIUM_THRIFT_PORT"] = str(self.port)
            cable.cut()

    def lands(self, load: Path) -> None:
        shutil.copytree(load, self.landing, dirs_exist_ok=True)

    def rows(self, query: str) -> list[dict[str, str | None]]:
        """What a client that is not dbt gets, all of it as text."""
        with contextlib.closing(hive.connect("127.0.0.1", self.port)) as connection:
            cursor = connection.cursor()
            cursor.execute(query)
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


BUILD = ("dbt", "build", "--target", "thrift", "--select", *(f"+{table}" for table in TABLES))


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path_factory.mktemp("served"))
    terminal.lands(FIRST)
    printed = terminal.types("alluvium", "serve", "start")
    assert printed.startswith(f"listening at 127.0.0.1:{terminal.port} (process ")
    yield terminal
    terminal.types("alluvium", "serve", "stop")


def assert_as_expected(terminal: Terminal, load: Path) -> None:
    so_far = loads("moma")[: loads("moma").index(load) + 1]
    for table in TABLES:
        # A load that does not change a table expects of it what the one before does.
        files = [load.parent / "expected" / one.name / f"{table}.jsonl.gz" for one in so_far]
        *_, file = (one for one in files if one.exists())
        expected = [json.loads(line) for line in gzip.decompress(file.read_bytes()).decode().splitlines()]
        columns = ", ".join(f"cast(`{name}` as string) as `{name}`" for name in expected[0])
        found = terminal.rows(f"select {columns} from silver.{table}")
        assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.slow
def test_one_server_a_place(terminal: Terminal) -> None:
    assert "alluvium: A server runs already at 127.0.0.1:" in terminal.types("alluvium", "serve", "start", code=1)
    assert terminal.types("alluvium", "serve", "status").startswith(f"listening at 127.0.0.1:{terminal.port} ")
    assert (Path(terminal.environment["ALLUVIUM_HOME"]) / "thrift_operation_logs").is_dir()
    logs = terminal.types("alluvium", "serve", "logs", "--lines", "100000")
    assert re.search(r"^2\d{3}-\d\d-\d\d [0-9:]{8} UTC: a server starts\n(.*\n)*listening at", logs, re.MULTILINE), logs
    # The tables' catalog has one process at a time.
    refused = terminal.types("alluvium", "sql", "-e", "select 1", code=1)
    assert "alluvium serve stop" in refused


@pytest.mark.slow
def test_project_is_built_over_the_server(terminal: Terminal) -> None:
    """With a connection for each thread of dbt's, not for each model and test."""
    with terminal.over_a_cable() as cable:
        printed = terminal.types(*BUILD)
    passed = re.search(r"PASS=(\d+) .* ERROR=0", printed)
    assert passed
    assert cable.connections < 10 < int(passed[1])
    assert_as_expected(terminal, FIRST)


@pytest.mark.slow
def test_connection_costs_no_more_than_some_statements(terminal: Terminal) -> None:
    """About two; twenty where the metastore is opened anew with each (Spark 3.5.7)."""
    statement = "show databases"
    terminal.rows(statement)

    def seconds(connections: int, statements: int) -> float:
        begun = time.monotonic()
        for _ in range(connections):
            with contextlib.closing(hive.connect("127.0.0.1", terminal.port)) as connection:
                cursor = connection.cursor()
                for _ in range(statements):
                    cursor.execute(statement)
                    cursor.fetchall()
        return time.monotonic() - begun

    one_statement = (seconds(1, 101) - seconds(1, 1)) / 100
    assert seconds(20, 1) / 20 < 10 * one_statement


@pytest.mark.slow
def test_clients_read_while_a_build_merges(terminal: Terminal) -> None:
    """Each sees the table before the merge or after it."""
    terminal.lands(SECOND)
    counts: list[str] = []
    ended, failed = threading.Event(), []

    def read() -> None:
        try:
            while not ended.wait(0.5):
                (row,) = terminal.rows("select cast(count(*) as string) as rows from silver.slv_moma__artists")
                counts.append(str(row["rows"]))
        except Exception as error:  # of another thread: nothing else would show it
            failed.append(error)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        terminal.types(*BUILD)
    finally:
        ended.set()
        for reader in readers:
            reader.join()
    assert failed == []
    assert counts
    assert set(counts) <= {"917", "916"}
    assert_as_expected(terminal, SECOND)


OF_THE_SERVER = {"alluvium.is_shared", "alluvium.project_directory"}


def own_settings(terminal: Terminal) -> set[str]:
    names = {str(row["key"]) for row in terminal.rows("set")}
    return {name for name in names if name.startswith("alluvium.")}


@pytest.mark.slow
def test_build_leaves_nothing_in_the_session(terminal: Terminal) -> None:
    """What stays there stays until the server ends, and each connection that ends looks at all views."""
    views = [view["viewName"] for view in terminal.rows("show views")]
    assert views
    for view in views:
        assert terminal.rows(f"select * from {view}") == [{"rows": "written"}]
    assert own_settings(terminal) == OF_THE_SERVER


def begun(terminal: Terminal, model: str) -> subprocess.Popen[str]:
    """A build that has come to a model."""
    build = terminal.begins(*BUILD)
    assert build.stdout is not None
    assert any(f"START sql incremental model silver.{model} " in line for line in build.stdout)
    return build


@pytest.mark.slow
def test_one_build_at_a_time(terminal: Terminal) -> None:
    """What a model is about to write has the model's name alone, and all clients share the session."""
    terminal.lands(THIRD)
    build = begun(terminal, "stg_moma__artists")
    refused = terminal.types(*BUILD, code=2)
    assert "has the session of this server: wait until it has ended" in refused
    build.kill()
    build.communicate()
    (command,) = re.findall(r"`(dbt run-operation release_session [^`]*)`", refused)
    assert f"`{command}`" in PAGE.read_text(encoding="utf-8")
    assert "has the session" in terminal.types(*BUILD, code=2)
    assert own_settings(terminal) > OF_THE_SERVER
    terminal.types(*shlex.split(command))
    assert own_settings(terminal) == OF_THE_SERVER
    terminal.types(*BUILD)
    assert_as_expected(terminal, THIRD)


@pytest.mark.slow
def test_build_after_a_server_that_was_killed_in_one(terminal: Terminal) -> None:
    terminal.lands(FOURTH)
    build = begun(terminal, "slv_moma__artists_state")
    status = terminal.types("alluvium", "serve", "status")
    os.kill(int(status.rpartition("process ")[2].rstrip(")\n")), signal.SIGKILL)
    build.communicate(timeout=600)
    assert build.returncode != 0
    assert "no server runs" in terminal.types("alluvium", "serve", "status", code=1)
    # The JVM ends when it sees that its Python has gone, and has the catalog until then.
    deadline = time.monotonic() + 60
    while terminal.begins("alluvium", "serve", "start").wait():
        assert time.monotonic() < deadline
    terminal.types(*BUILD)
    assert_as_expected(terminal, FOURTH)


@pytest.mark.slow
def test_build_after_its_connections_were_cut(terminal: Terminal) -> None:
    """The server goes on with what it was asked to do, or does not: either way the next build completes it."""
    terminal.lands(FIFTH)
    with terminal.over_a_cable() as cable:
        build = begun(terminal, "slv_moma__artists_state")
        cable.cut()
        build.communicate(timeout=600)
    assert build.returncode != 0
    refused = terminal.types(*BUILD, code=2)
    (command,) = re.findall(r"`(dbt run-operation release_session [^`]*)`", refused)
    terminal.types(*shlex.split(command))
    terminal.types(*BUILD)
    assert_as_expected(terminal, FIFTH)


@pytest.mark.slow
def test_client_of_jdbc(terminal: Terminal) -> None:
    """Hive's own, which comes with PySpark."""
    class_path = str(Path(pyspark.__file__).parent / "jars" / "*")
    query = "select count(*) as rows from silver.slv_moma__artists"
    options = ("--outputformat=csv2", "--silent=true", "-n", "analyst", "-e", query)
    url = f"jdbc:hive2://127.0.0.1:{terminal.port}/silver"
    beeline = (str(java.select().home / "bin" / "java"), "-cp", class_path, "org.apache.hive.beeline.BeeLine")
    printed = terminal.types(*beeline, "-u", url, *options)
    (counted,) = terminal.rows(query)
    assert printed.split()[-2:] == ["rows", str(counted["rows"])]


@pytest.mark.slow
def test_server_ends_with_its_jvm(terminal: Terminal) -> None:
    pid = terminal.types("alluvium", "serve", "status").rpartition("process ")[2].rstrip(")\n")
    (jvm,) = said("pgrep", "--parent", pid, "java").split()
    os.kill(int(jvm), signal.SIGKILL)
    deadline = time.monotonic() + 60
    while terminal.begins("alluvium", "serve", "status").wait() == 0:
        assert time.monotonic() < deadline
    assert "Spark has ended, and so does its server" in terminal.types("alluvium", "serve", "logs")
    terminal.types("alluvium", "serve", "start")


@pytest.mark.slow
def test_commands_of_the_page(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    page = PAGE.read_text(encoding="utf-8")
    (lands,) = re.findall(r"`(mkdir .*)`", page)
    terminal.types("sh", "-c", lands.replace("landing/moma", shlex.quote(str(terminal.landing))))
    block = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)[0]
    *commands, stop = block.strip().splitlines()
    try:
        for command in commands:
            terminal.types(*shlex.split(command))
        assert_as_expected(terminal, FIRST)
    finally:
        assert terminal.types(*shlex.split(stop)).startswith("stopped ")
    # The embedded target goes on with the same tables.
    query = "select count(*) as rows from silver.slv_moma__artists"
    assert terminal.types("alluvium", "sql", "-e", query, "--format", "csv").split() == ["rows", "917"]
