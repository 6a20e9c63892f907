"""A session: one connection to PostgreSQL that carries out one request after the other.

It is opened when it is needed, and again after it was lost; tries that fail are spread by a pause that doubles.

A commit may wait for the synchronous standby. If that wait is cancelled, PostgreSQL reports success and a WARNING: the
rows are there and may be on one machine only. So a request during which this warning came counts as lost. All other
warnings are logged, and change nothing.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

import asyncpg

from coordinator.engine.postgres.connecting import connect
from coordinator.engine.postgres.errors import (
    NotConnectedError,
    RequestLostError,
    StatementError,
    cannot_connect,
    is_certain,
    lost,
    refused,
)
from coordinator.engine.postgres.server_checks import check_server
from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.engine.postgres.settings import PostgresSettings

LOG: Final = logging.getLogger("coordinator.cluster")

FIRST_PAUSE_S: Final = 0.05
LAST_PAUSE_S: Final = 1.0
MOST_WARNINGS: Final = 50  # that a session logs; the texts may come from triggers, and are remembered
_CLOSE_S: Final = 1.0
_MOST_WARNING_CHARS: Final = 200
# The function of PostgreSQL that sends the warning of a cancelled wait. Its text depends on lc_messages.
_STANDBY_WAIT: Final = "SyncRepWaitForLSN"

T = TypeVar("T")
Work = Callable[[Any], Awaitable[T]]


async def _nothing_more(connection: Any) -> None:
    """Make no further preparations."""


class DatabaseSession:
    """One connection for requests of one kind, `role`.

    `prepare` is called with each new connection, before any request; it may refuse by raising LogStoreError.
    """

    def __init__(
        self, settings: PostgresSettings, role: str, timeout_s: float, prepare: Work[None] = _nothing_more
    ) -> None:
        self._settings = settings
        self._role = role
        self._timeout_s = timeout_s
        self._prepare = prepare
        self._lock = asyncio.Lock()
        self._connection: Any = None
        self._cancelled_wait: str | None = None  # PostgreSQL's warning
        self._logged_warnings: set[str] = set()  # without their numbers
        self._pause_s = 0.0
        self._next_try_s = 0.0
        self._reason: NotConnectedError | None = None  # why the last try to connect failed
        self._is_closed = False

    async def fetch(self, query: str, *args: object) -> list[Any]:
        """Carry out one statement and return its rows. Raises the errors of `run`."""
        return await self.run(lambda connection: connection.fetch(query, *args))

    async def run(self, work: Work[T], timeout_s: float | None = None) -> T:
        """Carry out statements on the connection, when the requests before have ended.

        Raises NotConnectedError, StatementError, RequestLostError. If it is cancelled, the request is lost.
        """
        async with self._lock:
            connection = await self._connected()
            self._cancelled_wait = None
            try:
                async with asyncio.timeout(timeout_s or self._timeout_s):
                    result = await work(connection)
            except asyncpg.PostgresError as error:
                if not is_certain(error):
                    raise self._lost(lost(self._settings, error)) from None
                refusal = refused(self._settings, error)
                if refusal.is_read_only:
                    self._lost(refusal)
                raise refusal from None
            except (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError) as error:
                raise self._lost(lost(self._settings, error)) from None
            except asyncio.CancelledError:
                self._lost(RequestLostError("the request was cancelled"))
                raise
            if self._cancelled_wait is not None:
                raise RequestLostError(
                    f"{self._settings.name}: the commit may be on one machine only ({self._cancelled_wait}); "
                    "check the synchronous standby"
                )
            return result

    async def close(self) -> None:
        """Close the connection. A request that is under way is ended."""
        self._is_closed = True
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._lock.locked():
            connection.terminate()
            return
        with suppress(Exception):
            await connection.close(timeout=_CLOSE_S)

    async def _connected(self) -> Any:
        if self._is_closed:
            raise NotConnectedError(f"{self._settings.name}: the store is closed; start the node again")
        if self._connection is not None and not self._connection.is_closed():
            return self._connection
        now_s = asyncio.get_running_loop().time()
        if self._reason is not None and now_s < self._next_try_s:
            raise self._reason
        try:
            self._connection = await self._connect()
        except LogStoreError as error:
            if self._reason is None or str(error) != str(self._reason):
                LOG.warning("no connection for %s: %s", self._role, error)
            self._reason = cannot_connect(self._settings, error)
            self._pause_s = min(max(self._pause_s * 2, FIRST_PAUSE_S), LAST_PAUSE_S)
            self._next_try_s = asyncio.get_running_loop().time() + self._pause_s
            raise self._reason from None
        if self._reason is not None:
            LOG.warning("connected again for %s: %s", self._role, self._settings.name)
        self._reason, self._pause_s = None, 0.0
        return self._connection

    async def _connect(self) -> Any:
        connection = await connect(self._settings, self._timeout_s, self._parameters())
        try:
            connection.add_log_listener(self._hear)
            async with asyncio.timeout(self._timeout_s):
                await check_server(connection, self._settings)
                await self._prepare(connection)
        except BaseException as error:
            connection.terminate()
            if not isinstance(error, Exception):
                raise
            raise cannot_connect(self._settings, error) from None
        return connection

    def _parameters(self) -> dict[str, str]:
        """Return the settings of the session. PostgreSQL gives up before this side does, and then says so."""
        statement_ms = int(self._timeout_s * 900)
        return {
            "application_name": f"coordinator node {self._settings.node_id} {self._role}",
            "search_path": self._settings.schema,
            "statement_timeout": str(statement_ms),
            "lock_timeout": str(min(statement_ms // 2, 1000)),
            "idle_in_transaction_session_timeout": str(statement_ms),
            # A role or a database may have `error`; then the warning of a cancelled wait would not be sent.
            "client_min_messages": "warning",
            # All statements read in the order of the primary keys. A plan that was made while a table was small, or
            # without statistics, must not read all of a large one.
            "enable_seqscan": "off",
            "enable_bitmapscan": "off",
            "enable_sort": "off",
            "jit": "off",
        }

    def _hear(self, connection: Any, message: Any) -> None:
        if message.severity_en != "WARNING":
            return
        if message.server_source_function == _STANDBY_WAIT:
            self._cancelled_wait = str(message.message)
        else:
            self._log_once(str(message.message).partition("\n")[0][:_MOST_WARNING_CHARS])

    def _log_once(self, warning: str) -> None:
        """Log a warning, unless one that differs in numbers only was logged before."""
        kind = re.sub("[0-9]+", "0", warning)
        if kind in self._logged_warnings or len(self._logged_warnings) >= MOST_WARNINGS:
            return
        self._logged_warnings.add(kind)
        LOG.warning(
            "connection for %s: %s warns: %s; see the log of the database", self._role, self._settings.name, warning
        )

    def _lost(self, error: RequestLostError | StatementError) -> RequestLostError | StatementError:
        LOG.warning("connection for %s: %s", self._role, error)
        if self._connection is not None:
            self._connection.terminate()
            self._connection = None
        self._reason = NotConnectedError(str(error))
        self._next_try_s = 0.0
        return error
