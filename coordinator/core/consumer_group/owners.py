"""The owners of partitions in a KIP-848 group, as the console's ownership ribbon needs them.

A member owns what it is assigned and what it still has to give up. Each event notes the members that it touched, when
its records are durable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.clients import client_of, key_of
from coordinator.core.consumer_group.moves import owned_by
from coordinator.core.events.model import shortened
from coordinator.core.events.owners import MemberOwns, OwnersAnswer
from coordinator.core.group.owner_records import MOST_HOLDERS

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.notes import Note
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from coordinator.core.events.owners import GenerationOwners

# Members of a group; of a larger one no owners are kept for the ribbon. Not Final, because tests change it and mypyc
# inlines Final constants.
MOST_OWNERS = 2_000


def note_owners(note: Note, group: ConsumerGroup, context: Context) -> None:
    """Note who owns what from now on, for the console's ribbon."""
    log = context.recorder.member_owners
    group_id = shortened(group.group_id)
    if note.members > MOST_OWNERS:
        log.forget(group_id)
        return
    steps = [step for step in note.steps if not step.is_same_owner]
    if steps and note.upgraded is None and log.known_from_ms(group_id) < 0:
        # The first event since the group was loaded: others own what they have, the touched ones what they had.
        members = {**group.members, **{before.member_id: before for before, _ in note.steps if before is not None}}
        new = {after.member_id for before, after in note.steps if before is None and after is not None}
        for each in members.values():
            if each.member_id not in new:
                log.own(group_id, note.wall_ms, client_of(group, each), partitions_by_hex(each))
    for before, after in sorted(steps, key=lambda step: step.after is not None):  # who gives up comes first
        member = after if after is not None else before
        if member is not None:
            log.own(group_id, note.wall_ms, client_of(group, member), partitions_by_hex(after))


def partitions_by_hex(member: ConsumerMember | None) -> dict[str, tuple[int, ...]]:
    """Return the partitions that a member owns, by the hexadecimal id of their topic."""
    return {topic_id.hex(): partitions for topic_id, partitions in owned_by(member).items()}


def member_owners(
    group_id: str,
    group: ConsumerGroup | None,
    generations: list[GenerationOwners],
    topics: TopicsImage,
    context: Context,
) -> OwnersAnswer:
    """Return who owned which partitions: the changes of members, behind the generations of a classic time before.

    Of a group that has not changed since it was loaded, what members have now is all that is known.
    """
    log = context.recorder.member_owners
    short = shortened(group_id)
    clients = dict(log.clients(short))
    changes = [(change.at_ms, change.key, change.partitions) for change in log.of(short)]
    since_ms = log.known_from_ms(short)
    if not changes and group is not None and len(group.members) <= MOST_OWNERS:
        since_ms = max(group.shard.loaded_at_ms, group.state_timestamp_ms)
        for member in group.members.values():
            clients[key_of(member)] = client_of(group, member)
            changes.append((since_ms, key_of(member), partitions_by_hex(member)))
    names: dict[str, str] = {}
    left = MOST_HOLDERS
    owns = []
    for at_ms, key, partitions in reversed(changes):
        left -= 1 + len(partitions)
        if left < 0:
            since_ms = at_ms
            break
        for topic_id in partitions:
            if topic_id not in names and (topic := topics.by_id(bytes.fromhex(topic_id))) is not None:
                names[topic_id] = topic.name
        client = clients.get(key)
        owns.append(
            MemberOwns(
                at_ms,
                key,
                client.client_id if client is not None else "",
                client.host if client is not None else "",
                {names[topic_id]: list(some) for topic_id, some in partitions.items() if topic_id in names},
            )
        )
    owns.reverse()
    return OwnersAnswer(at_ms=context.wall_ms, generations=generations, changes=owns, changes_from_ms=since_ms)
