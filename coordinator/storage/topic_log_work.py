"""Blocking work on the logs of embedded topics: reads and look-ups for the readers' pool, jobs for the writer thread.

The functions know neither the event loop nor requests: they take logs and return results for `Topics`. A log that
cannot be read fails its own item only. `None` stands for a log that was closed or never opened.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.effects import MAX_TIMESTAMP, Lookup, Opened, Read, ReadFailure
from coordinator.core.topics.retention import RetainedSegment, delete_up_to
from coordinator.storage.log.errors import LogError, OffsetOutOfRangeError
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from coordinator.core.topics.partition import Partition
    from coordinator.storage.log.log import Log

LOG: Final = logging.getLogger("coordinator.topics")


def facts_of(log: Log) -> Opened:
    """Return the offsets and the size of an open log."""
    return Opened(log.log_start_offset, log.log_end_offset, log.size_bytes)


def _failure(log: Log | None, error: Exception) -> ReadFailure:
    if isinstance(error, OffsetOutOfRangeError):
        return ReadFailure(ErrorCode.OFFSET_OUT_OF_RANGE)
    if log is None:
        return ReadFailure(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    LOG.error("read failed log=%s error=%s", log.directory.name, error)
    return ReadFailure(ErrorCode.KAFKA_STORAGE_ERROR)


def read_logs(read: Read, logs: Sequence[Log | None]) -> list[bytes | ReadFailure]:
    """Return the bytes or the failure of each item, in total at most `max_bytes` unless the first batch is larger."""
    found: list[bytes | ReadFailure] = []
    left = read.max_bytes
    at_least_one = read.at_least_one
    for item, log in zip(read.items, logs, strict=True):
        if left <= 0 and not at_least_one:
            found.append(b"")
            continue
        try:
            if log is None:
                raise LogError("the log is gone")
            data = log.read(
                item.offset, max(min(item.max_bytes, left), 0), min_one=at_least_one, up_to_offset=item.up_to_offset
            )
        except (OSError, LogError, ProtocolError) as error:
            found.append(_failure(log, error))
            continue
        found.append(data)
        left -= len(data)
        at_least_one = at_least_one and not data
    return found


def look_up(lookup: Lookup, logs: Sequence[Log | None]) -> list[tuple[int, int] | ReadFailure | None]:
    """Return (timestamp, offset) for each item; None if there is no such record."""
    found: list[tuple[int, int] | ReadFailure | None] = []
    for item, log in zip(lookup.items, logs, strict=True):
        try:
            if log is None:
                raise LogError("the log is gone")
            if item.timestamp == MAX_TIMESTAMP:
                found.append(log.max_timestamp_offset())
            else:
                found.append(log.offset_for_timestamp(item.timestamp))
        except (OSError, LogError, ProtocolError) as error:
            found.append(_failure(log, error))
    return found


def batch_times(places: Sequence[tuple[Log | None, int]]) -> list[int]:
    """Return the time of the batch at each offset; -1 where it is not known."""
    found: list[int] = []
    for log, offset in places:
        try:
            found.append(log.batch_timestamp(offset) if log is not None else -1)
        except (OSError, LogError, ProtocolError):
            found.append(-1)
    return found


def trim_log(log: Log | None, offset: int) -> Opened:
    """Delete the records below `offset` (DeleteRecords)."""
    if log is None:
        raise LogError("the log is gone")
    log.delete_up_to(offset)
    return facts_of(log)


def retain(
    items: Sequence[tuple[Partition, Log | None, Any]], wall_ms: Callable[[], int]
) -> list[tuple[Partition, Opened]]:
    """Delete the segments that each policy has expired; returns the logs that are shorter now."""
    now_ms = wall_ms()
    results: list[tuple[Partition, Opened]] = []
    for partition, log, policy in items:
        if log is None:
            continue
        segments = [
            RetainedSegment(segment.next_offset, segment.size_bytes, segment.max_timestamp) for segment in log.segments
        ]
        cut = delete_up_to(segments, policy, log.high_watermark, now_ms)
        if cut is None or cut <= log.log_start_offset:
            continue
        try:
            before = log.size_bytes
            if cut == log.log_end_offset:
                log.roll()  # the newest segment has expired too
            log.delete_up_to(cut)
        except OSError as error:
            LOG.error("retention failed log=%s error=%s", log.directory.name, error)
            continue
        facts = facts_of(log)
        LOG.info(
            "retention partition=%s log_start_offset=%d removed_bytes=%d",
            log.directory.name,
            facts.log_start_offset,
            before - facts.size_bytes,
        )
        results.append((partition, facts))
    return results


def close_logs(logs: Sequence[Log]) -> None:
    """Close each log. A failure is logged and does not stop the rest."""
    for log in logs:
        try:
            log.close()
        except OSError as error:
            LOG.error("not closed in order log=%s error=%s; the next start checks its end", log.directory.name, error)
