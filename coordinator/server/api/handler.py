"""One row of the table of APIs: which versions are served, who handles them, and how an answer is shaped.

Wire versions stop in this package. A handler turns what a version lacks into plain facts for the core; `shape` turns
the version-neutral answer into the form the version has (a list moved, an error at another level). The core and the
topics never see a version number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from coordinator.core.effects import Ticket
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.server.api.node import Node

Handle = Callable[["Node", Any, Ticket, int], None]
Shape = Callable[[Any, int], Any]


class Api(NamedTuple):
    """How one API key is served.

    `handle(node, request, ticket, now_ms)` decides and hands its effects to `node.execute` (or `node.execute_topics`,
    or `node.reply`); a ticket that got no reply by its return is parked or waits for the log. `shape(response,
    version)` gives the message to encode. `advertised_min` differs from `min_version` where clients need to see a
    version that nobody may use (Produce 0, wire spec 5.3). `max_elements` bounds one request, which is decoded
    in one piece on the event loop: 20,000 of the smallest structs take 10 to 20 ms.
    """

    key: ApiKey
    min_version: int
    max_version: int
    handle: Handle
    shape: Shape | None = None
    advertised_min: int | None = None
    max_elements: int = 20_000
