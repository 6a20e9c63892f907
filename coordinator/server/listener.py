"""One listener as its connections see it: whether clients log in, and the addresses that they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.config.listeners import PLAINTEXT

if TYPE_CHECKING:
    from coordinator.core.cluster import ClusterNode
    from coordinator.security.authenticator import Mechanisms
    from coordinator.security.principal import Principal


class ServedListener(NamedTuple):
    name: str
    protocol: str
    mechanisms: Mechanisms | None = None  # None: no SASL
    nodes: Mapping[int, ClusterNode] = {}  # those with another address on this listener than `Cluster.nodes` has
    principal_of: Callable[[bytes | None], Principal] | None = None
    """From the client's certificate (DER) to its principal; raises NoMatchingRule. None: no TLS."""

    def seen(self, node: ClusterNode) -> ClusterNode:
        """Return a node under the address for the clients of this listener."""
        return self.nodes.get(node.id, node)


UNPROTECTED: Final = ServedListener(PLAINTEXT, PLAINTEXT)
