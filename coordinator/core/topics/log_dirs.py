"""DescribeLogDirs: the sizes of the logs of this node, in its one directory.

Sizes are the counters in memory. The space of the file system is measured by the executor (`MeasureDisk`), since that
may wait for the disk. Partitions of other nodes and unknown partitions are left out, as by Kafka's brokers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol.error_codes import ErrorCode
from protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.core.topics.effects import DiskSpace

PER_STEP: Final = 500  # partitions


def describe_log_dirs(
    request: DescribeLogDirsRequest, catalogue: Catalogue, space: DiskSpace | None, response: DescribeLogDirsResponse
) -> Iterator[None]:
    """Fill in the response, some partitions at a time; `space` is None if the directory cannot be used."""
    if space is None:
        response.results = [DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR)]
        return
    result = DescribeLogDirsResult(log_dir=space.path, total_bytes=space.total_bytes, usable_bytes=space.usable_bytes)
    response.results = [result]
    asked: dict[str, set[int]] = {}
    for number, each in enumerate(request.topics or ()):
        asked.setdefault(each.topic, set()).update(each.partitions)
        if number % PER_STEP == PER_STEP - 1:
            yield
    done = 0
    for name in tuple(catalogue.topics) if request.topics is None else asked:
        indexes = None if request.topics is None else asked[name]
        topic = catalogue.topics.get(name)
        if topic is None:
            continue
        described = DescribeLogDirsTopic(name=name)
        for partition in tuple(topic.partitions):
            if partition.is_local and not partition.is_offline and (indexes is None or partition.index in indexes):
                described.partitions.append(
                    DescribeLogDirsPartition(
                        partition_index=partition.index,
                        partition_size=partition.size_bytes if partition.view is None else partition.view.size_bytes,
                        offset_lag=0,
                        is_future_key=False,
                    )
                )
            done += 1
            if done % PER_STEP == 0:
                yield
        if described.partitions:
            result.topics.append(described)
