"""A group member made of raw requests: every step of the protocol is the test's own decision.

It keeps what a client must keep (member id, generation, assignment) and does what a client must do on the codes of an
ordinary life (79: join again with the id given). Everything else is returned for the test to judge.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.support.wire import Wire

TopicPartition = tuple[str, int]


def encoded_assignment(partitions: Iterable[TopicPartition], user_data: bytes | None = None) -> bytes:
    """An assignment blob as consumers write it, version 0."""
    by_topic: dict[str, list[int]] = {}
    for topic, index in partitions:
        by_topic.setdefault(topic, []).append(index)
    assigned = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in by_topic.items()]
    return encode_assignment(Assignment(assigned_partitions=assigned, user_data=user_data), 0)


class GroupMember:
    """One member of one group on one connection. Several members may share a connection if they take turns."""

    def __init__(
        self,
        wire: Wire,
        group: str,
        topics: Sequence[str],
        *,
        session_timeout_ms: int = 30_000,
        rebalance_timeout_ms: int = 30_000,
        instance_id: str | None = None,
        protocol: str = "range",
    ) -> None:
        self.wire = wire
        self.group = group
        self.topics = list(topics)
        self.session_timeout_ms = session_timeout_ms
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.instance_id = instance_id
        self.protocol = protocol
        self.member_id = ""
        self.generation = -1
        self.is_leader = False
        self.members: list[str] = []  # all member ids, as the leader is told
        self.assignment: frozenset[TopicPartition] = frozenset()
        self.user_data: bytes | None = None  # what the leader put beside the assignment

    def __repr__(self) -> str:
        return f"<GroupMember {self.member_id or '?'} of {self.group} in {self.generation}>"

    def join_request(self) -> JoinGroupRequest:
        metadata = encode_subscription(Subscription(topics=self.topics), 0)
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self.protocol, metadata=metadata)],
        )

    async def join(self, *, within_s: float = 60.0) -> ErrorCode:
        """JoinGroup until it is answered with something else than the request to use an id."""
        response = await self.wire.request(self.join_request(), 7, within_s=within_s)
        if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            response = await self.wire.request(self.join_request(), 7, within_s=within_s)
        return self.joined(response)

    def joined(self, response: JoinGroupResponse) -> ErrorCode:
        """Take over what a JoinGroup answer says."""
        if response.error_code == ErrorCode.NONE:
            self.member_id = response.member_id
            self.generation = response.generation_id
            self.is_leader = response.leader == response.member_id
            self.members = [each.member_id for each in response.members]
        return ErrorCode(response.error_code)

    def sync_request(
        self, assignments: Mapping[str, Iterable[TopicPartition]] | None = None, user_data: bytes | None = None
    ) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=self.protocol,
            assignments=[
                SyncGroupRequestAssignment(member_id=member_id, assignment=encoded_assignment(partitions, user_data))
                for member_id, partitions in (assignments or {}).items()
            ],
        )

    async def sync(
        self,
        assignments: Mapping[str, Iterable[TopicPartition]] | None = None,
        user_data: bytes | None = None,
        *,
        within_s: float = 60.0,
    ) -> ErrorCode:
        response = await self.wire.request(self.sync_request(assignments, user_data), 5, within_s=within_s)
        if response.error_code == ErrorCode.NONE:
            decoded = decode_assignment(response.assignment)
            owned = decoded.assigned_partitions
            self.assignment = frozenset((each.topic, index) for each in owned for index in each.partitions)
            self.user_data = decoded.user_data
        return ErrorCode(response.error_code)

    def heartbeat_request(self) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    async def heartbeat(self) -> ErrorCode:
        response = await self.wire.request(self.heartbeat_request(), 4)
        return ErrorCode(response.error_code)

    async def notices_a_rebalance(self, *, within_s: float = 20.0) -> None:
        """Heartbeat until the coordinator asks to join again."""
        async with asyncio.timeout(within_s):
            while (code := await self.heartbeat()) is ErrorCode.NONE:
                pass
        assert code is ErrorCode.REBALANCE_IN_PROGRESS, code

    def commit_request(self, offsets: Mapping[TopicPartition, int], metadata: str | None = "") -> OffsetCommitRequest:
        by_topic: dict[str, list[OffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            by_topic.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=index, committed_offset=offset, committed_metadata=metadata
                )
            )
        return OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in by_topic.items()],
        )

    async def commit(self, offsets: Mapping[TopicPartition, int], metadata: str | None = "") -> ErrorCode:
        """Commit; the one error code of all partitions."""
        response = await self.wire.request(self.commit_request(offsets, metadata), 8)
        (code,) = {each.error_code for topic in response.topics for each in topic.partitions}
        return ErrorCode(code)

    async def leave(self) -> ErrorCode:
        member = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        response = await self.wire.request(LeaveGroupRequest(group_id=self.group, members=[member]), 4)
        return ErrorCode(response.error_code or response.members[0].error_code)


async def alone_in_group(wire: Wire, group: str, topic: str, partitions: int = 1) -> GroupMember:
    """A member that is alone in its group and owns all of the topic."""
    member = GroupMember(wire, group, [topic])
    assert await member.join() is ErrorCode.NONE
    assert await member.sync({member.member_id: [(topic, index) for index in range(partitions)]}) is ErrorCode.NONE
    return member
