"""One connection to a broker: a small asyncio client with one request at a time.

Each request goes out in the newest version that both sides have. Every error is an OSError (TimeoutError included) or a
`BrokerLinkError`, after which the connection must be closed. `BrokerConnectError` alone says that nothing was sent.

A connection with a login is not usable any more some time before its session ends: the broker would close it at the
next request. The caller makes a new one then.
"""

from __future__ import annotations

import asyncio
import math
import ssl
from typing import Any, Final, Self

from coordinator.config.values import Address
from coordinator.engine.kafka.security import BrokerLoginError, BrokerSecurity
from protocol.api_keys import ApiKey
from protocol.client import ClientConnection, common_versions
from protocol.codec import api_key_of
from protocol.errors import ProtocolError
from protocol.messages.api_versions import ApiVersionsRequest

CLIENT_ID: Final = "kafka-group-coordinator"
CONNECT_S: Final = 3.0
MAX_ANSWER_BYTES: Final = 256 << 20
_READ_BYTES: Final = 1 << 20

# Newer versions name topics by ids, or move the fields of a request for one key into a list.
_NEWEST: Final = {ApiKey.PRODUCE: 12, ApiKey.FETCH: 12, ApiKey.METADATA: 12, ApiKey.FIND_COORDINATOR: 3}

UNSECURED: Final = BrokerSecurity()


class BrokerLinkError(Exception):
    """The other end does not answer like a Kafka broker. The message says how."""


class BrokerConnectError(OSError):
    """There is no connection to the broker, so nothing was sent.

    `may_pass`: a later try may succeed without a change of settings.
    """

    def __init__(self, sentence: str, *, may_pass: bool = True) -> None:
        super().__init__(sentence)
        self.may_pass = may_pass


class BrokerConnection:
    """A connection to one broker. Create it with `connect`."""

    def __init__(self, address: Address, streams: tuple[Any, Any]) -> None:
        self._address = address
        self._protocol = ClientConnection(CLIENT_ID, MAX_ANSWER_BYTES)
        self._reader: asyncio.StreamReader = streams[0]
        self._writer: asyncio.StreamWriter = streams[1]
        self._versions: dict[int, range] = {}
        self._usable_until_s = math.inf

    @classmethod
    async def connect(cls, address: Address, security: BrokerSecurity = UNSECURED) -> Self:
        """Connect to a broker, ask for its versions, and log in. Raises BrokerConnectError."""
        try:
            async with asyncio.timeout(CONNECT_S):
                streams = await asyncio.open_connection(*address, limit=_READ_BYTES, ssl=security.context)
                connection = cls(address, streams)
                try:
                    await connection._begin(security)
                except BaseException:
                    connection.close()
                    raise
        except BrokerLoginError as error:
            raise BrokerConnectError(f"cannot log in to {address}: {error}", may_pass=False) from None
        except ssl.SSLError as error:
            was_cut = isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError)  # as by a broker that stops
            raise BrokerConnectError(security.handshake_problem(address, error), may_pass=was_cut) from None
        except (OSError, BrokerLinkError) as error:
            raise BrokerConnectError(
                f"{address} cannot be used as a Kafka broker: {str(error) or 'no answer'}"
            ) from None
        return connection

    async def _begin(self, security: BrokerSecurity) -> None:
        answer = await self._exchange(ApiVersionsRequest(), 0)  # every broker answers version 0
        self._versions = {api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys}
        self._usable_until_s = await security.log_in(self._send)

    def close(self) -> None:
        """Abort the connection at once; unsent data is lost."""
        self._writer.transport.abort()

    @property
    def is_usable(self) -> bool:
        """False once either end has closed the connection, or the session of its login ends soon."""
        is_open = not (self._reader.at_eof() or self._writer.transport.is_closing())
        return is_open and asyncio.get_running_loop().time() < self._usable_until_s

    async def call(self, request: Any, within_s: float) -> Any:
        """Send a request and return its response. Raises OSError or BrokerLinkError."""
        async with asyncio.timeout(within_s):
            return await self._send(request)

    async def _send(self, request: Any) -> Any:
        key = api_key_of(request)
        versions = common_versions(key, self._versions.get(key, range(0)))
        newest = min(versions[-1], _NEWEST.get(ApiKey(key), versions[-1])) if versions else -1
        if newest not in versions:
            raise BrokerLinkError(f"{self._address} does not offer {ApiKey(key).name} in a version known here")
        return await self._exchange(request, newest)

    async def _exchange(self, request: Any, version: int) -> Any:
        try:
            self._writer.write(self._protocol.send(request, version))
            while data := await self._reader.read(_READ_BYTES):
                if responses := self._protocol.receive(data):
                    return responses[0]
        except ProtocolError as error:
            raise BrokerLinkError(f"{self._address} does not answer as a Kafka broker: {error}") from None
        raise ConnectionResetError(f"{self._address} ended the connection without an answer")
