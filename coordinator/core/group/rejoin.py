"""The rejoin of a known member: its protocols and timeouts are updated, and its JoinGroup is parked.

Its client id and host remain those of its first JoinGroup; its software is that of the last one. Its session timer is
not touched: it has no effect while the JoinGroup is parked and is restarted with the response. Source: Kafka's
`ClassicGroup.updateMember`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.group.responses import join_error
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member, Protocols
    from protocol.messages.join_group import JoinGroupRequest


def update_member(
    group: Group, member: Member, request: JoinGroupRequest, protocols: Protocols, ticket: Ticket, context: Context
) -> None:
    """Update protocols and timeouts and park the ticket. An older parked ticket is answered."""
    group.set_protocols(member, protocols)
    member.set_timeouts(request.rebalance_timeout_ms, request.session_timeout_ms)
    member.client_software = ticket.client_software
    replaced = group.park_join(member, ticket)
    if group.rebalance is not None:
        group.rebalance.member_joined(member, context)
    if replaced is not None:
        # Its connection is usually closed, and the reply is dropped. Without it an open one is blocked, as in Kafka.
        context.reply(replaced, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
