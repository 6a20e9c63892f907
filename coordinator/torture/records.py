"""Reads the records of a topic from the server of a schedule: those that were given, and those that came out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from coordinator.testing.errors import CoordinatorTestingError
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.record_batch import iter_batches, read_records

if TYPE_CHECKING:
    from coordinator.testing.host import ServerHost

AT_ONCE_BYTES: Final = 1 << 20
READ_COMMITTED: Final = 1


async def read_values(host: ServerHost, topic: str, partition: int = 0) -> list[tuple[int, bytes]]:
    """Return the records of a partition as (offset, value), without those of transactions that were aborted.

    Raises CoordinatorTestingError if the partition cannot be read.
    """
    topic_id = host.runtime.topics.catalogue.topics[topic].topic_id
    found: list[tuple[int, bytes]] = []
    offset = 0
    while True:
        wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=AT_ONCE_BYTES)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=AT_ONCE_BYTES,
            isolation_level=READ_COMMITTED,
            topics=[FetchTopic(topic=topic, topic_id=topic_id, partitions=[wanted])],
        )
        answer = (await host.call(request)).responses[0].partitions[0]
        if answer.error_code:
            error = ErrorCode(answer.error_code).name
            raise CoordinatorTestingError(f"{topic}-{partition} cannot be read at {offset}: {error}")
        data = bytes(answer.records or b"")
        to_abort = sorted((each.first_offset, each.producer_id) for each in answer.aborted_transactions or ())
        aborted: set[int] = set()
        start = offset
        for position, header in iter_batches(data):
            while to_abort and to_abort[0][0] <= header.base_offset:
                aborted.add(to_abort.pop(0)[1])
            if header.is_control:
                aborted.discard(header.producer_id)
            elif header.producer_id not in aborted:
                records = read_records(data, position, header)
                found.extend((each.offset, each.value or b"") for each in records if each.offset >= start)
            offset = header.base_offset + header.last_offset_delta + 1
        if offset == start:
            return found


def counted(values: Iterable[tuple[int, bytes]]) -> Counter[bytes]:
    """Count how often each value is there."""
    return Counter(value for _, value in values)
