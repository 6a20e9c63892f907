"""Members of KIP-848 groups that outlive their server: each goes on where it was, at whichever server has the log.

A member sends one heartbeat at a time and does what it is told: it gives up, confirms, and takes over. So does a member
of the classic protocol in a mixed group, which rejoins when a heartbeat tells it to. `settle` lets all of them go on
until each has its target. An answer with an error that a client cannot go on from fails the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from protocol.consumer import Assignment as ClassicAssignment
from protocol.consumer import Subscription, TopicPartitions, decode_assignment, encode_assignment, encode_subscription
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.consumer_group_heartbeat import TopicPartitions as OwnedPartitions
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.conformance.exchange import SESSION_MS
from tests.support.eventually import eventually
from tests.support.wire import call

REBALANCE_MS: Final = 600_000
AWAY: Final = -2
REBALANCE_IN_PROGRESS: Final = 27
MEMBER_ID_REQUIRED: Final = 79


@dataclass
class Member:
    """A client of the consumer protocol."""

    group: str
    member_id: str
    topics: tuple[str, ...] = ()
    regex: str = ""
    instance: str | None = None
    epoch: int = 0
    owned: dict[bytes, list[int]] = field(default_factory=dict)  # by topic id
    confirmed: dict[bytes, list[int]] = field(default_factory=dict)  # what the server was told last

    def join(self, port: int) -> None:
        """Join, or come back as a new process: with nothing."""
        self.epoch, self.owned, self.confirmed = 0, {}, {}
        self._send(
            port,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=list(self.topics),
            subscribed_topic_regex=self.regex or None,
            topic_partitions=[],
        )

    def beat(self, port: int) -> None:
        """Send the heartbeat that a client sends next: what it owns, if the server does not know that yet."""
        owned = [OwnedPartitions(topic_id=each, partitions=some) for each, some in self.owned.items()]
        self._send(port, topic_partitions=None if self.owned == self.confirmed else owned)

    def leave(self, port: int, epoch: int = -1) -> None:
        self.epoch, self.owned = epoch, {}
        self._send(port)

    def _send(self, port: int, **more: Any) -> None:
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance,
            **more,
        )
        told = {topic_id: list(some) for topic_id, some in self.owned.items()}
        answer = call(port, request, 1)
        assert answer.error_code == 0, f"{self.group}/{self.member_id} at {self.epoch}: {answer}"
        self.epoch, self.confirmed = answer.member_epoch, told
        if answer.assignment is not None:
            parts = answer.assignment.topic_partitions
            self.owned = {each.topic_id: sorted(each.partitions) for each in parts if each.partitions}

    def commit(self, port: int, topic: str, partition: int, offset: int) -> None:
        """Commit with the member epoch, as a member does."""
        commit_as(port, self.group, self.member_id, self.epoch, topic, partition, offset, self.instance)


@dataclass
class ClassicMember:
    """A client of the classic protocol, the only one of its group when it joins first."""

    group: str
    topics: tuple[str, ...]
    member_id: str = ""
    generation: int = -1
    given: dict[str, list[int]] = field(
        default_factory=dict
    )  # what it gives to itself as the leader of a classic group
    owned: dict[str, list[int]] = field(default_factory=dict)  # by topic name

    def join(self, port: int) -> None:
        """Join and sync."""
        parts = [TopicPartitions(topic, some) for topic, some in self.owned.items()]
        subscription = Subscription(topics=list(self.topics), owned_partitions=parts)
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=encode_subscription(subscription, 3))],
        )
        answer = call(port, request, 9)
        if answer.error_code == MEMBER_ID_REQUIRED:
            request.member_id = answer.member_id
            answer = call(port, request, 9)
        assert answer.error_code == 0, answer
        self.member_id, self.generation = answer.member_id, answer.generation_id
        assignments = []
        if answer.leader == answer.member_id and answer.members:
            listed = [TopicPartitions(topic, some) for topic, some in self.given.items()]
            data = encode_assignment(ClassicAssignment(assigned_partitions=listed), 3)
            assignments = [SyncGroupRequestAssignment(member_id=self.member_id, assignment=data)]
        synced = call(
            port,
            SyncGroupRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=assignments,
            ),
            5,
        )
        assert synced.error_code == 0, synced
        found = decode_assignment(synced.assignment).assigned_partitions
        self.owned = {each.topic: sorted(each.partitions) for each in found if each.partitions}

    def beat(self, port: int) -> None:
        """Send a heartbeat, and join again if it says so."""
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id)
        error = call(port, request, 4).error_code
        if error == REBALANCE_IN_PROGRESS:
            self.join(port)
        else:
            assert error == 0, f"{self.group}/{self.member_id} in {self.generation}: {error}"

    def leave(self, port: int) -> None:
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.member_id)])
        assert call(port, request, 5).members[0].error_code == 0

    def commit(self, port: int, topic: str, partition: int, offset: int) -> None:
        commit_as(port, self.group, self.member_id, self.generation, topic, partition, offset)


def commit_as(
    port: int,
    group: str,
    member_id: str,
    epoch: int,
    topic: str,
    partition: int,
    offset: int,
    instance: str | None = None,
) -> None:
    one = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=f"by {member_id}"
    )
    request = OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        group_instance_id=instance,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=[one])],
    )
    answer = call(port, request, 9)
    assert [each.error_code for each in answer.topics[0].partitions] == [0], answer


def settle(port: int, members: Sequence[Member | ClassicMember]) -> None:
    """Let the members of a group go on until it is Stable."""

    def is_stable() -> bool:
        for member in members:
            member.beat(port)
        request = ConsumerGroupDescribeRequest(group_ids=[members[0].group], include_authorized_operations=False)
        (described,) = call(port, request, 1).groups
        return bool(described.group_state == "Stable")

    eventually(is_stable, f"the group {members[0].group} is Stable")
