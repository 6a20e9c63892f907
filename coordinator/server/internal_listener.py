"""A listener for the daemon's own parts, where its other listeners ask for TLS, a login or rights.

The console asks the daemon as a Kafka client does, and workers ask each other. They get a listener on the loopback
address, a password that is made at the start and that only the processes of this daemon know, and a principal that no
other client can have, with all rights.
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
USER: Final = "daemon"


def bind_internal() -> socket.socket:
    """Return a socket on a free port of the loopback address."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    return bound


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def login_of(secret: str) -> Login:
    """Return the login of the parts of a daemon that have this secret."""
    return Login(PLAIN, USER, secret)


def new_login() -> Login:
    """Return a new login of the parts of a daemon."""
    return login_of(new_secret())


class InternalListener:
    """`login` is that of its clients, and `bound` a socket that does not listen yet."""

    def __init__(self, bound: socket.socket, login: Login) -> None:
        self.bound = bound
        self.address = Address(*bound.getsockname())
        self.login = login
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
