"""The connections of dbt's thrift method, without a server."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from dbt.adapters.spark import connections
from dbt.adapters.spark.impl import SparkAdapter
from pyhive import exc, hive  # type: ignore[import-untyped]  # it has no annotations
from thrift.transport.TTransport import TTransportException  # type: ignore[import-untyped]  # the same

from dbt_alluvium import thrift_method
from dbt_alluvium.thrift_method import ConnectionManager, ThriftConnection


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """What PyHive connects to: each call is a connection, each `cursor` of one a statement."""
    server = Mock(side_effect=lambda **_: Mock(cursor=Mock(side_effect=lambda: Mock())))
    monkeypatch.setattr(hive, "connect", server)
    return server


@pytest.fixture
def manager(monkeypatch: pytest.MonkeyPatch) -> ConnectionManager:
    """dbt's, of one thread, for the thrift method."""
    for module, name in (
        (connections, "PyhiveConnectionWrapper"),
        (connections, "build_ssl_transport"),
        (SparkAdapter, "ConnectionManager"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))  # restored afterwards
    thrift_method.teach()
    method = connections.SparkConnectionMethod.THRIFT
    credentials = connections.SparkCredentials(method=method, host="h", schema="s", user="u")
    config: Any = SimpleNamespace(credentials=credentials)
    manager = SparkAdapter.ConnectionManager(config, multiprocessing.get_context("spawn"))
    assert isinstance(manager, ConnectionManager)
    return manager


@contextmanager
def node(manager: ConnectionManager, name: str, statements: int = 1) -> Iterator[ThriftConnection]:
    """A node that has run statements, as dbt runs one."""
    connection = manager.set_connection_name(name)
    try:
        for _ in range(statements):
            connection.handle.cursor()
        yield connection.handle
    finally:
        manager.release()


def statement(connection: ThriftConnection) -> Mock:
    """The one that it has open."""
    assert isinstance(connection._cursor, Mock)
    return connection._cursor


def closing(connection: ThriftConnection) -> Mock:
    """PyHive's `close` of it."""
    close = connection.handle.close
    assert isinstance(close, Mock)
    return close


def test_thread_keeps_its_connection(manager: ConnectionManager, server: Mock) -> None:
    with node(manager, "model.a") as first:
        pass
    with node(manager, "model.b") as second:
        assert manager.get_thread_connection().name == "model.b"
    assert second is first
    assert server.call_count == 1
    manager.cleanup_all()
    closing(first).assert_called_once_with()


def test_connection_that_was_not_used_is_none(manager: ConnectionManager, server: Mock) -> None:
    manager.set_connection_name("model.a")
    manager.release()
    assert server.call_count == 0


def test_failure_ends_the_connection(manager: ConnectionManager, server: Mock) -> None:
    with pytest.raises(RuntimeError, match="failed"), node(manager, "model.a") as failed:
        raise RuntimeError("failed")
    closing(failed).assert_called_once_with()
    with node(manager, "model.b"):
        pass
    assert server.call_count == 2


def test_connection_that_was_idle_for_long_is_not_trusted(
    manager: ConnectionManager, server: Mock, monkeypatch: pytest.MonkeyPatch
) -> None:
    with node(manager, "model.a") as first:
        pass
    monkeypatch.setattr(thrift_method, "MAX_IDLE_SECONDS", -1)
    with node(manager, "model.b") as second:
        assert second is not first
    # An answer may never come.
    first.handle._transport.close.assert_called_once_with()
    closing(first).assert_not_called()
    assert server.call_count == 2


def test_failure_that_dbt_takes_for_a_result_ends_the_connection(manager: ConnectionManager, server: Mock) -> None:
    with node(manager, "model.a") as first:
        statement(first).execute.side_effect = RuntimeError("failed")
        with pytest.raises(RuntimeError, match="failed"):
            first.execute("select 1")
    closing(first).assert_called_once_with()
    with node(manager, "model.b") as second:
        assert second is not first


def test_statement_is_cancelled_over_another_connection(manager: ConnectionManager, server: Mock) -> None:
    """Its own thread reads the answers on its own one."""
    with node(manager, "model.a") as first:
        connection = manager.get_thread_connection()
        manager.cancel(connection)
        first.handle.client.CancelOperation.assert_not_called()
        second = server.side_effect()
        server.side_effect = [second]
        operation = statement(first)._operationHandle
        manager.cancel(connection)
        (asked,) = second.client.CancelOperation.call_args.args
        assert asked.operationHandle is operation
        second.close.assert_called_once_with()
        server.side_effect = ConnectionRefusedError
        manager.cancel(connection)
    with node(manager, "model.b"):
        manager.get_thread_connection().handle.rest()
        calls = server.call_count
        manager.cancel(manager.get_thread_connection())
        assert server.call_count == calls


def test_server_keeps_no_statement_that_is_over(manager: ConnectionManager, server: Mock) -> None:
    """Its plan and its rows are in the server's memory until then."""
    with node(manager, "model.a") as connection:
        first = statement(connection)
        connection.cursor()
        first.close.assert_called_once_with()
        second = statement(connection)
    second.close.assert_called_once_with()
    assert connection._cursor is None


@pytest.mark.parametrize(
    "error",
    [
        exc.OperationalError("the view that a client has dropped"),
        TTransportException(message="cut"),
        ConnectionResetError(),
        EOFError(),
    ],
)
def test_what_ends_badly_is_no_error_of_the_node(
    manager: ConnectionManager, server: Mock, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    with node(manager, "model.a") as first:
        statement(first).close.side_effect = error
        closing(first).side_effect = error
    closing(first).assert_called_once_with()
    with node(manager, "model.b") as second:
        assert second is not first
    closing(second).side_effect = error
    manager.cleanup_all()
    closing(second).assert_called_once_with()


def test_statement_without_a_result_has_no_rows(manager: ConnectionManager, server: Mock) -> None:
    with node(manager, "model.a") as connection:
        statement(connection).fetchall.side_effect = TypeError
        statement(connection).description = []
        assert connection.fetchall() == []
        statement(connection).description = [("id",)]
        with pytest.raises(TypeError):
            connection.fetchall()


def test_other_methods_are_dbt_sparks(manager: ConnectionManager) -> None:
    connection = manager.set_connection_name("model.a")
    connection.handle, connection.state = Mock(), "open"  # type: ignore[assignment]
    manager.release()
    assert connection.state == "closed"
