"""One connection to one node of the observed cluster.

aiokafka connects, does TLS and SASL, and matches answers to requests. Requests and answers are encoded and decoded by
`protocol.codec`, in the newest version that both sides have, so record batches stay the bytes that the cluster sent.
Every failure is a `ClusterProblem`, after which the connection is closed.
"""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

from aiokafka.conn import AIOKafkaConnection, create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaConnectionError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)

from coordinator.config.values import Address
from coordinator.observe.client_settings import ClientSettings
from coordinator.observe.errors import ClusterProblem
from coordinator.observe.tokens import TokenProvider
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import common_versions, decode_response
from protocol.errors import ProtocolError
from protocol.headers import encode_request_header
from protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from protocol.schema import Message

PROBE_S: Final = 2.0

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Correlation:
    correlation_id: int


class _Header:
    """The encoded header of a request, in the form that aiokafka asks for."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def encode(self) -> bytes:
        return self._data


class _RawRequest:
    """A request that was encoded here, with the methods that `AIOKafkaConnection.send` calls."""

    def __init__(self, api_key: int, version: int, body: bytes) -> None:
        self._api_key = api_key
        self._version = version
        self._body = body

    RESPONSE_TYPE: type[_RawRequest]

    def prepare(self, _: object) -> Self:
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> _Header:
        return _Header(encode_request_header(self._api_key, self._version, correlation_id, client_id))

    def encode(self) -> bytes:
        return self._body

    def parse_response_header(self, frame: io.BytesIO) -> _Correlation:
        return _Correlation(int.from_bytes(frame.getbuffer()[:4], "big"))

    @staticmethod
    def decode(frame: io.BytesIO) -> bytes:
        """Return the whole frame of an answer."""
        return frame.getvalue()


_RawRequest.RESPONSE_TYPE = _RawRequest


class NodeLink:
    """A connection that is open, and the versions that its node offers."""

    def __init__(self, connection: AIOKafkaConnection, address: Address, settings: ClientSettings) -> None:
        self.address = address
        self._connection = connection
        self._settings = settings
        self._versions: dict[int, range] = {}
        self._has_answered = False

    @classmethod
    async def connect(cls, address: Address, settings: ClientSettings, tokens: TokenProvider | None) -> NodeLink:
        """Connect, log in, and ask for versions. ClusterProblem says why that failed."""
        try:
            connection = await create_conn(
                address.host,
                address.port,
                client_id=settings.client_id,
                request_timeout_ms=settings.request_timeout_ms,
                ssl_context=settings.ssl_context,
                security_protocol=settings.security_protocol,
                sasl_mechanism=settings.sasl_mechanism or None,
                sasl_plain_username=settings.username or None,
                sasl_plain_password=settings.password or None,
                sasl_oauth_token_provider=tokens,
            )
        except ClusterProblem:
            raise
        except (KafkaError, OSError, ValueError, AssertionError) as error:
            raise await _why_not(error, address, settings) from None
        link = cls(connection, address, settings)
        try:
            answer = await link._exchange(ApiVersionsRequest(), 0, ApiVersionsResponse)
        except BaseException:
            link.close()
            raise
        link._versions = {api.api_key: range(api.min_version, api.max_version + 1) for api in answer.api_keys}
        return link

    @property
    def is_open(self) -> bool:
        return bool(self._connection.connected())

    def close(self) -> None:
        self._connection.close()

    async def call(self, request: Message, response: type[R], max_version: int | None = None) -> R:
        """Send in the newest version that both sides have, at most `max_version`, and return the answer."""
        key = codec.api_key_of(request)
        offered = common_versions(key, self._versions.get(key, range(0)))
        versions = [each for each in offered if max_version is None or each <= max_version]
        if not versions:
            raise ClusterProblem(
                f"{self.address} does not offer {ApiKey(key).name} in a version known here; update the older side",
                may_pass=False,
            )
        answer = await self._exchange(request, versions[-1], response)
        self._has_answered = True
        return answer

    async def _exchange(self, request: Message, version: int, response: type[R]) -> R:
        key = codec.api_key_of(request)
        try:
            frame = await self._connection.send(_RawRequest(key, version, codec.encode_request(request, version)))
            _, answer = decode_response(key, version, frame)
        except TimeoutError:
            self.close()
            raise ClusterProblem(f"{self.address} did not answer {ApiKey(key).name} in time; trying again") from None
        except ProtocolError as error:
            self.close()
            raise ClusterProblem(
                f"{self.address} does not answer as a Kafka broker ({error}); give the address of a Kafka listener"
            ) from None
        except (KafkaError, OSError) as error:
            self.close()
            raise ClusterProblem(f"{self.address} ended the connection ({_reason(error)}); {self._hint()}") from None
        assert isinstance(answer, response)
        return answer

    def _hint(self) -> str:
        if self._has_answered or self._settings.uses_sasl:
            return "trying again"
        return "if that repeats, the listener may want a login: set security.protocol and sasl.* in --command-config"


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


async def _why_not(error: BaseException, address: Address, settings: ClientSettings) -> ClusterProblem:
    """Return the problem for an error while connecting."""
    for kind, explain in _EXPLAINED:
        if isinstance(error, kind):
            return explain(error, address, settings)
    was_cut = isinstance(error, KafkaConnectionError | ConnectionError | TimeoutError)
    if was_cut and not settings.uses_tls and await speaks_tls(address):
        return ClusterProblem(
            f"{address} speaks TLS; set security.protocol to SSL or SASL_SSL in --command-config", may_pass=False
        )
    if was_cut and settings.uses_tls and not isinstance(error, TimeoutError):
        return ClusterProblem(str(_no_tls(error, address, settings)))  # or the broker has just been stopped
    if isinstance(error, TimeoutError):
        return ClusterProblem(
            f"{address} did not answer in time; check the address, and that no firewall is between, and that it serves "
            "Kafka clients"
        )
    return ClusterProblem(
        f"cannot connect to {address} ({_reason(error)}); check the address and security.protocol of the listener"
    )


def _certificate(error: BaseException, address: Address, _: ClientSettings) -> ClusterProblem:
    reason = getattr(error, "verify_message", "") or _reason(error)
    return ClusterProblem(
        f"the certificate of {address} is not accepted ({reason}); name the authority that signed it with "
        "ssl.truststore.location (PEM), or use a host name that the certificate has",
        may_pass=False,
    )


def _no_tls(error: BaseException, address: Address, _: ClientSettings) -> ClusterProblem:
    return ClusterProblem(
        f"{address} does not complete a TLS handshake ({_reason(error)}); set security.protocol to PLAINTEXT or "
        "SASL_PLAINTEXT if the listener has no TLS, or ssl.keystore.location if it wants a certificate of its clients",
        may_pass=False,
    )


def _wrong_login(error: BaseException, address: Address, settings: ClientSettings) -> ClusterProblem:
    who = f"user {settings.username!r}" if settings.username else "token"
    return ClusterProblem(
        f"{address} does not accept the {who} ({settings.sasl_mechanism}); correct sasl.username and sasl.password, or "
        "the token's source, in --command-config",
        may_pass=False,
    )


def _wrong_mechanism(error: BaseException, address: Address, settings: ClientSettings) -> ClusterProblem:
    return ClusterProblem(
        f"{address} does not offer the SASL mechanism {settings.sasl_mechanism} ({_reason(error)}); set sasl.mechanism "
        "to one that the listener has",
        may_pass=False,
    )


def _no_sasl(error: BaseException, address: Address, settings: ClientSettings) -> ClusterProblem:
    plain = settings.security_protocol.removeprefix("SASL_")
    return ClusterProblem(
        f"{address} wants no SASL; set security.protocol={'SSL' if plain == 'SSL' else 'PLAINTEXT'}", may_pass=False
    )


def _unknown_host(error: BaseException, address: Address, _: ClientSettings) -> ClusterProblem:
    return ClusterProblem(f"the host {address.host} is not known ({_reason(error)}); check --bootstrap-server")


def _refused(error: BaseException, address: Address, _: ClientSettings) -> ClusterProblem:
    return ClusterProblem(f"nothing listens on {address}; check --bootstrap-server, and that the broker runs")


# The first row that fits is taken, so kinds of an error come before the error itself.
_EXPLAINED: Final[tuple[tuple[type[BaseException], Callable[[Any, Address, ClientSettings], ClusterProblem]], ...]] = (
    (ssl.SSLCertVerificationError, _certificate),
    (ssl.SSLError, _no_tls),
    (SaslAuthenticationFailed, _wrong_login),
    (UnsupportedSaslMechanismError, _wrong_mechanism),
    (IllegalSaslStateError, _no_sasl),
    (socket.gaierror, _unknown_host),
    (ConnectionRefusedError, _refused),
)


async def speaks_tls(address: Address) -> bool:
    """Return whether a server answers a TLS handshake; nothing is sent afterwards."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(PROBE_S):
            _, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # such as: this server wants a certificate of its clients
    except OSError:
        return False
    writer.close()
    return True
