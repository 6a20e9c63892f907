"""A client that does what clients do, with member ids and generations that the daemon gives it, and changes its frames.

A third of its frames are changed: a field, the version, the API key, the length, some bytes; sent twice, behind the
next one, in pieces, or cut. One request in five is of any API, with random fields.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any, Final

from coordinator.server.api.table import HANDLERS
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.client import decode_response, encode_frame
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from protocol.errors import ProtocolError
from protocol.generate import declared_classes
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.record_batch import build_batch
from tests.fuzz.edits import edited
from tests.fuzz.frame_changes import changed
from tests.fuzz.lines import Lines
from tests.fuzz.messages import change_field, random_message

TOPIC: Final = "orders"
CHANGED: Final = 0.35  # share of the frames that are changed


class Session:
    """One client. `run` does its steps; nothing that the daemon answers is an error of the session."""

    def __init__(self, port: int, chance: Random) -> None:
        self._chance = chance
        self._group = chance.choice(("g0", "g1", "g2", "g0", "g1", "g2", "g3", ""))
        self._instance = chance.choice((None, None, "i0"))
        self._member = ""
        self._generation = -1
        self._correlation = 0
        self._held: bytes = b""  # a frame that is sent behind the next one
        self.lines = Lines(port, chance)
        self.is_served = True  # all frames were of served APIs; others are logged once a minute (`knocks.py`)
        self.answers: Counter[tuple[str, int]] = Counter()  # to frames that were not changed, by API and error

    def run(self, steps: int) -> None:
        planned = [self._api_versions, self._metadata, self._find, self._join, self._join, self._sync, self._heartbeat]
        later = [self._commit, self._commit, self._heartbeat, self._fetch_offsets, self._produce, self._fetch]
        try:
            for number in range(steps):
                kind = self._chance.random()
                if kind < 0.2:
                    self._send(*self._any_request())
                elif number < len(planned) and kind < 0.9:
                    self._send(*planned[number]())
                else:
                    self._send(*self._chance.choice((*later, self._join, self._sync, self._leave))())
        finally:
            self.lines.hang_up_all()

    # -- requests ----------------------------------------------------------------------------------------------------

    def _any_request(self) -> tuple[Any, int]:
        """Return a request of any API with random fields."""
        key, api = self._chance.choice(list(HANDLERS.items()))
        version = self._chance.randint(api.min_version, api.max_version)
        return random_message(declared_classes(ApiKey(key))[0], version, self._chance), version

    def _in_version(self, message: Any) -> tuple[Any, int]:
        api = HANDLERS[codec.api_key_of(message)]
        return message, self._chance.randint(api.min_version, api.max_version)

    def _api_versions(self) -> tuple[Any, int]:
        return self._in_version(ApiVersionsRequest("fuzz", "1"))

    def _metadata(self) -> tuple[Any, int]:
        return self._in_version(MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)]))

    def _find(self) -> tuple[Any, int]:
        return self._in_version(FindCoordinatorRequest(key=self._group, coordinator_keys=[self._group]))

    def _join(self) -> tuple[Any, int]:
        metadata = encode_subscription(Subscription(topics=[TOPIC]), self._chance.randrange(4))
        return self._in_version(
            JoinGroupRequest(
                group_id=self._group,
                session_timeout_ms=self._chance.choice((10, 30_000, 30_000, 30_000)),
                rebalance_timeout_ms=self._chance.choice((10, 50, 30_000)),
                member_id=self._member,
                group_instance_id=self._instance,
                protocol_type="consumer",
                protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name in ("range", "sticky")],
            )
        )

    def _sync(self) -> tuple[Any, int]:
        assignment = encode_assignment(Assignment([TopicPartitions(TOPIC, [0, 1])]), 0)
        return self._in_version(
            SyncGroupRequest(
                group_id=self._group,
                generation_id=self._generation,
                member_id=self._member,
                group_instance_id=self._instance,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[SyncGroupRequestAssignment(self._member, assignment)],
            )
        )

    def _heartbeat(self) -> tuple[Any, int]:
        return self._in_version(HeartbeatRequest(self._group, self._generation, self._member, self._instance))

    def _leave(self) -> tuple[Any, int]:
        identity = MemberIdentity(member_id=self._member, group_instance_id=self._instance)
        return self._in_version(LeaveGroupRequest(self._group, self._member, [identity]))

    def _commit(self) -> tuple[Any, int]:
        return self._in_version(
            commit_request(self._group, self._chance.getrandbits(40), self._member, self._generation)
        )

    def _fetch_offsets(self) -> tuple[Any, int]:
        groups = [OffsetFetchRequestGroup(group_id=self._group, topics=None)]
        return self._in_version(OffsetFetchRequest(group_id=self._group, topics=None, groups=groups))

    def _produce(self) -> tuple[Any, int]:
        batch = build_batch([(b"k", b"v" * self._chance.randrange(100))], timestamp_ms=1_000_000)
        if self._chance.random() < 0.5:
            batch = bytearray(edited(bytes(batch), self._chance))
        data = TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=bytes(batch))])
        return self._in_version(ProduceRequest(acks=self._chance.choice((1, -1, 0)), timeout_ms=500, topic_data=[data]))

    def _fetch(self) -> tuple[Any, int]:
        partition = FetchPartition(
            partition=0, fetch_offset=self._chance.choice((0, 1, 10**9)), partition_max_bytes=9_999
        )
        topic = FetchTopic(topic=TOPIC, partitions=[partition])
        return self._in_version(FetchRequest(max_wait_ms=20, min_bytes=1, max_bytes=99_999, topics=[topic]))

    # -- frames ------------------------------------------------------------------------------------------------------

    def _send(self, message: Any, version: int) -> None:
        """Send a request, perhaps changed, and take what its answer tells."""
        self._correlation += 1
        is_changed = self._chance.random() < CHANGED
        if is_changed and self._chance.random() < 0.4:
            change_field(message, version, self._chance)
        try:
            frame = encode_frame(message, version, self._correlation, self._chance.choice((None, "fuzz", "é" * 40)))
        except ProtocolError:
            return  # a version that cannot carry what was chosen
        data, is_served = changed(frame, self._chance) if is_changed else (frame, True)
        self.is_served = self.is_served and is_served
        if self._held:
            data, self._held = data + self._held, b""
        elif is_changed and self._chance.random() < 0.1:
            self._held = data
            return
        answer = self._exchange(data)
        if answer and not is_changed:
            self._learn(codec.api_key_of(message), version, answer)

    def _exchange(self, data: bytes) -> bytes:
        """Send bytes, and return the first answer; empty if there is none soon."""
        self.lines.send(0, data)
        frames = self.lines.answers(0)
        if not frames and self._chance.random() < 0.3:
            self.lines.hang_up(0)
        return frames[0] if frames else b""

    def _learn(self, key: int, version: int, frame: bytes) -> None:
        """Take member id and generation from an answer. One to an earlier request may have come instead."""
        with suppress(ProtocolError):
            correlation_id, answer = decode_response(key, version, frame)
            if correlation_id == self._correlation and key == ApiKey.JOIN_GROUP:
                self._member, self._generation = answer.member_id, answer.generation_id
            self.answers[ApiKey(key).name, getattr(answer, "error_code", 0)] += 1


def commit_request(
    group: str, offset: int, member: str = "", generation: int = -1, *, topic: str = TOPIC
) -> OffsetCommitRequest:
    partitions = [OffsetCommitRequestPartition(index, offset, committed_metadata="m") for index in range(2)]
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=partitions)],
    )
