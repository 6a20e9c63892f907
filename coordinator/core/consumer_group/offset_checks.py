"""Checks of OffsetCommit and OffsetFetch against a KIP-848 group. Source: Kafka's `ConsumerGroup.validateOffset*`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.member import NO_EPOCHS
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup

NONE: Final = ErrorCode.NONE


def check_commit(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    *,
    is_transactional: bool,
    knows_epochs: bool,
) -> ErrorCode:
    """Return the error of a commit as a whole. NONE for an older epoch: then `is_stale` decides for each partition.

    `knows_epochs`: the version of the request has member epochs (OffsetCommit 9+). A commit restarts no session.
    """
    if group.is_deleted:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if epoch < 0 and not group.members:
        return NONE
    if is_transactional and epoch == -1 and member_id == "" and instance_id is None:
        return NONE
    member = group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if member.classic is None and not is_transactional and not knows_epochs:
        return ErrorCode.UNSUPPORTED_VERSION
    if epoch == member.epoch:
        return NONE
    if member.classic is not None:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.STALE_MEMBER_EPOCH if epoch > member.epoch or is_transactional else NONE


def is_stale(group: ConsumerGroup, member_id: str, epoch: int, topic_id: bytes | None, partition: int) -> bool:
    """Return whether a commit with an older epoch comes from before the member got the partition (KIP-1251)."""
    member = group.members[member_id]
    if epoch == member.epoch:
        return False
    if topic_id is None:
        return True
    for assignment, epochs in (
        (member.assigned, member.assigned_epochs),
        (member.pending, member.pending_epochs),
    ):
        partitions = assignment.get(topic_id, ())
        if partition in partitions:
            of_topic = (epochs or NO_EPOCHS).get(topic_id)
            since = member.epoch if of_topic is None else of_topic[partitions.index(partition)]
            return since > epoch
    return True


def check_fetch(group: ConsumerGroup, member_id: str | None, epoch: int) -> ErrorCode:
    """Return the error of an OffsetFetch for the group. Requests without a member are not checked."""
    if member_id is None and epoch < 0:
        return NONE
    member = group.members.get(member_id or "")
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if epoch != member.epoch:
        return ErrorCode.ILLEGAL_GENERATION if member.classic is not None else ErrorCode.STALE_MEMBER_EPOCH
    return NONE
