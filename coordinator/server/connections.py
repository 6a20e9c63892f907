"""All open connections: how many there may be, and which of them have been silent for too long.

Bounds: `max.connections` in all, `max.connections.per.ip` per address; one connection more is closed with a log line.
So is one that takes one of the last open files that the system grants: without those the logs could not go on.
What they hold of requests that cannot run yet is bounded for all of them together (`queued.max.request.bytes`): each
may hold a frame of `socket.request.max.bytes` that never becomes whole, and there may be thousands.
A sweep closes connections that are idle or whose half-sent request does not get finished (`overdue`), and cuts off
those that were closed and whose peer does not read the last answers (`is_lingering`): they count until they are gone.
"""

from __future__ import annotations

import asyncio
import resource
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.server.connection import Connection


FILES_KEPT: Final = 128  # open files that connections leave to segments, indexes and topics to come


def files_for_connections() -> float:
    """Below which file descriptor a connection may be. A new file takes the lowest that is free."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return float("inf") if limit == resource.RLIM_INFINITY else limit - min(FILES_KEPT, limit // 4)


class Connections:
    """The set of open connections, in order of arrival."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._files = files_for_connections()
        self._open: dict[Connection, None] = {}
        self._by_address: dict[str, int] = {}
        self._empty = asyncio.Event()
        self._empty.set()
        self.accepted = 0
        self.refused = 0
        self.held_bytes = 0  # of requests that cannot run yet, in all connections
        self.unsent_bytes = 0  # of answers, in all connections whose peers do not read them as fast as they come

    def __len__(self) -> int:
        return len(self._open)

    def admit(self, connection: Connection) -> str:
        """Take the connection in. A non-empty answer is the reason why it must be closed instead."""
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

    def remove(self, connection: Connection) -> None:
        """Forget a closed connection. One that was never admitted is not known here."""
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

    def set_held_bytes(self, connection: Connection, held_bytes: int) -> None:
        """A connection has so many bytes of requests that cannot run yet. If all have too many, the greatest goes."""
        self.held_bytes += held_bytes - connection.held_bytes
        connection.held_bytes = held_bytes
        limit = self._config.queued_max_request_bytes
        if held_bytes and self.held_bytes > limit >= 0:
            greatest = max(self._open, key=attrgetter("held_bytes"))
            greatest.close(
                f"all connections hold {self.held_bytes} bytes of requests that are not whole or must wait, this one "
                f"{greatest.held_bytes} of them; queued.max.request.bytes={limit}"
            )

    def set_unsent_bytes(self, connection: Connection, unsent_bytes: int) -> None:
        """A connection has so many bytes of answers unsent. If all have too many, the greatest is cut off."""
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

    def all(self) -> list[Connection]:
        """A copy, safe to walk while connections close."""
        return list(self._open)

    def sweep(self, now_ms: int) -> None:
        """Close what is overdue."""
        for connection in self.all():
            if connection.is_lingering(now_ms):
                connection.abort()
            elif reason := connection.reads_nothing(now_ms):
                connection.abort(reason)
            elif reason := connection.overdue(now_ms):
                connection.close(reason, quiet=reason == "idle")
