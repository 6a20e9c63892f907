"""The sockets of all workers, and the settings that tell each worker where the others are.

A worker has a port of its own on each listener: consecutive ones, or those of worker.ports. Where clients of a listener
need TLS, a login or rights, the workers connect to each other over internal listeners.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from coordinator.config.values import Address
from coordinator.server.internal_listener import bind_internal, new_secret
from coordinator.server.startup import bind, told_host
from coordinator.workers.messages import InternalOrder

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.config.listeners import Endpoint


class _ListenerSockets(NamedTuple):
    """The sockets of one listener, a worker's each, and the addresses that clients are told, by node id."""

    listener: Endpoint
    sockets: list[socket.socket]
    told: dict[int, Address]

    @property
    def nodes(self) -> str:
        return ",".join(f"{node_id}@{address}" for node_id, address in self.told.items())


class WorkerSockets:
    """Binds the sockets of all listeners and workers."""

    def __init__(self, config: Config) -> None:
        """Bind. Raises StartupError."""
        self._config = config
        self.node_ids = [config.node_id + number for number in range(config.workers)]
        self._listeners: list[_ListenerSockets] = []
        self._internal: list[socket.socket] = []
        self._secret = new_secret()
        try:
            for listener in config.client_listeners:
                self._bind(listener)
            if config.is_secured:
                for _ in self.node_ids:
                    self._internal.append(bind_internal())
        except BaseException:
            self.close()
            raise

    def _bind(self, listener: Endpoint) -> None:
        host, port = listener.address
        count = len(self.node_ids)
        ports = self._config.worker_ports_of(listener.name)
        bound: list[socket.socket] = []
        told: dict[int, Address] = {}
        self._listeners.append(_ListenerSockets(listener, bound, told))
        for each in ports or [port + number if port else 0 for number in range(count)]:
            bound.append(bind(Address(host, each)))  # noqa: PERF401 - on failure the earlier ones are closed
        advertised = self._config.advertised_addresses.get(listener.name)
        known_as = advertised.host if advertised else told_host(host)
        for number, (node_id, each_socket) in enumerate(zip(self.node_ids, bound, strict=True)):
            own_port = advertised.port + number if advertised and advertised.port else each_socket.getsockname()[1]
            told[node_id] = Address(known_as, own_port)

    def settings_of(self, number: int) -> Config:
        """Return the settings of a worker that are about addresses."""
        first, *others = self._listeners
        return replace(
            self._config,
            workers=1,
            worker_ports="",
            node_id=self.node_ids[number],
            cluster_nodes=first.nodes,
            advertised_listeners="",
            inter_broker_listener_name="",
            listeners=",".join(f"{each.listener.name}://{_address(each.sockets[number])}" for each in self._listeners),
            listener_settings=(
                *(each for each in self._config.listener_settings if each[1] not in ("cluster_nodes", "worker_ports")),
                *((each.listener.name, "cluster_nodes", each.nodes) for each in others),
            ),
        )

    def descriptors_of(self, number: int) -> tuple[int, ...]:
        """Return the descriptors of a worker's sockets, in the order of the listeners."""
        return tuple(each.sockets[number].fileno() for each in self._listeners)

    def internal_of(self, number: int) -> InternalOrder | None:
        """Return the internal listener of a worker; None if all listeners are open to all."""
        if not self._internal:
            return None
        addresses = {node: str(_address(each)) for node, each in zip(self.node_ids, self._internal, strict=True)}
        return InternalOrder(self._internal[number].fileno(), self._secret, addresses)

    @property
    def addresses(self) -> list[str]:
        """The bound addresses of all listeners, for the user: those of a listener that is open to all without name."""
        return [
            str(_address(bound))
            if each.listener.protocol == "PLAINTEXT" and number == 0
            else f"{each.listener.name}://{_address(bound)}"
            for number, each in enumerate(self._listeners)
            for bound in each.sockets
        ]

    def close(self) -> None:
        """Close all sockets."""
        for each in (*(bound for listener in self._listeners for bound in listener.sockets), *self._internal):
            each.close()


def _address(bound: socket.socket) -> Address:
    return Address(*bound.getsockname()[:2])
