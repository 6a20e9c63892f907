"""A listener for the daemon's own parts, where its other listeners ask for TLS, a login or rights.

The console asks the daemon as a Kafka client does. It gets a listener on the loopback address, a password that is made
at the start and never leaves the process, and a principal that no other client can have, with all rights.
"""

from __future__ import annotations

import secrets
import socket
from hmac import compare_digest
from typing import TYPE_CHECKING, Final

from coordinator.config.values import Address
from coordinator.security.plain import PlainServer
from coordinator.security.principal import INTERNAL
from coordinator.server.listener import ServedListener
from coordinator.server.peer_connection import Login

if TYPE_CHECKING:
    from coordinator.security.sasl_server import SaslServer

PLAIN: Final = "PLAIN"
USER: Final = "console"


class InternalListener:
    """Binds at once. `login` is for `PeerConnection`."""

    def __init__(self) -> None:
        self.bound = socket.create_server(("127.0.0.1", 0))
        self.address = Address(*self.bound.getsockname())
        self.login = Login(PLAIN, USER, secrets.token_urlsafe(32))
        self.served = ServedListener("INTERNAL", "SASL_PLAINTEXT", _Mechanisms(self.login.secret))


class _Mechanisms:
    """Implements `coordinator.security.authenticator.Mechanisms`."""

    enabled: Final = (PLAIN,)
    principal_type: Final = INTERNAL

    def __init__(self, secret: str) -> None:
        self._secret = secret

    def server(self, mechanism: str) -> SaslServer:
        return PlainServer(lambda _, password: compare_digest(password.encode(), self._secret.encode()))

    def max_lifetime_ms(self, mechanism: str) -> int:
        return 0
