"""Incidents of a KIP-848 group: refused requests, replaced static members, slow rebalances, changes of the protocol."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.clients import client_of
from coordinator.core.consumer_group.waits import waited_for
from coordinator.core.events.model import (
    LONGEST_REASON,
    NAMED_AT_MOST,
    NOBODY,
    ClientInfo,
    Incident,
    IncidentKind,
    shortened,
)
from coordinator.core.group.progress import requester_of
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.notes import Note
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket

# The errors of members in trouble. Others are part of an ordinary rebalance, of a start, or a client's first question.
INCIDENTS: Final[Mapping[ErrorCode, IncidentKind]] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_MEMBER_ID: IncidentKind.UNKNOWN_MEMBER,
        ErrorCode.FENCED_MEMBER_EPOCH: IncidentKind.STALE_GENERATION,
        ErrorCode.ILLEGAL_GENERATION: IncidentKind.STALE_GENERATION,
        ErrorCode.FENCED_INSTANCE_ID: IncidentKind.FENCED,
        ErrorCode.UNRELEASED_INSTANCE_ID: IncidentKind.FENCED,
        ErrorCode.GROUP_MAX_SIZE_REACHED: IncidentKind.JOIN_REFUSED,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL: IncidentKind.JOIN_REFUSED,
        ErrorCode.UNSUPPORTED_ASSIGNOR: IncidentKind.JOIN_REFUSED,
        ErrorCode.INVALID_REGULAR_EXPRESSION: IncidentKind.JOIN_REFUSED,
    }
)
COMMIT_INCIDENTS: Final[Mapping[ErrorCode, IncidentKind]] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_MEMBER_ID: IncidentKind.COMMIT_REFUSED,
        ErrorCode.STALE_MEMBER_EPOCH: IncidentKind.COMMIT_REFUSED,
        ErrorCode.ILLEGAL_GENERATION: IncidentKind.COMMIT_REFUSED,
    }
)


def record_refusal(
    group: ConsumerGroup,
    api: ApiKey,
    error: ErrorCode,
    ticket: Ticket,
    member_id: str,
    instance_id: str | None,
    context: Context,
    generation: int = -1,
    *,
    offered: Sequence[str] = (),
    reason: str | None = "",
) -> None:
    """Record that a request was refused, if the error tells of a client that is in trouble."""
    kinds = COMMIT_INCIDENTS if api is ApiKey.OFFSET_COMMIT else INCIDENTS
    what = kinds.get(error)
    if what is None:
        return
    holder = group.members.get(group.static_members.get(instance_id, "")) if instance_id is not None else None
    other = client_of(group, holder) if holder is not None and what is IncidentKind.FENCED else NOBODY
    _record(
        group.group_id,
        context,
        what,
        requester_of(ticket, member_id, instance_id),
        other=other,
        error=error.name,
        api=api.name,
        generation=generation,
        offered=[shortened(name) for name in offered[:NAMED_AT_MOST]],
        reason=(reason or "")[:LONGEST_REASON] if what is IncidentKind.JOIN_REFUSED else "",
    )


def record_refused_upgrade(group_id: str, ticket: Ticket, member_id: str, reason: str, context: Context) -> None:
    """Record that a client of the consumer protocol could not join a classic group."""
    _record(
        group_id,
        context,
        IncidentKind.JOIN_REFUSED,
        requester_of(ticket, member_id),
        error=ErrorCode.GROUP_ID_NOT_FOUND.name,
        api=ApiKey.CONSUMER_GROUP_HEARTBEAT.name,
        reason=reason[:LONGEST_REASON],
    )


def record_replacement(
    group: ConsumerGroup, member: ConsumerMember, former: ConsumerMember, note: Note, context: Context
) -> None:
    """Record that a run of a static member took the place of another one."""
    _record(
        group.group_id,
        context,
        IncidentKind.STATIC_MEMBER_REPLACED,
        client_of(group, member),
        other=client_of(group, former),
        generation=note.epoch,
    )


def record_load(group: ConsumerGroup, context: Context) -> None:
    """Record that a group with members was loaded."""
    _record(group.group_id, context, IncidentKind.GROUP_LOADED, NOBODY, generation=group.epoch)


def record_upgrade(group: ConsumerGroup, member: ClientInfo, note: Note, context: Context) -> None:
    """Record that a classic group has become this group."""
    _record(group.group_id, context, IncidentKind.GROUP_UPGRADED, member, generation=note.epoch)


def record_downgrade(group: ConsumerGroup, member: ClientInfo, note: Note, context: Context) -> None:
    """Record that this group has become a classic one."""
    _record(group.group_id, context, IncidentKind.GROUP_DOWNGRADED, member, generation=note.epoch)


def record_failed_assignor(group: ConsumerGroup, reason: str, context: Context) -> None:
    """Record that an assignor of a user has failed, so that the group keeps its target."""
    _record(
        group.group_id,
        context,
        IncidentKind.ASSIGNOR_FAILED,
        NOBODY,
        reason=reason[:LONGEST_REASON],
        generation=group.epoch,
    )


def record_slow_rebalance(group: ConsumerGroup, context: Context) -> None:
    """Record that the current rebalance takes longer than group.rebalance.warn.ms."""
    running = group.progress.running
    if running is None:
        return
    waits, named, count, at_most_ms = waited_for(group, context.now_ms)
    _record(
        group.group_id,
        context,
        IncidentKind.REBALANCE_SLOW,
        named[0] if named else NOBODY,
        reason=waits.value,
        generation=group.epoch,
        more=max(count - 1, 0),
        waited_ms=context.now_ms - running.began_ms,
        at_most_ms=at_most_ms,
    )


def _record(
    group_id: str,
    context: Context,
    what: IncidentKind,
    member: ClientInfo,
    *,
    other: ClientInfo = NOBODY,
    error: str = "",
    api: str = "",
    reason: str = "",
    generation: int = -1,
    more: int = 0,
    waited_ms: int = -1,
    at_most_ms: int = -1,
    offered: Sequence[str] = (),
) -> None:
    context.recorder.incident(
        Incident(
            group=shortened(group_id),
            at_ms=context.wall_ms,
            what=what,
            member=member,
            other=other,
            error=error,
            api=api,
            reason=reason,
            generation=generation,
            more=more,
            waited_ms=waited_ms,
            at_most_ms=at_most_ms,
            offered=list(offered),
        )
    )
