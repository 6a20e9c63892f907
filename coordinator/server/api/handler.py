"""One row of the table of APIs: the served versions, the handler, the form of an answer, and facts of the API.

Wire versions are handled in this package alone. A handler turns the fields that a version lacks into plain facts for
the core; `shape` turns the version-neutral answer into the form of the version (a list moved, an error at another
level). The core and the topics never see a version number.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from coordinator.core.effects import Ticket
from coordinator.server.api.chunked_responses import Array, Shape
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.server.api.node import Node

Handle = Callable[["Node", Any, Ticket, int], None]


def handle_in_core(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    """Have the core handle the request as it is."""
    node.execute(node.core.handle(request, ticket, now_ms), ticket)


class Section(Enum):
    """Sections of docs/protocol.md."""

    GROUPS = "groups"
    TOPICS = "embedded topics"
    OTHERS = "others"


class Api(NamedTuple):
    """Row of the table: one API key, and the way it is served.

    `handle(node, request, ticket, now_ms)` decides and hands its effects to `node.execute` (or `node.execute_topics`,
    or `node.reply`); a ticket that got no reply by its return is parked or waits for the log. `shape(response,
    version)` returns the message to encode.

    `advertised_min` differs from `min_version` if clients need to see a version that is not served (Produce 0).
    `max_elements` limits one request, which is decoded in one piece on the event loop: 20,000 of the smallest structs
    take 10 to 20 ms.

    `is_pipelined`: the request may run while requests before it wait for the disk. `waits_for_log`: without an answer
    it waits for the disk alone, and is not parked until another client acts. `is_sampled`: one request in sixteen is
    timed, because there are many. `has_own_size_limit`: connection.request.max.bytes does not apply. `chunked`: the
    array that makes an answer long, for each first version that has it. `amplifies`: a short request can have a long
    answer. `rebalances`: members join and leave by it, so that many of them take turns, behind other requests.

    `section`, `does` and `refuses` are for docs/protocol.md. Empty: all fields of these versions are served, and
    nothing is refused.
    """

    key: ApiKey
    min_version: int
    max_version: int
    handle: Handle = handle_in_core
    shape: Shape | None = None
    advertised_min: int | None = None
    max_elements: int = 20_000
    is_pipelined: bool = False
    waits_for_log: bool = False
    is_sampled: bool = False
    has_own_size_limit: bool = False
    chunked: tuple[tuple[int, Array], ...] = ()
    amplifies: bool = False
    rebalances: bool = False
    section: Section = Section.TOPICS
    does: str = ""
    refuses: str = ""

    def array_of(self, version: int) -> Array | None:
        """Return the array at which a long answer of this version is cut; None if its answers are never long."""
        found = None
        for first, array in self.chunked:
            if version >= first:
                found = array
        return found
