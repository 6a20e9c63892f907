"""A connection from this node to another one: a small Kafka client, one request at a time.

Everything has a time limit and a size limit, since the other end may be gone, stopped, or something else entirely.
Whatever goes wrong is an OSError (TimeoutError among them) or a `LinkError`, and the connection is of no use after it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Self

from protocol.client import ClientConnection
from protocol.errors import ProtocolError, ResponseMismatchError

if TYPE_CHECKING:
    from coordinator.core.cluster import ClusterNode

CONNECT_S: Final = 2.0
MAX_ANSWER_BYTES: Final = 64 << 20
_READ_BYTES: Final = 1 << 16


class LinkError(Exception):
    """The other end does not answer as a node of ours does. The message says how."""


class PeerConnection:
    """See the module. A context manager; `connect` makes it."""

    def __init__(self, node: ClusterNode, client_id: str, streams: tuple[Any, Any]) -> None:
        self.node = node
        self._protocol = ClientConnection(client_id, MAX_ANSWER_BYTES)
        self._reader: asyncio.StreamReader = streams[0]
        self._writer: asyncio.StreamWriter = streams[1]

    @classmethod
    async def connect(cls, node: ClusterNode, client_id: str, *, within_s: float = CONNECT_S) -> Self:
        """OSError when nobody is there, TimeoutError among them."""
        async with asyncio.timeout(within_s):
            return cls(node, client_id, await asyncio.open_connection(node.host, node.port))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up without waiting for anything."""
        self._writer.transport.abort()

    @property
    def is_usable(self) -> bool:
        """False once the other end has hung up."""
        return not (self._reader.at_eof() or self._writer.transport.is_closing())

    async def call(self, request: Any, version: int, *, within_s: float) -> Any:
        """One request and its answer. OSError or LinkError."""
        frame = self._protocol.send(request, version)
        try:
            async with asyncio.timeout(within_s):
                self._writer.write(frame)
                while data := await self._reader.read(_READ_BYTES):
                    if responses := self._protocol.receive(data):
                        return responses[0]
        except ResponseMismatchError:
            raise LinkError(f"{self.node} answered another request than the one sent") from None
        except ProtocolError as error:
            raise LinkError(f"{self.node} does not answer as a coordinator: {error}") from None
        raise LinkError(f"{self.node} ended the connection without an answer")
