"""A group without members, which only commits."""

from __future__ import annotations

from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.wire import call


def commit(port: int, group: str, offset: int, topic: str = "orders") -> None:
    """Commit an offset of the first partition of a topic."""
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    answer = call(port, OffsetCommitRequest(group_id=group, topics=topics), 8)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE
