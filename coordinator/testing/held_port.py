"""Keeps the ports of a server while that is down, so that it can be started again at the same addresses.

The socket that holds a port is bound and does not listen. Linux gives its port to no socket that asks for a free one,
with bind or with connect, and yet lets the server bind it, because both have SO_REUSEADDR. Other systems refuse the
server then, so nothing is held there, and another process may take the port meanwhile.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterable

from coordinator.config.listeners import parse_listeners
from coordinator.config.values import Address


class HeldPort:
    """An address whose port is chosen, and then held until `release`."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._socket: socket.socket | None = None

    def hold(self) -> None:
        """Hold the port, and choose one if it is 0. Nothing happens if it is in use: the server will say so."""
        if self._socket is not None or sys.platform != "linux":
            return
        held = socket.socket(socket.AF_INET6 if ":" in self.address.host else socket.AF_INET)
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(self.address)
        except OSError:
            held.close()
            return
        self._socket = held
        self.address = self.address._replace(port=held.getsockname()[1])

    def release(self) -> None:
        """Let others have the port."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def descriptors(self) -> list[int]:
        """Return the descriptor of the socket, if there is one."""
        return [] if self._socket is None else [self._socket.fileno()]


class HeldPorts:
    """The addresses of all listeners of a server, by the names that `listeners` gives them. Raises ConfigError."""

    def __init__(self, listeners: str) -> None:
        self._ports = {name: HeldPort(address) for name, address in parse_listeners(listeners).items()}

    @property
    def addresses(self) -> dict[str, Address]:
        """The addresses by the name of the listener, in the order written."""
        return {name: each.address for name, each in self._ports.items()}

    @property
    def first(self) -> Address:
        """The address of the first listener."""
        return next(iter(self._ports.values())).address

    @property
    def listeners(self) -> str:
        """The setting `listeners`, with the ports that are held or were bound."""
        return ",".join(f"{name}://{address}" for name, address in self.addresses.items())

    def bound(self, addresses: Iterable[Address]) -> None:
        """Note the addresses that the server has bound, in the order of the listeners."""
        for each, address in zip(self._ports.values(), addresses, strict=True):
            each.address = address

    def hold(self) -> None:
        """Hold all ports."""
        for each in self._ports.values():
            each.hold()

    def release(self) -> None:
        """Let others have the ports."""
        for each in self._ports.values():
            each.release()

    def descriptors(self) -> list[int]:
        """Return the descriptors of the sockets."""
        return [descriptor for each in self._ports.values() for descriptor in each.descriptors()]
