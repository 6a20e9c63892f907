"""Recognises repeated commits by their bytes without a connection: the last commit of each frame size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordinator.metrics.histogram import LATENCY_BOUNDS_S, Histogram
from coordinator.server.dispatch import Route
from coordinator.server.frame_templates import CommitFrame

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Api
    from protocol.messages.offset_commit import OffsetCommitRequest
    from tests.support.cluster import Cluster


class RecognisedCommits:
    """Recognises repeated commits for a `Cluster`. `count` is the number of recognised ones."""

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[int, CommitFrame] = {}

    def handle(self, cluster: Cluster, decoded: OffsetCommitRequest, data: bytes, ticket: Ticket, row: Api) -> None:
        frame = int(row.key).to_bytes(2, "big") + ticket.version.to_bytes(2, "big") + bytes(4) + data
        known = self._known.get(len(frame))
        request: Any = known.again(frame) if known is not None else None
        if request is not None:
            self.count += 1
            assert request.offsets == tuple(
                each.committed_offset for topic in decoded.topics for each in topic.partitions
            )
            row.handle(cluster, request, ticket, cluster.clock.now_ms)
            return
        row.handle(cluster, decoded, ticket, cluster.clock.now_ms)
        if ticket.session.is_parked:  # accepted, and waits for its append
            most = cluster.config.request_max_elements
            route = Route(row, ticket.version, Histogram(LATENCY_BOUNDS_S), most)
            made = CommitFrame.of(frame, 8, decoded, route, cluster.core)
            if made is not None:
                self._known[len(frame)] = made
