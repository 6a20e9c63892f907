"""Markers in the offsets log: they end the transactions of producers that committed offsets (WriteTxnMarkers).

A commit marker makes pending offsets committed when it is durable, an abort marker drops them. A marker is written even
if its producer has no offsets in the partition. Source: `completeTransaction` of Kafka's `GroupCoordinatorService`, and
`ProducerAppendInfo.checkProducerEpoch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import PendingAppend
from coordinator.core.effects import Producer
from coordinator.core.group.group import Group
from coordinator.core.pending_markers import PendingMarkers
from coordinator.core.shard import PartitionState
from protocol.error_codes import ErrorCode
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WriteTxnMarkersRequest,
)

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.shard import Shard


class EndTransaction(PendingAppend):
    """Pending append of the marker that ends a transaction, for one partition."""

    __slots__ = ("is_commit", "producer_id", "request", "result", "shard")

    def __init__(
        self,
        shard: Shard,
        producer_id: int,
        *,
        is_commit: bool,
        request: PendingMarkers,
        result: WritableTxnMarkerPartitionResult,
    ) -> None:
        self.group = None  # a marker belongs to no single group
        self.shard = shard
        self.producer_id = producer_id
        self.is_commit = is_commit
        self.request: PendingMarkers | None = request
        self.result = result

    def durable(self, context: Context) -> None:
        for group_id in self.shard.offsets.end_transaction(self.producer_id, commit=self.is_commit):
            if self.shard.find(group_id) is None and group_id not in self.shard.quarantine.groups:
                # The group was deleted while the transaction was open. Without a group the offsets could neither be
                # found nor expire.
                group = Group(group_id, self.shard, context.wall_ms)
                group.is_recorded = True
                self.shard.add(group)
        self._settle(ErrorCode.NONE, context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.abandoned(error, context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._settle(ErrorCode.NOT_LEADER_OR_FOLLOWER, context)  # the transaction coordinator tries again

    def _settle(self, error: ErrorCode, context: Context) -> None:
        request, self.request = self.request, None
        if request is not None:
            request.settle(self.result, error, context)


def write_markers(registry: GroupRegistry, request: WriteTxnMarkersRequest, ticket: Ticket, context: Context) -> None:
    """Handle a WriteTxnMarkers that names partitions of the offsets log only."""
    pending = PendingMarkers(request, ticket)
    for marker, _, result in pending.asked:
        if 0 <= result.partition_index < len(registry.partitions):
            _write_marker(registry.partitions[result.partition_index], marker, pending, result, context)
        else:
            result.error_code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    pending.all_asked(context)


def _write_marker(
    shard: Shard,
    marker: WritableTxnMarker,
    pending: PendingMarkers,
    result: WritableTxnMarkerPartitionResult,
    context: Context,
) -> None:
    if shard.state is not PartitionState.ACTIVE:
        result.error_code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return
    producer_id, epoch = marker.producer_id, marker.producer_epoch
    if epoch < shard.producers.get(producer_id, -1):
        result.error_code = int(ErrorCode.INVALID_PRODUCER_EPOCH)
        return
    shard.producers.pop(producer_id, None)
    is_commit = marker.transaction_result
    then = EndTransaction(shard, producer_id, is_commit=is_commit, request=pending, result=result)
    pending.wait()
    context.append_to(shard, (), then, Producer(producer_id, epoch, marker.coordinator_epoch), marker=is_commit)
