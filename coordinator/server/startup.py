"""The first steps of a start: bound sockets, and the error with its exit code."""

from __future__ import annotations

import errno
import logging
import socket
from typing import TYPE_CHECKING, Final

from coordinator.config.values import ALL_INTERFACES

if TYPE_CHECKING:
    from coordinator.config.values import Address
    from coordinator.storage.data_dir import DataDirError
    from coordinator.storage.log_store import LogStoreError

LOG = logging.getLogger("coordinator.server")

EXIT_MISTAKE: Final = 2  # in the settings or the environment: another start would fail in the same way
EXIT_MAY_PASS: Final = 1  # a later start may succeed


class StartupError(Exception):
    """The daemon cannot start. The message is one sentence that says what to do."""

    def __init__(self, sentence: str, exit_code: int = EXIT_MISTAKE) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code

    @classmethod
    def of(cls, error: DataDirError | LogStoreError) -> StartupError:
        """Return the error of a start with the sentence and the exit code of `error`."""
        return cls(str(error), EXIT_MAY_PASS if error.may_pass else EXIT_MISTAKE)


def bind(address: Address) -> socket.socket:
    """Return a bound socket that does not listen yet. Raises StartupError with a sentence for the user."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        bound.bind((address.host, address.port))
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise StartupError(
                f"port {address.port} on {address.host} is in use; stop the other process, or choose another port"
                " with --listen host:port (port 0 takes a free one)"
            ) from None
        raise StartupError(
            f"cannot listen on {address} ({error.strerror or error}); choose an address of this machine with"
            " --listen host:port"
        ) from None
    return bound


def told_host(host: str) -> str:
    """Return the host for clients if advertised.listeners is not set: this host's name if all interfaces are bound."""
    if host not in ALL_INTERFACES:
        return host
    name = socket.gethostname()
    LOG.warning(
        "listening on all interfaces, and clients are told to connect to %s, the name of this host: one that cannot"
        " resolve it fails after its first request; set the address that clients can reach with --advertised host:port",
        name,
    )
    return name
