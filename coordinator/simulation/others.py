"""Clients that are no members of groups: producers, committers without a group, administrators, and broken programs."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from coordinator.simulation.client import CallError, SimulatedClient
from coordinator.simulation.history import Place
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
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
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest
from protocol.record_batch import build_batch

if TYPE_CHECKING:
    from collections.abc import Callable

NONE: Final = ErrorCode.NONE
VALUE_BYTES: Final = 60  # at least: some batches fill a segment
IN_FLIGHT: Final = 5  # requests of one connection; Kafka's limit for idempotent producers
LOST_SEQUENCE: Final = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)


class SimulatedProducer(SimulatedClient):
    """An idempotent producer with up to `IN_FLIGHT` batches in flight, each sent until it is acknowledged."""

    topics: dict[str, int]
    owner_of: Callable[[str, int], int]

    async def run(self) -> None:
        """Produce until the process ends. A batch without an answer is sent again with its sequence number."""
        answer = await self.call(
            self.chance.choice(list(self.nodes)), InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
        )
        if answer.error_code:
            raise CallError(ErrorCode(answer.error_code).name)
        sequences: dict[tuple[str, int], int] = {}
        sent = 0
        while True:
            topic = self.chance.choice(list(self.topics))
            # Often the first: then batches of several producers meet in one round of the disk.
            number = 0 if self.chance.random() < 0.7 else self.chance.randrange(self.topics[topic])
            batches = []
            for _ in range(self.chance.choice((1, 1, IN_FLIGHT))):
                sent += 1
                batches.append(
                    [
                        f"{self.name}-{sent}-{index}".ljust(VALUE_BYTES, ".")
                        for index in range(self.chance.randint(1, 3))
                    ]
                )
            sequence = sequences.get((topic, number), 0)
            offsets = await self._send(answer.producer_id, topic, number, sequence, batches)
            sequences[topic, number] = sequence + sum(map(len, batches))
            for offset, values in zip(offsets, batches, strict=True):
                self._acknowledged(topic, number, offset, values)
            await asyncio.sleep(0.02 + self.chance.random() * 0.6)

    def _acknowledged(self, topic: str, number: int, offset: int, values: list[str]) -> None:
        known = self.history.produced.setdefault((topic, number), {})
        for at, value in enumerate(values, offset):
            if known.setdefault(at, value) != value:
                self.world.violated(f"{topic}-{number} {at} was acknowledged twice: {known[at]}, {value}")
        self.history.acknowledged += 1

    async def _send(
        self, producer_id: int, topic: str, number: int, sequence: int, batches: list[list[str]]
    ) -> list[int]:
        """Send batches, all in flight at once, until all are acknowledged. Return their offsets."""
        requests = []
        for values in batches:
            batch = build_batch(
                [(None, value.encode()) for value in values],
                timestamp_ms=1_800_000_000_000,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=sequence,
            )
            sequence += len(values)
            partition = PartitionProduceData(index=number, records=bytes(batch))
            topic_data = [TopicProduceData(name=topic, partition_data=[partition])]
            requests.append(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topic_data))
        offsets: list[int] = []
        while True:
            answers = await self.call_all(self.owner_of(topic, number), requests[len(offsets) :])
            for place, answer in enumerate(answers):
                if isinstance(answer, CallError):
                    break
                (found,) = answer.responses[0].partition_responses
                error = ErrorCode(found.error_code)
                if error is not NONE:
                    if place == 0 and error in LOST_SEQUENCE:
                        self.world.violated(f"{topic}-{number} refused a batch of {self.name}: {error.name}")
                    break
                offsets.append(int(found.base_offset))
            if len(offsets) == len(batches):
                return offsets
            await asyncio.sleep(0.1 + self.chance.random())


class Committer(SimulatedClient):
    """Commits and reads offsets of groups without members, as a consumer with assigned partitions does.

    `groups` have one coordinator, so that their requests share a connection.
    """

    groups: list[str]
    places: list[tuple[str, int]]

    async def run(self) -> None:
        """Commit, read, and delete now and then."""
        while True:
            await self.find(self.groups[0])
            await self._wire(self.coordinator, "")
            acts = [self._act() for _ in range(self.chance.choice((1, 1, 2, IN_FLIGHT)))]
            for found in await asyncio.gather(*acts, return_exceptions=True):
                if isinstance(found, BaseException):
                    raise found
            await asyncio.sleep(0.05 + self.chance.random() * 0.8)

    async def _act(self) -> None:
        act, group = self.chance.random(), self.chance.choice(self.groups)
        if act < 0.7:
            await self._commit(group)
        elif act < 0.95:
            await self._read(group)
        else:
            await self._delete(group)

    async def _commit(self, group: str) -> None:
        name = self.history.name()
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        writes = []
        for topic, number in self.chance.sample(self.places, self.chance.randint(1, len(self.places))):
            offset = self.chance.randrange(1000)
            place = Place(group, topic, number)
            writes.append((place, self.history.sent(place, name, offset)))
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(partition_index=number, committed_offset=offset, committed_metadata=name)
            )
        request = OffsetCommitRequest(
            group_id=group,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in topics.items()],
        )
        try:
            answer = await self.call(await self.find(group), request)
        except CallError:
            for _, write in writes:
                self.history.unanswered(write)
            raise
        errors = {
            Place(group, topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }
        for place, write in writes:
            self.history.answered(place, write, errors[place])
        if any(error is not NONE for error in errors.values()):
            self.coordinator = 0
            await asyncio.sleep(0.1)

    async def _read(self, group: str) -> None:
        places = [Place(group, *each) for each in self.places]
        floors = {place: self.history.register(place).floor_s for place in places}
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        answer = (await self.call(await self.find(group), request)).groups[0]
        if answer.error_code:
            self.coordinator = 0
            return
        found = {
            Place(group, topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions
        }
        for place in places:
            each: Any = found.get(place)
            name, offset = ("", -1) if each is None else (each.metadata, each.committed_offset)
            self.history.seen(place, name, offset, floors[place], f"OffsetFetch of {self.name}")

    async def _delete(self, group: str) -> None:
        """Delete one offset, or the whole group."""
        node = await self.find(group)
        some = self.places if self.chance.random() < 0.5 else [self.chance.choice(self.places)]
        name = self.history.name()
        writes = [(Place(group, *each), self.history.sent(Place(group, *each), name, -1)) for each in some]
        request: Any
        if len(some) == len(self.places):
            request = DeleteGroupsRequest(groups_names=[group])
        else:
            topic, number = some[0]
            partitions = [OffsetDeleteRequestPartition(partition_index=number)]
            request = OffsetDeleteRequest(
                group_id=group, topics=[OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
            )
        try:
            answer = await self.call(node, request)
        except CallError:
            for _, write in writes:
                self.history.unanswered(write)
            raise
        if isinstance(request, DeleteGroupsRequest):
            error = ErrorCode(answer.results[0].error_code)
        else:
            error = ErrorCode(answer.error_code or answer.topics[0].partitions[0].error_code)
        for place, write in writes:
            # Nothing to delete is as good as deleted, but a look may come before the commit that made it.
            self.history.answered(place, write, ErrorCode.UNKNOWN_SERVER_ERROR if error is not NONE else NONE)


class Administrator(SimulatedClient):
    """Lists and describes groups."""

    groups: list[str]

    async def run(self) -> None:
        """Look, wait, and look again."""
        while True:
            node = self.chance.choice(list(self.nodes))
            await self.call(node, ListGroupsRequest())
            await self.call(node, DescribeGroupsRequest(groups=self.groups))
            await asyncio.sleep(1 + self.chance.random() * 3)


class Stray(SimulatedClient):
    """A broken program: it sends requests of wrong members and generations, and joins what it does not finish."""

    groups: list[str]

    async def run(self) -> None:
        """Send one wrong request after another."""
        while True:
            group = self.chance.choice(self.groups)
            self.coordinator = 0
            node = await self.find(group)
            generation = self.chance.choice([-1, 0, 1, 2, 5, 2**31 - 1])
            member = self.chance.choice(["", "no-such-member", "x" * 300])
            request: Any = self.chance.choice(
                [
                    HeartbeatRequest(group_id=group, generation_id=generation, member_id=member),
                    SyncGroupRequest(group_id=group, generation_id=generation, member_id=member),
                    LeaveGroupRequest(group_id=group, member_id=member, members=[MemberIdentity(member_id=member)] * 2),
                    JoinGroupRequest(
                        group_id="strays",
                        session_timeout_ms=6_000,
                        rebalance_timeout_ms=6_000,
                        member_id=member,
                        protocol_type=self.chance.choice(["consumer", "connect"]),
                        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\1broken")],
                    ),
                    OffsetCommitRequest(
                        group_id=group,
                        generation_id_or_member_epoch=abs(generation),  # below 0 it would do, if the group is empty
                        member_id=member,
                        topics=[
                            OffsetCommitRequestTopic(
                                name="orders",
                                partitions=[
                                    OffsetCommitRequestPartition(
                                        partition_index=0, committed_offset=99_999, committed_metadata="stray"
                                    )
                                ],
                            )
                        ],
                    ),
                ]
            )
            await self.call(node, request, within_s=60.0, lane="stray")
            await asyncio.sleep(self.chance.random() * 2)
