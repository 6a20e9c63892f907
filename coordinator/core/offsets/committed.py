"""What one committed offset is. -1 stands for an absent leader epoch or expiry."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_TIMESTAMP: Final = -1


class CommittedOffset(NamedTuple):
    """What is known of one committed offset. -1 stands for an absent leader epoch or expiry."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    log_offset: int  # where its record stands: of two commits the newer record wins, not the newer marker


TopicOffsets = dict[int, CommittedOffset]
GroupOffsets = dict[str, TopicOffsets]
