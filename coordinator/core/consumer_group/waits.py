"""The members that a KIP-848 group waits for: they have to give up partitions, to heartbeat, or to return."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.clients import client_of
from coordinator.core.consumer_group.member import STABLE, UNRELEASED, UNREVOKED
from coordinator.core.events.model import NAMED_AT_MOST, ClientInfo, Wait

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.session import MemberSession


def waited_for(group: ConsumerGroup, now_ms: int) -> tuple[Wait, list[ClientInfo], int, int]:
    """Return what the group waits for: the members (NAMED_AT_MOST), their number, and for how long at most."""
    waits, members, at_most_ms = waiting_members(group, now_ms)
    return waits, [client_of(group, each) for each in members[:NAMED_AT_MOST]], len(members), at_most_ms


def waiting_members(group: ConsumerGroup, now_ms: int) -> tuple[Wait, list[ConsumerMember], int]:
    """Return what the group waits for, the members that have waited longest first, and for how long at most (-1: ?)."""
    if not group.members:
        return Wait.NOTHING, [], -1
    if group.epoch > group.assignment_epoch:
        is_waiting = group.is_assigning or now_ms < group.assigns_after_ms
        return Wait.ASSIGNOR if is_waiting else Wait.HEARTBEAT, [], -1  # of any member: it computes the target
    members = list(group.members.values())
    revoking = [each for each in members if each.state == UNREVOKED]
    if revoking:
        ends = [_revocation_ends_ms(group.sessions.get(each.member_id)) for each in revoking]
        return Wait.REVOCATION, _longest_first(group, revoking), max(max(ends) - now_ms, 0) if min(ends) >= 0 else -1
    epoch = group.assignment_epoch
    behind = [
        each for each in members if not each.is_away and each.state != UNRELEASED and not each.is_reconciled(epoch)
    ]
    behind = behind or [each for each in members if each.state == UNRELEASED and each.epoch >= 0]
    if behind:
        return Wait.HEARTBEAT, _longest_first(group, behind), _removed_in_ms(group, behind, now_ms)
    away = [each for each in members if each.is_away and each.state == STABLE]
    if away:
        return Wait.RETURN, _longest_first(group, away), _removed_in_ms(group, away, now_ms)
    return Wait.NOTHING, [], -1


def _longest_first(group: ConsumerGroup, members: list[ConsumerMember]) -> list[ConsumerMember]:
    sessions = group.sessions

    def stepped_ms(member: ConsumerMember) -> int:
        session = sessions.get(member.member_id)
        return session.stepped_ms if session is not None else -1

    return sorted(members, key=stepped_ms)


def _revocation_ends_ms(session: MemberSession | None) -> int:
    for timer in (session.rebalance_timer, session.join_timer) if session is not None else ():
        if timer is not None and not timer.is_completed:
            return timer.fires_at_ms
    return -1


def _removed_in_ms(group: ConsumerGroup, members: list[ConsumerMember], now_ms: int) -> int:
    """Return the ms until the last of these members is removed, if it sends nothing more, or does not rejoin."""
    ends = [_removed_ms(session) for each in members if (session := group.sessions.get(each.member_id)) is not None]
    return max(max(ends) - now_ms, 0) if ends else -1


def _removed_ms(session: MemberSession) -> int:
    timer = session.join_timer
    if timer is not None and not timer.is_completed:
        return timer.fires_at_ms
    return session.deadline_ms
