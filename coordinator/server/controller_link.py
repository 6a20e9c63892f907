"""The link of a node to the controller: it follows the catalogue of topics, and forwards requests to the controller.

One task keeps a connection to the controller and asks again and again for a catalogue that is newer than its own, with
users, access rules and quotas. The answer to this long poll holds changes that were missed and that happen now. Another
task forwards, one after the other, topics that clients would have created and requests that only the controller can
answer. While the controller is away the node serves its partitions from the catalogue it has, and tries again.

Nodes with different facts about the cluster do not exchange catalogues. At start a node asks every other node for its
facts, and does not start if one disagrees; later a disagreement is logged once and checked again.
Queues are bounded: requests by cluster.max.queued.requests, topics by max.topics. Each change of state is one log
line.
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
from coordinator.server.peer_connection import LinkError
from coordinator.storage.documents.store import DocumentStoreError
from protocol.error_codes import ErrorCode
from protocol.messages.follow_catalogue import (
    FollowCatalogueNode,
    FollowCatalogueRequest,
    FollowCatalogueResponse,
    KnownDocument,
    NewDocument,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster, ClusterIdentity, ClusterNode
    from coordinator.core.topics.catalogue import Document, Topic
    from coordinator.server.node_links import NodeLinks
    from coordinator.server.peer_connection import PeerConnection
    from coordinator.server.runtime import Runtime
    from coordinator.storage.documents.store import DocumentStore

LOG: Final = logging.getLogger("coordinator.cluster")

POLL_MS: Final = 5000  # how long the controller waits for a change; a dead connection is noticed as late as this
ANSWER_S: Final = 5.0  # how long an answer may take beyond that time
FIRST_PAUSE_S: Final = 0.05
LONGEST_PAUSE_S: Final = 1.0
DISAGREEMENT_PAUSE_S: Final = 5.0
FACTS_S: Final = 2.0  # how long a start waits for the facts of another node
FIRST_CATALOGUE_S: Final = 3.0  # how long a start waits for a slow controller
MAX_NAMES_PER_ASK: Final = 500
METADATA_VERSION: Final = 9
# Expected errors of a connection to another node. Any other error is a defect.
TROUBLE: Final = (OSError, LinkError, CatalogueError)


class DisagreementError(Exception):
    """Two nodes know different clusters, or have different catalogues. The message says in which point."""


class _Ask(NamedTuple):
    """A request that waits to be forwarded."""

    request: Any
    ticket: Ticket


class _Outcome:
    """The session of a change of the catalogue: receives its answer, as a connection does for its requests."""

    def __init__(self) -> None:
        self.code: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()

    def answer(self, ticket: Ticket, response: ErrorCode) -> None:
        if not self.code.done():
            self.code.set_result(response)


class ControllerLink:
    """The link of one node. The controller has one as well, which only compares facts.

    `attach` hands over the runtime, which is built with the link and after it. Only `check_facts` can do without.
    """

    _runtime: Runtime

    def __init__(self, config: Config, cluster: Cluster, identity: ClusterIdentity, links: NodeLinks) -> None:
        self._config = config
        self._links = links
        self._cluster = cluster
        self._identity = identity
        self._client_id = f"node-{cluster.node_id}"
        self._tasks: list[asyncio.Task[None]] = []
        self._asks: deque[_Ask] = deque()
        self._wanted: dict[str, None] = {}
        self.documents: dict[str, DocumentStore[Any]] = {}  # those that follow the controller, by name
        self._has_work = asyncio.Event()
        self._said = ""  # the state that was logged last
        self._is_stopped = False
        self.is_following = False
        self.current_as_of_ms = -1  # when the last question was sent to which the controller has answered

    def attach(self, runtime: Runtime) -> None:
        """Use this node's runtime from now on."""
        self._runtime = runtime

    # -- start and stop ------------------------------------------------------------------------------------------

    async def check_facts(self, nodes: Iterable[ClusterNode]) -> None:
        """Compare facts with these nodes. Raises DisagreementError if one disagrees; one that is silent is skipped.

        This node itself may be among them: an answer from its address comes from another process with the same id.
        """
        for reason in await asyncio.gather(*(self._why_not(node) for node in nodes)):
            if reason is not None:
                raise DisagreementError(reason)

    async def _why_not(self, node: ClusterNode) -> str | None:
        try:
            async with await self._links.connect(node, self._client_id) as peer:
                answer = await peer.call(self._question(node, ONLY_FACTS, 0), 0, within_s=FACTS_S)
        except TROUBLE:
            return None
        return _disagreement(node, answer)

    async def first_catalogue(self) -> None:
        """Get the newest catalogue, at start, before a client is served. Skipped if the controller does not answer.

        Raises DisagreementError if the controller refuses.
        """
        if self._cluster.is_controller:
            return
        try:
            async with asyncio.timeout(FIRST_CATALOGUE_S), await self._connect() as peer:
                await self._follow_once(peer, 0)
        except TROUBLE as error:
            self._lost(error)

    def start(self) -> None:
        """Begin to follow, unless this node is the controller."""
        if not self._cluster.is_controller:
            self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._pass_on())]

    async def stop(self) -> None:
        """End the connections, and refuse the requests that still wait."""
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
                        await self._follow_once(peer, peer.longest_wait_ms(POLL_MS))
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
        """Send one long poll, and apply the catalogue in its answer."""
        catalogue = self._runtime.topics.catalogue
        request = self._question(peer.node, catalogue.revision, max_wait_ms)
        asked_ms = self._runtime.now_ms()
        answer = await peer.call(request, 0, within_s=max_wait_ms / 1000 + ANSWER_S)
        reason = _disagreement(peer.node, answer)
        if reason is not None:
            raise DisagreementError(reason)
        if answer.document is not None:
            loop = asyncio.get_running_loop()
            await self._replicate(await loop.run_in_executor(None, _read, answer.document))
        for each in answer.documents:
            await self._follow_document(each)
        self.is_following = True
        self.current_as_of_ms = asked_ms
        self._say(
            logging.INFO,
            f"following node={peer.node.id} address={peer.node.host}:{peer.node.port}",
            f" topics={catalogue.user_topics} revision={catalogue.revision}",
        )

    async def _follow_document(self, received: NewDocument) -> None:
        store = self.documents.get(received.name)
        if store is None:
            return
        try:
            await store.follow(received.text)
        except (OSError, DocumentStoreError) as error:
            raise LinkError(f"{received.name} of the controller could not be kept here: {error}") from None
        LOG.info("%s follows the controller bytes=%d", received.name, len(received.text))

    async def _replicate(self, received: Document) -> None:
        catalogue = self._runtime.topics.catalogue
        made: dict[bytes, Topic] = {}
        for _ in range(2):  # a topic that was deleted and created again under its name takes two passes
            outcome = _Outcome()
            runtime = self._runtime
            for _step in runtime.topics.make_new(received, made):
                await asyncio.sleep(0)  # clients are served meanwhile
            runtime.execute_topics(runtime.topics.replicate(received, Ticket(outcome), runtime.now_ms(), made))
            runtime.end_of_event()
            code = await outcome.code
            if code is not ErrorCode.NONE:
                raise LinkError(f"the catalogue of the controller could not be written here: {code.name}")
            if (catalogue.lineage, catalogue.revision) == (received.lineage, received.revision):
                return
        raise LinkError(f"revision {received.revision} of the controller's catalogue could not be followed")

    def _question(self, node: ClusterNode, revision: int, max_wait_ms: int) -> FollowCatalogueRequest:
        facts = self._identity
        catalogue = None if revision == ONLY_FACTS else self._runtime.topics.catalogue
        lineage = "" if catalogue is None else catalogue.lineage
        if catalogue is not None and not lineage and catalogue.user_topics:
            lineage = "of an older version"  # written by a node that was alone: no other node has the same
        return FollowCatalogueRequest(
            node_id=self._cluster.node_id,
            asked_node_id=node.id,
            cluster_id=facts.cluster_id,
            nodes=[FollowCatalogueNode(node_id=each.id, host=each.host, port=each.port) for each in facts.nodes],
            offsets_partitions=facts.offsets_partitions,
            lineage=lineage,
            revision=revision,
            max_wait_ms=max_wait_ms,
            documents=[KnownDocument(name=each.name, digest=each.text.digest) for each in self.documents.values()],
            transaction_partitions=facts.transaction_partitions,
        )

    # -- forwarding -----------------------------------------------------------------------------------------------

    def want(self, topics: Iterable[str]) -> None:
        """Ask the controller for topics that clients want. Names over max.topics are dropped: clients ask again."""
        for topic in topics:
            if len(self._wanted) < self._config.max_topics and not self._is_stopped:
                self._wanted[topic] = None
        self._has_work.set()

    def ask(self, request: Any, ticket: Ticket) -> None:
        """Have the controller answer a request of a client."""
        ask = _Ask(request, ticket)
        if self._is_stopped or len(self._asks) >= self._config.cluster_max_queued_requests:
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
                        self._refuse_all()  # the requests behind it would wait as long and fail as well
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
        """Forward one request or some names. Return False if the connection can no longer be used."""
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
        return await self._links.connect(self._cluster.controller, self._client_id)

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
        """Log each change of state once."""
        if state != self._said:
            self._said = state
            LOG.log(level, "%s%s", state, details)


def _read(document: bytes) -> Document:
    """Parse a catalogue. Runs in a worker thread: a large catalogue takes a few milliseconds."""
    try:
        return parse_document(document.decode())
    except UnicodeDecodeError as error:
        raise CatalogueError(f"it is not text ({error})") from None


def _disagreement(node: ClusterNode, answer: FollowCatalogueResponse) -> str | None:
    """Return why the other node refused this one; None if it did not."""
    if answer.error_code == ErrorCode.NONE:
        return None
    return answer.error_message or f"{node} refused with error {answer.error_code}"
