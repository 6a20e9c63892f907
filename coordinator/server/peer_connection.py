"""A connection from this node to another one: a small asyncio client with one request at a time.

Each call has a time limit and responses a size limit, since the other end may be gone, stopped, or not a coordinator.
Every error is an OSError (TimeoutError included) or a `LinkError`, after which the connection must be closed.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from protocol.client import ClientConnection
from protocol.errors import ProtocolError, ResponseMismatchError
from protocol.messages.sasl_handshake import SaslHandshakeRequest

if TYPE_CHECKING:
    from coordinator.core.cluster import ClusterNode

CONNECT_S: Final = 2.0
NONCE_BYTES: Final = 24
MAX_ANSWER_BYTES: Final = 64 << 20
_READ_BYTES: Final = 1 << 16


class LinkError(Exception):
    """The other end does not answer like a node of this coordinator. The message says how."""


class Login(NamedTuple):
    """The way in which this program logs in to another node (SASL)."""

    mechanism: str
    user: str
    secret: str

    def __repr__(self) -> str:
        """Return a text without the secret."""
        return f"Login({self.mechanism}, {self.user!r})"


class PeerConnection:
    """A connection to one node. Create it with `connect`, and use it as a context manager."""

    def __init__(self, node: ClusterNode, client_id: str, streams: tuple[Any, Any]) -> None:
        self.node = node
        self._protocol = ClientConnection(client_id, MAX_ANSWER_BYTES)
        self._reader: asyncio.StreamReader = streams[0]
        self._writer: asyncio.StreamWriter = streams[1]

    @classmethod
    async def connect(
        cls, node: ClusterNode, client_id: str, login: Login | None = None, *, within_s: float = CONNECT_S
    ) -> Self:
        """Connect to a node, and log in. Raises OSError (TimeoutError included) or LinkError if that fails."""
        async with asyncio.timeout(within_s):
            peer = cls(node, client_id, await asyncio.open_connection(node.host, node.port))
        if login is not None:
            try:
                await peer._log_in(login, within_s)
            except BaseException:
                peer.close()
                raise
        return peer

    async def _log_in(self, login: Login, within_s: float) -> None:
        from coordinator.security.sasl_client import LoginError, log_in  # late: most nodes log in nowhere

        steps = log_in(*login, nonce=secrets.token_urlsafe(NONCE_BYTES))
        answer: Any = None
        try:
            while True:
                request = steps.send(answer)
                version = 1 if isinstance(request, SaslHandshakeRequest) else 2
                answer = await self.call(request, version, within_s=within_s)
        except StopIteration:
            return
        except LoginError as error:
            raise LinkError(f"{self.node} refuses the login of this node: {error}") from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Abort the connection at once; unsent data is lost."""
        self._writer.transport.abort()

    @property
    def is_usable(self) -> bool:
        """False once either end has closed the connection."""
        return not (self._reader.at_eof() or self._writer.transport.is_closing())

    async def call(self, request: Any, version: int, *, within_s: float) -> Any:
        """Send a request and return its response. Raises OSError or LinkError."""
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
