"""Which committed offsets of a group have outlived their retention, and whether the group may go with them.

How long an offset is kept depends on who uses it: an Empty group's offsets count from the moment it became empty, a
consumer's that manages its own partitions from each commit, and a live consumer group loses only offsets of topics
that nobody in it reads any more. Where we cannot tell what is in use, nothing expires. Source: spec 11.1 - 11.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from coordinator.core.group.group import CONSUMER
from coordinator.core.group.state import EMPTY, STABLE
from coordinator.core.offsets.store import NO_TIMESTAMP, CommittedOffset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.group.group import Group
    from coordinator.core.offsets.store import OffsetStore


class Expired(NamedTuple):
    """What a scan found in one group."""

    offsets: list[tuple[str, int]]  # (topic, partition), to be tombstoned
    group: bool  # the group itself has nothing left and nobody in it


def find_expired(group: Group, store: OffsetStore, wall_ms: int, retention_ms: int) -> Expired:
    """Look at one group. The caller has made sure that no append of it is in flight (spec 12.4)."""
    if is_too_young(group, store, wall_ms, retention_ms):
        return Expired([], False)
    committed = store.of_group(group.group_id)
    # Kafka looks at open transactions only where there are committed offsets, and so may delete a group whose first
    # offsets are still pending; their marker would then bring back a group nobody knows. We always look.
    deletable = group.state is EMPTY and not group.pending_join and not store.has_pending(group.group_id)
    if not committed:
        return Expired([], deletable)
    expired: list[tuple[str, int]] = []
    if not _anything_may_expire(group):
        return Expired(expired, False)
    base_ms = _base_ms(group)
    all_expired = True
    for topic, partitions in committed.items():
        if group.is_subscribed_to(topic):
            all_expired = False
            continue
        for partition, offset in partitions.items():
            if _is_over(offset, base_ms, wall_ms, retention_ms) and not store.is_pending(
                group.group_id, topic, partition
            ):
                expired.append((topic, partition))
            else:
                all_expired = False
    return Expired(expired, all_expired and deletable)


def find_expired_of(
    group: Group, store: OffsetStore, topic: str, partitions: Iterable[int], wall_ms: int, retention_ms: int
) -> list[tuple[str, int]]:
    """The same for some partitions of one topic, for groups that have too many to look at them all at once."""
    if not _anything_may_expire(group) or group.is_subscribed_to(topic):
        return []
    base_ms = _base_ms(group)
    committed = store.of_group(group.group_id).get(topic, {})
    return [
        (topic, partition)
        for partition in partitions
        if (offset := committed.get(partition)) is not None
        and _is_over(offset, base_ms, wall_ms, retention_ms)
        and not store.is_pending(group.group_id, topic, partition)
    ]


def is_too_young(group: Group, store: OffsetStore, wall_ms: int, retention_ms: int) -> bool:
    """Whether none of a cold group's offsets can have expired: it is not woken only to be told so."""
    age = store.age(group.group_id)
    if age is None or wall_ms >= age.earliest_expiry_ms:
        return False
    base_ms = _base_ms(group)
    return wall_ms - (age.earliest_commit_ms if base_ms == NO_TIMESTAMP else base_ms) < retention_ms


def _base_ms(group: Group) -> int:
    """From when on the offsets of a group that is Empty, but not simple, are old; of others: since each commit."""
    return group.state_timestamp_ms if group.protocol_type is not None and group.state is EMPTY else NO_TIMESTAMP


def _anything_may_expire(group: Group) -> bool:
    """Spec 11.2, the rows: a simple group, an Empty one, or consumers whose subscriptions we could read."""
    if group.protocol_type is None or group.state is EMPTY:
        return True
    return group.protocol_type == CONSUMER and group.state is STABLE and group.subscribed_topics is not None


def _is_over(offset: CommittedOffset, base_ms: int, wall_ms: int, retention_ms: int) -> bool:
    if offset.expire_timestamp_ms != NO_TIMESTAMP:  # the client asked for a retention of its own
        return wall_ms >= offset.expire_timestamp_ms
    since_ms = base_ms if base_ms != NO_TIMESTAMP else offset.commit_timestamp_ms
    return wall_ms - since_ms >= retention_ms
