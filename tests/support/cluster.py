"""Scripted cluster: the real core and API rows, scripted clients, virtual time, and a log in memory.

Requests take the path of real ones: they are encoded and decoded in their version, handled by the row of their API, and
their responses are encoded and decoded. After each event the invariants of all groups are checked and the offsets of
core and log are compared. A request that is answered twice, or a fault that the core contained, fails the test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from coordinator.config.config import Config
from coordinator.config.values import parse_names
from coordinator.core.cluster import Cluster as Nodes
from coordinator.core.cluster import ClusterNode
from coordinator.core.consumer_group.assignors.interface import ConsumerGroupPartitionAssignor
from coordinator.core.consumer_group.assignors.known import assignors_of
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware, Describable, Effects, Ticket
from coordinator.core.events.model import AnyEvent, Rebalance
from coordinator.core.group.group import Group
from coordinator.core.loading import LoadedState
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.core.waiting_request import WaitingRequest
from coordinator.server.api.table import HANDLERS
from coordinator.storage.snapshot.loading import follow
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.consumer import Subscription, encode_subscription
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from protocol.offsets_records import GroupKey, OffsetKey
from tests.support.call import NEWEST, Call, Offsets
from tests.support.clock import Clock, milliseconds
from tests.support.consumer_group_invariants import check_consumer_group
from tests.support.memory_offsets_log import MemoryOffsetsLog, Written
from tests.support.offloaded import at_once
from tests.support.recognised_commits import RecognisedCommits
from tests.support.scripted_member import Member
from tests.support.topics_image import ScriptedTopics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.server.api.handler import Api


def subscription(*topics: str) -> bytes:
    return encode_subscription(Subscription(topics=list(topics)), 0)


class Cluster:
    """A node without sockets and disk. `partitions` is the number of partitions of the offsets log."""

    topics: Any = None
    transactions: Any = None
    cluster_id = "test"

    def __init__(
        self,
        config: Config | None = None,
        *,
        partitions: int = 2,
        loaded: bool = True,
        nodes: Nodes | None = None,
        has_lease: bool = False,
        topics: Mapping[str, int] | None = None,
    ) -> None:
        self.has_lease = has_lease
        self.topics_image = ScriptedTopics(topics)  # of KIP-848 groups
        self.cluster = nodes if nodes is not None else Nodes.alone(1, "coordinator.example", 9092)
        self.config = config if config is not None else Config()
        self.clock = Clock()
        self.log = MemoryOffsetsLog(partitions)
        self.group_configs: dict[str, dict[str, int]] = {}  # of KIP-848 groups
        self.existing_topics: dict[str, int] | None = None  # None: any partition of any topic exists
        self.read_up_to: dict[tuple[str, int, str, str], int] = {}  # by topic, partition, client id and host
        self.flushes_at_once = True
        self.holds_work = False  # steps of long work run only by `step`
        self.failing_with: ErrorCode | None = None
        self.recognised: RecognisedCommits | None = None  # if set, commits are recognised by their bytes
        self.calls: list[Call] = []
        self.events: list[AnyEvent] = []
        self.parked: dict[Call, WaitingRequest] = {}
        self.expects_faults = False
        self._ids = 0
        self.core = self._new_core()
        if loaded:
            self.load()

    # -- the node, as used by API rows ---------------------------------------------------------------------------

    def execute(self, effects: Effects, ticket: Ticket | None = None) -> None:
        for ticket, response in effects.replies:
            self.reply(ticket, response)
        for append in effects.appends:
            self.log.append(append, self.clock.wall_ms)

    def execute_topics(self, effects: Any, ticket: Ticket | None = None) -> None:
        raise AssertionError("no group request has effects on topics")

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        raise AssertionError("no group request closes a connection")

    def identified(self, ticket: Ticket, software: ClientSoftware) -> None:
        raise AssertionError("no group request names the client's software")

    def take_turns(self, ticket: Ticket, steps: Iterator[Any]) -> None:
        for _ in steps:
            pass

    def seen_by(self, ticket: Ticket) -> Callable[[ClusterNode], ClusterNode]:
        return lambda node: node

    def reply(self, ticket: Ticket, response: Any) -> None:
        call: Call = ticket.session
        assert call.answer is None, f"{call} is answered a second time, with {response}"
        row = _ROWS.get(call.api)
        if row is None:  # not served yet
            call.answer = response
        elif isinstance(response, bytes):
            call.answer = codec.decode_response(ticket.api_key, call.version, response, 0)
        else:
            if ticket.amend is not None:
                response = ticket.amend(response)
            if ticket.throttle_ms:
                response.throttle_time_ms = ticket.throttle_ms
            shaped = response if row.shape is None else row.shape(response, call.version)
            data = codec.encode_response(shaped, call.version)
            call.answer = codec.decode_response(ticket.api_key, call.version, data, 0)
        call.answered_at_ms = self.clock.now_ms

    # -- requests ------------------------------------------------------------------------------------------------

    def send(
        self,
        api: str,
        request: Any,
        version: int,
        *,
        client_id: str = "client",
        host: str = "/127.0.0.1",
        software: ClientSoftware = UNKNOWN_SOFTWARE,
        can_wait: bool = False,
        describable: Describable | None = None,
    ) -> Call:
        call = Call(api, version)
        self.calls.append(call)
        row = _ROWS[api]
        ticket = Ticket(
            call,
            api_key=int(row.key),
            version=version,
            client_id=client_id,
            client_host=host,
            client_software=software,
        )
        ticket.may_be_held = can_wait
        ticket.describable = describable
        assert row.min_version <= version <= row.max_version
        data = codec.encode_request(request, version)
        request = codec.decode_request(int(row.key), version, data, 0)
        if api == "commit" and self.recognised is not None:
            self.recognised.handle(self, request, data, ticket, row)
        else:
            row.handle(self, request, ticket, self.clock.now_ms)
        self._after_event()
        return call

    def send_command(self, api: str, command: Any) -> Call:
        """Pass a command to an API row that is not given the request itself."""
        call = Call(api, NEWEST[api])
        self.calls.append(call)
        row = _ROWS[api]
        row.handle(self, command, Ticket(call, api_key=int(row.key), version=call.version), self.clock.now_ms)
        self._after_event()
        return call

    def _after_event(self) -> None:
        while True:
            while self.core.has_work and not self.holds_work:
                self.step()
            if self.failing_with is not None:
                self.fail_appends(self.failing_with)
            elif self.flushes_at_once:
                self.flush()
            self.check()
            if self.holds_work or not self.core.has_work:  # what became durable may have work done
                return

    def step(self) -> None:
        """Run one step of long work."""
        self.execute(self.core.work(self.clock.now_ms))

    def check(self) -> None:
        """Check what must hold after each event."""
        faults = self.core.take_faults()
        assert self.expects_faults or not faults, "\n".join(faults)
        by_state = dict.fromkeys(self.core.groups_by_state, 0)
        parked = 0
        for group in self.core.groups.values():
            if not self.expects_faults:
                group.check_invariants()
            by_state[group.state] += 1
            parked += sum(member.parked is not None for member in group.members.values())
        assert by_state == self.core.groups_by_state
        groups, totals = self.core.groups.values(), self.core.totals
        consumer_groups = self.core.consumer_group_ids.values()
        parked += sum(len(group.held) for group in consumer_groups)
        for consumer_group in consumer_groups:
            check_consumer_group(consumer_group)
        in_consumer_groups = sum(len(group.members) for group in consumer_groups)
        assert totals.members == sum(len(group.members) for group in groups) + in_consumer_groups
        assert totals.metadata_bytes == sum(group.metadata_bytes for group in (*groups, *consumer_groups))
        shards = map(self.core.partition, range(len(self.log.partitions)))
        assert totals.offsets == sum(shard.offsets.count for shard in shards)
        assert parked == self.core.timers.parked_heartbeats.waiting

    def join(
        self,
        group_id: str = "g",
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocol_type: str = "consumer",
        protocols: Sequence[tuple[str, bytes]] = (("range", b""),),
        session_timeout: str | int = "10s",
        rebalance_timeout: str | int = "60s",
        version: int = NEWEST["join"],
        client_id: str = "client",
        host: str = "/127.0.0.1",
        reason: str | None = None,
        software: ClientSoftware = UNKNOWN_SOFTWARE,
    ) -> Call:
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=milliseconds(session_timeout),
            rebalance_timeout_ms=milliseconds(rebalance_timeout) if version >= 1 else -1,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
            reason=reason,
        )
        return self.send("join", request, version, client_id=client_id, host=host, software=software)

    def sync(
        self,
        group_id: str,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance_id: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        version: int = NEWEST["sync"],
        can_wait: bool = False,
    ) -> Call:
        request = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type=protocol_type if version >= 5 else None,
            protocol_name=protocol_name if version >= 5 else None,
            assignments=[
                SyncGroupRequestAssignment(member_id=to, assignment=assignment)
                for to, assignment in (assignments or {}).items()
            ],
        )
        return self.send("sync", request, version, can_wait=can_wait)

    def heartbeat(
        self,
        group_id: str,
        member_id: str,
        generation: int,
        *,
        instance_id: str | None = None,
        version: int = NEWEST["heartbeat"],
        **sender: Any,
    ) -> Call:
        request = HeartbeatRequest(
            group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        return self.send("heartbeat", request, version, **sender)

    def park(
        self,
        group_id: str,
        member_id: str,
        generation: int,
        *,
        instance_id: str | None = None,
        software: ClientSoftware = UNKNOWN_SOFTWARE,
    ) -> Call:
        """Send a Heartbeat of a client that may wait for the answer. If the core declines, it is handled as usual."""
        call = Call("heartbeat", NEWEST["heartbeat"])
        ticket = Ticket(call, api_key=int(ApiKey.HEARTBEAT), version=call.version, client_software=software)
        template = self.core.heartbeat_template(group_id, member_id, instance_id, generation)
        parked = None if template is None else self.core.park_heartbeat(template, ticket, self.clock.now_ms)
        if parked is None:
            return self.heartbeat(group_id, member_id, generation, instance_id=instance_id, software=software)
        self.calls.append(call)
        self.parked[call] = parked
        self._after_event()
        return call

    def send_bytes_behind(self, call: Call) -> None:
        """Receive more bytes on the connection of a parked heartbeat."""
        self.execute(self.core.release(self.parked[call], self.clock.now_ms))
        self._after_event()

    def lose_connection_of(self, call: Call) -> None:
        self.core.drop(self.parked[call])
        self._after_event()

    def leave(
        self,
        group_id: str,
        *identities: str | tuple[str, str | None],
        version: int = NEWEST["leave"],
        reason: str | None = None,
    ) -> Call:
        pairs = [(identity, None) if isinstance(identity, str) else identity for identity in identities]
        request = LeaveGroupRequest(
            group_id=group_id,
            member_id=pairs[0][0] if version < 3 else "",
            members=[
                MemberIdentity(member_id=member_id, group_instance_id=instance, reason=reason)
                for member_id, instance in pairs
            ]
            if version >= 3
            else [],
        )
        return self.send("leave", request, version)

    def commit(
        self,
        group_id: str,
        offsets: Offsets,
        *,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
        metadata: str | dict[tuple[str, int], str | None] | None = "",
        leader_epoch: int = -1,
        retention_ms: int = -1,
        version: int = NEWEST["commit"],
        **sender: Any,
    ) -> Call:
        topics: dict[str, OffsetCommitRequestTopic] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, OffsetCommitRequestTopic(name=topic)).partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=leader_epoch,
                    committed_metadata=metadata[topic, partition] if isinstance(metadata, dict) else metadata,
                )
            )
        request = OffsetCommitRequest(
            group_id=group_id,
            generation_id_or_member_epoch=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            retention_time_ms=retention_ms,
            topics=list(topics.values()),
        )
        return self.send("commit", request, version, **sender)

    def txn_commit(
        self,
        group_id: str,
        offsets: Offsets,
        *,
        producer_id: int = 7,
        member_id: str = "",
        generation: int = -1,
        instance_id: str | None = None,
    ) -> Call:
        """Send a TxnOffsetCommit directly to the core, since its API is not served."""
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, TxnOffsetCommitRequestTopic(name=topic)).partitions.append(
                TxnOffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=""
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id="tx",
            group_id=group_id,
            producer_id=producer_id,
            producer_epoch=0,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance_id,
            topics=list(topics.values()),
        )
        call = Call("txn_commit", 3)
        self.calls.append(call)
        self.execute(self.core.handle(request, Ticket(call), self.clock.now_ms))
        self._after_event()
        return call

    def end_transaction(self, group_id: str, *, commit: bool, producer_id: int = 7) -> None:
        """Send a WriteTxnMarkers for the partition of a group."""
        topic = WritableTxnMarkerTopic(OFFSETS_TOPIC, [self.core.partition_for(group_id)])
        marker = WritableTxnMarker(producer_id, 0, transaction_result=commit, topics=[topic])
        call = Call("write_txn_markers", 1)
        request = WriteTxnMarkersRequest(markers=[marker])
        self.execute(self.core.handle(request, Ticket(call), self.clock.now_ms))
        self._after_event()

    def fetch(
        self,
        group_id: str,
        partitions: Iterable[tuple[str, int]] | None = None,
        *,
        require_stable: bool = False,
        version: int = NEWEST["fetch"],
    ) -> Call:
        wanted: dict[str, list[int]] = {}
        for topic, partition in partitions or ():
            wanted.setdefault(topic, []).append(partition)
        request = OffsetFetchRequest(require_stable=require_stable)
        if version >= 8:
            listed = [OffsetFetchRequestTopics(name=name, partition_indexes=wanted[name]) for name in wanted]
            group = OffsetFetchRequestGroup(group_id=group_id, topics=None if partitions is None else listed)
            request.groups = [group]
        else:
            older = [OffsetFetchRequestTopic(name=name, partition_indexes=wanted[name]) for name in wanted]
            request.group_id = group_id
            request.topics = None if partitions is None else older
        return self.send("fetch", request, version)

    def committed(self, group_id: str) -> Offsets:
        """Return all committed offsets of a group, by an OffsetFetch."""
        (group,) = self.fetch(group_id).answer.groups
        assert group.error_code == ErrorCode.NONE
        return {
            (topic.name, partition.partition_index): partition.committed_offset
            for topic in group.topics
            for partition in topic.partitions
        }

    def delete_groups(self, *names: str, version: int = 2) -> Call:
        return self.send("delete_groups", DeleteGroupsRequest(groups_names=list(names)), version)

    def delete_offsets(self, group_id: str, *partitions: tuple[str, int]) -> Call:
        topics: dict[str, OffsetDeleteRequestTopic] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, OffsetDeleteRequestTopic(name=topic)).partitions.append(
                OffsetDeleteRequestPartition(partition_index=partition)
            )
        return self.send("delete_offsets", OffsetDeleteRequest(group_id=group_id, topics=list(topics.values())), 0)

    def list_groups(self, *, states: Sequence[str] = (), types: Sequence[str] = (), version: int = 5) -> dict[str, Any]:
        call = self.send("list", ListGroupsRequest(states_filter=list(states), types_filter=list(types)), version)
        assert call.error is ErrorCode.NONE
        return {group.group_id: group for group in call.answer.groups}

    def describe(self, group_id: str, *, version: int = 6, operations: bool = False) -> DescribedGroup:
        request = DescribeGroupsRequest(groups=[group_id], include_authorized_operations=operations)
        group: DescribedGroup = self.send("describe", request, version).answer.groups[0]
        return group

    def find_coordinator(self, *keys: str, key_type: int = 0, version: int = 6) -> Call:
        request = FindCoordinatorRequest(
            key=keys[0] if version < 4 else "",
            key_type=key_type,
            coordinator_keys=list(keys) if version >= 4 else [],
        )
        return self.send("find", request, version)

    def delete_topic(self, topic: str, partitions: Iterable[int]) -> None:
        """Delete some partitions of a topic."""
        self.execute(self.core.topic_partitions_deleted(topic, partitions, self.clock.now_ms))
        self._after_event()

    def shutdown(self) -> None:
        """Shut the coordinator down, without waiting for appends in flight."""
        self.execute(self.core.shutdown(self.clock.now_ms))
        while self.core.has_work:
            self.execute(self.core.work(self.clock.now_ms))

    # -- members -------------------------------------------------------------------------------------------------

    def member(self, group_id: str = "g", **identity: Any) -> Member:
        return Member(self, group_id, **identity)

    def stable_group(self, group_id: str = "g", members: int = 2, **identity: Any) -> list[Member]:
        """Return the members of a Stable group, the leader first. Those with an entry in `instance_ids` are static."""
        instance_ids: Sequence[str | None] = identity.pop("instance_ids", ())
        joined = []
        for number in range(members):
            instance_id = instance_ids[number] if number < len(instance_ids) else None
            member = self.member(group_id, instance_id=instance_id, **identity)
            member.join()
            joined.append(member)
        self.settle(joined)
        return joined

    def settle(self, members: Sequence[Member]) -> None:
        """Wait until parked joins are answered, then let all members sync: the group is Stable again."""
        for _ in range(10):
            if not any(member.last_join.is_parked for member in members):
                break
            deadline = self.core.next_deadline_ms()
            assert deadline is not None
            self.advance(max(deadline - self.clock.now_ms, 0))
        for member in members:
            member.sync()
        assert all(member.last_sync.error is ErrorCode.NONE for member in members)

    def group(self, group_id: str = "g") -> Group:
        return self.core.groups[group_id]

    def state(self, group_id: str = "g") -> str:
        return self.group(group_id).state.value if group_id in self.core.groups else "none"

    # -- time ----------------------------------------------------------------------------------------------------

    def advance(self, duration: str | int, *, heartbeating: Sequence[Member] = (), every: str | int = "3s") -> None:
        """Advance the time and run the timers of the core; `heartbeating` members send heartbeats meanwhile."""
        end_ms = self.clock.now_ms + milliseconds(duration)
        interval_ms = milliseconds(every)
        beat_ms = self.clock.now_ms + interval_ms
        while True:
            deadline = self.core.next_deadline_ms()
            step_ms = min(end_ms, beat_ms) if heartbeating else end_ms
            if deadline is not None and deadline <= step_ms:
                self.clock.now_ms = max(self.clock.now_ms, deadline)
                self.tick()
            elif heartbeating and beat_ms <= end_ms:
                self.clock.now_ms = beat_ms
                beat_ms += interval_ms
                for member in heartbeating:
                    member.heartbeat()
            else:
                self.clock.now_ms = end_ms
                return

    def tick(self) -> None:
        """Run the timers that are due now."""
        self.execute(self.core.advance_clock(self.clock.now_ms))
        self._after_event()

    # -- the log -------------------------------------------------------------------------------------------------

    @contextmanager
    def log_held(self) -> Iterator[None]:
        """Hold appends within the block, until `flush` or `fail_appends` is called."""
        self.flushes_at_once = False
        try:
            yield
        finally:
            self.flushes_at_once = True
            self._after_event()

    def flush(self, at_most: int | None = None) -> None:
        """Make the queued appends durable, in each partition the oldest `at_most`."""
        again = True
        while again:
            again = False
            for partition in range(len(self.log.partitions)):
                high_watermark = self.log.flush(partition, at_most)
                if high_watermark is not None:
                    self.execute(self.core.appended(partition, high_watermark, self.clock.now_ms))
                    again = at_most is None
        self.check()

    def fail_appends(self, error: ErrorCode = ErrorCode.KAFKA_STORAGE_ERROR) -> None:
        """Fail all queued appends."""
        for partition in range(len(self.log.partitions)):
            from_offset = self.log.drop_queued(partition)
            if from_offset is not None:
                self.execute(self.core.append_failed(partition, from_offset, error, self.clock.now_ms))
        self.check()

    @property
    def rebalances(self) -> list[Rebalance]:
        """The rebalances that have ended, oldest first."""
        return [event for event in self.events if isinstance(event, Rebalance)]

    def written(self, group_id: str) -> list[Written]:
        """Return the durable records of a group, oldest first."""
        records = self.log.written(self.core.partition_for(group_id))
        return [
            record
            for record in records
            if isinstance(record.key, (GroupKey, OffsetKey)) and record.key.group == group_id
        ]

    # -- crashes -------------------------------------------------------------------------------------------------

    def _new_core(self) -> GroupCoordinator:
        return GroupCoordinator(
            self.config,
            partitions=len(self.log.partitions),
            new_member_uuid=self._new_uuid,
            topic_partition_exists=self._exists,
            take_read_up_to=lambda *reader: self.read_up_to.pop(reader, -1),
            wall_offset_ms=self.clock.wall_offset_ms,
            on_event=self.events.append,
            owns=self.cluster.owns_offsets_partition,
            has_lease=self.has_lease,
            topics=self.topics_image,
            assignors=self._assignors(),
            group_configs=self.group_configs,
        )

    def _assignors(self) -> Mapping[str, ConsumerGroupPartitionAssignor]:
        config = self.config
        names = parse_names(config.group_consumer_assignors)
        return assignors_of(names, lambda: at_once, config.group_consumer_assignor_timeout_ms)

    def _new_uuid(self) -> str:
        self._ids += 1
        return f"00000000-0000-4000-8000-{self._ids:012d}"

    def _exists(self, topic: str, partition: int) -> bool:
        return self.existing_topics is None or 0 <= partition < self.existing_topics.get(topic, 0)

    def crash(self) -> None:
        """Replace the core by a new one and drop the queued appends. The new core loads no partition yet."""
        for partition in range(len(self.log.partitions)):
            self.log.drop_queued(partition)
        self.core = self._new_core()
        self.parked.clear()
        if self.recognised is not None:
            self.recognised = RecognisedCommits()

    def load(self) -> None:
        for partition in range(len(self.log.partitions)):
            if self.cluster.owns_offsets_partition(partition):
                self.load_one(partition)
        self.check()

    def load_one(self, partition: int) -> None:
        """Load a partition as the runtime does: read the log, then hand the state to the core."""
        core, end_offset = self.core, self.log.partitions[partition].next_offset
        core.load_begin(partition)
        try:
            loaded = follow(self.log.batches(partition), None, None, end_offset=end_offset)
            wall_ms = self.clock.now_ms + self.clock.wall_offset_ms
            loaded_state = LoadedState.replayed(
                loaded.found, loaded.replay, loaded.store, core.partition(partition), wall_ms
            )
        except Exception:
            assert self.expects_faults
            core.load_failed(partition)
        else:
            self.execute(core.loaded(partition, loaded_state, loaded.next_offset, self.clock.now_ms))
        self._after_event()

    def crash_and_recover(self) -> None:
        self.crash()
        self.load()


_ROWS: dict[str, Api] = {
    "join": HANDLERS[ApiKey.JOIN_GROUP],
    "sync": HANDLERS[ApiKey.SYNC_GROUP],
    "heartbeat": HANDLERS[ApiKey.HEARTBEAT],
    "leave": HANDLERS[ApiKey.LEAVE_GROUP],
    "commit": HANDLERS[ApiKey.OFFSET_COMMIT],
    "fetch": HANDLERS[ApiKey.OFFSET_FETCH],
    "delete_groups": HANDLERS[ApiKey.DELETE_GROUPS],
    "delete_offsets": HANDLERS[ApiKey.OFFSET_DELETE],
    "list": HANDLERS[ApiKey.LIST_GROUPS],
    "describe": HANDLERS[ApiKey.DESCRIBE_GROUPS],
    "find": HANDLERS[ApiKey.FIND_COORDINATOR],
    "consumer_heartbeat": HANDLERS[ApiKey.CONSUMER_GROUP_HEARTBEAT],
    "consumer_describe": HANDLERS[ApiKey.CONSUMER_GROUP_DESCRIBE],
}
