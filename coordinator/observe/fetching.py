"""Fetch requests for partitions of the offsets log, and their answers as values. Pure: no I/O.

A consumer gets batches up to the high watermark only. The isolation level is READ_UNCOMMITTED: batches of open and
aborted transactions come, too, with the markers that decide them, because the mirror holds the log as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final, NamedTuple

from coordinator.core.topics.names import OFFSETS_TOPIC
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData

MAX_FETCH_VERSION: Final = 12  # from 13 on topics have ids instead of names
MAX_WAIT_MS: Final = 500
READ_UNCOMMITTED: Final = 0


class Advice(Enum):
    """The reaction to the error of one partition."""

    FIND_LEADER = auto()  # ask for metadata again
    FIND_RANGE = auto()  # the offset is outside of the log
    TELL = auto()  # it may need the user


# Errors not in this table are told.
ADVICE: Final = {
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Advice.FIND_LEADER,
    ErrorCode.FENCED_LEADER_EPOCH: Advice.FIND_LEADER,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Advice.FIND_LEADER,
    ErrorCode.LEADER_NOT_AVAILABLE: Advice.FIND_LEADER,
    ErrorCode.REPLICA_NOT_AVAILABLE: Advice.FIND_LEADER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Advice.FIND_LEADER,
    ErrorCode.UNKNOWN_TOPIC_ID: Advice.FIND_LEADER,
    ErrorCode.OFFSET_NOT_AVAILABLE: Advice.FIND_LEADER,
    ErrorCode.KAFKA_STORAGE_ERROR: Advice.FIND_LEADER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Advice.FIND_LEADER,
    ErrorCode.OFFSET_OUT_OF_RANGE: Advice.FIND_RANGE,
}
_CODES: Final = {int(code): code for code in ErrorCode}

NO_RIGHTS: Final = (
    f"this user may not read {OFFSETS_TOPIC}: it needs the ACLs Describe and Read on topic {OFFSETS_TOPIC}, for lag "
    "also Describe on the topics that groups read, and for rebalances that run now Describe on groups; add them with "
    "kafka-acls, the observation goes on by itself"
)


class Wanted(NamedTuple):
    """The next offset to fetch of a partition."""

    partition: int
    offset: int


class FetchedPart(NamedTuple):
    """The batches of one partition, from the one that holds `from_offset` on; the last may be cut off."""

    partition: int
    from_offset: int
    high_watermark: int
    data: bytes


class Fetched(NamedTuple):
    """An answer: partitions with or without data, and the errors of others."""

    parts: list[FetchedPart]
    errors: dict[int, int]  # partition -> code


def fetch_request(wanted: Sequence[Wanted], *, max_bytes: int, partition_max_bytes: int) -> FetchRequest:
    """Return the request for these partitions. The broker fills the answer in their order, up to `max_bytes`."""
    return FetchRequest(
        max_wait_ms=MAX_WAIT_MS,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=READ_UNCOMMITTED,
        session_id=0,
        topics=[
            FetchTopic(
                topic=OFFSETS_TOPIC,
                partitions=[
                    FetchPartition(
                        partition=each.partition, fetch_offset=each.offset, partition_max_bytes=partition_max_bytes
                    )
                    for each in wanted
                ],
            )
        ],
        rack_id="",
    )


def read_answer(response: FetchResponse, wanted: Sequence[Wanted]) -> Fetched:
    """Return the answer as values. Partitions that were not asked for are left out."""
    due = dict(wanted)
    if response.error_code:
        return Fetched([], dict.fromkeys(due, response.error_code))
    answered: list[PartitionData] = [each for topic in response.responses for each in topic.partitions]
    mine = [each for each in answered if each.partition_index in due]
    return Fetched(
        [
            FetchedPart(each.partition_index, due[each.partition_index], each.high_watermark, each.records or b"")
            for each in mine
            if not each.error_code
        ],
        {each.partition_index: each.error_code for each in mine if each.error_code},
    )


def advice_for(code: int) -> Advice:
    """Return what to do about an error code."""
    known = _CODES.get(code)
    return ADVICE.get(known, Advice.TELL) if known is not None else Advice.TELL


def sentence_for(code: int) -> str:
    """Return the sentence for an error code of the offsets topic."""
    if code in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED):
        return NO_RIGHTS
    known = _CODES.get(code)
    what = f"{known.name}: {known.message}" if known is not None else f"error {code}, which is not known here;"
    return f"the cluster answers for {OFFSETS_TOPIC} with {what} Trying again"
