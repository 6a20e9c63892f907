"""The simulated network: connections between processes, with delay, loss, cuts and resets.

Bytes of a connection arrive in their order, in pieces of random size, after a random delay. Loss shows as TCP shows it:
as a longer delay. While two hosts are cut off from each other nothing arrives between them, and new connections wait;
what was sent arrives after the cut, unless an end has given up. A killed process ends its connections at once.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from coordinator.simulation.loop import SimulatedLoop
    from coordinator.simulation.world import World

Address = tuple[str, int]

DELAY_S: Final = 0.001
LOSS: Final = 0.003  # of pieces; each is late by LATE_S
LATE_S: Final = 0.2  # the shortest time after which TCP sends again
SOCKET_BYTES: Final = 65_536  # that a socket takes before its writer has to wait
LOOK_S: Final = 0.05  # how often a cut connection is looked at again


class Network:
    """All hosts and connections."""

    def __init__(self, world: World) -> None:
        self.delay_s = DELAY_S  # a fault makes it longer
        self._world = world
        self._chance = world.chance("network")
        self._listening: dict[Address, tuple[SimulatedLoop, Callable[[], asyncio.BaseProtocol]]] = {}
        self._cut: dict[frozenset[str], float] = {}  # pairs of hosts, until when
        self._transports: dict[SimulatedTransport, None] = {}
        self._ports = 40_000
        self._losing: dict[str, int] = {}  # by host: how many of its next pieces break their connection

    def listen(
        self, loop: SimulatedLoop, factory: Callable[[], asyncio.BaseProtocol], address: Address
    ) -> ListeningSocket:
        """Accept connections."""
        self._listening[address] = loop, factory
        return ListeningSocket(self, address)

    def close(self, address: Address) -> None:
        """Accept no connections any more."""
        self._listening.pop(address, None)

    async def connect(
        self, loop: SimulatedLoop, factory: Callable[[], asyncio.BaseProtocol], address: Address
    ) -> tuple[SimulatedTransport, Any]:
        """Open a connection. Raises ConnectionRefusedError where no process listens."""
        opened = loop.create_future()
        self._reach(loop, factory, address, opened)
        return await opened  # type: ignore[no-any-return]

    def _reach(self, loop: SimulatedLoop, factory: Any, address: Address, opened: asyncio.Future[Any]) -> None:
        if self.is_cut(loop.host, address[0]):
            self._world.at(self._world.now_s + LOOK_S, lambda: self._reach(loop, factory, address, opened))
            return
        self._world.at(
            self._world.now_s + self._delay_s(), lambda: self._arrive(loop, factory, address, opened), is_step=True
        )

    def _arrive(self, loop: SimulatedLoop, factory: Any, address: Address, opened: asyncio.Future[Any]) -> None:
        if loop.is_dead or opened.done():
            return
        listening = self._listening.get(address)
        if listening is None or listening[0].is_dead:
            loop.call_soon(_refuse, opened, address)
            return
        there, accept = listening
        self._ports += 1
        near = SimulatedTransport(self, loop, (loop.host, self._ports), address)
        far = SimulatedTransport(self, there, address, (loop.host, self._ports))
        near.other, far.other = far, near
        self._transports[near] = self._transports[far] = None
        there.call_soon(far.begin, accept)
        loop.call_soon(near.begin_connected, factory, opened)

    def cut(self, host: str, other: str, seconds: float) -> None:
        """Let nothing pass between two hosts for some time."""
        pair = frozenset((host, other))
        self._cut[pair] = max(self._cut.get(pair, 0.0), self._world.now_s + seconds)

    def is_cut(self, host: str, other: str) -> bool:
        """Return whether nothing passes between two hosts now."""
        return host != other and self._cut.get(frozenset((host, other)), 0.0) > self._world.now_s

    def lose_next(self, host: str, count: int) -> None:
        """Break a connection instead of carrying what a node sends to a client, the next times."""
        self._losing[host] = self._losing.get(host, 0) + count

    def heal(self) -> None:
        """End all cuts and delays."""
        self._cut.clear()
        self._losing.clear()
        self.delay_s = DELAY_S

    def drop(self, loop: SimulatedLoop) -> None:
        """End the connections of a process that was killed."""
        for address, (listening, _) in list(self._listening.items()):
            if listening is loop:
                del self._listening[address]
        for transport in [each for each in self._transports if each.loop is loop]:
            transport.vanish()

    def reset(self, *, host: str = "") -> int:
        """Break the connections of a host, or all of them."""
        broken = [each for each in self._transports if each.loop.host == host or not host]
        for transport in broken:
            transport.abort()
        return len(broken)

    def forget(self, transport: SimulatedTransport) -> None:
        """Forget an ended connection."""
        self._transports.pop(transport, None)

    def carry(self, sender: SimulatedTransport, act: Callable[[], None], note: str = "") -> None:
        """Have something arrive at the other end, after all that was sent before it."""
        receiver = sender.other
        if note and self._losing.get(sender.loop.host, 0) and not receiver.loop.host.startswith("10.0.0."):
            self._losing[sender.loop.host] -= 1
            sender.abort()
            return
        when_s = max(self._world.now_s + self._delay_s(), sender.arrives_s)
        sender.arrives_s = when_s
        self._world.at(when_s, lambda: self._deliver(sender, receiver, act, note), is_step=True)

    def _deliver(
        self, sender: SimulatedTransport, receiver: SimulatedTransport, act: Callable[[], None], note: str
    ) -> None:
        if self.is_cut(sender.loop.host, receiver.loop.host):
            sender.held.append((act, note))
            if len(sender.held) == 1:
                self._world.at(self._world.now_s + LOOK_S, lambda: self._deliver_held(sender, receiver))
            return
        if sender.held:
            sender.held.append((act, note))
            return
        self._arrived(receiver, act, note)

    def _deliver_held(self, sender: SimulatedTransport, receiver: SimulatedTransport) -> None:
        if self.is_cut(sender.loop.host, receiver.loop.host):
            self._world.at(self._world.now_s + LOOK_S, lambda: self._deliver_held(sender, receiver))
            return
        held, sender.held = sender.held, []
        for act, note in held:
            self._arrived(receiver, act, note)

    def _arrived(self, receiver: SimulatedTransport, act: Callable[[], None], note: str) -> None:
        if receiver.is_gone or receiver.loop.is_dead:
            return
        if note:
            self._world.note(note)
        receiver.unread.append(act)
        if len(receiver.unread) == 1:
            self._read(receiver)

    def _read(self, receiver: SimulatedTransport) -> None:
        at_s = receiver.loop.reads_at_s(receiver.here)
        if at_s > self._world.now_s:
            self._world.at(at_s, lambda: self._read(receiver))
            return
        for act in receiver.unread:
            receiver.loop.call_soon(act)
        receiver.unread.clear()

    def pieces(self, data: bytes) -> list[bytes]:
        """Split bytes as a network may."""
        if len(data) < 2 or self._chance.random() > 0.1:
            return [data]
        at = self._chance.randrange(1, len(data))
        return [data[:at], data[at:]]

    def _delay_s(self) -> float:
        late_s = LATE_S if self._chance.random() < LOSS else 0.0
        return late_s + self.delay_s * (0.1 + self._chance.random())


class ListeningSocket:
    """A listening socket, as `loop.create_server` returns it."""

    def __init__(self, network: Network, address: Address) -> None:
        self._network = network
        self._address = address

    def close(self) -> None:
        """Accept no connections any more."""
        self._network.close(self._address)


class SimulatedTransport(asyncio.Transport):
    """One end of a connection."""

    other: SimulatedTransport

    def __init__(self, network: Network, loop: SimulatedLoop, here: Address, there: Address) -> None:
        super().__init__({"peername": there, "sockname": here})
        self.loop = loop
        self.here = here, there
        self.arrives_s = 0.0  # when the last piece that was sent arrives
        self.unread: list[Callable[[], None]] = []  # that has arrived while the process was frozen
        self.held: list[tuple[Callable[[], None], str]] = []  # that would have arrived during a cut
        self.is_gone = False  # nothing arrives here any more
        self._network = network
        self._protocol: Any = None
        self._is_closing = False
        self._is_paused = False
        self._received: list[bytes] = []  # while reading is paused
        self._unsent = 0
        self._high = SOCKET_BYTES
        self._is_full = False

    def begin(self, factory: Callable[[], Any]) -> None:
        """Begin at the end that was connected to."""
        if not self.is_gone:
            self._protocol = factory()
            self._protocol.connection_made(self)

    def begin_connected(self, factory: Callable[[], Any], opened: asyncio.Future[Any]) -> None:
        """Begin at the end that asked for the connection."""
        if opened.done() or self.is_gone:
            if not opened.done():
                opened.set_exception(ConnectionResetError("the connection was reset"))
            self.abort()
            return
        self.begin(factory)
        opened.set_result((self, self._protocol))

    # -- asyncio -------------------------------------------------------------------------------------------------

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if self._is_closing or self.is_gone:
            return
        for piece in self._network.pieces(bytes(data)):
            self._unsent += len(piece)
            note = f"{self.loop.name} > {self.other.loop.name} {len(piece)} {zlib.crc32(piece):08x}"
            self._network.carry(self, self._arrival(piece), note)
        if self._unsent > SOCKET_BYTES + self._high and not self._is_full:
            self._is_full = True
            self._protocol.pause_writing()

    def _arrival(self, piece: bytes) -> Callable[[], None]:
        return lambda: self.other.received(piece)

    def received(self, data: bytes) -> None:
        """Take bytes from the other end."""
        if self.is_gone or self._protocol is None:
            return
        self.other.taken(len(data))
        if self._is_paused:
            self._received.append(data)
        else:
            self._protocol.data_received(data)

    def taken(self, count: int) -> None:
        """Note that the other end took bytes."""
        self._unsent -= count
        if self._is_full and self._unsent <= SOCKET_BYTES and not self.is_gone and not self.loop.is_dead:
            self._is_full = False
            self.loop.call_soon(self._resume_writing)

    def _resume_writing(self) -> None:
        if not self.is_gone:
            self._protocol.resume_writing()

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            if self._received:
                self.loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        while self._received and not self._is_paused and not self.is_gone:
            self._protocol.data_received(self._received.pop(0))

    def is_reading(self) -> bool:
        return not self._is_paused

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = SOCKET_BYTES if high is None else high

    def get_write_buffer_size(self) -> int:
        return max(self._unsent - SOCKET_BYTES, 0)

    def can_write_eof(self) -> bool:
        return False

    def is_closing(self) -> bool:
        return self._is_closing or self.is_gone

    def close(self) -> None:
        """Close after what was written has arrived."""
        if not self._is_closing and not self.is_gone:
            self._is_closing = True
            self._network.carry(self, lambda: self.other.ended())
            self.loop.call_soon(self._lost, None)

    def ended(self) -> None:
        """Take the end of the connection from the other end."""
        if not self.is_gone and self._protocol is not None:
            self._protocol.eof_received()
            self.loop.call_soon(self._lost, None)

    def abort(self) -> None:
        """Break the connection: what is on its way is lost."""
        if self.is_gone:
            return
        other = self.other
        self.loop.call_soon(self._lost, None)
        self._is_closing = True
        if not other.is_gone and not other.loop.is_dead:
            other.loop.call_soon(other._lost, ConnectionResetError(104, "Connection reset by peer"))

    def vanish(self) -> None:
        """End with the process."""
        self.is_gone = True
        self._network.forget(self)
        other = self.other
        if not other.is_gone and not other.loop.is_dead:
            other.loop.call_soon(other._lost, ConnectionResetError(104, "Connection reset by peer"))

    def _lost(self, error: Exception | None) -> None:
        if not self.is_gone:
            self.is_gone = True
            self._network.forget(self)
            if self._protocol is not None:
                self._protocol.connection_lost(error)


def _refuse(opened: asyncio.Future[Any], address: Address) -> None:
    if not opened.done():
        opened.set_exception(ConnectionRefusedError(111, f"no process listens at {address[0]}:{address[1]}"))
