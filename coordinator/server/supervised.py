"""The parts that a supervisor hands to the nodes that it starts, which share a machine and a data directory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.server.node_links import NodeLinks, Way

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from coordinator.config.values import Address
    from coordinator.server.internal_listener import InternalListener


class Supervised(NamedTuple):
    """`listeners`: bound sockets of all listeners, in their order. `http_address`: of the port that shows this node."""

    listeners: Sequence[socket.socket] = ()
    http_address: str = ""
    internal: InternalListener | None = None  # None: there is none
    internal_addresses: Mapping[int, Address] = {}  # of all workers, by node id
    documents_dir: Path | None = None  # of users, access rules and quotas; None: the data directory

    def links(self) -> NodeLinks | None:
        """Return the links between the workers over their internal listeners; None if they have none."""
        if self.internal is None:
            return None
        login = self.internal.login
        return NodeLinks(ways={node_id: Way(each, login) for node_id, each in self.internal_addresses.items()})


ALONE: Final = Supervised()
