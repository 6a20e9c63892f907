"""Expiration: which committed offsets of a group are older than the retention time, and whether the group expires too.

How long an offset is kept depends on its users. Offsets of an Empty group expire a retention time after the group
became Empty, those of a simple group after each commit. A live consumer group loses only offsets of topics that none of
its members subscribes to. If the subscriptions are unknown, nothing expires.
Sources: KIP-211; Kafka's `OffsetMetadataManager.cleanupExpiredOffsets`, `ClassicGroup.offsetExpirationCondition`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from coordinator.core.offsets.store import NO_TIMESTAMP, CommittedOffset

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.any_group import AnyGroup
    from coordinator.core.offsets.store import OffsetStore


class Expired(NamedTuple):
    """The expired offsets of one group."""

    offsets: list[tuple[str, int]]  # (topic, partition), to be tombstoned
    group: bool  # True if the group itself expires: it has no member and no other offset


def find_expired(group: AnyGroup, store: OffsetStore, wall_ms: int, retention_ms: int) -> Expired:
    """Find the expired offsets of one group that has no append in flight."""
    if is_too_young(group, store, wall_ms, retention_ms):
        return Expired([], False)
    committed = store.of_group(group.group_id)
    # Kafka checks for open transactions only if there are committed offsets, so it may delete a group whose first
    # offsets are pending; their end marker would then create the group again. Here they are always checked.
    deletable = group.may_expire and not store.has_pending(group.group_id)
    if not committed:
        return Expired([], deletable)
    expired: list[tuple[str, int]] = []
    if group.keeps_all_offsets:
        return Expired(expired, False)
    base_ms = group.idle_since_ms
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
    group: AnyGroup, store: OffsetStore, topic: str, partitions: Iterable[int], wall_ms: int, retention_ms: int
) -> list[tuple[str, int]]:
    """Find the expired offsets among some partitions of one topic, for groups with too many offsets for one step."""
    if group.keeps_all_offsets or group.is_subscribed_to(topic):
        return []
    base_ms = group.idle_since_ms
    committed = store.of_group(group.group_id).get(topic, {})
    return [
        (topic, partition)
        for partition in partitions
        if (offset := committed.get(partition)) is not None
        and _is_over(offset, base_ms, wall_ms, retention_ms)
        and not store.is_pending(group.group_id, topic, partition)
    ]


def is_too_young(group: AnyGroup, store: OffsetStore, wall_ms: int, retention_ms: int) -> bool:
    """Return True if the group is packed and none of its offsets can have expired, so that it stays packed."""
    age = store.packed_age(group.group_id)
    if age is None or wall_ms >= age.earliest_expiry_ms:
        return False
    base_ms = group.idle_since_ms
    return wall_ms - (age.earliest_commit_ms if base_ms == NO_TIMESTAMP else base_ms) < retention_ms


def _is_over(offset: CommittedOffset, base_ms: int, wall_ms: int, retention_ms: int) -> bool:
    if offset.expire_timestamp_ms != NO_TIMESTAMP:  # the client asked for a retention of its own
        return wall_ms >= offset.expire_timestamp_ms
    since_ms = base_ms if base_ms != NO_TIMESTAMP else offset.commit_timestamp_ms
    return wall_ms - since_ms >= retention_ms
