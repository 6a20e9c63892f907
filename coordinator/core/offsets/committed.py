"""The value type of a committed offset, and the dicts that hold such values."""

from __future__ import annotations

from typing import Final, NamedTuple

NO_TIMESTAMP: Final = -1


class CommittedOffset(NamedTuple):
    """One committed offset. -1 stands for an absent leader epoch or expiry."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    log_offset: int  # offset of its record: of two commits the newer record wins, not the newer transaction marker


TopicOffsets = dict[int, CommittedOffset]
GroupOffsets = dict[str, TopicOffsets]
