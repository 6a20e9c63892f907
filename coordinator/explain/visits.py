"""The story read by client: when each came, how long it held partitions, and how it went.

A visit is the life of one member id. Visits of one client follow each other under its key: the instance id, else client
id and host, because a client has another member id each time that it joins. A departure is a return's end if the client
had been there and gone before, so that a rolling restart (each goes once and stays) is not taken for a loop.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from coordinator.core.events.model import (
    GONE,
    AnyEvent,
    Cause,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Story,
)

Key: TypeAlias = tuple[str, str]


class Visit(msgspec.Struct, kw_only=True):
    """One member id from its first JoinGroup to its end. Times are since the epoch; -1: not in the story."""

    member: ClientInfo
    joined_ms: int = -1
    owned_ms: int = -1  # the end of the last rebalance that gave it partitions
    ended_ms: int = -1
    how: ChangeKind | None = None  # None: it is there
    reason: str = ""
    sent_no_sync: bool = False
    not_revoked: bool = False  # KIP-848: it kept partitions that it had to give up
    silent_ms: int = -1  # observed: how long before its end it was last heard; -1: not known
    session_timeout_ms: int = 0  # 0: not known
    rebalance_timeout_ms: int = 0
    event: int = -1  # the position of the rebalance in which it ended, else of that in which it joined

    @property
    def owned_for_ms(self) -> int:
        """The time for which it had held its partitions when it went; -1: not known."""
        return self.ended_ms - self.owned_ms if self.owned_ms >= 0 and self.how is not None else -1

    @property
    def poll_interval_ms(self) -> int:
        """The max.poll.interval.ms of the client, which most send as their rebalance timeout; 0: not known.

        aiokafka, which does not name its software, sends another number.
        """
        return self.rebalance_timeout_ms if self.member.software else 0


def key_of(client: ClientInfo) -> Key:
    return (client.instance_id, "") if client.instance_id else (client.client_id, client.host)


def rebalances(story: Story) -> list[tuple[int, Rebalance]]:
    """Return the rebalances with their positions, oldest first, and the current one behind them."""
    found = [(number, event) for number, event in enumerate(story.events) if isinstance(event, Rebalance)]
    if story.state is not None and story.state.rebalance is not None:
        found.append((len(story.events), story.state.rebalance))
    return found


def incidents(story: Story, *kinds: IncidentKind, within_ms: int) -> list[tuple[int, Incident]]:
    """Return the incidents of these kinds that happened, or repeated, within `within_ms`; the newest first."""
    found = [
        (number, event)
        for number, event in enumerate(story.events)
        if isinstance(event, Incident) and event.what in kinds and story.at_ms - latest(event) <= within_ms
    ]
    return sorted(found, key=lambda pair: latest(pair[1]), reverse=True)


def latest(event: AnyEvent) -> int:
    return (event.last_ms or event.at_ms) if isinstance(event, Incident) else event.at_ms + event.took_ms


def visits(story: Story) -> list[Visit]:
    """Return all visits in the order of their begin; those that began before the story come first."""
    open_visits: dict[str, Visit] = {}
    found: list[Visit] = []
    stable_ms = -1
    for position, event in rebalances(story):
        for change in event.changes:
            at_ms = event.at_ms + change.after_ms
            member_id = change.member.member_id
            if change.kind is ChangeKind.JOINED:
                visit = open_visits[member_id] = Visit(member=change.member, joined_ms=at_ms, event=position)
                found.append(visit)
            elif change.kind in GONE:
                known = open_visits.pop(member_id, None)
                visit = known if known is not None else Visit(member=change.member)
                if known is None:
                    found.insert(0, visit)
                visit.event = position
                visit.owned_ms = stable_ms if stable_ms >= visit.joined_ms else -1
                visit.session_timeout_ms = change.session_timeout_ms
                visit.rebalance_timeout_ms = change.rebalance_timeout_ms or event.rebalance_timeout_ms
                visit.ended_ms, visit.how, visit.reason = at_ms, change.kind, change.reason
                visit.silent_ms = change.silent_ms
                visit.not_revoked = change.kind is ChangeKind.DROPPED and event.trigger.cause is Cause.NOT_REVOKED
                visit.sent_no_sync = event.trigger.cause is Cause.NO_SYNC and not change.after_ms
        if event.outcome is RebalanceOutcome.STABLE:
            stable_ms = event.at_ms + event.took_ms
    return found


def by_client(story: Story) -> dict[Key, list[Visit]]:
    found: dict[Key, list[Visit]] = {}
    for visit in visits(story):
        found.setdefault(key_of(visit.member), []).append(visit)
    return found


def is_present(story: Story, key: Key) -> bool:
    return story.state is not None and any(key_of(each.member) == key for each in story.state.members)


def loops(visits_of_client: list[Visit], departures: list[Visit]) -> int:
    """Return how many of the departures ended a visit that had followed an earlier departure.

    A crashed client is back before the session of its last run ends, so a run counts as over one session earlier.
    """
    return sum(
        any(
            earlier is not visit
            and earlier.joined_ms < visit.joined_ms
            and earlier.ended_ms - (earlier.session_timeout_ms if earlier.how is not ChangeKind.LEFT else 0)
            <= visit.joined_ms
            for earlier in departures
        )
        for visit in departures
        if visit.joined_ms >= 0
    )
