"""The members that came, went or changed in one rebalance, with a bound on those that are named."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from coordinator.core.events.model import NAMED_AT_MOST, NOBODY, Cause, Change, ChangeKind, ClientInfo, Trigger

CAUSED_BY: Final = {
    ChangeKind.JOINED: Cause.MEMBER_JOINED,
    ChangeKind.LEFT: Cause.MEMBER_LEFT,
    ChangeKind.EXPIRED: Cause.SESSION_EXPIRED,
    ChangeKind.GONE: Cause.MEMBER_GONE,
    ChangeKind.DROPPED: Cause.NOT_REVOKED,  # of a classic group it is the end of a rebalance, and no trigger
    ChangeKind.REPLACED: Cause.STATIC_MEMBER_REPLACED,
    ChangeKind.RESUBSCRIBED: Cause.PROTOCOLS_CHANGED,
}


def trigger_of_change(change: Change) -> Trigger:
    """Return the trigger of a rebalance that one change caused."""
    return Trigger(
        cause=CAUSED_BY[change.kind],
        member=change.member,
        session_timeout_ms=change.session_timeout_ms,
        rebalance_timeout_ms=change.rebalance_timeout_ms,
        subscription_changed=change.kind is ChangeKind.RESUBSCRIBED,
        silent_ms=change.silent_ms,
    )


def unknown_trigger(suspect: ClientInfo | None = None) -> Trigger:
    """Return the trigger of a rebalance whose cause is not known."""
    return Trigger(cause=Cause.UNKNOWN, member=suspect or NOBODY)


def counted(changes: Iterable[Change]) -> tuple[list[Change], dict[str, int]]:
    """Return NAMED_AT_MOST changes of each kind, and the number of each kind."""
    named: list[Change] = []
    counts: dict[str, int] = {}
    for change in changes:
        kind = change.kind.value
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= NAMED_AT_MOST:
            named.append(change)
    return named, counts
