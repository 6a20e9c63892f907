"""The listeners of one node: their sockets, what their connections get, and their TLS.

The sockets are bound before anything else is opened, and the key stores are read. Once the runtime is there, the
listeners accept connections.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.config.listeners import PLAINTEXT
from coordinator.config.security import OAUTHBEARER, parse_mechanisms
from coordinator.config.values import Address, is_loopback
from coordinator.core.cluster import ClusterNode
from coordinator.server.connection import Connection
from coordinator.server.listener import ServedListener
from coordinator.server.startup import StartupError, bind, told_host
from coordinator.server.supervised import ALONE, Supervised

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.config.config import Config
    from coordinator.config.listeners import Endpoint
    from coordinator.security.credentials import Credentials
    from coordinator.security.mechanisms import ListenerMechanisms
    from coordinator.security.tls_listener import TlsListener
    from coordinator.server.runtime import Runtime

LOG: Final = logging.getLogger("coordinator.server")

BACKLOG: Final = 1024
ACCEPTS_AT_ONCE: Final = 32  # asyncio accepts this many before it handles the first; see reserved.open.files
NONCE_BYTES: Final = 24


class BoundListener(NamedTuple):
    """A listener whose socket is bound and does not listen yet."""

    listener: Endpoint
    config: Config
    bound: socket.socket
    advertised: Address
    tls: TlsListener | None

    @property
    def address(self) -> Address:
        return Address(*self.bound.getsockname()[:2])

    def __str__(self) -> str:
        return f"{self.listener.name}://{self.address}"


class Listening:
    """All listeners of a node. The first one has the addresses that `Cluster.nodes` has."""

    def __init__(self, config: Config, wall_ms: Callable[[], int], given: Supervised = ALONE) -> None:
        """Bind. Raises StartupError."""
        self._config = config
        self.internal = given.internal
        self._servers: list[asyncio.Server] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.bound: list[BoundListener] = []
        # To be closed here: a server closes its socket itself.
        self._unserved: list[socket.socket] = [] if self.internal is None else [self.internal.bound]
        try:
            for number, listener in enumerate(config.client_listeners):
                own = given.listeners[number] if given.listeners else bind(listener.address)
                self._unserved.append(own)
                self.bound.append(_bound(listener, config, own, wall_ms))
        except BaseException:
            self.close()
            raise

    def open_internal(self) -> None:
        """Open a listener for the parts of this daemon, if they could not use the first one."""
        from coordinator.server.internal_listener import InternalListener, bind_internal, new_login  # late: rare

        if self.internal is None and needs_internal(self._config):
            self.internal = InternalListener(bind_internal(), new_login())
            self._unserved.append(self.internal.bound)

    @property
    def first(self) -> BoundListener:
        return self.bound[0]

    def warn_of_open_ones(self) -> None:
        """Name the listeners whose traffic and passwords others on the network can read."""
        for each in self.bound:
            if not each.listener.has_tls and not is_loopback(each.address.host):
                LOG.warning(
                    "the listener %s has no TLS and is reachable from other machines; machines between can read and "
                    "change what clients send",
                    each,
                )

    async def serve(self, runtime: Runtime, credentials: Credentials) -> None:
        """Accept connections. Raises StartupError if a mechanism cannot be offered."""
        wall_ms = runtime.wall_ms
        loop = asyncio.get_running_loop()
        for each in self.bound:
            served = ServedListener(
                each.listener.name,
                each.listener.protocol,
                await self._mechanisms(each, credentials, wall_ms) if each.listener.has_sasl else None,
                {} if each is self.first else self._nodes_on(each, runtime.cluster.node_id),
                None if each.tls is None else each.tls.principal_of,
            )
            each.bound.listen(BACKLOG)  # the kernel's backlog: how many connections may wait to be accepted
            if each.tls is None:
                await self._serve_plain(each.bound, runtime, served)
                each.bound.listen(BACKLOG)  # again: asyncio has set it to the number of connections accepted at once
            else:
                from coordinator.server.tls_handshake import accept_all  # late: most daemons serve no TLS

                self._tasks.append(loop.create_task(accept_all(each.bound, runtime, served, each.tls)))
                self._tasks.append(loop.create_task(each.tls.renew()))
        if self.internal is not None:
            self.internal.bound.listen(BACKLOG)
            await self._serve_plain(self.internal.bound, runtime, self.internal.served)

    def _nodes_on(self, each: BoundListener, node_id: int) -> dict[int, ClusterNode]:
        addresses = self._config.node_addresses_of(each.listener.name) or {node_id: each.advertised}
        return {number: ClusterNode(number, *address) for number, address in addresses.items()}

    async def _serve_plain(self, bound: socket.socket, runtime: Runtime, served: ServedListener) -> None:
        loop = asyncio.get_running_loop()
        factory = partial(Connection, runtime, served)
        self._servers.append(await loop.create_server(factory, sock=bound, backlog=ACCEPTS_AT_ONCE))
        self._unserved.remove(bound)

    async def _mechanisms(
        self, each: BoundListener, credentials: Credentials, wall_ms: Callable[[], int]
    ) -> ListenerMechanisms:
        from coordinator.security.mechanisms import ListenerMechanisms  # late, as above

        tokens = None
        if OAUTHBEARER in parse_mechanisms(each.config.sasl_enabled_mechanisms):
            from coordinator.server.token_keys import TokenKeys

            keys = await TokenKeys.load(each.listener.name, each.config, wall_ms)
            tokens = keys.validator
            self._tasks.append(asyncio.get_running_loop().create_task(keys.renew()))
        try:
            return ListenerMechanisms(each.config, credentials, partial(secrets.token_urlsafe, NONCE_BYTES), tokens)
        except ValueError as error:
            raise StartupError(f"listener {each.listener.name}: plain.sasl.jaas.config: {error}") from None

    def descriptors(self) -> list[int]:
        return [each.bound.fileno() for each in self.bound]

    def close(self) -> None:
        """Accept no connection any more."""
        for task in self._tasks:
            task.cancel()
        for server in self._servers:
            server.close()
        for bound in self._unserved:
            bound.close()


def _bound(listener: Endpoint, config: Config, bound: socket.socket, wall_ms: Callable[[], int]) -> BoundListener:
    host, port = bound.getsockname()[:2]
    own = config.of_listener(listener.name)
    told = config.advertised_addresses.get(listener.name) or config.node_addresses_of(listener.name).get(config.node_id)
    advertised = Address(told.host if told else told_host(host), told.port if told and told.port else port)
    tls = None
    if listener.has_tls:
        from coordinator.security.tls_listener import TlsListener
        from coordinator.security.tls_settings import TlsError

        try:
            tls = TlsListener(listener.name, own, wall_ms)
        except TlsError as error:
            raise StartupError(f"listener {listener.name}: {error}") from None
    return BoundListener(listener, own, bound, advertised, tls)


def needs_internal(config: Config) -> bool:
    """Return whether the parts of a daemon need a listener of their own."""
    return config.client_listeners[0].protocol != PLAINTEXT or config.has_authorizer
