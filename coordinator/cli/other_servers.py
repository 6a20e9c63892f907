"""Kinds of servers that are no Kafka broker, found out after one did not answer a request: HTTP, and TLS."""

from __future__ import annotations

import socket
from typing import Final

from coordinator.config.values import Address

PROBE_S: Final = 0.5
_HTTP: Final = "it is an HTTP server; give the address for Kafka clients, which is often port 9092"
_TLS: Final = "it speaks TLS; set security.protocol to SSL or SASL_SSL in a file, and give that by --command-config"
# The first bytes of an answer: HTTP, its oldest version that has no status line, an alert and a handshake of TLS.
_FIRST_BYTES: Final = ((b"HTTP/", _HTTP), (b"<", _HTTP), (b"\x15\x03", _TLS), (b"\x16\x03", _TLS))


def kind_of_server(connection: socket.socket, address: Address, received: bytes) -> str | None:
    """Return what kind of server it is, and what to do; None if that cannot be found out.

    `received` is the beginning of its answer. A server that is silent may be an HTTP server that waits for the end of
    the line; one that has closed the connection may be a TLS server.
    """
    if not received:
        try:
            connection.settimeout(PROBE_S)
            connection.sendall(b"\r\n\r\n")
            received = connection.recv(16)
        except TimeoutError:
            return None
        except OSError:
            pass
    if not received:
        from coordinator.security.tls_probe import speaks_tls  # late: TLS takes longer to import than all the rest

        if speaks_tls(address):
            return _TLS
    return next((kind for first, kind in _FIRST_BYTES if received.startswith(first)), None)
