"""A transactional producer of a simulation, and the ledger of what it did.

It writes records to some partitions of a topic, commits an offset of its group with some of them, and commits or
aborts. A request without an answer is sent again, or the process begins anew, as a new instance that fences the former.
Now and then it sleeps longer than its transaction may take. Each record belongs to one attempt, whose outcome is known,
or is known to be one of two.
"""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from coordinator.simulation.client import CallError, SimulatedClient
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.record_batch import build_batch

if TYPE_CHECKING:
    from collections.abc import Callable

LEDGER: Final = "ledger"
PARTITIONS: Final = 3
TIMEOUT_MS: Final = 10_000
TRANSACTION: Final = 1  # key type of FindCoordinator
SLEEP_S: Final = 15.0  # longer than the transaction may take
AGAIN: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
VERSIONS: Final = {  # clients before KIP-890, and since
    False: {ApiKey.PRODUCE: 9, ApiKey.TXN_OFFSET_COMMIT: 3, ApiKey.END_TXN: 3},
    True: {ApiKey.PRODUCE: 12, ApiKey.TXN_OFFSET_COMMIT: 5, ApiKey.END_TXN: 5},
}


class End(Enum):
    """Outcome of an attempt, as its client knows it."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"
    EITHER = "committed or aborted"  # the commit was sent, and not answered


class Attempt:
    """One transaction of one producer."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.values: dict[int, list[str]] = {}  # by partition
        self.offset = -1  # that it commits; -1: none
        self.end = End.OPEN

    def __repr__(self) -> str:
        return f"<Attempt {self.name} {self.end.value}: {self.values}, offset {self.offset}>"


class FencedProducerError(Exception):
    """The producer was fenced, or its transaction must be aborted: it begins anew."""


class TransactionalProducer(SimulatedClient):
    """A producer with a transactional id. `attempts` is its ledger, oldest first."""

    group: str
    transactional_id: str
    attempts: list[Attempt]
    owner_of: Callable[[str, int], int]

    async def run(self) -> None:
        """Begin a transaction, end it, and so on, until the process ends."""
        self._raises_epoch = self.chance.random() < 0.5
        self.versions |= {
            ApiKey.ADD_PARTITIONS_TO_TXN: 3,
            ApiKey.ADD_OFFSETS_TO_TXN: 3,
            **VERSIONS[self._raises_epoch],
        }
        if self.attempts and self.attempts[-1].end is End.OPEN:
            self.attempts[-1].end = End.ABORTED  # no commit was sent, and the next instance fences it
        self._coordinator = 0
        self._sequences: dict[int, int] = {}
        self._producer = await self._init()
        while True:
            attempt = Attempt(f"{self.transactional_id}-{len(self.attempts)}")
            self.attempts.append(attempt)
            try:
                await self._transact(attempt)
            except FencedProducerError as refused:
                self.world.note(f"{self.name}: {refused}")
                if attempt.end is End.OPEN:
                    attempt.end = End.ABORTED
                self._sequences.clear()
                self._producer = await self._init()
            await asyncio.sleep(self.chance.random() * 0.5)

    async def _transact(self, attempt: Attempt) -> None:
        partitions = self.chance.sample(range(PARTITIONS), self.chance.randint(1, PARTITIONS))
        if not self._raises_epoch:
            topics = [AddPartitionsToTxnTopic(LEDGER, partitions)]
            request = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=self.transactional_id,
                v3_and_below_producer_id=self._producer[0],
                v3_and_below_producer_epoch=self._producer[1],
                v3_and_below_topics=topics,
            )
            await self._of_coordinator(
                request, lambda answer: answer.results_by_topic_v3_and_below[0].results_by_partition[0]
            )
        for partition in partitions:
            await self._produce(attempt, partition)
        if self.chance.random() < 0.5:
            await self._commit_offset(attempt)
        if self.chance.random() < 0.03:
            await asyncio.sleep(SLEEP_S)
        await self._end(attempt, commit=self.chance.random() < 0.7)

    # -- the transaction coordinator -----------------------------------------------------------------------------

    async def _init(self) -> tuple[int, int]:
        answer = await self._of_coordinator(InitProducerIdRequest(self.transactional_id, TIMEOUT_MS))
        return answer.producer_id, answer.producer_epoch

    async def _end(self, attempt: Attempt, *, commit: bool) -> None:
        request = EndTxnRequest(self.transactional_id, *self._producer, commit)
        attempt.end = End.EITHER if commit else End.ABORTED
        was_lost = False
        while True:
            try:
                answer = await self._of_coordinator(request)
            except CallError:
                was_lost = True
                if self.chance.random() < 0.3:
                    raise  # the process ends, and never learns it
                await asyncio.sleep(0.1 + self.chance.random())
                continue
            except FencedProducerError:
                if not was_lost:
                    attempt.end = End.ABORTED
                raise
            break
        if commit:
            attempt.end = End.COMMITTED
        if self._raises_epoch:
            producer = answer.producer_id, answer.producer_epoch
            if producer != self._producer:
                self._sequences.clear()
            self._producer = producer

    async def _of_coordinator(self, request: Any, result_of: Callable[[Any], Any] = lambda answer: answer) -> Any:
        """Send a request until the coordinator has an answer that is not to be repeated. Returns it.

        Raises FencedProducerError for an error.
        """
        while True:
            answer = await self.call(await self._find(), request)
            result = result_of(answer)
            error = ErrorCode(getattr(result, "partition_error_code", getattr(result, "error_code", 0)))
            if error is ErrorCode.NONE:
                return answer
            if error not in AGAIN:
                raise FencedProducerError(f"{type(request).__name__} {error.name}")
            self._coordinator = 0
            await asyncio.sleep(0.02 + self.chance.random() * 0.2)

    async def _find(self) -> int:
        while not self._coordinator:
            node = self.chance.choice(list(self.nodes))
            request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[self.transactional_id])
            found = (await self.call(node, request)).coordinators[0]
            if found.error_code == ErrorCode.NONE:
                self._coordinator = found.node_id
            else:
                await asyncio.sleep(0.1)
        return self._coordinator

    # -- records and offsets -------------------------------------------------------------------------------------

    async def _produce(self, attempt: Attempt, partition: int) -> None:
        """Produce a batch, and send it again until it is acknowledged."""
        values = [f"{attempt.name}-{partition}-{number}" for number in range(self.chance.randint(1, 3))]
        attempt.values[partition] = values
        sequence = self._sequences.get(partition, 0)
        batch = build_batch(
            [(None, value.encode()) for value in values],
            timestamp_ms=1_800_000_000_000,
            producer_id=self._producer[0],
            producer_epoch=self._producer[1],
            base_sequence=sequence,
            is_transactional=True,
        )
        topic_data = [TopicProduceData(LEDGER, partition_data=[PartitionProduceData(partition, bytes(batch))])]
        request = ProduceRequest(
            transactional_id=self.transactional_id, acks=-1, timeout_ms=10_000, topic_data=topic_data
        )
        await self._until_accepted(
            lambda: self.owner_of(LEDGER, partition), request, lambda answer: answer.responses[0].partition_responses[0]
        )
        self._sequences[partition] = sequence + len(values)

    async def _commit_offset(self, attempt: Attempt) -> None:
        """Commit the number of the attempt as an offset of the group."""
        if not self._raises_epoch:
            request = AddOffsetsToTxnRequest(self.transactional_id, *self._producer, self.group)
            await self._of_coordinator(request)
        attempt.offset = len(self.attempts)
        topics = [
            TxnOffsetCommitRequestTopic(
                LEDGER, partitions=[TxnOffsetCommitRequestPartition(0, attempt.offset, committed_metadata="")]
            )
        ]
        commit = TxnOffsetCommitRequest(self.transactional_id, self.group, *self._producer, topics=topics)
        node = await self.find(self.group)
        await self._until_accepted(lambda: node, commit, lambda answer: answer.topics[0].partitions[0])

    async def _until_accepted(self, node_of: Callable[[], int], request: Any, result_of: Callable[[Any], Any]) -> None:
        tries = 0
        while True:
            tries += 1
            try:
                error = ErrorCode(result_of(await self.call(node_of(), request)).error_code)
            except CallError:
                if tries > 20 or self.chance.random() < 0.1:
                    raise  # the process ends
                error = ErrorCode.NETWORK_EXCEPTION
            if error is ErrorCode.NONE:
                return
            if error not in AGAIN and error is not ErrorCode.NETWORK_EXCEPTION:
                raise FencedProducerError(f"{type(request).__name__} {error.name}")
            await asyncio.sleep(0.05 + self.chance.random() * 0.5)
