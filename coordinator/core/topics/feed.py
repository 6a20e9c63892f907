"""The controller's side of the catalogue: other nodes ask for it, and wait here while they have the newest.

Each node has one question open at most; a newer one ends the older, whose connection is gone. What is sent is the whole
document, so that a node that was down for any time needs nothing but the newest, and a node that asks slowly skips what
lies between. It is small: its size is bounded by max.topics.

A node whose catalogue did not come from this one, or is newer, is refused: one of the two lost its disk or had it put
back from a copy, and following blindly would delete topics. A person decides which catalogue is right.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from coordinator.core.topics.delayed_follow import DelayedFollow
from protocol.error_codes import ErrorCode
from protocol.messages.follow_catalogue import FollowCatalogueRequest, FollowCatalogueResponse

if TYPE_CHECKING:
    from coordinator.core.cluster import Cluster
    from coordinator.core.effects import Ticket
    from coordinator.core.purgatory.purgatory import Purgatory
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox

ONLY_FACTS: Final = -1  # the revision of a node that asks whether both know the same cluster, and nothing else
MAX_WAIT_MS: Final = 60_000


class Feed:
    """Who follows this catalogue."""

    def __init__(self, cluster: Cluster, catalogue: Catalogue, purgatory: Purgatory[Outbox]) -> None:
        self._cluster = cluster
        self._catalogue = catalogue
        self._purgatory = purgatory
        self._waiting: dict[int, DelayedFollow] = {}
        self._document = b""
        self._document_revision = -1

    @property
    def waiting(self) -> list[int]:
        """The nodes that have the newest catalogue, by id."""
        return sorted(self._waiting)

    def follow(self, request: FollowCatalogueRequest, ticket: Ticket, out: Outbox) -> None:
        """A node of this cluster, whose facts are ours, tells what it has: answer when there is more."""
        before = self._waiting.get(request.node_id)
        if before is not None:
            before.force_complete(out)
        if not self._cluster.is_controller:
            error = ErrorCode.NONE if request.revision == ONLY_FACTS else ErrorCode.NOT_CONTROLLER
            self._answer(ticket, out, error=error)
        elif request.revision == ONLY_FACTS:
            self._answer(ticket, out)
        elif (reason := self._why_not(request)) is not None:
            self._answer(ticket, out, error=ErrorCode.INCONSISTENT_CLUSTER_ID, reason=reason)
        elif request.revision < self._catalogue.revision or not request.lineage or request.max_wait_ms <= 0:
            self._tell(request.node_id, request.revision, request.lineage, ticket, out)
        else:
            answer = partial(self._tell, request.node_id, request.revision, request.lineage, ticket)
            waiting = DelayedFollow(answer, out.now_ms + min(request.max_wait_ms, MAX_WAIT_MS))
            self._waiting[request.node_id] = waiting
            self._purgatory.watch(waiting)

    def changed(self, out: Outbox) -> None:
        """There is a newer catalogue."""
        for waiting in tuple(self._waiting.values()):
            waiting.force_complete(out)

    def _why_not(self, request: FollowCatalogueRequest) -> str | None:
        name, ours = f"node {request.node_id}", self._catalogue
        way_out = (
            f"stop both, and copy topics.json to node {self._cluster.node_id} from the node whose topics are right"
        )
        if request.lineage and request.lineage != ours.lineage:
            return f"the catalogue of {name} (topics.json) did not come from node {self._cluster.node_id}; {way_out}"
        if request.revision > ours.revision:
            return (
                f"the catalogue of {name} has revision {request.revision}, that of node {self._cluster.node_id} only "
                f"{ours.revision}; {way_out}"
            )
        return None

    def _tell(self, node_id: int, revision: int, lineage: str, ticket: Ticket, out: Outbox) -> None:
        self._waiting.pop(node_id, None)
        is_newer = revision < self._catalogue.revision or not lineage
        self._answer(ticket, out, document=self._newest() if is_newer else None)

    def _newest(self) -> bytes:
        if self._document_revision != self._catalogue.revision:
            self._document = self._catalogue.document().encode()
            self._document_revision = self._catalogue.revision
        return self._document

    def _answer(
        self,
        ticket: Ticket,
        out: Outbox,
        *,
        error: ErrorCode = ErrorCode.NONE,
        reason: str | None = None,
        document: bytes | None = None,
    ) -> None:
        out.reply(
            ticket,
            FollowCatalogueResponse(
                error_code=error,
                error_message=reason,
                node_id=self._cluster.node_id,
                revision=self._catalogue.revision,
                document=document,
            ),
        )
