"""Sentences about what the log of another cluster does not tell."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.core.events.model import AnyEvent, ChangeKind, Rebalance

NOT_CAUGHT_UP = "The log is still being read, so the newest events and the present state may be missing."
LEFT_OR_EXPIRED = (
    "Whether a member that went left by itself or lost its session: the log has the same record for both. How long "
    "before it had the last trace of the member suggests which it was."
)
NO_BEGIN = (
    "When a rebalance of a classic group began and which member it waited for: the log has one record when it is over. "
    "DescribeGroups tells that one runs, but not for which member it waits."
)
NOT_DESCRIBED = "Whether the group rebalances at this moment: DescribeGroups has not been answered lately."
INTERRUPTED = "Rebalances of a classic group that did not complete: the log has no record of them."
READ_TWICE = "How many records were read twice, and which requests were refused: requests are not in the log."
SILENCE = "When a member was last heard: heartbeats are not in the log."
NAME_ONLY = "The members, assignments and rebalances of a {type} group: only its name and its type are read."


def of_classic_group(events: Sequence[AnyEvent], *, is_described: bool) -> list[str]:
    """Return what is not known of a classic group."""
    described = () if is_described else (NOT_DESCRIBED,)
    return [*_departures(events), NO_BEGIN, *described, INTERRUPTED, SILENCE, READ_TWICE]


def of_consumer_group(events: Sequence[AnyEvent]) -> list[str]:
    """Return what is not known of a KIP-848 group."""
    return [*_departures(events), SILENCE, READ_TWICE]


def of_other_group(group_type: str) -> list[str]:
    """Return what is not known of a share or streams group."""
    return [NAME_ONLY.format(type=group_type)]


def _departures(events: Sequence[AnyEvent]) -> list[str]:
    is_unclear = any(
        change.kind is ChangeKind.GONE for event in events if isinstance(event, Rebalance) for change in event.changes
    )
    return [LEFT_OR_EXPIRED] if is_unclear else []
