"""What dbt-spark's thrift method is taught: connections that stay open, exact seeds, the server's certificate.

Written for dbt-spark 1.11 and PyHive 0.7.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import Any

from dbt.adapters.contracts.connection import Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions.connection import FailedToConnectError
from dbt.adapters.spark import connections
from dbt.adapters.spark.impl import SparkAdapter
from TCLIService import ttypes  # type: ignore[import-untyped]  # it has no annotations

from alluvium.server.client import FAILURES, has_no_result
from alluvium.server.transport import tls
from dbt_alluvium import seed_values

logger = AdapterLogger("Spark")

# What lies between may cut a connection that says nothing: AWS's network load balancers do after 350 s.
MAX_IDLE_SECONDS = 60.0


class ThriftConnection(connections.PyhiveConnectionWrapper):
    """A connection that may serve one node after another."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.idle_since = time.monotonic()
        self.has_failed = False

    def cursor(self) -> ThriftConnection:
        """The next statement's; the server keeps the plan and the rows of the last one until that is closed."""
        self._close_cursor()
        super().cursor()
        return self

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        """Remembers a failure: dbt may take one for a result, as it does of a batch of a microbatch model."""
        try:
            super().execute(sql, bindings)
        except Exception:
            self.has_failed = True
            raise

    def fetchall(self) -> list[Any]:
        """No rows for a statement without a result: dbt's `run_query` fetches from any, which PyHive refuses."""
        try:
            return super().fetchall()
        except TypeError:
            if not has_no_result(self.description):
                raise
            return []

    def rest(self) -> bool:
        """To be called when a node is done with it; returns whether it may serve another."""
        self.idle_since = time.monotonic()
        return self._close_cursor() and not self.has_failed

    @property
    def is_stale(self) -> bool:
        """Whether it may have been cut by now, so that no answer is to be waited for."""
        return time.monotonic() - self.idle_since > MAX_IDLE_SECONDS

    def close(self) -> None:
        """Never an error: the node has succeeded or failed before, and the server ends what is cut by itself."""
        try:
            if self.is_stale:
                self.handle._transport.close()  # the server ends the session of a client that has gone
            else:
                self._close_cursor()
                super().close()
        except FAILURES as error:
            logger.debug(f"The connection did not end well: {error}")

    def _close_cursor(self) -> bool:
        cursor, self._cursor = self._cursor, None
        try:
            if cursor is not None:
                cursor.close()
        except FAILURES as error:
            logger.debug(f"The statement did not end well: {error}")
            return False
        return True

    @classmethod
    def _fix_binding(cls, value: Any) -> Any:
        """PyHive quotes texts by itself; dbt-spark makes numbers floats and cuts times to milliseconds."""
        return seed_values.text(value)


class ConnectionManager(connections.SparkConnectionManager):
    """Keeps a thread's connection from node to node.

    dbt opens one for each model and each test by default. Spark (3.5.7) analyses all temporary views of a session when
    a connection ends, and fails it where another client drops one in that moment.
    """

    def release(self) -> None:
        """After a node. What failed may have left the connection in any state."""
        kept = self._kept_connection()
        failed = sys.exc_info()[0] is not None
        if kept is None or failed or not kept.rest():
            super().release()

    def set_connection_name(self, name: str | None = None) -> Connection:
        """Before a node."""
        kept = self._kept_connection()
        if kept is not None and kept.is_stale:
            super().release()
        return super().set_connection_name(name)

    def cancel(self, connection: Connection) -> None:
        """Over a connection of its own: the thread waits for an answer on this one, and two cannot read it."""
        if not isinstance(connection.handle, ThriftConnection):
            super().cancel(connection)
        elif operation := getattr(connection.handle._cursor, "_operationHandle", None):
            with suppress(FailedToConnectError, *FAILURES):
                second = self.open(Connection(connection.type, "cancel", connection.credentials))
                second.handle.handle.client.CancelOperation(ttypes.TCancelOperationReq(operation))
                self.close(second)

    def _kept_connection(self) -> ThriftConnection | None:
        connection = self.get_if_exists()
        # To ask one for its handle opens it.
        if connection is None or connection.state != ConnectionState.OPEN:
            return None
        return connection.handle if isinstance(connection.handle, ThriftConnection) else None


def teach() -> None:
    """Called before dbt makes its adapter."""
    connections.PyhiveConnectionWrapper = ThriftConnection  # type: ignore[misc]
    connections.build_ssl_transport = tls  # dbt-spark's takes any certificate
    SparkAdapter.ConnectionManager = ConnectionManager
