"""Connections to a Spark Thrift server over PyHive, as dbt-spark makes them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pyhive import exc, hive  # type: ignore[import-untyped]  # it has no annotations
from thrift.Thrift import TException  # type: ignore[import-untyped]  # the same
from thrift.transport.TTransport import TTransportException  # type: ignore[import-untyped]  # the same

from alluvium import AlluviumError
from alluvium.server import security
from alluvium.server.transport import tls

if TYPE_CHECKING:
    from alluvium.runtime.profile import ThriftTarget

# What PyHive and thrift raise: the server's answer, or a connection that is no more.
FAILURES = (exc.Error, TException, EOFError, OSError)
# How the messages of thrift (0.22) begin where nothing listens.
NOT_REACHED = ("Could not connect", "failed to resolve")
# What thrift (0.22) says where the server hangs up, as one with TLS does to a client without.
HUNG_UP = ("TSocket read 0 bytes", "unexpected exception")


def connect(target: ThriftTarget) -> Any:
    """A connection of PyHive's. It makes `default` the current schema, as PyHive (0.7.0) does whenever it connects.

    Raises:
        AlluviumError: nothing listens there, it does not let the user in, or a password would be sent as it is.
    """
    security.require_private_password(target.name, target.host, target.auth, target.password, target.use_ssl)
    place = f"{target.host}:{target.port}"
    try:
        with _no_log():
            if target.use_ssl:
                transport = tls(
                    target.host,
                    target.port,
                    target.user,
                    target.auth,
                    target.kerberos_service_name,
                    target.password,
                )
                return hive.connect(username=target.user, thrift_transport=transport)
            return hive.connect(
                host=target.host,
                port=target.port,
                username=target.user,
                password=target.password,
                auth=target.auth,
                kerberos_service_name=target.kerberos_service_name,
            )
    except TTransportException as error:
        if str(error.message).startswith(NOT_REACHED):
            raise AlluviumError(f"No server listens at {place}: alluvium serve start.") from error
        reason = str(error.message).rstrip(".")
        is_plain = reason in HUNG_UP and not target.use_ssl
        hint = "; where it has TLS, so must the client (ALLUVIUM_THRIFT_TLS)" if is_plain else ""
        raise AlluviumError(f"The server at {place} refuses the connection: {reason}{hint}.") from error
    except (exc.Error, EOFError, OSError) as error:
        raise AlluviumError(
            f"The server at {place} opens no session: {said(error) or type(error).__name__}."
        ) from error
    except (ValueError, NotImplementedError) as error:  # what PyHive does not take together
        raise AlluviumError(f"The target {target.name} cannot connect: {error}") from error


@contextmanager
def _no_log() -> Iterator[None]:
    """Meanwhile thrift does not log what it raises: dbt-spark, once it is imported, prints that."""
    logger = logging.getLogger("thrift.transport.TSocket")
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = False


def said(error: BaseException) -> str:
    """What a server has answered in place of what was asked for."""
    status = getattr(error.args[0] if error.args else None, "status", None)
    return str(getattr(status, "errorMessage", None) or error)


def has_no_result(description: Any) -> bool:
    """Whether a statement that has ended has no rows, by its columns: PyHive (0.7.0) fails to fetch none.

    Spark 3.5 answers `create schema` with a column `Result` and sends none.
    """
    return [column[0] for column in description or ()] in ([], ["Result"])
