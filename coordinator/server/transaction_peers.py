"""Requests of transactions to other nodes: markers in their partitions, and the word of a transaction coordinator.

Each node has one connection with one request at a time. What is asked meanwhile goes into the next request together.
A request whose answer was lost is sent once more over a new connection: markers and verifications may be repeated. If
that fails, too, the asking part hears of no answer. Source: Kafka's `TransactionMarkerChannelManager` and
`AddPartitionsToTxnManager`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.server.peer_connection import LinkError
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse

if TYPE_CHECKING:
    from coordinator.core.cluster import Cluster
    from coordinator.server.node_links import NodeLinks
    from coordinator.server.peer_connection import PeerConnection

WITHIN_S: Final = 5.0  # for one answer
TOGETHER: Final = 200  # markers or transactions in one request
TROUBLE: Final = (OSError, LinkError)  # TimeoutError is an OSError
MARKERS_VERSION: Final = 2
VERIFY_VERSION: Final = 5
NO_ANSWER: Final = None

Then = Callable[[Any], None]


class _Ask(NamedTuple):
    request: Any  # with one marker or one transaction
    then: Then


class TransactionPeers:
    """The other nodes. All methods belong to the loop thread."""

    def __init__(self, cluster: Cluster, links: NodeLinks, most_queued: int, end_of_event: Callable[[], None]) -> None:
        self._cluster = cluster
        self._links = links
        self._most_queued = most_queued
        self._end_of_event = end_of_event
        self._queues: dict[int, deque[_Ask]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._connections: dict[int, PeerConnection] = {}
        self._is_closed = False

    def ask(self, node_id: int, request: Any, then: Then) -> None:
        """Have a node answer a request with one marker or one transaction; `then` gets the answer, or NO_ANSWER."""
        queue = self._queues.setdefault(node_id, deque())
        if self._is_closed or len(queue) >= self._most_queued:
            then(NO_ANSWER)
            return
        queue.append(_Ask(request, then))
        if node_id not in self._tasks:
            self._tasks[node_id] = asyncio.get_running_loop().create_task(self._work(node_id, queue))

    async def close(self) -> None:
        """Answer nothing any more, and close the connections."""
        self._is_closed = True
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in self._connections.values():
            connection.close()

    async def _work(self, node_id: int, queue: deque[_Ask]) -> None:
        """Send what is queued for a node, until nothing is left."""
        try:
            while queue:
                asks = _next_together(queue)
                answers = await self._answers(node_id, asks)
                for ask, answer in zip(asks, answers, strict=True):
                    ask.then(answer)
                self._end_of_event()
        finally:
            del self._tasks[node_id]

    async def _answers(self, node_id: int, asks: list[_Ask]) -> list[Any]:
        for is_last in (False, True):
            was_open = node_id in self._connections
            try:
                return await self._call(node_id, asks)
            except TROUBLE:
                connection = self._connections.pop(node_id, None)
                if connection is not None:
                    connection.close()
                if is_last or not was_open:
                    break
        return [NO_ANSWER] * len(asks)

    async def _call(self, node_id: int, asks: list[_Ask]) -> list[Any]:
        connection = self._connections.get(node_id)
        if connection is None or not connection.is_usable:
            if connection is not None:
                connection.close()
            node = self._cluster.nodes.get(node_id)
            if node is None:
                raise LinkError(f"node {node_id} is not in the cluster")
            client_id = f"node-{self._cluster.node_id}-transactions"
            connection = self._connections[node_id] = await self._links.connect(node, client_id)
        if isinstance(asks[0].request, WriteTxnMarkersRequest):
            markers = WriteTxnMarkersRequest(markers=[ask.request.markers[0] for ask in asks])
            answer = await connection.call(markers, MARKERS_VERSION, within_s=WITHIN_S)
            return [WriteTxnMarkersResponse(markers=[each]) for each in _of_each(answer.markers, asks)]
        verified = AddPartitionsToTxnRequest(transactions=[ask.request.transactions[0] for ask in asks])
        answer = await connection.call(verified, VERIFY_VERSION, within_s=WITHIN_S)
        if answer.error_code != ErrorCode.NONE:
            return [AddPartitionsToTxnResponse(error_code=answer.error_code)] * len(asks)
        results = _of_each(answer.results_by_transaction, asks)
        return [AddPartitionsToTxnResponse(results_by_transaction=[each]) for each in results]


def _next_together(queue: deque[_Ask]) -> list[_Ask]:
    """Take the next requests of one kind from the queue."""
    asks = [queue.popleft()]
    kind = type(asks[0].request)
    while queue and type(queue[0].request) is kind and len(asks) < TOGETHER:
        asks.append(queue.popleft())
    return asks


def _of_each(results: list[Any], asks: list[_Ask]) -> list[Any]:
    if len(results) != len(asks):
        raise LinkError(f"a node answered {len(results)} of {len(asks)} questions")
    return results
