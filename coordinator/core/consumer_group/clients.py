"""Members of a KIP-848 group as events name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.session import timeout_of
from coordinator.core.events.model import Change, ChangeKind, ClientInfo, shortened

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.context import Context


def key_of(member: ConsumerMember) -> str:
    """Return what stays of a member from run to run: its instance id, or else its member id."""
    return shortened(member.instance_id or member.member_id)


def client_of(group: ConsumerGroup, member: ConsumerMember) -> ClientInfo:
    """Return a member as events name it. Its software is known while it has a session."""
    session = group.sessions.get(member.member_id)
    software = session.software if session is not None else None
    return ClientInfo(
        shortened(member.member_id),
        shortened(member.instance_id or ""),
        shortened(member.client_id),
        member.client_host.lstrip("/"),
        f"{software.name} {software.version}".strip() if software is not None else "",
    )


def change_of(
    kind: ChangeKind,
    group: ConsumerGroup,
    member: ConsumerMember,
    context: Context,
    after_ms: int = 0,
    reason: str = "",
) -> Change:
    """Return a change of a member, with its timeouts."""
    return Change(
        kind,
        client_of(group, member),
        after_ms,
        reason,
        timeout_of(group, member, context),
        max(member.rebalance_timeout_ms, 0),
    )
