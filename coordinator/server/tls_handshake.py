"""Accepting connections on a listener with TLS.

A socket counts among the connections before its handshake, which has a time limit. The handshake has the certificate of
the moment at which it begins: a new one counts from the next connection on, and open connections keep theirs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from functools import partial
from typing import TYPE_CHECKING, Final

from coordinator.server.connection import Connection
from coordinator.server.line_limit import RARE, rare

if TYPE_CHECKING:
    import socket

    from coordinator.security.tls_listener import TlsListener
    from coordinator.server.listener import ServedListener
    from coordinator.server.runtime import Runtime

LOG: Final = logging.getLogger("coordinator.connection")

AFTER_FAILURE_S: Final = 1.0  # to the next try, if no connection can be accepted because files or memory are short
SHUTDOWN_S: Final = 2.0
_NOT_TLS: Final = "it does not speak TLS; set security.protocol to SSL or SASL_SSL in the client"
_NOT_TRUSTED: Final = (
    "it does not trust the certificate of this listener; give it the authority (ssl.truststore.location, ssl.ca)"
)
_NO_CERTIFICATE: Final = "it shows no certificate, and ssl.client.auth=required; give it a key store"
_REASONS: Final = {
    "WRONG_VERSION_NUMBER": _NOT_TLS,
    "HTTP_REQUEST": _NOT_TLS,
    "UNEXPECTED_MESSAGE": _NOT_TLS,
    "RECORD_LAYER_FAILURE": _NOT_TLS,
    "PACKET_LENGTH_TOO_LONG": _NOT_TLS,
    "TLSV1_ALERT_UNKNOWN_CA": _NOT_TRUSTED,
    "SSLV3_ALERT_BAD_CERTIFICATE": _NOT_TRUSTED,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": _NOT_TRUSTED,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the certificate of this listener has expired; replace it",
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": _NO_CERTIFICATE,
    "UNSUPPORTED_PROTOCOL": "it offers no version of TLS in ssl.enabled.protocols; update the client",
    "NO_SHARED_CIPHER": "it offers no cipher suite that is served here; see ssl.cipher.suites",
}


async def accept_all(listening: socket.socket, runtime: Runtime, listener: ServedListener, tls: TlsListener) -> None:
    """Accept connections until cancelled."""
    loop = asyncio.get_running_loop()
    listening.setblocking(False)
    while True:
        try:
            accepted, address = await loop.sock_accept(listening)
            handshake = TlsHandshake(accepted, address[0], address[1])
        except OSError as error:
            LOG.error("no connection accepted listener=%s reason=%s", listener.name, error.strerror, extra=RARE)
            await asyncio.sleep(AFTER_FAILURE_S)
            continue
        refusal = runtime.connections.admit(handshake)
        throttle_ms = runtime.quotas.connection_throttle_ms(address[0], runtime.now_ms())
        if refusal:
            handshake.close(refusal)
        elif throttle_ms:  # as in `Connection._close_late`
            loop.call_later(throttle_ms / 1000, handshake.give_up, runtime)
        else:
            handshake.begin(runtime, listener, tls)


class TlsHandshake:
    """A socket whose handshake is under way. Counts as a session (`connections.Session`)."""

    client_id = ""
    held_bytes = unsent_bytes = 0
    is_stranger = True

    def __init__(self, accepted: socket.socket, address: str, port: int) -> None:
        self._socket = accepted
        try:
            self._held = accepted.dup()  # open until the alert of a failed handshake has been sent
        except OSError:
            accepted.close()
            raise
        self._work: asyncio.Task[None] | None = None
        self.is_closed = False
        self.address = address
        self.peer = f"{address}:{port}"
        self.descriptor = accepted.fileno()

    def begin(self, runtime: Runtime, listener: ServedListener, tls: TlsListener) -> None:
        self._work = asyncio.get_running_loop().create_task(self._shake_hands(runtime, listener, tls))

    def give_up(self, runtime: Runtime) -> None:
        """End without a handshake."""
        runtime.connections.remove(self)
        self.abort("its address is over connection_creation_rate")

    async def _shake_hands(self, runtime: Runtime, listener: ServedListener, tls: TlsListener) -> None:
        reason = ""
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                partial(Connection, runtime, listener, self),
                self._socket,
                ssl=tls.context,
                ssl_handshake_timeout=tls.handshake_s,
                ssl_shutdown_timeout=SHUTDOWN_S,
            )
        except OSError as error:
            reason = _reason(error)
            self._send_alert(error)
        except asyncio.CancelledError:
            pass  # by `abort`
        self._held.close()
        runtime.connections.remove(self)  # unless the connection has taken its place
        if reason:
            self.abort(reason)

    def _send_alert(self, error: OSError) -> None:
        """Send what tells the client why its handshake failed, as Kafka does (SslTransportLayer)."""
        if alert := getattr(error, "alert", b""):
            with contextlib.suppress(OSError):
                self._held.send(alert)

    # -- Session -------------------------------------------------------------------------------------------------

    def close(self, reason: str, *, quiet: bool = False, kind: str = "") -> None:
        self.abort("" if quiet else reason)

    def abort(self, reason: str = "") -> None:
        if self.is_closed:
            return
        self.is_closed = True
        if reason:
            LOG.warning(
                "connection closed peer=%s client=- reason=%s",
                self.peer,
                reason,
                extra=rare("TLS", f"{self.address} {reason}"),
            )
        if self._work is not None:
            self._work.cancel()
        self._held.close()
        self._socket.close()

    def stop_reading(self) -> None:
        self.abort()

    def overdue(self, now_ms: int) -> str:
        """Return nothing: the handshake has a time limit of its own."""
        return ""

    def reads_nothing(self, now_ms: int) -> str:
        return ""

    def is_lingering(self, now_ms: int) -> bool:
        return False

    def identified(self, software: object) -> None: ...

    def answer(self, ticket: object, response: object) -> None: ...

    def forget_templates(self) -> None: ...

    def release_waiting(self) -> None: ...

    def flush(self) -> None: ...


def _reason(error: OSError) -> str:
    """Return why a handshake failed, in the words of this server's settings."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is refused ({error.verify_message}); it must come from an authority trusted here"
    if isinstance(error, ssl.SSLError):
        return _REASONS.get(error.reason or "", f"the TLS handshake failed ({error.reason})")
    if isinstance(error, TimeoutError | ConnectionAbortedError):
        return "the TLS handshake did not end within ssl.handshake.timeout.ms"
    return f"it ended the connection during the TLS handshake ({error.strerror or 'closed'})"
