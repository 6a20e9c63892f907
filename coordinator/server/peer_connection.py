"""A connection from this node to another one: a small asyncio client with one request at a time.

Each call has a time limit and responses a size limit, since the other end may be gone, stopped, or not a coordinator.
Every error is an OSError (TimeoutError included) or a `LinkError`, after which the connection must be closed.
A login that ends is repeated before the next request once most of its time is over (KIP-368).
"""

from __future__ import annotations

import asyncio
import ssl
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from protocol.api_keys import ApiKey
from protocol.client import ClientConnection
from protocol.codec import api_key_of
from protocol.errors import ProtocolError, ResponseMismatchError

if TYPE_CHECKING:
    from coordinator.core.cluster import ClusterNode

CONNECT_S: Final = 2.0
USED_OF_LOGIN: Final = 0.85  # as in Kafka's SaslClientAuthenticator
WAIT_OF_LOGIN: Final = 0.12  # so that a request that waits is answered before the login ends
MAX_ANSWER_BYTES: Final = 64 << 20
_READ_BYTES: Final = 1 << 16
_VERSIONS: Final = {ApiKey.SASL_HANDSHAKE: 1, ApiKey.SASL_AUTHENTICATE: 2}


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

    def __init__(self, node: ClusterNode, client_id: str, streams: tuple[Any, Any], login: Login | None) -> None:
        self.node = node
        self._protocol = ClientConnection(client_id, MAX_ANSWER_BYTES)
        self._reader: asyncio.StreamReader = streams[0]
        self._writer: asyncio.StreamWriter = streams[1]
        self._login = login
        self._login_s = 0.0  # how long the login is good for; 0: it has no end
        self.next_login_s = 0.0  # when the login is repeated, on the loop's clock

    @classmethod
    async def connect(
        cls,
        node: ClusterNode,
        client_id: str,
        login: Login | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        tls_name: str | None = None,
        within_s: float = CONNECT_S,
    ) -> Self:
        """Connect to a node, and log in. `tls_name`: the name that its certificate must have.

        Raises OSError (TimeoutError included) or LinkError if that fails.
        """
        try:
            async with asyncio.timeout(within_s):
                streams = await asyncio.open_connection(node.host, node.port, ssl=tls, server_hostname=tls_name)
        except ssl.SSLCertVerificationError as error:
            raise LinkError(
                f"the certificate of {node} is not trusted here ({error.verify_message}); set ssl.truststore.location "
                "of the listener for nodes to its authority, or give the node a certificate for this host name"
            ) from None
        except (ssl.SSLError, ConnectionResetError) as error:
            if tls is None:
                raise
            reason = getattr(error, "reason", None) or "it ended the handshake"
            raise LinkError(f"{node} does not speak TLS as expected ({reason}); compare its listeners") from None
        peer = cls(node, client_id, streams, login)
        if login is not None:
            try:
                await peer._log_in(login, within_s)
            except BaseException:
                peer.close()
                raise
        return peer

    async def _log_in(self, login: Login, within_s: float) -> None:
        from coordinator.security.async_login import log_in_by  # late: most nodes log in nowhere
        from coordinator.security.sasl_client import LoginError

        async def call(request: Any) -> Any:
            return await self._exchange(request, _VERSIONS[api_key_of(request)], within_s)

        loop = asyncio.get_running_loop()
        began_s = loop.time()
        try:
            self._login_s = await log_in_by(call, *login) / 1000
        except LoginError as error:
            raise LinkError(f"{self.node} refuses the login of this node: {error}") from None
        self.next_login_s = began_s + self._login_s * USED_OF_LOGIN

    def longest_wait_ms(self, most_ms: int) -> int:
        """Return for how long one request may wait at the other end, at most `most_ms`."""
        return min(most_ms, int(self._login_s * WAIT_OF_LOGIN * 1000)) if self._login_s else most_ms

    async def ended(self) -> None:
        """Return when the other end has closed the connection. Raises OSError if it breaks."""
        while await self._reader.read(_READ_BYTES):
            pass

    @property
    def address(self) -> tuple[str, int] | None:
        """The IP address and port of the other end; None if it has reset the connection."""
        peername = self._writer.get_extra_info("peername")
        return None if peername is None else peername[:2]

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
        if self._login is not None and self._login_s and asyncio.get_running_loop().time() >= self.next_login_s:
            await self._log_in(self._login, within_s)
        return await self._exchange(request, version, within_s)

    async def _exchange(self, request: Any, version: int, within_s: float) -> Any:
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
