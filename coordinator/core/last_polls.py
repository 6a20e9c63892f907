"""Members that do not poll, as they tell it themselves (KIP-714).

A consumer whose application does not poll for max.poll.interval.ms leaves its group. Most clients send this time as
their rebalance timeout. From half of it on an incident is recorded, which stands before the departure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.clients import client_of as client_of_consumer
from coordinator.core.events.model import ClientInfo, Incident, IncidentKind, shortened
from coordinator.core.group.group import Group
from coordinator.core.group.progress import client_of

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.context import Context

LEAST_MS: Final = 10_000


class LastPoll(NamedTuple):
    """A client's word about its last poll. `host` is without the slash of Java's form."""

    group_id: str
    member_id: str
    client_id: str
    host: str
    unpolled_ms: int  # since its last poll


def record_last_poll(told: LastPoll, group: Group | ConsumerGroup | None, context: Context) -> None:
    """Record that a member does not poll. The word of a client that is not this member counts for nothing."""
    found = None if group is None else _member(group, told.member_id)
    if found is None:
        return
    client, timeout_ms, generation = found
    if (client.client_id, client.host) != (shortened(told.client_id), told.host):
        return
    if told.unpolled_ms < max(timeout_ms // 2, LEAST_MS):
        return
    context.recorder.incident(
        Incident(
            group=shortened(told.group_id),
            at_ms=context.wall_ms,
            what=IncidentKind.NOT_POLLING,
            member=client,
            generation=generation,
            waited_ms=told.unpolled_ms,
            at_most_ms=max(timeout_ms - told.unpolled_ms, 0),
        )
    )


def _member(group: Group | ConsumerGroup, member_id: str) -> tuple[ClientInfo, int, int] | None:
    """Return a member as events name it, its rebalance timeout in ms, and the generation or epoch of the group."""
    if isinstance(group, Group):
        member = group.members.get(member_id)
        return None if member is None else (client_of(member), member.rebalance_timeout_ms, group.generation)
    consumer = group.members.get(member_id)
    return (
        None if consumer is None else (client_of_consumer(group, consumer), consumer.rebalance_timeout_ms, group.epoch)
    )
