"""The link of a node to the controller: it follows the catalogue, and passes on what only the controller can do.

One task keeps a connection to the controller and asks for the catalogue that is newer than its own, over and over: the
answer to this long poll is both what was missed while the node was down and what changes now. Another task passes on
topics that clients would have created and requests that the controller must answer, one after the other. A controller
that is away costs nothing but that: the node serves what it owns from the catalogue it has, and tries again.

Nodes that know different clusters do not talk. At its start a node asks every other one whether both know the same, and
does not start if one disagrees; later a disagreement is said once and asked about again.

Nothing here is on the way of a client's ordinary request. What can pile up is bounded: requests to be passed on by
`MAX_ASKS`, names of topics by max.topics, connections by two. Each change of state is one line of the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import CatalogueError, parse_document
from coordinator.core.topics.feed import ONLY_FACTS
from coordinator.core.topics.not_controller import refuse_change
from coordinator.server.peer_connection import LinkError, PeerConnection
from protocol.error_codes import ErrorCode
from protocol.messages.follow_catalogue import FollowCatalogueNode, FollowCatalogueRequest, FollowCatalogueResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.cluster import ClusterNode
    from coordinator.core.topics.catalogue import Document
    from coordinator.server.runtime import Runtime

LOG: Final = logging.getLogger("coordinator.cluster")

POLL_MS: Final = 5000  # how long the controller waits for news; a dead connection is noticed this late
ANSWER_S: Final = 5.0  # how long an answer may take beyond that
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0
DISAGREEMENT_PAUSE_S: Final = 5.0
FACTS_S: Final = 2.0  # how long a start waits for another node to say whether it knows the same cluster
FIRST_CATALOGUE_S: Final = 3.0  # how long a start waits for a controller that is there and slow
MAX_ASKS: Final = 100
MAX_NAMES_PER_ASK: Final = 500
METADATA_VERSION: Final = 9
# What may go wrong on the way; anything else is a defect.
TROUBLE: Final = (OSError, LinkError, CatalogueError)


class DisagreementError(Exception):
    """Two nodes know different clusters, or have different catalogues. The message is the sentence that says where."""


class _Ask(NamedTuple):
    """A request that waits to be passed on."""

    request: Any
    ticket: Ticket


class _Outcome:
    """Takes the answer to a change of the catalogue, as a connection takes those to its requests."""

    def __init__(self) -> None:
        self.code: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def answer(self, ticket: Ticket, response: ErrorCode) -> None:
        if not self.code.done():
            self.code.set_result(response)


class ControllerLink:
    """See the module. One for each node, the controller included, which has nobody to follow."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._cluster = runtime.cluster
        self._client_id = f"node-{runtime.cluster.node_id}"
        self._tasks: list[asyncio.Task[None]] = []
        self._asks: deque[_Ask] = deque()
        self._wanted: dict[str, None] = {}
        self._has_work = asyncio.Event()
        self._said = ""
        self._is_stopped = False
        self.is_following = False

    # -- start and stop ------------------------------------------------------------------------------------------

    async def check_facts(self, nodes: Iterable[ClusterNode]) -> None:
        """Ask these nodes whether they know the same cluster. DisagreementError if one says no; silence is no answer.

        This node itself may be among them: whoever answers under its address is another process with its id.
        """
        for reason in await asyncio.gather(*(self._why_not(node) for node in nodes)):
            if reason is not None:
                raise DisagreementError(reason)

    async def _why_not(self, node: ClusterNode) -> str | None:
        try:
            async with await PeerConnection.connect(node, self._client_id) as peer:
                answer = await peer.call(self._question(node, ONLY_FACTS, 0), 0, within_s=FACTS_S)
        except TROUBLE:
            return None
        return _disagreement(node, answer)

    async def first_catalogue(self) -> None:
        """At start: get the newest catalogue before anybody is served, if the controller is there.

        DisagreementError if it refuses.
        """
        if self._cluster.is_controller:
            return
        try:
            async with asyncio.timeout(FIRST_CATALOGUE_S), await self._connect() as peer:
                await self._follow_once(peer, 0)
        except TROUBLE as error:
            self._lost(error)

    def start(self) -> None:
        """Begin to follow. The controller has nobody to follow."""
        if not self._cluster.is_controller:
            self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._pass_on())]

    async def stop(self) -> None:
        """End the connections; what still waits to be passed on is refused."""
        self._is_stopped = True
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self._refuse_all()

    # -- following -----------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                async with await self._connect() as peer:
                    while True:
                        await self._follow_once(peer, POLL_MS)
                        pause_s = FIRST_PAUSE_S
            except TROUBLE as error:
                self._lost(error)
            except DisagreementError as error:
                self.is_following = False
                self._say(logging.ERROR, f"{error}; this node goes on without the controller until they agree")
                pause_s = DISAGREEMENT_PAUSE_S
            except Exception:
                LOG.exception("following the controller failed; please report this")
                pause_s = DISAGREEMENT_PAUSE_S
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _follow_once(self, peer: PeerConnection, max_wait_ms: int) -> None:
        """One long poll, and what it brings."""
        catalogue = self._runtime.topics.catalogue
        request = self._question(peer.node, catalogue.revision, max_wait_ms)
        answer = await peer.call(request, 0, within_s=max_wait_ms / 1000 + ANSWER_S)
        reason = _disagreement(peer.node, answer)
        if reason is not None:
            raise DisagreementError(reason)
        if answer.document is not None:
            loop = asyncio.get_running_loop()
            await self._replicate(await loop.run_in_executor(None, _read, answer.document))
        self.is_following = True
        self._say(
            logging.INFO,
            f"following node={peer.node.id} address={peer.node.host}:{peer.node.port}",
            f" topics={catalogue.user_topics} revision={catalogue.revision}",
        )

    async def _replicate(self, received: Document) -> None:
        catalogue = self._runtime.topics.catalogue
        for _ in range(2):  # what was deleted and made again under its name takes two passes
            outcome = _Outcome()
            runtime = self._runtime
            runtime.execute_topics(runtime.topics.replicate(received, Ticket(outcome), runtime.now_ms()))
            runtime.end_of_event()
            code = await outcome.code
            if code is not ErrorCode.NONE:
                raise LinkError(f"the catalogue of the controller could not be written here: {code.name}")
            if (catalogue.lineage, catalogue.revision) == (received.lineage, received.revision):
                return
        raise LinkError(f"revision {received.revision} of the controller's catalogue could not be followed")

    def _question(self, node: ClusterNode, revision: int, max_wait_ms: int) -> FollowCatalogueRequest:
        facts = self._runtime.facts
        catalogue = self._runtime.topics.catalogue if revision != ONLY_FACTS else None
        lineage = "" if catalogue is None else catalogue.lineage
        if catalogue is not None and not lineage and catalogue.user_topics:
            lineage = "of an older version"  # written by a node that was alone: nobody has the same
        return FollowCatalogueRequest(
            node_id=self._cluster.node_id,
            asked_node_id=node.id,
            cluster_id=facts.cluster_id,
            nodes=[FollowCatalogueNode(node_id=each.id, host=each.host, port=each.port) for each in facts.nodes],
            offsets_partitions=facts.offsets_partitions,
            lineage=lineage,
            revision=revision,
            max_wait_ms=max_wait_ms,
        )

    # -- passing on ----------------------------------------------------------------------------------------------

    def want(self, topics: Iterable[str]) -> None:
        """Clients would like these topics to be created. They ask again, so what cannot be passed on is dropped."""
        for topic in topics:
            if len(self._wanted) < self._runtime.config.max_topics and not self._is_stopped:
                self._wanted[topic] = None
        self._has_work.set()

    def ask(self, request: Any, ticket: Ticket) -> None:
        """Have the controller answer this request of a client."""
        ask = _Ask(request, ticket)
        if self._is_stopped or len(self._asks) >= MAX_ASKS:
            self._refuse(ask, ErrorCode.NOT_CONTROLLER)
            return
        self._asks.append(ask)
        self._has_work.set()

    async def _pass_on(self) -> None:
        peer: PeerConnection | None = None
        try:
            while True:
                self._has_work.clear()
                while self._asks or self._wanted:
                    if peer is None or not peer.is_usable:
                        peer = await self._connect_or_refuse()
                    if peer is not None and not await self._pass_one(peer):
                        peer.close()
                        peer = None
                        self._refuse_all()  # whoever waits behind it would wait as long in vain
                await self._has_work.wait()
        finally:
            if peer is not None:
                peer.close()

    async def _connect_or_refuse(self) -> PeerConnection | None:
        try:
            return await self._connect()
        except TROUBLE:
            self._refuse_all()
            return None

    async def _pass_one(self, peer: PeerConnection) -> bool:
        """Pass on one thing; False if the connection is of no use any more."""
        if not self._asks:
            names = list(self._wanted)[:MAX_NAMES_PER_ASK]
            request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in names])
            try:
                await peer.call(request, METADATA_VERSION, within_s=ANSWER_S)
            except TROUBLE:
                return False
            finally:
                for name in names:
                    self._wanted.pop(name, None)
            return True
        ask = self._asks.popleft()
        try:
            answer = await peer.call(ask.request, ask.ticket.version, within_s=ANSWER_S)
        except TROUBLE:
            self._refuse(ask, ErrorCode.REQUEST_TIMED_OUT)  # it may have happened
            return False
        except asyncio.CancelledError:
            self._refuse(ask, ErrorCode.REQUEST_TIMED_OUT)
            raise
        self._runtime.reply(ask.ticket, answer)
        self._runtime.end_of_event()
        return True

    def _refuse_all(self) -> None:
        self._wanted.clear()
        while self._asks:
            self._refuse(self._asks.popleft(), ErrorCode.NOT_CONTROLLER)

    def _refuse(self, ask: _Ask, error: ErrorCode) -> None:
        reason = f"node {self._cluster.controller.id}, the controller, did not answer; try again"
        self._runtime.reply(ask.ticket, refuse_change(ask.request, error, reason))
        self._runtime.end_of_event()

    # -- both ----------------------------------------------------------------------------------------------------

    async def _connect(self) -> PeerConnection:
        return await PeerConnection.connect(self._cluster.controller, self._client_id)

    def _lost(self, error: Exception) -> None:
        self.is_following = False
        node = self._cluster.controller
        why = "it does not answer in time" if isinstance(error, TimeoutError) else str(error)
        self._say(
            logging.WARNING,
            f"controller not reached node={node.id} address={node.host}:{node.port}",
            f" why={why!r}; topics stay as they are until it is",
        )

    def _say(self, level: int, state: str, details: str = "") -> None:
        """One line for each change of state."""
        if state != self._said:
            self._said = state
            LOG.log(level, "%s%s", state, details)


def _read(document: bytes) -> Document:
    """In a worker thread: a large catalogue takes a few milliseconds."""
    try:
        return parse_document(document.decode())
    except UnicodeDecodeError as error:
        raise CatalogueError(f"it is not text ({error})") from None


def _disagreement(node: ClusterNode, answer: FollowCatalogueResponse) -> str | None:
    """What the other node says against this one."""
    if answer.error_code == ErrorCode.NONE:
        return None
    return answer.error_message or f"{node} refused with error {answer.error_code}"
