"""A known member joins again: what it says is taken over, and its JoinGroup is parked.

Its client id and host stay those of its first JoinGroup, and its session timer is not touched: it is harmless while
the JoinGroup is parked and is restarted when that is answered. Source: spec 3.7.
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
    """Take over protocols and timeouts, park the ticket; an older parked one is answered."""
    group.set_protocols(member, protocols)
    member.set_timeouts(request.rebalance_timeout_ms, request.session_timeout_ms)
    replaced = group.park_join(member, ticket)
    if replaced is not None:
        # Its connection is dead as a rule, and then this goes nowhere; if it lives it must not be blocked for ever.
        context.reply(replaced, join_error(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
