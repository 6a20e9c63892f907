"""Commits that expire at once: requests of version 2 with a retention time."""

from __future__ import annotations

from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.wire import call


def commit_expired(port: int, group: str, topic: str, partitions: int) -> None:
    """Commit offsets that expire after a millisecond."""
    entries = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=1, committed_metadata="")
        for index in range(partitions)
    ]
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=-1,
        member_id="",
        retention_time_ms=1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=entries)],
    )
    answer = call(port, request, 2)
    assert [each.error_code for each in answer.topics[0].partitions] == [0] * partitions
