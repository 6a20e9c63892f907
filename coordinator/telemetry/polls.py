"""The last polls of members, from the figures of their clients."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from coordinator.core.events.model import shortened
from coordinator.core.last_polls import LastPoll

if TYPE_CHECKING:
    from coordinator.core.events.model import Story
    from coordinator.telemetry.figures import ClientFigures


def last_poll_of(figures: ClientFigures) -> LastPoll | None:
    """Return what the newest push tells of the last poll of a member; None if it tells nothing."""
    polled_ms = figures.last_poll_ms()
    if polled_ms is None or not figures.group_id or not figures.member_id:
        return None
    client = figures.client
    return LastPoll(figures.group_id, figures.member_id, client.client_id, client.address, figures.at_ms - polled_ms)


def with_polls(story: Story, figures: Iterable[ClientFigures], now_ms: int) -> Story:
    """Return the story of a group with what its members tell of their last polls."""
    state = story.state
    told = {
        (shortened(each.member_id), shortened(each.client.client_id), each.client.address): each for each in figures
    }
    if state is None or not told:
        return story
    members = []
    for live in state.members:
        member = live.member
        of_member = told.get((member.member_id, member.client_id, member.host))
        polled_ms = None if of_member is None else of_member.last_poll_ms()
        if of_member is not None and polled_ms is not None:
            live = msgspec.structs.replace(
                live, unpolled_ms=of_member.at_ms - polled_ms, told_ms=max(now_ms - of_member.at_ms, 0)
            )
        members.append(live)
    return msgspec.structs.replace(story, state=msgspec.structs.replace(state, members=members))
