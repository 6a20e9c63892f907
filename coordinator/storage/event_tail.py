"""Reads the newest events of groups from the ends of the logs of their topic, after a start.

At least TAIL_BYTES of each log are read, from the start of a segment on, if it has as many. What cannot be read or is
no event is skipped and counted. Runs in a thread, beside appends.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from coordinator.core.events.model import AnyEvent, decode_event
from coordinator.storage.log.errors import LogError
from protocol.errors import ProtocolError
from protocol.record_batch import iter_batches, read_records, verify

if TYPE_CHECKING:
    from coordinator.storage.log.log import Log

TAIL_BYTES: Final = 4 << 20
READ_BYTES: Final = 1 << 20


class LogTail(NamedTuple):
    """The events of some logs, oldest first, and what was left out."""

    events: list[AnyEvent]
    skipped: int  # records that are no events, and batches that are damaged
    failed: list[str]  # logs that could not be read to their end, with the reason


def read_events(logs: Sequence[tuple[Log, int]], at_most: int) -> LogTail:
    """Return the newest events below an offset of each log, `at_most` of all together."""
    kept: list[AnyEvent] = []
    skipped = 0
    failed: list[str] = []
    for log, end in logs:
        newest: deque[AnyEvent] = deque(maxlen=at_most)
        try:
            for event in _events(log, end):
                if event is None:
                    skipped += 1
                else:
                    newest.append(event)
        except (OSError, LogError, ProtocolError) as error:
            failed.append(f"{log.directory.name} ({error})")
        kept += newest
        kept.sort(key=_written_ms)  # stable: events of one group are in one log, in their order
        del kept[: max(len(kept) - at_most, 0)]
    return LogTail(kept, skipped, failed)


def _written_ms(event: AnyEvent) -> int:
    return event.at_ms


def _events(log: Log, end: int) -> Iterator[AnyEvent | None]:
    """Yield the events at the end of a log below offset `end`; None for what is no event."""
    offset = _tail_start(log)
    while offset < end and (data := log.read(offset, READ_BYTES, up_to_offset=end)):
        for position, header in iter_batches(data):
            offset = header.last_offset + 1
            try:
                verify(data, position, header)
                records = [] if header.is_control else read_records(data, position, header)
            except ProtocolError:
                yield None
                continue
            for record in records:
                try:
                    yield None if record.value is None else decode_event(record.value)
                except msgspec.MsgspecError:
                    yield None


def _tail_start(log: Log) -> int:
    """Return the offset from which a log has TAIL_BYTES."""
    size = 0
    for segment in reversed(log.segments):
        size += segment.size_bytes
        if size >= TAIL_BYTES:
            return max(segment.base_offset, log.log_start_offset)
    return log.log_start_offset
