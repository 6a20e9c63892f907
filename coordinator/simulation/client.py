"""A simulated client process: connections to the nodes, and calls that are answered, lost, or time out."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING, Any, Final, cast

from coordinator.simulation.loop import SimulatedLoop
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import ClientConnection
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest

if TYPE_CHECKING:
    import random

    from coordinator.simulation.history import History
    from coordinator.simulation.node import SimulatedNode
    from coordinator.simulation.world import World

MAX_RESPONSE_BYTES: Final = 1 << 24
ANSWER_S: Final = (
    12.0  # within which any request is answered by a node that is undisturbed, but JoinGroup and SyncGroup
)
CONNECT_S: Final = 5.0
VERSIONS: Final = {  # each client takes one of them for its life
    ApiKey.JOIN_GROUP: (0, 2, 4, 5, 7, 9),
    ApiKey.SYNC_GROUP: (0, 3, 5),
    ApiKey.HEARTBEAT: (0, 3, 4),
    ApiKey.LEAVE_GROUP: (0, 3, 5),
    ApiKey.OFFSET_COMMIT: (2, 5, 7, 8),
    ApiKey.OFFSET_FETCH: (8,),
    ApiKey.FIND_COORDINATOR: (4, 6),
    ApiKey.API_VERSIONS: (3,),
    ApiKey.PRODUCE: (7, 9),
    ApiKey.FETCH: (11, 12),
    ApiKey.LIST_OFFSETS: (5,),
    ApiKey.DELETE_GROUPS: (2,),
    ApiKey.OFFSET_DELETE: (0,),
    ApiKey.INIT_PRODUCER_ID: (4,),
    ApiKey.METADATA: (9, 12),
    ApiKey.LIST_GROUPS: (4, 5),
    ApiKey.DESCRIBE_GROUPS: (5, 6),
}


class CallError(Exception):
    """A call has no answer: what it asked for may have happened."""


class Wire(asyncio.Protocol):
    """One connection of a client."""

    def __init__(self, client: SimulatedClient) -> None:
        self._client = client
        self._connection = ClientConnection(client.name, MAX_RESPONSE_BYTES)
        self._asked: deque[asyncio.Future[Any]] = deque()
        self.transport: Any = None
        self.is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            answers = self._connection.receive(data)
        except ProtocolError as error:
            self._client.world.violated(f"{self._client.name} was sent what answers no request: {error}")
            return
        for answer in answers:
            future = self._asked.popleft()
            if not future.done():
                future.set_result(answer)

    def connection_lost(self, error: Exception | None) -> None:
        self.is_lost = True
        while self._asked:
            future = self._asked.popleft()
            if not future.done():
                future.set_exception(CallError("the connection was lost"))

    def eof_received(self) -> None:
        pass

    def ask(self, request: Any, version: int) -> asyncio.Future[Any]:
        """Send a request; the future gets its answer. Raises CallError if the connection was lost."""
        if self.is_lost:
            raise CallError("the connection was lost")
        future: asyncio.Future[Any] = self._client.loop.create_future()
        self._asked.append(future)
        self.transport.write(self._connection.send(request, version))
        return future


class SimulatedClient:
    """A process that talks to the nodes. Subclasses have a `run`, which begins again when it raises CallError."""

    software = "simulated"

    def __init__(
        self,
        world: World,
        history: History,
        nodes: dict[int, SimulatedNode],
        loop: SimulatedLoop,
        chance: random.Random,
    ) -> None:
        self.world = world
        self.history = history
        self.loop = loop
        self.name = loop.name
        self.chance = chance
        self.nodes = nodes
        self.coordinator = 0  # the node id of its group's; 0: not known
        self.patience_s = math.inf  # after which it gives a request up, although its node has more time to answer
        self.versions = {key: chance.choice(choices) for key, choices in VERSIONS.items()}
        self._wires: dict[tuple[int, str], Wire] = {}

    def start(self) -> None:
        """Begin."""
        self.loop.create_task(self._live())

    async def _live(self) -> None:
        await asyncio.sleep(self.chance.random() * 2)
        while True:
            try:
                await self.run()
                return
            except CallError as error:
                self.world.note(f"{self.name}: {error}")
                self.coordinator = 0
                await asyncio.sleep(0.05 + self.chance.random() * 0.5)

    async def run(self) -> None:
        """Do what this client does."""
        raise NotImplementedError

    async def call(self, node: int, request: Any, *, within_s: float = ANSWER_S, lane: str = "") -> Any:
        """Send a request to a node and return the answer. Raises CallError if there is none.

        `lane`: requests of one lane share a connection, where they wait for each other. An undisturbed node must answer
        `within_s`, or the promise of an answer to each request is broken.
        """
        key = ApiKey(codec.api_key_of(request))
        wire = await self._wire(node, lane)
        sent_s = self.world.now_s
        asked = wire.ask(request, self.versions[key])
        try:
            async with asyncio.timeout(min(within_s, self.patience_s)):
                answer = await asked
        except TimeoutError:
            wire.transport.abort()
            if within_s <= self.patience_s:
                self._check_undisturbed(node, f"{key.name} of {self.name}", sent_s, within_s)
            raise CallError(f"{key.name} was not answered within {within_s:g} s") from None
        self.history.on_answer(self.name, node, request, answer, sent_s)
        self.world.note(f"{self.name} {key.name} {_errors(answer)}")
        return answer

    async def call_all(self, node: int, requests: list[Any]) -> list[Any]:
        """Send requests one behind the other, without waiting. Return the answers, or CallErrors, in their order."""
        try:
            await self._wire(node, "")
        except CallError as error:
            return [error]
        answers = await asyncio.gather(*(self.call(node, each) for each in requests), return_exceptions=True)
        for answer in answers:
            if isinstance(answer, BaseException) and not isinstance(answer, CallError):
                raise answer
        return answers

    def _check_undisturbed(self, node: int, what: str, sent_s: float, within_s: float) -> None:
        there = self.nodes[node]
        is_calm = there.is_ready and there.disturbed_s < sent_s and self.loop.paused_until_s < sent_s
        if is_calm and not self.history.network_disturbed_s > sent_s:
            self.world.violated(f"{what} has no answer within {within_s:g} s from {there.name}, which is undisturbed")

    async def _wire(self, node: int, lane: str) -> Wire:
        wire = self._wires.get((node, lane))
        if wire is not None and not wire.is_lost and not wire.transport.is_closing():
            return wire
        host, port = self.nodes[node].address
        try:
            async with asyncio.timeout(CONNECT_S):
                _, opened = await self.loop.create_connection(lambda: Wire(self), host, port)
                wire = self._wires[node, lane] = cast("Wire", opened)
                hello = ApiVersionsRequest(client_software_name=self.software, client_software_version="1.0")
                await wire.ask(hello, 3)
        except (OSError, TimeoutError) as error:
            raise CallError(f"node {node} is not reached ({error})") from None
        return wire

    async def find(self, group: str) -> int:
        """Return the node that coordinates a group."""
        while not self.coordinator:
            node = self.chance.choice(list(self.nodes))
            answer = await self.call(node, FindCoordinatorRequest(coordinator_keys=[group]))
            found = answer.coordinators[0]
            if found.error_code == ErrorCode.NONE:
                self.coordinator = found.node_id
            else:
                await asyncio.sleep(0.1 + self.chance.random() * 0.2)
        return self.coordinator


def _errors(answer: Any) -> str:
    code = getattr(answer, "error_code", 0)
    return ErrorCode(code).name if code else ""
