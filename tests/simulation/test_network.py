"""The simulated network and event loop: order, cuts, resets, pauses and death."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from coordinator.simulation.loop import SimulatedLoop
from coordinator.simulation.network import Network
from coordinator.simulation.world import World

SERVER = ("10.0.0.1", 9092)


class Ends:
    """A server that keeps what it receives, and a client."""

    def __init__(self, seed: int = 1) -> None:
        self.world = World(seed)
        self.network = Network(self.world)
        self.there = SimulatedLoop(self.world, self.network, "server", SERVER[0])
        self.here = SimulatedLoop(self.world, self.network, "client", "10.0.1.1")
        self.received = b""
        self.lost: list[Exception | None] = []
        self.transport: Any = None
        self.error: OSError | None = None
        self.network.listen(self.there, lambda: Keeper(self), SERVER)

    def connect(self) -> None:
        async def connect() -> None:
            try:
                self.transport, _ = await self.here.create_connection(asyncio.Protocol, *SERVER)
            except OSError as error:
                self.error = error

        self.here.create_task(connect())
        self.run(1.0)

    def run(self, seconds: float) -> None:
        self.world.run(until_s=self.world.now_s + seconds, until_step=1 << 30)


class Keeper(asyncio.Protocol):
    def __init__(self, ends: Ends) -> None:
        self._ends = ends

    def data_received(self, data: bytes) -> None:
        self._ends.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        self._ends.lost.append(exc)


@pytest.fixture
def ends() -> Ends:
    made = Ends()
    made.connect()
    return made


@pytest.mark.parametrize("seed", range(5))
def test_bytes_arrive_in_their_order(seed: int) -> None:
    ends = Ends(seed)
    ends.connect()
    sent = [f"{number} ".encode() * 20 for number in range(100)]
    for each in sent:
        ends.transport.write(each)
    ends.run(5.0)
    assert ends.received == b"".join(sent)


def test_nothing_arrives_during_a_cut_and_all_of_it_after(ends: Ends) -> None:
    ends.network.cut("10.0.1.1", SERVER[0], 3.0)
    ends.transport.write(b"hello")
    ends.run(2.5)
    assert ends.received == b""
    ends.run(1.0)
    assert ends.received == b"hello"


def test_a_killed_process_ends_its_connections(ends: Ends) -> None:
    ends.here.kill()
    ends.run(1.0)
    assert [type(each) for each in ends.lost] == [ConnectionResetError]


def test_a_closed_connection_ends_after_its_last_bytes(ends: Ends) -> None:
    ends.transport.write(b"goodbye")
    ends.transport.close()
    ends.run(1.0)
    assert ends.received == b"goodbye"
    assert ends.lost == [None]


def test_a_connection_to_no_process_is_refused() -> None:
    ends = Ends()
    ends.there.kill()
    ends.connect()
    assert isinstance(ends.error, ConnectionRefusedError)


def test_a_paused_process_receives_nothing_until_it_goes_on(ends: Ends) -> None:
    ends.there.pause(2.0)
    ends.transport.write(b"hello")
    ends.run(1.9)
    assert ends.received == b""
    ends.run(0.5)
    assert ends.received == b"hello"


def test_an_exception_in_a_callback_is_a_violation(ends: Ends) -> None:
    ends.here.call_soon(lambda: 1 // 0)
    ends.run(0.1)
    assert "ZeroDivisionError" in str(ends.world.violation)
