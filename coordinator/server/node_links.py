"""Connections from this node to the others, as `inter.broker.listener.name` asks for them: address, TLS and login.

The certificates are read again for each connection, of which there are few. Source: Kafka's `ChannelBuilders` and
`InterBrokerSendThread`.
"""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.config.security import parse_super_users
from coordinator.server.peer_connection import CONNECT_S, LinkError, Login, PeerConnection
from coordinator.server.startup import StartupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.config.config import Config
    from coordinator.config.values import Address
    from coordinator.core.cluster import ClusterNode

PLAIN: Final = "PLAIN"
WATCHER: Final = "node-watch"  # the client id


class Way(NamedTuple):
    """The way to one node. `address`: None, if it is that of the `ClusterNode`. `tls`: the settings of its listener."""

    address: Address | None = None
    login: Login | None = None
    tls: Config | None = None


USUAL: Final = Way()


class NodeLinks:
    """Opens connections to nodes. `ways`: by node id, for those that are not reached in the `usual` way."""

    def __init__(self, usual: Way = USUAL, ways: Mapping[int, Way] | None = None) -> None:
        self._usual = usual
        self._ways: dict[int, Way] = dict(ways or {})

    @property
    def has_ways(self) -> bool:
        """True if nodes are reached in another way than by the addresses that clients are told."""
        return bool(self._ways)

    def reach(self, node_id: int, way: Way) -> None:
        """Reach a node in this way from now on."""
        self._ways[node_id] = way

    def way_to(self, node_id: int) -> Way:
        return self._ways.get(node_id, self._usual)

    async def connect(
        self, node: ClusterNode, client_id: str, *, address: tuple[str, int] | None = None, within_s: float = CONNECT_S
    ) -> PeerConnection:
        """Connect to a node, and log in. `address`: an IP address and port that is known to be that of the node.

        Raises OSError (TimeoutError included) or LinkError.
        """
        way = self.way_to(node.id)
        host, port = address or way.address or (node.host, node.port)
        context = None if way.tls is None else await _context(way.tls)
        name = None if context is None else (way.address or node).host
        return await PeerConnection.connect(
            node._replace(host=host, port=port), client_id, way.login, tls=context, tls_name=name, within_s=within_s
        )

    async def open_peer(self, node: ClusterNode, address: tuple[str, int] | None) -> PeerConnection:
        """Connect to a node that is to be watched. Implements `coordinator.membership.peer_connections.OpenPeer`."""
        try:
            return await self.connect(node, WATCHER, address=address)
        except LinkError as error:
            raise ConnectionError(str(error)) from None


async def _context(config: Config) -> ssl.SSLContext:
    from coordinator.security.tls import client_context  # late: most nodes connect without TLS
    from coordinator.security.tls_listener import tls_settings
    from coordinator.security.tls_settings import TlsError

    make = partial(client_context, tls_settings(config), config.ssl_endpoint_identification_algorithm)
    try:
        return await asyncio.get_running_loop().run_in_executor(None, make)
    except TlsError as error:
        raise LinkError(str(error)) from None


def links_of(config: Config) -> NodeLinks:
    """Return the links of a node with these settings. Raises StartupError if its login is incomplete."""
    if not (config.cluster_nodes or config.is_shared):
        return NodeLinks()
    link = config.inter_broker_listener
    own = config.of_listener(link.name)
    usual = Way(None, _login(config, own, link.name) if link.has_sasl else None, own if link.has_tls else None)
    addresses = {} if config.is_first_listener(link.name) else config.node_addresses_of(link.name)
    return NodeLinks(usual, {node_id: usual._replace(address=address) for node_id, address in addresses.items()})


def _login(config: Config, own: Config, listener: str) -> Login:
    from coordinator.security.jaas import parse_jaas  # late: most nodes log in nowhere

    mechanism = config.sasl_mechanism_inter_broker_protocol
    text = own.sasl_jaas_config or (own.plain_sasl_jaas_config if mechanism == PLAIN else "")
    entry = parse_jaas(text)
    user, password = ("", "") if entry is None else map(entry.options.get, ("username", "password"), ("", ""))
    if not (user and password):
        raise StartupError(
            f"the nodes log in to each other on the listener {listener} by {mechanism}, and there is no user for that; "
            f"set listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config to one JAAS entry with "
            'username="..." and password="..."'
        )
    if f"User:{user}" not in parse_super_users(config.super_users):
        raise StartupError(
            f"the nodes log in to each other as User:{user}, which may not do everything; add it to super.users on all "
            "nodes"
        )
    return Login(mechanism, user, password)
