"""All open connections: their limits in number and in memory, and the end of those that are silent or do not read.

Limits: `max.connections` in all, `max.connections.per.ip` by address; one connection more is closed with a log line.
Connections are refused as well when fewer than reserved.open.files remain, so that logs can still open segments.
Requests that cannot run yet are limited over all connections (`queued.max.request.bytes`): each connection may hold an
incomplete frame of up to `socket.request.max.bytes`, and there may be thousands of connections. Answers that the peers
do not read are limited in the same way (`queued.max.response.bytes`).

A sweep closes connections that are idle or whose request stays incomplete (`overdue`). It aborts those that were closed
and whose peer does not read the last answers (`is_lingering`); they count until then.
"""

from __future__ import annotations

import asyncio
import resource
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.effects import ClientSoftware


class Session(Protocol):
    """One open connection, as the node around it uses it."""

    address: str
    peer: str
    descriptor: int
    held_bytes: int
    unsent_bytes: int

    @property
    def is_stranger(self) -> bool:
        """True while its client has to log in first."""

    @property
    def client_id(self) -> str:
        """The client id of the last request."""

    @property
    def is_closed(self) -> bool:
        """True when nothing more is read, handled or answered."""

    def identified(self, software: ClientSoftware) -> None:
        """Remember the client's software for the requests to come."""

    def answer(self, ticket: Any, response: Any) -> None:
        """Encode and send the answer to one of its requests."""

    def forget_templates(self) -> None:
        """Recognise no request by its bytes any more."""

    def release_waiting(self) -> None:
        """Answer the request that waits for news of its group, if there is one."""

    def flush(self) -> None:
        """Run requests that may run now, and write the answers."""

    def close(self, reason: str, *, quiet: bool = False) -> None:
        """Close after the written answers have left."""

    def abort(self, reason: str = "") -> None:
        """Close at once."""

    def stop_reading(self) -> None:
        """Take no further request."""

    def overdue(self, now_ms: int) -> str:
        """Return why it should be closed at `now_ms`; empty if it should not."""

    def reads_nothing(self, now_ms: int) -> str:
        """Return why it should be aborted at `now_ms`; empty if it should not."""

    def is_lingering(self, now_ms: int) -> bool:
        """Return True if it was closed long ago and its peer has not read the last answers."""


def files_for_connections(reserved: int) -> float:
    """Return the lowest file descriptor that is refused to a connection. A new file takes the lowest free one.

    `reserved` are kept for segments, indexes and topics to come.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return float("inf") if limit == resource.RLIM_INFINITY else limit - min(reserved, limit // 4)


class Connections:
    """The set of open connections, in order of arrival."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files = files_for_connections(config.reserved_open_files)
        self._open: dict[Session, None] = {}
        self._by_address: dict[str, int] = {}
        self._empty = asyncio.Event()
        self._empty.set()
        self.accepted = 0
        self.refused = 0
        self.held_bytes = 0  # of requests that are incomplete or wait, in all connections
        self.unsent_bytes = 0  # of answers, in all connections whose peers read too slowly

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Session) -> str:
        """Add a connection. Return why it must be closed instead; empty if it was added."""
        here = self._by_address.get(connection.address, 0)
        if len(self._open) >= self._config.max_connections:
            self.refused += 1
            return f"max.connections={self._config.max_connections} are open; raise it, or close clients"
        if here >= self._config.max_connections_per_ip:
            self.refused += 1
            return (
                f"max.connections.per.ip={self._config.max_connections_per_ip} are open from {connection.address};"
                " raise it, or close clients"
            )
        if connection.descriptor >= self._files:
            self.refused += 1
            return f"{len(self._open)} connections are as many as the limit of open files allows; raise `ulimit -n`"
        self.accepted += 1
        self._open[connection] = None
        self._empty.clear()
        self._by_address[connection.address] = here + 1
        return ""

    def remove(self, connection: Session) -> None:
        """Remove a closed connection, if it was admitted."""
        if connection not in self._open:
            return
        del self._open[connection]
        if not self._open:
            self._empty.set()
        left = self._by_address[connection.address] - 1
        if left:
            self._by_address[connection.address] = left
        else:
            del self._by_address[connection.address]

    def withdraw(self, connection: Session) -> None:
        """Remove one whose place another takes: the two count as one that was accepted."""
        if connection in self._open:
            self.accepted -= 1
            self.remove(connection)

    def set_held_bytes(self, connection: Session, held_bytes: int) -> None:
        """Set how much of requests a connection holds. Over the limit for all, the one that holds most is closed."""
        self.held_bytes += held_bytes - connection.held_bytes
        connection.held_bytes = held_bytes
        limit = self._config.queued_max_request_bytes
        if held_bytes and self.held_bytes > limit >= 0:
            greatest = max(self._open, key=_is_closed_first)
            greatest.close(
                f"all connections hold {self.held_bytes} bytes of requests that are not whole or must wait, this one "
                f"{greatest.held_bytes} of them; queued.max.request.bytes={limit}"
            )

    def set_unsent_bytes(self, connection: Session, unsent_bytes: int) -> None:
        """Set how much of answers a connection has unsent. Over the limit for all, the greatest is aborted."""
        self.unsent_bytes += unsent_bytes - connection.unsent_bytes
        connection.unsent_bytes = unsent_bytes
        limit = self._config.queued_max_response_bytes
        if unsent_bytes and self.unsent_bytes > limit >= 0:
            greatest = max(self._open, key=attrgetter("unsent_bytes"))
            greatest.abort(
                f"all connections have {self.unsent_bytes} bytes of answers that were not read, this one "
                f"{greatest.unsent_bytes} of them; queued.max.response.bytes={limit}"
            )

    async def emptied(self) -> None:
        """Return when no connection is open."""
        await self._empty.wait()

    def all(self) -> list[Session]:
        """Return a copy, which is safe to iterate while connections close."""
        return list(self._open)

    def sweep(self, now_ms: int) -> None:
        """Close the connections that are overdue, and abort those whose peers do not read."""
        for connection in self.all():
            if connection.is_lingering(now_ms):
                connection.abort()
            elif reason := connection.reads_nothing(now_ms):
                connection.abort(reason)
            elif reason := connection.overdue(now_ms):
                connection.close(reason, quiet=reason == "idle")


def _is_closed_first(connection: Session) -> tuple[bool, int]:
    """Return the rank of a connection when too much is held: clients that have not logged in come before all others."""
    return connection.is_stranger and connection.held_bytes > 0, connection.held_bytes
