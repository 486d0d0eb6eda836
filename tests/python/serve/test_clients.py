"""What a client of a Thrift server refuses before it says who it is; no server of Spark's."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from pyhive import hive  # type: ignore[import-untyped]  # it has no annotations
from thrift.transport.TTransport import TTransportException  # type: ignore[import-untyped]  # the same

import dbt_alluvium
from alluvium import AlluviumError
from alluvium.runtime import profile
from alluvium.runtime.profile import ThriftTarget
from alluvium.server import client
from alluvium.server.transport import tls

from .test_authentication import PASSWORD, STORE_PASSWORD, USER, certificate_in
from .test_thrift_server import REPOSITORY

# Of documentation alone (RFC 5737).
ELSEWHERE = "192.0.2.1"
REFUSED = r"The target thrift would send its password to 192\.0\.2\.1 as it is: use_ssl is false; allowed: true"


@pytest.fixture
def no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a connection is opened")

    monkeypatch.setattr(hive, "connect", connect)


def target(host: str = ELSEWHERE, auth: str | None = "LDAP", password: str | None = PASSWORD) -> ThriftTarget:
    return ThriftTarget(REPOSITORY, "thrift", "silver", host, 10000, USER, password, auth)


@pytest.mark.parametrize(("auth", "password"), [("LDAP", PASSWORD), ("CUSTOM", PASSWORD), ("LDAP", None), (None, "x")])
def test_password_goes_to_another_machine_over_tls_alone(
    auth: str | None, password: str | None, no_connection: None
) -> None:
    with pytest.raises(AlluviumError, match=REFUSED):
        client.connect(target(auth=auth, password=password))


@pytest.mark.parametrize(
    "taken",
    [
        target("127.0.0.1"),
        target("localhost", auth="CUSTOM"),
        target(auth=None, password=None),
        replace(target(), use_ssl=True),
    ],
)
def test_what_may_be_asked(taken: ThriftTarget, no_connection: None) -> None:
    with pytest.raises(AssertionError, match="a connection is opened"):
        client.connect(taken)


PROFILES = f"""
p:
  target: thrift
  outputs:
    thrift: {{type: spark, method: thrift, schema: s, host: {ELSEWHERE}, user: u, auth: LDAP, password: secret}}
"""


def test_dbt_refuses_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dbt import flags

    (tmp_path / "dbt_project.yml").write_text("name: alluvium\nprofile: p\n", encoding="utf-8")
    (tmp_path / "profiles.yml").write_text(PROFILES, encoding="utf-8")
    monkeypatch.setattr(flags, "GLOBAL_FLAGS", None)  # restored afterwards: dbt keeps them per process
    given = {"PROJECT_DIR": tmp_path, "PROFILES_DIR": str(tmp_path), "PROFILE": None, "TARGET": None, "VARS": {}}
    flags.set_from_args(Namespace(which="build", LOG_CACHE_EVENTS=False, **given), None)
    with pytest.raises(Exception, match=REFUSED):  # dbt's own, of any plugin's
        dbt_alluvium.AlluviumPlugin("alluvium")


@pytest.mark.parametrize(
    ("value", "wanted"), [("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False)]
)
def test_tls_of_the_environment(value: str, wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_THRIFT_TLS", value)
    found = profile.read_target(REPOSITORY, REPOSITORY, "thrift")
    assert isinstance(found, ThriftTarget)
    assert found.use_ssl is wanted


@pytest.mark.parametrize("value", ["yes", "1", "on", "0", ""])
def test_tls_of_the_environment_that_is_neither(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLUVIUM_THRIFT_TLS", value)
    with pytest.raises(profile.ProfileError, match=f"ALLUVIUM_THRIFT_TLS is {value}; allowed: true, false"):
        profile.read_target(REPOSITORY, REPOSITORY, "thrift")


@pytest.fixture(scope="module")
def greeted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of a server at localhost that shows a certificate for 127.0.0.1 and hangs up; and the certificate."""
    home = tmp_path_factory.mktemp("greeted")
    store, trusted = certificate_in(home)
    key, *_ = pkcs12.load_key_and_certificates(store.read_bytes(), STORE_PASSWORD.encode())
    assert key is not None
    secret = home / "key.pem"
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(trusted, secret)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            with contextlib.suppress(OSError):  # at the end there is no listener
                while True:
                    client, _ = listener.accept()
                    with contextlib.suppress(OSError), context.wrap_socket(client, server_side=True):
                        pass

        threading.Thread(target=greet, daemon=True).start()
        yield listener.getsockname()[1], trusted
        listener.shutdown(socket.SHUT_RDWR)


def refusal(host: str, port: int) -> str:
    with pytest.raises(TTransportException) as refused:
        tls(host, port, USER, "LDAP", password=PASSWORD).open()
    return str(refused.value.message)


def test_client_without_tls_of_a_server_with_it(greeted: tuple[int, Path]) -> None:
    port, _ = greeted
    with pytest.raises(AlluviumError, match=r"so must the client \(ALLUVIUM_THRIFT_TLS\)"):
        client.connect(replace(target("127.0.0.1"), port=port))


def test_tls_without_a_name() -> None:
    """dbt hands on none where the server asks for none, and SASL wants one."""
    started, *_ = tls("127.0.0.1", 10000, None, None).sasl_client_factory().start("PLAIN")
    assert started


def test_certificate_of_an_unknown_authority(greeted: tuple[int, Path]) -> None:
    port, _ = greeted
    assert refusal("127.0.0.1", port) == (
        "The certificate of 127.0.0.1 is not taken (self-signed certificate): name the file of its authority in "
        "SSL_CERT_FILE."
    )


def test_certificate_of_another_name(greeted: tuple[int, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """The authority is known, so its file is not what is missing."""
    port, trusted = greeted
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    assert refusal("localhost", port) == (
        "The certificate of localhost is not taken (Hostname mismatch, certificate is not valid for 'localhost'): "
        "connect to a name that it has (ALLUVIUM_THRIFT_HOST), or have it name this one."
    )
