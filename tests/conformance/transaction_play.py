"""The player of the transaction cases: it sends requests of a client to a server and keeps what the server answers.

A case is a function that takes a `Play`. Each request that it sends is a step: a text that says what was asked, and the
answer as plain data. What differs from server to server or from run to run is made equal. Producer ids are P1, P2 and
so on in the order in which they are seen. Topics and partitions are in order. Times are T. Names have the prefix of
their case removed. Addresses are left out. Records of a Fetch are shown as their batches.

A server may complete a transaction behind the answer that decided it. `settle` waits without a step until it is done.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from protocol.api_keys import ApiKey
from protocol.client import decode_response
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from protocol.record_batch import build_batch, iter_batches, read_records
from protocol.schema import field_specs
from tests.support.eventually import eventually
from tests.support.wire import ConnectionEnded, call, encode_frame, receive_frame

UNKNOWN_TRANSACTION: Final = 105
LAST_EPOCH: Final = 32_766
LATEST: Final = -1
TIMEOUT_MS: Final = 60_000
SETTLED: Final = frozenset({"Empty", "CompleteCommit", "CompleteAbort", ""})
CLOSED: Final = "the connection is closed"
_LONG_WAIT_MS: Final = 20_000
_SHORT_WAIT_MS: Final = 600
_AT_ONCE: Final = 64  # requests of `exhaust` on the way
_CONTROL_KEY: Final = struct.Struct(">hh")
_CONTROL_VALUE: Final = struct.Struct(">hi")
_MARKERS: Final = {0: "ABORT", 1: "COMMIT"}
_PRODUCER_FIELDS: Final = frozenset({"producer_id", "ongoing_txn_producer_id"})
_TIME_FIELDS: Final = frozenset({"last_timestamp", "transaction_start_time_ms", "timestamp", "log_append_time_ms"})
_LEFT_OUT: Final = frozenset(
    {
        "throttle_time_ms",
        "node_id",
        "host",
        "port",
        "node_endpoints",
        "current_leader",
        "session_id",
        "diverging_epoch",
        "snapshot_id",
        "preferred_read_replica",
    }
)
_SETS: Final = frozenset(
    {
        "topics",
        "partitions",
        "results_by_topic_v3_and_below",
        "results_by_partition",
        "topic_results",
        "active_producers",
        "responses",
        "partition_responses",
    }
)
_NO_ID: Final = 0  # in a description of an unknown transaction; `Play` sees to it that no producer has it
_ENDS: Final = {True: "commit", False: "abort"}

Step = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Producer:
    """A client with its transactional id, and with the producer id and epoch that a server told it."""

    name: str | None
    id: int
    epoch: int

    def at(self, epoch: int) -> Producer:
        return replace(self, epoch=epoch)

    def called(self, name: str | None) -> Producer:
        return replace(self, name=name)

    def stranger(self) -> Producer:
        """Return this producer with a producer id that no server has given."""
        return replace(self, id=1 << 40)


class Play:
    """One case that is played to a server."""

    def __init__(self, port: int, prefix: str, restart: Callable[[], object] | None = None) -> None:
        self.steps: list[Step] = []
        self._restart = restart
        self._is_restarted = False
        self._port = port
        self._prefix = prefix
        self._ids: dict[int, str] = {}
        self._topic_ids: dict[str, bytes] = {}

    # --- names and words ---

    def full(self, name: str) -> str:
        """Return the name of a topic, a group or a transactional id on the server; names of Kafka are unchanged."""
        return name if not name or name.startswith("__") else self._prefix + name

    def word(self, producer: Producer) -> str:
        name = "null" if producer.name is None else repr(producer.name)
        return f"{name}, {self._id(producer.id)}, {producer.epoch}"

    def _id(self, producer_id: int, *, is_new: bool = False) -> Any:
        if is_new and producer_id >= 0:
            self._ids.setdefault(producer_id, f"P{len(self._ids) + 1}")
        return self._ids.get(producer_id, producer_id if producer_id <= 0 else "a stranger's id")

    # --- sending ---

    def send(self, request: Any, version: int) -> Any:
        """Send a request that is no step."""
        return call(self._port, request, version)

    def ask(self, words: str, request: Any, version: int) -> Any:
        """Send a request and keep its answer as a step."""
        name = type(request).__name__.removesuffix("Request")
        step: Step = {"ask": f"{name} v{version}: {words}"}
        self.steps.append(step)
        try:
            answer = self.send(request, version)
        except ConnectionEnded:
            step["answer"] = CLOSED
            return None
        if isinstance(answer, ListTransactionsResponse):  # a server tells of the transactions of all cases
            mine = [each for each in answer.transaction_states if each.transactional_id.startswith(self._prefix)]
            answer.transaction_states = sorted(mine, key=lambda each: each.transactional_id)
        step["answer"] = self._told(answer, version)
        return answer

    def note(self, words: str) -> None:
        """Keep a step that sends nothing."""
        self.steps.append({"note": words})

    def _told(self, value: Any, version: int, name: str = "") -> Any:
        if name == "records":
            return list(self._batches(value or b""))
        if name in _PRODUCER_FIELDS:
            return self._id(value, is_new=value != _NO_ID)
        if name in _TIME_FIELDS and value > 0:
            return "T"
        if name == "topic_id":
            return next((topic for topic, known in self._topic_ids.items() if known == value), value.hex())
        if isinstance(value, str):
            return value.replace(self._prefix, "")
        if isinstance(value, list):
            found = [self._told(each, version) for each in value]
            return sorted(found, key=_place) if name in _SETS else found
        if type(value).__module__.startswith("protocol.messages."):
            fields = {key for key, spec in field_specs(type(value)).items() if spec.exists_in(version)} - _LEFT_OUT
            return {
                key: self._told(getattr(value, key), version, key) for key in field_specs(type(value)) if key in fields
            }
        return value

    def _batches(self, data: bytes) -> Iterator[dict[str, Any]]:
        for position, header in iter_batches(data):
            found: dict[str, Any] = {
                "offsets": [header.base_offset, header.last_offset],
                "attributes": f"{header.attributes:#06x}",
                "producer": self._id(header.producer_id, is_new=True),
                "epoch": header.producer_epoch,
                "sequence": header.base_sequence,
            }
            records = read_records(data, position, header)
            if header.is_control:
                found["control"] = [self._marker(each.key, each.value) for each in records]
            else:
                found["values"] = [each.value.decode("latin-1") if each.value is not None else None for each in records]
            yield found

    def _marker(self, key: bytes | None, value: bytes | None) -> dict[str, Any]:
        """Return what a control record says."""
        key_version, kind = _CONTROL_KEY.unpack(key or b"")
        value_version, epoch = _CONTROL_VALUE.unpack(value or b"")
        coordinator = "later" if self._is_restarted and epoch > 0 else epoch
        versions = [key_version, value_version]
        return {"type": _MARKERS.get(kind, kind), "versions": versions, "coordinator_epoch": coordinator}

    # --- waiting ---

    def state(self, name: str) -> str:
        request = DescribeTransactionsRequest(transactional_ids=[self.full(name)])
        found = self.send(request, 0).transaction_states[0]
        assert found.error_code in (0, UNKNOWN_TRANSACTION), found
        return str(found.transaction_state)

    def settle(self, name: str = "tx") -> None:
        """Wait until a transaction that was decided is complete."""
        eventually(lambda: self.state(name) in SETTLED, f"the transaction of {name} is complete")

    def await_state(self, name: str, state: str) -> None:
        eventually(lambda: self.state(name) == state, f"{name} is {state}")
        self.note(f"{name!r} has become {state}")

    def restart(self) -> None:
        """Kill the server, start it again, and wait until it coordinates transactions."""
        assert self._restart is not None
        self._restart()
        self._is_restarted = True
        self.note("the server is killed and started again")

    def await_no_producers(self, partition: str) -> None:
        topic, index = _parts(partition)
        request = DescribeProducersRequest(topics=[TopicRequest(self.full(topic), [index])])
        eventually(lambda: not self.send(request, 0).topics[0].partitions[0].active_producers, "no producer is known")
        self.note(f"no producer is known in {partition} any more")

    def exhaust(self, name: str) -> Producer:
        """Raise the epoch of a new producer to the last one, by tens of thousands of requests that are no steps."""
        request = InitProducerIdRequest(self.full(name), TIMEOUT_MS)
        frames = encode_frame(request, 4, 1) * _AT_ONCE
        producer = Producer(name, -1, -1)
        with socket.create_connection(("127.0.0.1", self._port), timeout=30) as connection:
            while producer.epoch < LAST_EPOCH:
                count = min(_AT_ONCE, LAST_EPOCH - producer.epoch)
                connection.sendall(frames[: len(frames) // _AT_ONCE * count])
                for _ in range(count):
                    answer = decode_response(ApiKey.INIT_PRODUCER_ID, 4, receive_frame(connection))[1]
                    assert answer.error_code == 0, answer
                producer = Producer(name, answer.producer_id, answer.producer_epoch)
        self.note(f"{self._id(producer.id, is_new=True)} has epoch {producer.epoch}")
        return producer

    # --- topics and groups ---

    def topic(self, name: str = "t", partitions: int = 1) -> None:
        """Make a topic, and wait until its partitions have a leader."""
        topic = CreatableTopic(name=self.full(name), num_partitions=partitions, replication_factor=1)
        (made,) = self.send(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics
        assert made.error_code == 0, made
        self._topic_ids[name] = made.topic_id
        asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partitions)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=self.full(name), partitions=asked)])

        def leads() -> bool:
            return all(each.error_code == 0 for each in self.send(request, 5).topics[0].partitions)

        eventually(leads, f"all partitions of {name} have a leader")

    def join(self, group: str) -> tuple[str, int]:
        """Make a group Stable with one member; return the member id and the generation."""
        protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
        request = JoinGroupRequest(
            group_id=self.full(group),
            session_timeout_ms=300_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=[protocol],
        )
        request.member_id = self.send(request, 9).member_id
        joined = self.send(request, 9)
        assert joined.error_code == 0, joined
        given = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"")]
        sync = SyncGroupRequest(
            group_id=self.full(group),
            generation_id=joined.generation_id,
            member_id=joined.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=given,
        )
        synced = self.send(sync, 5)
        assert synced.error_code == 0, synced
        return joined.member_id, joined.generation_id

    # --- the requests of a transactional producer ---

    def find(self, *names: str, version: int = 4) -> None:
        request = FindCoordinatorRequest(key=self.full(names[0]), key_type=1, coordinator_keys=[*map(self.full, names)])
        self.ask(f"transactional ids {list(names)}", request, version)

    def init(
        self, name: str | None = "tx", *, timeout_ms: int = TIMEOUT_MS, given: Producer | None = None, version: int = 4
    ) -> Producer:
        """InitProducerId, also with the producer id and epoch that the client has."""
        request = InitProducerIdRequest(
            transactional_id=None if name is None else self.full(name), transaction_timeout_ms=timeout_ms
        )
        words = f"{'null' if name is None else repr(name)}, timeout {timeout_ms}"
        if given is not None:
            request.producer_id, request.producer_epoch = given.id, given.epoch
            words += f", given {self._id(given.id)}, {given.epoch}"
        answer = self.ask(words, request, version)
        return Producer(name, answer.producer_id, answer.producer_epoch)

    def add(self, producer: Producer, *partitions: str, version: int = 3) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.full(producer.name or ""),
            v3_and_below_producer_id=producer.id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(self.full(t), some) for t, some in _by_topic(partitions)],
        )
        self.ask(f"({self.word(producer)}) adds {', '.join(partitions) or 'nothing'}", request, version)

    def add_offsets(self, producer: Producer, group: str = "g", *, version: int = 3) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.full(producer.name or ""),
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            group_id=self.full(group),
        )
        self.ask(f"({self.word(producer)}) adds group {group!r}", request, version)

    def produce(
        self,
        producer: Producer,
        partition: str,
        sequence: int,
        *values: str,
        version: int = 11,
        is_transactional: bool = True,
        acks: int = -1,
        batch: bytes | None = None,
    ) -> None:
        """Produce one batch; `batch` gives the bytes of another than is built from the values."""
        data = batch_of(producer, sequence, *values, is_transactional=is_transactional) if batch is None else batch
        words = f"({self.word(producer)}) {partition} sequence {sequence}: {', '.join(values)}"
        if not is_transactional:
            words += ", not transactional"
        if acks != -1:
            words += f", acks {acks}"
        self._produce(words, producer, {partition: data}, version, acks)

    def produce_to(self, producer: Producer, *partitions: str, sequence: int = 0, version: int = 11) -> None:
        """Produce one batch to each of some partitions in one request."""
        batches = {each: batch_of(producer, sequence, "a") for each in partitions}
        self._produce(
            f"({self.word(producer)}) {', '.join(partitions)} sequence {sequence}", producer, batches, version
        )

    def _produce(
        self, words: str, producer: Producer, batches: Mapping[str, bytes], version: int, acks: int = -1
    ) -> None:
        topic_data = [
            TopicProduceData(
                name=self.full(topic),
                topic_id=self._topic_ids.get(topic, bytes(16)),
                partition_data=[PartitionProduceData(index, batches[f"{topic}-{index}"]) for index in some],
            )
            for topic, some in _by_topic(batches)
        ]
        request = ProduceRequest(
            transactional_id=None if producer.name is None else self.full(producer.name),
            acks=acks,
            timeout_ms=10_000,
            topic_data=topic_data,
        )
        self.ask(words, request, version)

    def commit_in(
        self,
        producer: Producer,
        offsets: Mapping[str, int],
        group: str = "g",
        *,
        version: int = 3,
        member: tuple[str, int] = ("", -1),
        instance: str | None = None,
    ) -> None:
        """TxnOffsetCommit; `member` has a member id and a generation."""
        request = TxnOffsetCommitRequest(
            transactional_id=self.full(producer.name or ""),
            group_id=self.full(group),
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            generation_id=member[1],
            member_id=member[0],
            group_instance_id=instance,
            topics=[
                TxnOffsetCommitRequestTopic(
                    self.full(topic),
                    partitions=[
                        TxnOffsetCommitRequestPartition(index, offsets[f"{topic}-{index}"], -1, "") for index in some
                    ],
                )
                for topic, some in _by_topic([*offsets])
            ],
        )
        words = f"({self.word(producer)}) group {group!r}: {_offsets(offsets)}"
        if member != ("", -1):
            words += f", {'a' if member[0] else 'no'} member id, generation {member[1]}"
        if instance is not None:
            words += f", instance {instance!r}"
        self.ask(words, request, version)

    def end(self, producer: Producer, result: bool, *, version: int = 4, settles: bool = True) -> Producer:
        """EndTxn; returns the producer as it is in the next transaction. Waits until the transaction is complete."""
        request = EndTxnRequest(self.full(producer.name or ""), producer.id, producer.epoch, result)
        answer = self.ask(f"({self.word(producer)}) {_ENDS[result]}", request, version)
        if settles and answer.error_code == 0:
            self.settle(producer.name or "")
        if version >= 5 and answer.error_code == 0:
            return replace(producer, id=answer.producer_id, epoch=answer.producer_epoch)
        return producer

    # --- requests between brokers ---

    def add_batch(self, producer: Producer, *partitions: str, version: int, verifies: bool = False) -> None:
        """AddPartitionsToTxn from version 4 on."""
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=self.full(producer.name or ""),
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            verify_only=verifies,
            topics=[AddPartitionsToTxnTopic(self.full(topic), some) for topic, some in _by_topic(partitions)],
        )
        words = f"({self.word(producer)}) {'verifies' if verifies else 'adds'} {', '.join(partitions)}"
        self.ask(words, AddPartitionsToTxnRequest(transactions=[transaction]), version)

    def marker(
        self,
        producer: Producer,
        result: bool,
        *partitions: str,
        version: int = 2,
        coordinator_epoch: int = 0,
        transaction_version: int = 0,
    ) -> None:
        """WriteTxnMarkers."""
        topics = [WritableTxnMarkerTopic(self.full(topic), some) for topic, some in _by_topic(partitions)]
        marker = WritableTxnMarker(producer.id, producer.epoch, result, topics, coordinator_epoch, transaction_version)
        words = f"({self.word(producer)}) {_ENDS[result]} to {', '.join(partitions)}, coordinator {coordinator_epoch}"
        words += f", transaction.version {transaction_version}" if version >= 2 else ""
        self.ask(words, WriteTxnMarkersRequest([marker]), version)

    # --- readers ---

    def fetch_meanwhile(self, partition: str, offset: int, act: Callable[[], object]) -> None:
        """Fetch with a long wait on a connection of its own, and act once the request is sent."""
        request = self._fetch_request(partition, offset, committed=True, wait_ms=_LONG_WAIT_MS)
        with socket.create_connection(("127.0.0.1", self._port), timeout=2 * _LONG_WAIT_MS / 1000) as connection:
            connection.sendall(encode_frame(request, 12, 1))
            begun = time.monotonic()
            act()
            answer = decode_response(ApiKey.FETCH, 12, receive_frame(connection))[1]
        is_early = (time.monotonic() - begun) * 1000 < _LONG_WAIT_MS
        words = f"Fetch v12: {partition} from {offset}, read_committed, asked before and answered after"
        self.steps.append({"ask": words, "answer": self._told(answer, 12), "before its wait is over": is_early})

    def produce_and_end(self, producer: Producer, partition: str) -> None:
        self.produce(producer, partition, 0, "a")
        self.end(producer, True)

    def fetch_waiting(self, partition: str, offset: int, *, committed: bool) -> None:
        """Fetch at least a byte, and tell whether the answer took the whole wait."""
        request = self._fetch_request(partition, offset, committed=committed, wait_ms=_SHORT_WAIT_MS)
        begun = time.monotonic()
        self.ask(f"{partition} from {offset}, {_isolation(committed)}, at least a byte", request, 12)
        self.steps[-1]["waits"] = (time.monotonic() - begun) * 1000 > _SHORT_WAIT_MS / 2

    def fetch(self, partition: str, offset: int = 0, *, committed: bool = True, version: int = 12) -> None:
        request = self._fetch_request(partition, offset, committed=committed)
        self.ask(f"{partition} from {offset}, {_isolation(committed)}", request, version)

    def _fetch_request(self, partition: str, offset: int, *, committed: bool, wait_ms: int = 0) -> FetchRequest:
        topic, index = _parts(partition)
        asked = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        topic_id = self._topic_ids.get(topic, bytes(16))
        return FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=int(wait_ms > 0),
            isolation_level=int(committed),
            topics=[FetchTopic(topic=self.full(topic), topic_id=topic_id, partitions=[asked])],
        )

    def list_offsets(
        self, partition: str, timestamp: int = LATEST, *, committed: bool = True, version: int = 7
    ) -> None:
        topic, index = _parts(partition)
        asked = ListOffsetsPartition(partition_index=index, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(committed),
            topics=[ListOffsetsTopic(name=self.full(topic), partitions=[asked])],
        )
        self.ask(f"{partition} at {timestamp}, {_isolation(committed)}", request, version)

    def commit(self, offsets: Mapping[str, int], group: str = "g", *, version: int = 8) -> None:
        topics = [
            OffsetCommitRequestTopic(
                name=self.full(topic),
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=index, committed_offset=offsets[f"{topic}-{index}"], committed_metadata=""
                    )
                    for index in some
                ],
            )
            for topic, some in _by_topic([*offsets])
        ]
        request = OffsetCommitRequest(group_id=self.full(group), topics=topics)
        self.ask(f"group {group!r}: {_offsets(offsets)}", request, version)

    def offsets(
        self, *partitions: str, group: str = "g", stable: bool = False, version: int = 8, all_topics: bool = False
    ) -> None:
        """OffsetFetch of some partitions, or of all."""
        topics = [
            OffsetFetchRequestTopics(name=self.full(t), partition_indexes=some) for t, some in _by_topic(partitions)
        ]
        wanted = OffsetFetchRequestGroup(group_id=self.full(group), topics=None if all_topics else topics)
        words = f"group {group!r}: {'all' if all_topics else ', '.join(partitions)}{', stable' if stable else ''}"
        self.ask(words, OffsetFetchRequest(groups=[wanted], require_stable=stable), version)

    def old_offsets(self, *partitions: str, group: str = "g", stable: bool) -> None:
        """OffsetFetch 7, of one group."""
        topics = [OffsetFetchRequestTopic(self.full(topic), some) for topic, some in _by_topic(partitions)]
        request = OffsetFetchRequest(group_id=self.full(group), topics=topics, require_stable=stable)
        self.ask(f"group {group!r}: {', '.join(partitions)}{', stable' if stable else ''}", request, 7)

    def delete_offsets(self, partition: str, group: str = "g") -> None:
        topic, index = _parts(partition)
        topics = [OffsetDeleteRequestTopic(self.full(topic), [OffsetDeleteRequestPartition(index)])]
        self.ask(f"group {group!r}: {partition}", OffsetDeleteRequest(self.full(group), topics), 0)

    def delete_group(self, group: str = "g") -> None:
        self.ask(f"group {group!r}", DeleteGroupsRequest([self.full(group)]), 2)

    def describe_group(self, group: str = "g") -> None:
        self.ask(f"group {group!r}", DescribeGroupsRequest(groups=[self.full(group)]), 5)

    def delete_records(self, partition: str, before: int) -> None:
        topic, index = _parts(partition)
        topics = [DeleteRecordsTopic(self.full(topic), [DeleteRecordsPartition(index, before)])]
        self.ask(f"{partition} before {before}", DeleteRecordsRequest(topics, 10_000), 2)

    # --- administration ---

    def describe(self, *names: str) -> None:
        request = DescribeTransactionsRequest(transactional_ids=[*map(self.full, names or ("tx",))])
        self.ask(", ".join(map(repr, names or ("tx",))), request, 0)

    def list(
        self,
        *states: str,
        producers: Sequence[Producer] = (),
        duration_ms: int = -1,
        pattern: str | None = None,
        version: int = 1,
    ) -> None:
        """ListTransactions; `pattern` is one of the names within the case."""
        request = ListTransactionsRequest(
            state_filters=[*states],
            producer_id_filters=[each.id for each in producers],
            duration_filter=duration_ms,
            transactional_id_pattern=None if pattern is None else self._prefix + pattern,
        )
        words = f"states {list(states)}, producers {[self._id(each.id) for each in producers]}"
        words += f", longer than {duration_ms} ms" if duration_ms >= 0 else ""
        words += f", pattern {pattern!r}" if pattern is not None else ""
        self.ask(words, request, version)

    def describe_producers(self, *partitions: str) -> None:
        topics = [TopicRequest(self.full(topic), some) for topic, some in _by_topic(partitions)]
        self.ask(", ".join(partitions), DescribeProducersRequest(topics=topics), 0)


def _parts(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index)


def _place(element: Any) -> tuple[str, int]:
    """Return where an element belongs in a list that has no order of its own."""
    if not isinstance(element, dict):
        return "", int(element)
    names = (element.get(key) for key in ("name", "topic", "topic_id", "producer_id"))
    name = next((each for each in names if each is not None), "")
    return str(name), int(element.get("partition_index", 0) or element.get("index", 0))


def _by_topic(partitions: Iterable[str]) -> list[tuple[str, list[int]]]:
    """Return topics with their partitions, in the order of their first appearance."""
    found: dict[str, list[int]] = {}
    for each in partitions:
        topic, index = _parts(each)
        found.setdefault(topic, []).append(index)
    return [*found.items()]


def _offsets(offsets: Mapping[str, int]) -> str:
    return ", ".join(f"{partition} = {offset}" for partition, offset in offsets.items())


def _isolation(committed: bool) -> str:
    return "read_committed" if committed else "read_uncommitted"


def batch_of(producer: Producer, sequence: int, *values: str, is_transactional: bool = True) -> bytes:
    """Build a batch of a producer with a record for each value."""
    return bytes(
        build_batch(
            [(None, value.encode()) for value in values],
            timestamp_ms=int(time.time() * 1000),
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            is_transactional=is_transactional,
        )
    )
