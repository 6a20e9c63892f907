"""A question to an address: does it speak TLS."""

from __future__ import annotations

import socket
import ssl
from typing import Final

from coordinator.config.values import Address

PROBE_S: Final = 0.5


def speaks_tls(address: Address) -> bool:
    """Begin a handshake, in which no certificate is checked and after which nothing is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection(address, timeout=PROBE_S) as connection, context.wrap_socket(connection):
            return True
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")  # such as: this server wants a certificate of its clients
    except OSError:
        return False
