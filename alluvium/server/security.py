"""Who may connect to a Thrift server, and how: what the settings of a target say, checked before anything starts.

A server's are Hive's own settings, with the prefix that Spark hands over to Hadoop. There are no others.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from alluvium import AlluviumError
from alluvium.runtime import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PREFIX = "spark.hadoop."
# Spark (3.5.7) hands these over as well, and they win.
OTHER_PREFIX = "spark.hive.server2."
# Variables of the environment that begin so: Hive goes by them before any setting (address, port, transport).
VARIABLES = "HIVE_SERVER2_"
AUTHENTICATION = "hive.server2.authentication"
LDAP_URL = "hive.server2.authentication.ldap.url"
CUSTOM_CLASS = "hive.server2.custom.authentication.class"
TRANSPORT = "hive.server2.transport.mode"
TLS = "hive.server2.use.SSL"
KEYSTORE = "hive.server2.keystore.path"
KEYSTORE_PASSWORD = session.KEYSTORE_PASSWORD.removeprefix(PREFIX)

METHODS_WITH_PASSWORD = ("LDAP", "CUSTOM")
METHODS = ("NONE", *METHODS_WITH_PASSWORD)
THIS_MACHINE = "127.0.0.1, localhost, ::1"
# Spark's classes for LDAP and CUSTOM make a HiveConf of their own, of hive-site.xml and the JVM's properties,
# without the session's settings (3.5.7): were these no properties, LDAP would ask a directory at localhost.
OF_THE_JVM = (
    LDAP_URL,
    "hive.server2.authentication.ldap.baseDN",
    "hive.server2.authentication.ldap.Domain",
    "hive.server2.authentication.ldap.userDNPattern",
    CUSTOM_CLASS,
)


def require_safe(host: str, parameters: Mapping[str, str], project_directory: Path) -> None:
    """Refuse a server that strangers could use, or whose passwords could be read on their way.

    Args:
        host: to listen at.
        parameters: Spark settings of the target.
        project_directory: what a relative path of the key store starts from.

    Raises:
        AlluviumError: the host is no address, a setting has a value that is not allowed, or the host is not this
            machine's own and there is no authentication or no TLS.
    """
    for name in parameters:
        if name.startswith(OTHER_PREFIX):
            wanted = name.replace("spark.", PREFIX, 1)
            raise AlluviumError(f"serve: {name} is among the target's settings; allowed: {wanted}.")
    method = authentication(parameters)
    if method == "LDAP":
        _require_ldap(_value(parameters, LDAP_URL))
    if method == "CUSTOM" and not _value(parameters, CUSTOM_CLASS):
        raise AlluviumError(_lacks("CUSTOM", CUSTOM_CLASS, "a class that is a PasswdAuthenticationProvider"))
    transport = _value(parameters, TRANSPORT) or "binary"
    if transport != "binary":
        raise AlluviumError(f"serve: {PREFIX}{TRANSPORT} is {transport}; allowed: binary.")
    has_tls = _has_tls(parameters, project_directory)
    _require_address(host)
    if is_loopback(host):
        return
    missing = [
        *([f"{PREFIX}{AUTHENTICATION}: LDAP or CUSTOM"] if method == "NONE" else []),
        *([] if has_tls else [f'{PREFIX}{TLS}: "true"']),
    ]
    if missing:
        raise AlluviumError(
            f"serve: --host is {host}; without passwords and TLS allowed are {THIS_MACHINE}. The target's "
            f"settings lack {' and '.join(missing)} (docs/guide/thrift-server.md)."
        )


def require_private_password(target: str, host: str, auth: str | None, password: str | None, use_ssl: bool) -> None:
    """Refuse a client that would send a password over a network as it is. No connection is opened.

    Args:
        target: name of the client's target.
        host: of the server.
        auth: as PyHive names the server's authentication.
        password: of the user; None where there is none.
        use_ssl: whether the client wants TLS.

    Raises:
        AlluviumError: the host is not this machine, and there is a password and no TLS.
    """
    sends_password = password is not None or (auth or "").upper() in METHODS_WITH_PASSWORD
    if sends_password and not use_ssl and not is_loopback(host):
        raise AlluviumError(
            f"The target {target} would send its password to {host} as it is: use_ssl is false; allowed: true "
            f"(ALLUVIUM_THRIFT_TLS=true), or a host of {THIS_MACHINE}, as through an SSH tunnel "
            "(docs/guide/thrift-server.md)."
        )


def authentication(parameters: Mapping[str, str]) -> str:
    """How clients show who they are: NONE, LDAP or CUSTOM.

    Raises:
        AlluviumError: another way is set.
    """
    method = (_value(parameters, AUTHENTICATION) or "NONE").upper()
    if method not in METHODS:
        raise AlluviumError(f"serve: {PREFIX}{AUTHENTICATION} is {method}; allowed: {', '.join(METHODS)}.")
    return method


def session_settings(parameters: Mapping[str, str], project_directory: Path) -> dict[str, str]:
    """The settings of the server's session."""
    own = dict(parameters)
    own[PREFIX + AUTHENTICATION] = authentication(parameters)
    if store := _value(parameters, KEYSTORE):
        own[PREFIX + KEYSTORE] = str(project_directory / store)
    return own


@contextmanager
def prepared(spark: SparkSession, parameters: Mapping[str, str]) -> Iterator[None]:
    """While a server starts in it, a session has what Hive's classes for authentication and TLS ask for.

    Args:
        spark: the server's session.
        parameters: Spark settings of the target.

    Raises:
        AlluviumError: the class of CUSTOM is on no class path, or the password does not open the key store.
    """
    from py4j.protocol import Py4JJavaError

    java = spark._jvm.java.lang  # type: ignore[union-attr]  # a live session has one
    for name in OF_THE_JVM:
        if value := _value(parameters, name):
            java.System.setProperty(name, value)
    if authentication(parameters) == "CUSTOM":
        name = _value(parameters, CUSTOM_CLASS)
        try:
            java.Class.forName(name, False, java.Thread.currentThread().getContextClassLoader())
        except Py4JJavaError as error:
            raise AlluviumError(
                f"serve: {PREFIX}{CUSTOM_CLASS} is {name}, which is on no class path: name its jar in "
                "spark.driver.extraClassPath."
            ) from error
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    password = _value(parameters, KEYSTORE_PASSWORD)
    if _value(parameters, TLS).lower() == "true":
        _require_opens(spark.sparkContext._gateway, hadoop.get(KEYSTORE), password)
    hadoop.set(KEYSTORE_PASSWORD, password)
    try:
        yield
    finally:
        hadoop.unset(KEYSTORE_PASSWORD)  # the server has it, and clients can ask for a session's settings


def _require_opens(gateway: Any, store: str, password: str) -> None:
    """In the session's JVM: Python has nothing that reads a key store, and Hive wraps what Java says of one."""
    from py4j.protocol import Py4JJavaError

    characters = gateway.new_array(gateway.jvm.char, len(password))
    for position, character in enumerate(password):
        characters[position] = character
    try:
        gateway.jvm.java.security.KeyStore.getInstance(gateway.jvm.java.io.File(store), characters)
    except Py4JJavaError as error:
        raised = error.java_exception
        said = str(raised.getMessage() or raised.toString()).rstrip(".")
        raise AlluviumError(
            f"serve: {PREFIX}{KEYSTORE} is {store}, which {PREFIX}{KEYSTORE_PASSWORD} does not open: {said}."
        ) from error


def first_cause(error: Any) -> str:
    """What has made Java fail, which Spark and Hive wrap in exceptions of their own.

    Args:
        error: of Py4J (`Py4JJavaError`).
    """
    cause = error.java_exception
    while (deeper := cause.getCause()) is not None:
        cause = deeper
    return str(cause.toString()).rstrip(".")


def require_as_asked(server: Any, host: str, parameters: Mapping[str, str]) -> None:
    """End a server that listens elsewhere, or asks for less, than it was told: a file of Hive's or Spark's may say so.

    Args:
        server: Spark's, of Py4J, started.
        host: to listen at.
        parameters: Spark settings of the target.

    Raises:
        AlluviumError: it does, and has been stopped.
    """
    (service,) = [one for one in server.getServices() if "ThriftBinary" in one.getClass().getSimpleName()]
    settings = server.getHiveConf()
    asked = {
        "address": (_addresses(host), _plain(service.getServerIPAddress().getHostAddress())),
        AUTHENTICATION: ({authentication(parameters)}, str(settings.get(AUTHENTICATION)).upper()),
        TLS: ({_value(parameters, TLS).lower() or "false"}, str(settings.get(TLS)).lower()),
    }
    for name, (wanted, found) in asked.items():
        if found not in wanted:
            server.stop()
            raise AlluviumError(
                f"serve: the server's {name} is {found}, and was to be {', '.join(sorted(wanted))}: hive-site.xml, "
                "spark-defaults.conf or the environment says otherwise."
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a host; one that is no address is of no known machine."""
    try:
        return all(ipaddress.ip_address(address).is_loopback for address in _addresses(host))
    except OSError:
        return False


def _addresses(host: str) -> set[str]:
    """A host's, as Python writes them.

    Raises:
        OSError: it is no address, and no name of any.
    """
    return {_plain(str(entry[4][0])) for entry in socket.getaddrinfo(host, None)}


def _require_address(host: str) -> None:
    try:
        _addresses(host)
    except OSError as error:
        raise AlluviumError(f"serve: --host {host} is no address: {error.strerror or error}.") from error


def _plain(address: str) -> str:
    """Java writes ::1 as 0:0:0:0:0:0:0:1, and both may name an interface."""
    return str(ipaddress.ip_address(address.partition("%")[0]))


def _value(parameters: Mapping[str, str], name: str) -> str:
    return str(parameters.get(PREFIX + name, "")).strip()


def _lacks(method: str, name: str, wanted: str) -> str:
    return f"serve: {PREFIX}{AUTHENTICATION} is {method}, and {PREFIX}{name} is missing: name {wanted}."


def _require_ldap(urls: str) -> None:
    """A directory is asked over TLS, or on this machine: it is sent the passwords."""
    if not urls:
        raise AlluviumError(_lacks("LDAP", LDAP_URL, "the directory, as in ldaps://ldap.example.com"))
    for url in urls.split():
        parts = urlsplit(url)
        if parts.scheme == "ldaps" or (parts.scheme == "ldap" and parts.hostname and is_loopback(parts.hostname)):
            continue
        raise AlluviumError(
            f"serve: {PREFIX}{LDAP_URL} is {url}; allowed: ldaps://..., or ldap:// of this machine. Passwords would "
            "cross the network as they are."
        )


def _has_tls(parameters: Mapping[str, str], project_directory: Path) -> bool:
    wanted = _value(parameters, TLS).lower() or "false"
    if wanted not in {"true", "false"}:
        raise AlluviumError(f"serve: {PREFIX}{TLS} is {wanted}; allowed: true, false.")
    if wanted == "false":
        return False
    store = _value(parameters, KEYSTORE)
    if not store or not (project_directory / store).is_file():
        raise AlluviumError(
            f"serve: {PREFIX}{KEYSTORE} is {store or 'missing'}; allowed: a file with key and certificate."
        )
    if not _value(parameters, KEYSTORE_PASSWORD):
        raise AlluviumError(f"serve: {PREFIX}{KEYSTORE_PASSWORD} is missing: it opens {store}.")
    return True
