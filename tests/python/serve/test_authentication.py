"""Who may connect to a Thrift server: the rules, and a server with LDAP and TLS, one with a class of one's own."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
import os
import re
import shlex
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from pyhive import hive  # type: ignore[import-untyped]  # it has no annotations
from thrift.transport.TTransport import TTransportException  # type: ignore[import-untyped]  # the same

from alluvium import AlluviumError
from alluvium.runtime import java, profile, session
from alluvium.server import transport
from alluvium.server.hosting import is_open
from alluvium.server.security import prepared, require_as_asked, require_safe, session_settings

from .test_thrift_server import PAGE, REPOSITORY, Terminal, thrown

PREFIX = "spark.hadoop.hive.server2."
USER, PASSWORD = "analyst", "0815 in the sun"
PASSWORD_OF_BEELINE = "0815-in-the-sun"  # it takes none with blanks
STORE_PASSWORD = "opens-the-store"


def settings(**values: str) -> dict[str, str]:
    return {PREFIX + name.replace("__", "."): value for name, value in values.items()}


def tls(store: Path) -> dict[str, str]:
    return settings(use__SSL="true", keystore__path=store.name, keystore__password=STORE_PASSWORD)


LDAP = settings(authentication="LDAP", authentication__ldap__url="ldaps://ldap.example.com")
CUSTOM = settings(authentication="custom", custom__authentication__class="org.example.Doorman")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    file = tmp_path / "server.p12"
    file.write_bytes(b"a key and a certificate")
    return file


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1.2.3"])
@pytest.mark.parametrize("method", [{}, LDAP, CUSTOM])
def test_this_machine_may_ask_without_tls(host: str, method: dict[str, str], tmp_path: Path) -> None:
    require_safe(host, method, tmp_path)


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "10.0.0.1"])
@pytest.mark.parametrize("method", [LDAP, CUSTOM])
def test_others_may_ask_with_password_and_tls(host: str, method: dict[str, str], store: Path) -> None:
    require_safe(host, method | tls(store), store.parent)


@pytest.mark.parametrize(
    ("method", "with_tls", "missing"),
    [
        ({}, False, r"authentication: LDAP or CUSTOM and \S+use\.SSL: \"true\""),
        ({}, True, r"authentication: LDAP or CUSTOM \("),
        (settings(authentication="none"), True, r"authentication: LDAP or CUSTOM \("),
        (LDAP, False, r"lack spark\.hadoop\.hive\.server2\.use\.SSL: \"true\" \("),
    ],
)
def test_others_may_not_ask_without(method: dict[str, str], with_tls: bool, missing: str, store: Path) -> None:
    given = method | (tls(store) if with_tls else {})
    with pytest.raises(AlluviumError, match=rf"--host is 0\.0\.0\.0; .*allowed are 127\.0\.0\.1, .*{missing}"):
        require_safe("0.0.0.0", given, store.parent)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (settings(authentication="KERBEROS"), r"authentication is KERBEROS; allowed: NONE, LDAP, CUSTOM\."),
        (settings(authentication="NOSASL"), r"authentication is NOSASL; allowed"),
        (settings(authentication="LDAP"), r"ldap\.url is missing"),
        (settings(authentication="CUSTOM"), r"custom\.authentication\.class is missing"),
        (LDAP | settings(authentication__ldap__url="ldap://192.0.2.1"), r"is ldap://192\.0\.2\.1; allowed: ldaps"),
        (LDAP | settings(authentication__ldap__url="ldaps://a ldap://192.0.2.1"), r"is ldap://192\.0\.2\.1; allowed"),
        (LDAP | settings(authentication__ldap__url="ldap://no.invalid"), r"ldap\.url is ldap://no\.invalid; allowed"),
        ({"spark.hive.server2.authentication": "NOSASL"}, r"allowed: spark\.hadoop\.hive\.server2\.authentication\."),
        (settings(transport__mode="http"), r"transport\.mode is http; allowed: binary\."),
        (settings(use__SSL="yes"), r"use\.SSL is yes; allowed: true, false\."),
        (settings(use__SSL="true"), r"keystore\.path is missing; allowed: a file"),
        (settings(use__SSL="true", keystore__path="gone.p12"), r"keystore\.path is gone\.p12; allowed: a file"),
        (settings(use__SSL="true", keystore__path="server.p12"), r"keystore\.password is missing: it opens"),
    ],
)
def test_what_cannot_be_meant(given: dict[str, str], message: str, store: Path) -> None:
    with pytest.raises(AlluviumError, match=message):
        require_safe("127.0.0.1", given, store.parent)


def test_directory_of_this_machine_needs_no_tls(tmp_path: Path) -> None:
    require_safe("127.0.0.1", LDAP | settings(authentication__ldap__url="ldap://127.0.0.1:389"), tmp_path)


def started(address: str, **values: str) -> Mock:
    """A server of Spark's as Py4J shows it."""
    service = Mock()
    service.getClass().getSimpleName.return_value = "ThriftBinaryCLIService"
    service.getServerIPAddress().getHostAddress.return_value = address
    server = Mock()
    server.getServices.return_value = [service]
    conf = {"authentication": "NONE", "use__SSL": "false"} | values
    server.getHiveConf.return_value = {f"hive.server2.{name.replace('__', '.')}": conf[name] for name in conf}
    return server


def test_server_as_it_was_asked_for(store: Path) -> None:
    require_as_asked(started("127.0.0.1"), "localhost", {})
    require_as_asked(started("0:0:0:0:0:0:0:1%lo"), "::1", {})
    require_as_asked(started("0.0.0.0", authentication="LDAP", use__SSL="true"), "0.0.0.0", LDAP | tls(store))


@pytest.mark.parametrize(
    ("server", "parameters", "message"),
    [
        (started("0.0.0.0"), {}, r"the server's address is 0\.0\.0\.0, and was to be 127\.0\.0\.1"),
        (started("127.0.0.1", authentication="NOSASL"), {}, "authentication is NOSASL, and was to be NONE"),
        (started("127.0.0.1"), LDAP, "authentication is NONE, and was to be LDAP"),
        (started("127.0.0.1"), settings(use__SSL="TRUE"), "use.SSL is false, and was to be true"),
    ],
)
def test_another_server_than_was_asked_for_is_stopped(server: Mock, parameters: dict[str, str], message: str) -> None:
    with pytest.raises(AlluviumError, match=message):
        require_as_asked(server, "127.0.0.1", parameters)
    server.stop.assert_called_once_with()


@pytest.mark.slow
def test_what_the_environment_says_otherwise(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path)
    terminal.environment["HIVE_SERVER2_THRIFT_BIND_HOST"] = "0.0.0.0"
    terminal.types("alluvium", "serve", "start")
    try:
        assert [is_open(host, terminal.port) for host in ("127.0.0.1", "127.0.0.2")] == [True, False]
    finally:
        terminal.types("alluvium", "serve", "stop")
    (tmp_path / "spark-defaults.conf").write_text("spark.hive.server2.authentication NOSASL\n", encoding="utf-8")
    terminal.environment["SPARK_CONF_DIR"] = str(tmp_path)
    assert "authentication is NOSASL, and was to be NONE" in terminal.types("alluvium", "serve", "start", code=1)
    assert not is_open("127.0.0.1", terminal.port)


def test_host_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(AlluviumError, match=r"--host nowhere\.invalid is no address"):
        require_safe("nowhere.invalid", {}, tmp_path)


def test_store_and_method_are_among_the_settings(store: Path) -> None:
    made = session_settings(LDAP | tls(store), store.parent)
    assert made[PREFIX + "keystore.path"] == str(store)
    assert made[PREFIX + "authentication"] == "LDAP"


def test_no_session_is_made_with_the_password_of_the_store(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a plain `dbt build` has the same profile; what one is made with is on the JVM's command line."""
    made: dict[str, str] = {}

    def complete(given: dict[str, str], _: Path) -> NoReturn:
        made.update(given)
        raise AlluviumError("no session")

    monkeypatch.setattr("pyspark.SparkContext._active_spark_context", None)
    monkeypatch.setattr(session, "complete", complete)
    with pytest.raises(AlluviumError, match="no session"):
        session.get_or_create(LDAP | tls(store), store.parent)
    assert made[PREFIX + "keystore.path"] == store.name
    assert STORE_PASSWORD not in made.values()


def test_password_that_does_not_open_the_store(store: Path) -> None:
    spark = Mock()
    spark.sparkContext._jsc.hadoopConfiguration().get.return_value = str(store)
    characters: dict[int, str] = {}
    spark.sparkContext._gateway.new_array.return_value = characters
    opens = spark.sparkContext._gateway.jvm.java.security.KeyStore.getInstance
    with prepared(spark, tls(store)):
        assert "".join(characters.values()) == STORE_PASSWORD
    opens.side_effect = thrown("java.io.IOException: keystore password was incorrect", "a.KeyException: bad padding")
    with pytest.raises(AlluviumError) as refused, prepared(spark, tls(store)):
        pass
    assert str(refused.value) == (
        f"serve: {PREFIX}keystore.path is {store}, which {PREFIX}keystore.password does not open: keystore password "
        "was incorrect."
    )


@pytest.mark.slow
def test_server_with_a_password_that_does_not_open_the_store(tmp_path: Path) -> None:
    store, _ = certificate_in(tmp_path)
    terminal = terminal_with(
        tmp_path, **settings(use__SSL="true", keystore__path=str(store), keystore__password="another")
    )
    said = terminal.types("alluvium", "serve", "start", code=1)
    reason = (
        f"keystore.path is {store}, which {PREFIX}keystore.password does not open: keystore password was incorrect."
    )
    assert said.splitlines()[-1] == f"alluvium: serve: {PREFIX}{reason}"


def test_settings_and_variables_of_the_page(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    given = {key: str(value) for key, value in yaml.safe_load(block).items()}
    require_safe("0.0.0.0", given | {PREFIX + "keystore.path": store.name}, store.parent)
    (block,) = [text for text in re.findall(r"```bash\n(.*?)```", page, re.DOTALL) if "ALLUVIUM_THRIFT_HOST" in text]
    variables = dict(re.findall(r"([A-Z_]+)=(\S+)", block))
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    flags = {"PROJECT_DIR": REPOSITORY, "PROFILES_DIR": str(REPOSITORY), "VARS": {}, "TARGET": "thrift"}
    found = profile._profile(flags).credentials
    assert found.use_ssl is True
    assert [found.host, found.auth, found.user, found.password] == ["spark.example.com", "LDAP", "analyst", "..."]
    for name in variables:
        monkeypatch.delenv(name)
    found = profile._profile(flags).credentials
    assert [found.use_ssl, found.auth, found.user, found.password] == [False, None, None, None]


class Directory(socketserver.ThreadingTCPServer):
    """What a client of LDAP's simple bind sees of a directory (RFC 4511) that knows one name and password."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Bind)
        self.url = f"ldap://127.0.0.1:{self.server_address[1]}"


class Bind(socketserver.BaseRequestHandler):
    """Answers binds, whose messages here are shorter than 128 bytes, until the client unbinds."""

    def handle(self) -> None:
        distinguished_name = f"uid={USER},ou=people,dc=example,dc=com".encode()
        while message := self.request.recv(4096):
            if message[5] != 0x60:
                return
            name_length = message[11]
            name, password = message[12 : 12 + name_length], message[14 + name_length :]
            is_known = name == distinguished_name and password.decode() in (PASSWORD, PASSWORD_OF_BEELINE)
            code = 0 if is_known else 49
            self.request.sendall(b"\x30\x0c" + message[2:5] + b"\x61\x07\x0a\x01" + bytes([code]) + b"\x04\x00\x04\x00")


@pytest.fixture(scope="module")
def directory() -> Iterator[Directory]:
    with Directory() as directory:
        thread = threading.Thread(target=directory.serve_forever)
        thread.start()
        yield directory
        directory.shutdown()
        thread.join()


def certificate_in(directory: Path) -> tuple[Path, Path]:
    """A key store with a certificate for 127.0.0.1, and that certificate alone."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "alluvium")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    store, trusted = directory / "server.p12", directory / "trusted.pem"
    encryption = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
    store.write_bytes(pkcs12.serialize_key_and_certificates(b"server", key, certificate, None, encryption))
    trusted.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return store, trusted


def terminal_with(home: Path, **values: object) -> Terminal:
    """A terminal whose profile has more settings in the target of the server."""
    terminal = Terminal(home)
    text = (REPOSITORY / "profiles.yml").read_text(encoding="utf-8")
    # The first target of the profile is `local`, whose settings are the server's.
    before, anchor, after = text.partition("      server_side_parameters:\n")
    assert "    local:\n" in before
    assert anchor
    more = "".join(f"        {yaml.safe_dump({key: value}).strip()}\n" for key, value in values.items())
    (home / "profiles.yml").write_text(before + anchor + more + after, encoding="utf-8")
    terminal.environment["DBT_PROFILES_DIR"] = str(home)
    return terminal


@pytest.fixture(scope="module")
def guarded(directory: Directory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, Path]]:
    """A server that listens to everybody, with LDAP and TLS, and the certificate to trust."""
    home = tmp_path_factory.mktemp("guarded")
    store, trusted = certificate_in(home)
    ldap = settings(
        authentication="LDAP",
        authentication__ldap__url=directory.url,
        authentication__ldap__baseDN="ou=people,dc=example,dc=com",
    )
    secured = settings(use__SSL="true", keystore__path=str(store), keystore__password=STORE_PASSWORD)
    terminal = terminal_with(home, **(ldap | secured))
    assert "listening at 0.0.0.0:" in terminal.types("alluvium", "serve", "start", "--host", "0.0.0.0")
    yield terminal, trusted
    terminal.types("alluvium", "serve", "stop")


def answer(port: int, password: str, *, auth: str = "LDAP") -> str:
    unopened = transport.tls("127.0.0.1", port, USER, auth, "", password)
    with contextlib.closing(hive.connect(thrift_transport=unopened, username=USER)) as connection:
        cursor = connection.cursor()
        cursor.execute("set")
        return str(cursor.fetchall())


@pytest.mark.slow
def test_ldap_and_tls(guarded: tuple[Terminal, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, trusted = guarded
    with pytest.raises(TTransportException, match=r"certificate of 127\.0\.0\.1 is not taken \(self.signed"):
        answer(terminal.port, PASSWORD)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    assert STORE_PASSWORD not in answer(terminal.port, PASSWORD)
    for wrong in ("another", " ", "0815"):
        with pytest.raises(TTransportException, match="Error validating the login"):
            answer(terminal.port, wrong)
    with pytest.raises((TTransportException, EOFError, OSError)):
        hive.connect("127.0.0.1", terminal.port, username=USER, auth="LDAP", password=PASSWORD)


@pytest.mark.slow
def test_other_clients_of_the_page(guarded: tuple[Terminal, Path], tmp_path: Path) -> None:
    terminal, trusted = guarded
    text = PAGE.read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (beeline,) = re.findall(r"^beeline .*$", text, re.MULTILINE)
    store, secret = tmp_path / "authority.p12", tmp_path / "password.txt"
    secret.write_text(PASSWORD_OF_BEELINE, encoding="utf-8")
    (keytool,) = re.findall(r"^keytool .*$", text, re.MULTILINE)
    keytool = keytool.replace("authority.pem", str(trusted)).replace("authority.p12", str(store))
    home = java.select().home
    subprocess.run([home / "bin" / "keytool", *shlex.split(keytool)[1:]], check=True, capture_output=True)
    told = {
        '"spark.example.com", 10000': f'"127.0.0.1", {terminal.port}',
        'password="..."': f"password={PASSWORD!r}",
        "spark.example.com:10000": f"127.0.0.1:{terminal.port}",
        "=authority.p12": f"={store}",
        "password.txt": str(secret),
    }
    for said, meant in told.items():
        assert said in program + beeline
        program, beeline = program.replace(said, meant), beeline.replace(said, meant)
    trusting = {"SSL_CERT_FILE": str(trusted), "JAVA_HOME": str(home)}
    for command in ([sys.executable, "-c", program], shlex.split(beeline)):
        done = subprocess.run(
            command, cwd=REPOSITORY, env=terminal.environment | trusting, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"^\W*42\W*$", done.stdout, re.MULTILINE), done.stdout


@pytest.mark.slow
def test_certificate_that_names_another_host(guarded: tuple[Terminal, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    terminal, trusted = guarded
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    unopened = transport.tls("localhost", terminal.port, USER, "LDAP", "", PASSWORD)
    with pytest.raises(TTransportException, match=r"certificate of localhost is not taken \(Hostname mismatch"):
        hive.connect(thrift_transport=unopened, username=USER)


@pytest.mark.slow
def test_dbt_with_a_password(guarded: tuple[Terminal, Path]) -> None:
    terminal, trusted = guarded
    command = ("dbt", "show", "--target", "thrift", "--inline", "select 42 as answer")
    assert "Error" in terminal.types(*command, code=2)
    terminal.environment |= {
        "ALLUVIUM_THRIFT_AUTH": "LDAP",
        "ALLUVIUM_THRIFT_TLS": "true",
        "ALLUVIUM_THRIFT_USER": USER,
        "DBT_ENV_SECRET_ALLUVIUM_THRIFT_PASSWORD": PASSWORD,
    }
    query = ("alluvium", "sql", "--target", "thrift", "-e", "select 42 as answer")
    assert "The certificate of 127.0.0.1 is not taken" in terminal.types(*command, code=2)
    refused = f"alluvium: The server at 127.0.0.1:{terminal.port} refuses the connection: "
    assert terminal.types(*query, code=1).startswith(f"{refused}The certificate of 127.0.0.1 is not taken")
    terminal.environment["SSL_CERT_FILE"] = str(trusted)
    assert "42" in terminal.types(*command)
    assert terminal.types(*query).split()[-3:] == ["answer", "------", "42"]
    terminal.environment["DBT_ENV_SECRET_ALLUVIUM_THRIFT_PASSWORD"] = "another"
    assert terminal.types(*query, code=1).startswith(refused)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="command lines of processes are read from /proc")
def test_command_lines_have_no_password(guarded: tuple[Terminal, Path]) -> None:
    terminal, _ = guarded
    pid = terminal.types("alluvium", "serve", "status").rpartition("process ")[2].rstrip(")\n")
    (jvm,) = subprocess.run(
        ["pgrep", "--parent", pid, "java"], capture_output=True, text=True, check=True
    ).stdout.split()
    for process in (pid, jvm):
        assert STORE_PASSWORD.encode() not in Path(f"/proc/{process}/cmdline").read_bytes()


DOORMAN = """
package org.example;
public class Doorman implements org.apache.hive.service.auth.PasswdAuthenticationProvider {
    public void Authenticate(String user, String password) throws javax.security.sasl.AuthenticationException {
        if (!(user + "/" + password).equals("%s/%s")) throw new javax.security.sasl.AuthenticationException("nobody");
    }
}
"""
# The compiler that Spark compiles its plans with, in a JVM of its own.
COMPILES = """
import base64, os, sys
from alluvium.runtime import java, session
from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
java.use(); os.environ.update(session.environment())
gateway = launch_gateway(SparkConf(loadDefaults=False))
compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
compiler.setParentClassLoader(gateway.jvm.java.lang.Thread.currentThread().getContextClassLoader())
compiler.cook(sys.stdin.read())
(code,) = compiler.getBytecodes().values()
print(base64.b64encode(bytes(code)).decode())
gateway.shutdown()
"""


@pytest.mark.slow
def test_class_of_ones_own(tmp_path: Path) -> None:
    compiled = subprocess.run(
        [sys.executable, "-c", COMPILES],
        input=DOORMAN % (USER, PASSWORD),
        cwd=REPOSITORY,
        env=os.environ,
        capture_output=True,
        text=True,
        check=True,
    )
    place = tmp_path / "classes" / "org" / "example" / "Doorman.class"
    place.parent.mkdir(parents=True)
    place.write_bytes(base64.b64decode(compiled.stdout.split()[-1]))
    terminal = terminal_with(tmp_path, **CUSTOM)
    said = terminal.types("alluvium", "serve", "start", code=1)
    assert "custom.authentication.class is org.example.Doorman, which is on no class path" in said
    class_path = {"spark.driver.extraClassPath": str(tmp_path / "classes")}
    terminal = terminal_with(tmp_path, **(CUSTOM | class_path))
    terminal.types("alluvium", "serve", "start")
    try:
        for auth in ("CUSTOM", "LDAP"):  # to a client they are one
            with contextlib.closing(
                hive.connect("127.0.0.1", terminal.port, username=USER, auth=auth, password=PASSWORD)
            ) as connection:
                cursor = connection.cursor()
                cursor.execute("select 42")
                assert cursor.fetchall() == [(42,)]
        with pytest.raises(TTransportException, match="Error validating the login"):
            hive.connect("127.0.0.1", terminal.port, username=USER, auth="CUSTOM", password="another")
    finally:
        terminal.types("alluvium", "serve", "stop")
