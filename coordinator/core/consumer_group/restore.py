"""A KIP-848 group from its records, as a partition is loaded. Source: Kafka's `GroupMetadataManager.replay`.

Where two members hold one partition, which no sound log has, the first one in the order of their ids keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.assignors.assignment import Assignment, assignment_of
from coordinator.core.consumer_group.group import ConsumerGroup, ResolvedRegex
from coordinator.core.consumer_group.member import (
    STABLE,
    UNKNOWN,
    UNRELEASED,
    UNREVOKED,
    ClassicProtocols,
    ConsumerMember,
)
from coordinator.core.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordinator.core.consumer_group.stored import StoredGroup, StoredMember
    from coordinator.core.shard import Shard
    from protocol.messages.consumer_group_records import CurrentPartitions


def restored(stored: StoredGroup, shard: Shard, wall_ms: int) -> ConsumerGroup:
    """Return the group of these records. Its sessions are not started.

    A thread may call it: the shard is not changed, and its totals do not count the group until it is installed.
    """
    group = ConsumerGroup(stored.group_id, shard, wall_ms)
    group.totals = Totals()
    group.epoch = stored.epoch
    group.metadata_hash = stored.metadata_hash
    group.has_old_topics = stored.has_old_topics
    group.assignment_epoch = stored.assignment_epoch
    group.is_recorded = True
    group.record_offset = stored.record_offset
    group.record_places = stored.places
    for regex, value in stored.regexes.items():
        group.put_regex(regex, ResolvedRegex(tuple(value.topics), value.version, value.timestamp))
    for member_id, target in stored.targets.items():
        group.targets[member_id] = assignment_of((each.topic_id, each.partitions) for each in target.topic_partitions)
    names: dict[frozenset[str], frozenset[str]] = {}
    for member_id in sorted(stored.members):
        member = _member(member_id, stored.members[member_id])
        member = member._replace(topic_names=names.setdefault(member.topic_names, member.topic_names))
        group.put(_without_held(member, group))
    group.was_homogeneous = group.is_homogeneous
    return group


def _member(member_id: str, stored: StoredMember) -> ConsumerMember:
    member = ConsumerMember(member_id)
    metadata, current = stored.metadata, stored.current
    if metadata is not None:
        classic = None
        if metadata.classic_member_metadata is not None:
            classic = ClassicProtocols(
                metadata.classic_member_metadata.session_timeout_ms,
                tuple((each.name, each.metadata) for each in metadata.classic_member_metadata.supported_protocols),
            )
        member = member._replace(
            instance_id=metadata.instance_id,
            rack_id=metadata.rack_id,
            client_id=metadata.client_id,
            client_host=metadata.client_host,
            topic_names=frozenset(metadata.subscribed_topic_names),
            regex=metadata.subscribed_topic_regex or "",
            assignor=metadata.server_assignor,
            rebalance_timeout_ms=metadata.rebalance_timeout_ms,
            classic=classic,
        )
    if current is not None:
        member = member._replace(
            epoch=current.member_epoch,
            previous_epoch=current.previous_member_epoch,
            state=current.state if current.state in {STABLE, UNREVOKED, UNRELEASED} else UNKNOWN,
            assigned=_assignment(current.assigned_partitions),
            pending=_assignment(current.partitions_pending_revocation),
            assigned_epochs=_epochs(current.assigned_partitions, current.member_epoch),
            pending_epochs=_epochs(current.partitions_pending_revocation, current.member_epoch),
        )
    return member


def _assignment(parts: Sequence[CurrentPartitions]) -> Assignment:
    return assignment_of((each.topic_id, each.partitions) for each in parts)


def _epochs(parts: Sequence[CurrentPartitions], epoch: int) -> Mapping[bytes, tuple[int, ...]]:
    """Return the epochs in the order of the partitions. Releases before 4.3 did not write them."""
    known: dict[bytes, dict[int, int]] = {}
    for each in parts:
        epochs = each.assignment_epochs or [epoch] * len(each.partitions)
        known.setdefault(each.topic_id, {}).update(zip(each.partitions, epochs, strict=False))
    return {
        topic_id: tuple([of_topic.get(partition, epoch) for partition in sorted(of_topic)])
        for topic_id, of_topic in sorted(known.items())
        if of_topic
    }


def _without_held(member: ConsumerMember, group: ConsumerGroup) -> ConsumerMember:
    """Return a member without the partitions that another one holds already."""
    assigned, pending = _free(member.assigned, group), _free(member.pending, group)
    if assigned == member.assigned and pending == member.pending:
        return member
    return member._replace(
        assigned=assigned,
        pending=pending,
        assigned_epochs={topic_id: (member.epoch,) * len(some) for topic_id, some in assigned.items()},
        pending_epochs={topic_id: (member.epoch,) * len(some) for topic_id, some in pending.items()},
    )


def _free(assignment: Assignment, group: ConsumerGroup) -> Assignment:
    return assignment_of(
        (topic_id, [each for each in partitions if group.holder_of(topic_id, each) is None])
        for topic_id, partitions in assignment.items()
    )
