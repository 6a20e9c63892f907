"""Answers about transactions in the form of each version."""

from __future__ import annotations

import pytest

from coordinator.server.api import add_offsets_to_txn, add_partitions_to_txn, end_txn, init_producer_id
from coordinator.server.api import txn_offset_commit as api
from protocol.error_codes import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from protocol.messages.end_txn import EndTxnResponse
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

FENCED, INVALID_EPOCH = int(ErrorCode.PRODUCER_FENCED), int(ErrorCode.INVALID_PRODUCER_EPOCH)


@pytest.mark.parametrize(("version", "error"), [(0, INVALID_EPOCH), (1, INVALID_EPOCH), (2, FENCED), (3, FENCED)])
def test_old_clients_do_not_know_that_a_producer_is_fenced(version: int, error: int) -> None:
    assert end_txn.shape(EndTxnResponse(error_code=FENCED), version).error_code == error
    assert add_offsets_to_txn.shape(AddOffsetsToTxnResponse(error_code=FENCED), version).error_code == error
    topics = [AddPartitionsToTxnTopicResult("t", [AddPartitionsToTxnPartitionResult(0, FENCED)])]
    response = add_partitions_to_txn.shape(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics), version)
    assert response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == error


@pytest.mark.parametrize(("version", "error"), [(0, INVALID_EPOCH), (3, INVALID_EPOCH), (4, FENCED), (5, FENCED)])
def test_old_clients_of_init_producer_id_do_not_know_it_either(version: int, error: int) -> None:
    assert init_producer_id.shape(InitProducerIdResponse(error_code=FENCED), version).error_code == error


@pytest.mark.parametrize(
    ("error", "before_4", "before_6", "since_6"),
    [
        (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE, None, None),
        (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION, None),
        (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION, None),
        (ErrorCode.ILLEGAL_GENERATION, None, None, None),
        (ErrorCode.INVALID_PRODUCER_EPOCH, None, None, None),
    ],
)
def test_errors_of_a_commit_by_version(
    error: ErrorCode, before_4: ErrorCode | None, before_6: ErrorCode | None, since_6: ErrorCode | None
) -> None:
    expected = {0: before_4, 3: before_4, 4: before_6, 5: before_6, 6: since_6}
    for version, shaped in expected.items():
        partitions = [TxnOffsetCommitResponsePartition(0, int(error))]
        response = TxnOffsetCommitResponse(topics=[TxnOffsetCommitResponseTopic("t", bytes(16), partitions)])
        (partition,) = api.shape(response, version).topics[0].partitions
        assert partition.error_code == int(error if shaped is None else shaped), version
