"""Connections to the other nodes, which notice within milliseconds that the process of one has ended.

To each of them one connection is held, on which only a login is sent. When it breaks, it is opened again. The node is
reported if that is *refused*: a machine that lives says that no process listens there any more. A timeout or an
unreachable host is no such proof, and neither is a refusal by an address that could never be connected to. The other
node closes idle connections after `connections.max.idle.ms`, which is nothing but a reason to connect again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import LiveNode

LOG: Final = logging.getLogger("coordinator.cluster")

FIRST_PAUSE_S: Final = 0.02  # between two connections; doubles up to LAST_PAUSE_S
LAST_PAUSE_S: Final = 1.0
LASTING_S: Final = 5.0  # a connection that lasted so long is opened again without a pause


class Peer(Protocol):
    """A connection to another node, which has logged in where that is asked for."""

    @property
    def address(self) -> tuple[str, int] | None:
        """The IP address and port of the other end; None if it has reset the connection."""

    async def ended(self) -> None:
        """Return when the other end has closed the connection. Raises OSError if it breaks."""

    def close(self) -> None:
        """Close the connection at once."""


OpenPeer: TypeAlias = Callable[[ClusterNode, tuple[str, int] | None], Awaitable[Peer]]
"""Connects to a node within a limit, at this IP address and port if they are given. Raises OSError."""


@dataclass(slots=True)
class _Watch:
    """The watch of one process of a node."""

    address: tuple[str, int] | None = None  # the last one that could be connected to


class PeerConnections:
    """One connection to each of the other nodes.

    `refused` is awaited with the node each time its address refuses a connection, after there was one. If it returns
    True, the node is not connected to any more.
    """

    def __init__(self, refused: Callable[[LiveNode], Awaitable[bool]], open_peer: OpenPeer) -> None:
        self._refused = refused
        self._open = open_peer
        self._tasks: dict[tuple[str, str, int], asyncio.Task[None]] = {}  # by incarnation and address

    def follow(self, nodes: Iterable[LiveNode]) -> None:
        """Hold connections to these nodes, and to no others."""
        wanted = {(each.incarnation, each.node.host, each.node.port): each for each in nodes}
        for key in [each for each in self._tasks if each not in wanted]:
            self._tasks.pop(key).cancel()
        for key in [each for each in wanted if each not in self._tasks]:
            self._tasks[key] = asyncio.get_running_loop().create_task(self._hold(wanted[key]))

    async def close(self) -> None:
        """Close all connections."""
        tasks = list(self._tasks.values())
        self.follow(())
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _hold(self, peer: LiveNode) -> None:
        loop = asyncio.get_running_loop()
        watch = _Watch()
        pause_s = FIRST_PAUSE_S
        while True:
            began_s = loop.time()
            try:
                if await self._is_dead(peer, watch):
                    return
            except Exception:  # of any kind: nothing else would watch this process again
                LOG.exception("node=%s could not be watched, this is tried again; please report this", peer.node)
            if loop.time() - began_s > LASTING_S:
                pause_s = FIRST_PAUSE_S
                continue
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LAST_PAUSE_S)

    async def _is_dead(self, peer: LiveNode, watch: _Watch) -> bool:
        """Hold one connection until it ends. Returns True if it was refused, and the node is dead for that."""
        try:
            watch.address = await self._hold_one(peer.node, watch.address)
        except ConnectionRefusedError:
            return watch.address is not None and await self._refused(peer)
        except OSError as error:  # TimeoutError is one
            LOG.debug("node=%s cannot be reached: %r", peer.node, error)
        return False

    async def _hold_one(self, node: ClusterNode, last: tuple[str, int] | None) -> tuple[str, int]:
        """Open a connection and wait for its end. Returns the IP address and port; raises OSError if they are closed.

        A name may have several IP addresses, or none any more: only the one that was connected to proves anything.
        """
        peer = await self._open(node, last)
        try:
            address = peer.address
            if address is None:
                raise ConnectionResetError("the peer has reset the connection at once")
            try:
                await peer.ended()
            except OSError as error:
                LOG.debug("the connection to %s:%d ended: %r", *address, error)
        finally:
            peer.close()
        return address
