"""ConsumerGroupHeartbeat (key 68, KIP-848), handled by `coordinator.core.consumer_group.groups`.

From version 1 on the client makes its member id, and may subscribe by a regular expression.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.groups import ConsumerGroupHeartbeat
from coordinator.server.api.handler import Api, Section
from protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

FIRST_WITH_MEMBER_ID: Final = 1


def command_of(request: ConsumerGroupHeartbeatRequest, version: int) -> ConsumerGroupHeartbeat:
    """Return the command for the core."""
    return ConsumerGroupHeartbeat(request, version >= FIRST_WITH_MEMBER_ID)


def handle(node: Node, request: ConsumerGroupHeartbeatRequest, ticket: Ticket, now_ms: int) -> None:
    node.execute(node.core.handle(command_of(request, ticket.version), ticket, now_ms), ticket)


API = Api(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    0,
    1,
    handle,
    max_elements=20_000,
    waits_for_log=True,
    is_sampled=True,
    section=Section.GROUPS,
    does="Members of groups of the consumer protocol (KIP-848).",
)
