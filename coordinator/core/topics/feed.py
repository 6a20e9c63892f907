"""The controller's side of FollowCatalogue: nodes ask for the catalogue, and wait here while they have the newest.

Users, access rules and quotas travel with it, as texts that are opaque here and are compared by their digests.

Each node has at most one open request; a newer one ends the older, whose connection is closed. The response is the
whole catalogue, so a node that was down for any time needs only the newest, and a slow node skips intermediate
revisions. It is small: max.topics bounds its size.

A node whose catalogue did not come from this one, or is newer, is refused. One of the two nodes lost its disk or was
restored from a copy, and following would delete topics. The operator decides which catalogue is right.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.topics.delayed_follow import DelayedFollow
from protocol.error_codes import ErrorCode
from protocol.messages.follow_catalogue import FollowCatalogueRequest, FollowCatalogueResponse, NewDocument

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.cluster import Cluster
    from coordinator.core.effects import Ticket
    from coordinator.core.purgatory.purgatory import Purgatory
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import Outbox

ONLY_FACTS: Final = -1  # the revision in a request that only checks that both nodes have the same cluster settings
MAX_WAIT_MS: Final = 60_000


class SharedText(NamedTuple):
    """A document of the controller. Both are empty if it has none."""

    digest: bytes
    text: bytes


class Feed:
    """The nodes that follow this catalogue, and the documents that go with it, by name."""

    def __init__(self, cluster: Cluster, catalogue: Catalogue, purgatory: Purgatory[Outbox]) -> None:
        self._cluster = cluster
        self._catalogue = catalogue
        self._purgatory = purgatory
        self._waiting: dict[int, DelayedFollow] = {}
        self.documents: dict[str, SharedText] = {}
        self._document = b""
        self._document_revision = -1

    def follow(self, request: FollowCatalogueRequest, ticket: Ticket, out: Outbox) -> None:
        """Handle a request of a node with the same cluster settings. Respond when there is a newer catalogue."""
        before = self._waiting.get(request.node_id)
        if before is not None:
            before.force_complete(out)
        if not self._cluster.is_controller:
            error = ErrorCode.NONE if request.revision == ONLY_FACTS else ErrorCode.NOT_CONTROLLER
            self._respond(ticket, out, error=error)
        elif request.revision == ONLY_FACTS:
            self._respond(ticket, out)
        elif (reason := self._why_refused(request)) is not None:
            self._respond(ticket, out, error=ErrorCode.INCONSISTENT_CLUSTER_ID, reason=reason)
        elif (
            request.revision < self._catalogue.revision
            or not request.lineage
            or request.max_wait_ms <= 0
            or self._others(request)
        ):
            self._send_newest(request, ticket, out)
        else:
            respond = partial(self._send_newest, request, ticket)
            waiting = DelayedFollow(respond, out.now_ms + min(request.max_wait_ms, MAX_WAIT_MS))
            self._waiting[request.node_id] = waiting
            self._purgatory.watch(waiting)

    def changed(self, out: Outbox) -> None:
        """Send a newer catalogue or document to all nodes that wait."""
        for waiting in tuple(self._waiting.values()):
            waiting.force_complete(out)

    def _why_refused(self, request: FollowCatalogueRequest) -> str | None:
        name, catalogue = f"node {request.node_id}", self._catalogue
        way_out = (
            f"stop both, and copy topics.json to node {self._cluster.node_id} from the node whose topics are right"
        )
        if request.lineage and request.lineage != catalogue.lineage:
            return f"the catalogue of {name} (topics.json) did not come from node {self._cluster.node_id}; {way_out}"
        if request.revision > catalogue.revision:
            return (
                f"the catalogue of {name} has revision {request.revision}, that of node {self._cluster.node_id} only "
                f"{catalogue.revision}; {way_out}"
            )
        return None

    def _send_newest(self, request: FollowCatalogueRequest, ticket: Ticket, out: Outbox) -> None:
        self._waiting.pop(request.node_id, None)
        is_newer = request.revision < self._catalogue.revision or not request.lineage
        self._respond(ticket, out, document=self._newest() if is_newer else None, documents=self._others(request))

    def _others(self, request: FollowCatalogueRequest) -> list[NewDocument]:
        """Return the documents of which a node has another text."""
        return [
            NewDocument(name=known.name, text=mine.text)
            for known in request.documents
            if (mine := self.documents.get(known.name)) is not None and mine.digest != known.digest
        ]

    def _newest(self) -> bytes:
        if self._document_revision != self._catalogue.revision:
            self._document = self._catalogue.document().encode()
            self._document_revision = self._catalogue.revision
        return self._document

    def _respond(
        self,
        ticket: Ticket,
        out: Outbox,
        *,
        error: ErrorCode = ErrorCode.NONE,
        reason: str | None = None,
        document: bytes | None = None,
        documents: Sequence[NewDocument] = (),
    ) -> None:
        out.reply(
            ticket,
            FollowCatalogueResponse(
                error_code=error,
                error_message=reason,
                node_id=self._cluster.node_id,
                revision=self._catalogue.revision,
                document=document,
                documents=list(documents),
            ),
        )
