"""WriteTxnMarkers: write the end of transactions into partitions. Sent by transaction coordinators to brokers."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT8, INT16, INT32, INT64, STRING, array, field, message, struct


@struct
class WritableTxnMarkerTopic:
    name: str = field(STRING)
    partition_indexes: list[int] = field(array(INT32))


@struct
class WritableTxnMarker:
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    transaction_result: bool = field(BOOL)
    topics: list[WritableTxnMarkerTopic] = field(array(WritableTxnMarkerTopic))
    coordinator_epoch: int = field(INT32)
    transaction_version: int = field(INT8, since=2)


@message(ApiKey.WRITE_TXN_MARKERS, versions=(0, 2), flexible_since=1)
class WriteTxnMarkersRequest:
    """Write markers for some producers."""

    markers: list[WritableTxnMarker] = field(array(WritableTxnMarker))


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: int = field(INT32)
    error_code: int = field(INT16)


@struct
class WritableTxnMarkerTopicResult:
    name: str = field(STRING)
    partitions: list[WritableTxnMarkerPartitionResult] = field(array(WritableTxnMarkerPartitionResult))


@struct
class WritableTxnMarkerResult:
    producer_id: int = field(INT64)
    topics: list[WritableTxnMarkerTopicResult] = field(array(WritableTxnMarkerTopicResult))


@message(ApiKey.WRITE_TXN_MARKERS, versions=(0, 2), flexible_since=1)
class WriteTxnMarkersResponse:
    """The outcome for each partition."""

    markers: list[WritableTxnMarkerResult] = field(array(WritableTxnMarkerResult))
