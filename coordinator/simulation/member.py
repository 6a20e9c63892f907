"""Members of consumer groups as Kafka's clients are: they join, sync, heartbeat, fetch, commit, and react to errors.

The reactions are those of the Java client (`ConsumerCoordinator`, `AbstractCoordinator`). Heartbeats have a connection
of their own task, as there. What kind of member it is, is a row of `KINDS`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.group.state import STABLE
from coordinator.simulation.client import CallError, SimulatedClient
from coordinator.simulation.history import Place, Write
from protocol.api_keys import ApiKey
from protocol.consumer import (
    Assignment,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_protocol import TopicPartitions
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.record_batch import iter_batches, read_records

if TYPE_CHECKING:
    import random

    from coordinator.simulation.history import History
    from coordinator.simulation.loop import SimulatedLoop
    from coordinator.simulation.node import SimulatedNode
    from coordinator.simulation.world import World

SESSIONS_MS: Final = (6_000, 10_000)
REBALANCE_MS: Final = 12_000
HEARTBEAT_S: Final = 1.0
POLLS_LEFT_OUT: Final = 100  # after which partitions without an owner get one, once all faults have ended
JOIN_ANSWER_S: Final = 30.0  # more than the rebalance timeout and the longest session
NONE: Final = ErrorCode.NONE


class Behaviour(NamedTuple):
    """The behaviour of a member."""

    software: str = "apache-kafka-java"
    is_static: bool = False
    is_cooperative: bool = False
    is_slow: bool = False  # it works for long between two polls, and assigns and rejoins late
    is_zombie: bool = False  # it stands still for longer than its session, and sends requests of its last generation
    is_mute: bool = False  # it joins and sends heartbeats, and no SyncGroup
    leaves: bool = False  # it leaves and comes back now and then


KINDS: Final = {
    "dynamic": Behaviour(),
    "static": Behaviour(is_static=True),
    "cooperative": Behaviour(is_cooperative=True),
    "static-cooperative": Behaviour(is_static=True, is_cooperative=True),
    "slow": Behaviour(is_slow=True),
    "zombie": Behaviour(is_zombie=True),
    "static-zombie": Behaviour(is_static=True, is_zombie=True),
    "mute": Behaviour(is_mute=True),
    "coming-and-going": Behaviour(leaves=True),
    "librdkafka": Behaviour(software="librdkafka"),
    "old": Behaviour(software="old"),
}


class RejoinError(Exception):
    """The member has to join again. `forgets`: under a new member id."""

    def __init__(self, reason: str, *, forgets: bool = False) -> None:
        super().__init__(reason)
        self.forgets = forgets


class FencedError(Exception):
    """Another process has the group.instance.id: the client ends with an error."""


class SimulatedMember(SimulatedClient):
    """One member of a group."""

    def __init__(
        self,
        world: World,
        history: History,
        nodes: dict[int, SimulatedNode],
        loop: SimulatedLoop,
        chance: random.Random,
        *,
        group: str,
        kind: Behaviour,
        topics: dict[str, int],
        owner_of: Any,
    ) -> None:
        super().__init__(world, history, nodes, loop, chance)
        self.software = kind.software
        self.group = group
        self.kind = kind
        self.instance_id = self.name if kind.is_static else None
        if kind.is_static:
            for key, least in _STATIC_VERSIONS.items():
                self.versions[key] = max(self.versions[key], least)
        self.member_id = ""
        self.generation = -1
        self.assignment: list[tuple[str, int]] = []
        self.is_member = False  # it has an assignment of the current generation, as far as it knows
        self.is_out = False  # it has left, and is not back
        self.is_fenced = False  # it has ended, because another process took its place
        self.session_ms = chance.choice(SESSIONS_MS)
        self.positions: dict[tuple[str, int], int] = {}
        # Old ones do not tell the generation: then a process that replaces another one starts no rebalance.
        self._subscription_version = 2 if kind.is_cooperative else chance.choice((0, 2))
        self._left_out = False  # as the leader it assigned some partitions to no member, because one still owns them
        self._topics = topics
        self._owner_of = owner_of
        self._trouble: Exception | None = None  # found by the heartbeats
        self._heartbeats: asyncio.Task[None] | None = None

    @property
    def identity(self) -> str:
        """The id under which its assignment stays its own."""
        return self.instance_id or self.member_id

    async def run(self) -> None:
        """Be a member until something goes wrong; then join again, as long as the process lives."""
        while True:
            try:
                await self._join()
                await self._sync()
                await self._read_committed()
                await self._consume()
                return
            except RejoinError as error:
                self.world.note(f"{self.name} rejoins: {error}")
                if error.forgets:
                    self._forget()
                await asyncio.sleep(0.02 + self.chance.random() * 0.1)
            except FencedError:
                self._forget()
                self.is_fenced = True
                self.world.note(f"{self.name} ends: it is fenced")
                return
            except CallError:
                self.is_member = False
                raise
            finally:
                self._stop_heartbeats()

    def _forget(self) -> None:
        self.member_id = ""
        self.generation = -1
        self.assignment = []
        self.is_member = False

    # -- joining -------------------------------------------------------------------------------------------------

    async def _join(self) -> None:
        self.is_member = False
        if self.kind.is_slow and self.chance.random() < 0.3:
            await asyncio.sleep(self.chance.random() * REBALANCE_MS / 1000)
        owned = _by_topic(self.assignment) if self.kind.is_cooperative else []
        subscription = encode_subscription(
            Subscription(topics=list(self._topics), owned_partitions=owned, generation_id=self.generation),
            self._subscription_version,
        )
        node = await self.find(self.group)
        newest = self.history.synced.get(self.group, -1)
        sent_s = self.world.now_s
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_ms,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=self._protocol, metadata=subscription)],
            reason="simulated",
        )
        if self.member_id and self.chance.random() < 0.1:
            self.loop.create_task(self._join_once_more(node, request))
        before = self._stable_generation(node)
        answer = await self.call(node, request, within_s=JOIN_ANSWER_S)
        error = ErrorCode(answer.error_code)
        if error is ErrorCode.GROUP_MAX_SIZE_REACHED:
            now = self._stable_generation(node)
            if self.member_id and now is not None:
                raise FencedError  # its operator sees that another process has its place, and does not start it again
            if before is not None and before == now:
                self.world.violated(f"{self.name} is refused by {self.group}, which is full with it (KAFKA-20601)")
            raise RejoinError(error.name, forgets=True)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            raise RejoinError("it was given its member id")
        self._react(error)
        self._check_unfenced(sent_s, "a JoinGroup")
        if self.instance_id is not None:
            self.history.held(self.group, self.instance_id, answer.member_id, answer.generation_id, sent_s)
        self.member_id = answer.member_id
        self.generation = answer.generation_id
        others = [each.group_instance_id or each.member_id for each in answer.members]
        self.history.joined(self.group, self.generation, self.identity, others, newest)
        self._members = {each.member_id: each.metadata for each in answer.members}

    def _stable_generation(self, number: int) -> tuple[int, int] | None:
        """Return what tells a Stable generation with this static member; None if its group is not Stable with it."""
        node = self.nodes[number]
        group = node.runtime.core.groups.get(self.group) if node.runtime is not None and node.is_ready else None
        if group is None or group.state is not STABLE or self.instance_id not in group.static_members:
            return None
        return node.starts, group.generation

    async def _join_once_more(self, node: int, request: JoinGroupRequest) -> None:
        """Send a JoinGroup over another connection too, as a retry does. Each of the two must be answered."""
        with suppress(CallError):
            await self.call(node, request, within_s=JOIN_ANSWER_S, lane="once more")

    @property
    def _protocol(self) -> str:
        return "cooperative-sticky" if self.kind.is_cooperative else "range"

    async def _sync(self) -> None:
        if late_s := self._late_s():
            self._heartbeats = self.loop.create_task(self._heartbeat())
            await asyncio.sleep(late_s)
            self._stop_heartbeats()
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        self._left_out = False
        shares = self._assign() if self._members else {}
        sent_s = self.world.now_s
        answer = await self.call(
            await self.find(self.group),
            SyncGroupRequest(
                group_id=self.group,
                generation_id=self.generation,
                member_id=self.member_id,
                group_instance_id=self.instance_id,
                protocol_type="consumer",
                protocol_name=self._protocol,
                assignments=[
                    SyncGroupRequestAssignment(member_id=member, assignment=encode_assignment(Assignment(share), 1))
                    for member, share in shares.items()
                ],
            ),
            within_s=JOIN_ANSWER_S,
        )
        self._react(ErrorCode(answer.error_code))
        self._check_unfenced(sent_s, "a SyncGroup")
        found = decode_assignment(answer.assignment).assigned_partitions if answer.assignment else []
        before, self.assignment = self.assignment, [(each.topic, index) for each in found for index in each.partitions]
        self.history.assigned(
            self.group, self.generation, self.identity, answer.assignment, self.assignment, honest=True
        )
        self.is_member = True
        self._trouble = None
        self._heartbeats = self.loop.create_task(self._heartbeat())
        lost = set(before) - set(self.assignment)
        if self.kind.is_cooperative and lost:
            raise RejoinError("it gave up partitions, which others get in the next round")

    def _late_s(self) -> float:
        """Return how long it waits before its SyncGroup. The assignor of a leader may have to ask for metadata."""
        if self.kind.is_mute and self.chance.random() < 0.3 and not self.history.is_calm:
            return self.chance.random() * 20
        if self.chance.random() < (0.6 if self.kind.is_slow else 0.3 if self._members else 0.0):
            return self.chance.random() * 11
        return 0.0

    def _assign(self) -> dict[str, list[TopicPartitions]]:
        """Assign as the leader: each partition to one member. A cooperative one moves none that another still owns."""
        members = list(self._members)
        shares: dict[str, list[tuple[str, int]]] = {member: [] for member in members}
        places = [(topic, number) for topic, count in self._topics.items() for number in range(count)]
        owners: dict[tuple[str, int], str] = {}
        newest: dict[tuple[str, int], int] = {}
        for member, metadata in self._members.items():
            subscription = decode_subscription(metadata)
            for each in subscription.owned_partitions:
                for number in each.partitions:
                    if subscription.generation_id > newest.get((each.topic, number), -2):
                        newest[each.topic, number] = subscription.generation_id
                        owners[each.topic, number] = member
        for number, place in enumerate(places):
            wanted = members[number % len(members)]
            owner = owners.get(place, wanted) if self.kind.is_cooperative else wanted
            if owner == wanted:
                shares[wanted].append(place)
            else:
                self._left_out = True
        return {member: _by_topic(share) for member, share in shares.items()}

    async def _read_committed(self) -> None:
        """Ask for the committed offsets, which are the positions from which it reads."""
        if not self.assignment:
            return
        places = [Place(self.group, *each) for each in self.assignment]
        floors = {place: self.history.register(place).floor_s for place in places}
        while True:
            topics = [
                OffsetFetchRequestTopics(name=each.topic, partition_indexes=each.partitions)
                for each in _by_topic(self.assignment)
            ]
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=self.group, topics=topics)])
            answer = (await self.call(await self.find(self.group), request)).groups[0]
            error = ErrorCode(answer.error_code)
            if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                await asyncio.sleep(0.1)
                continue
            self._react(error)
            break
        for topic in answer.topics:
            for each in topic.partitions:
                place = Place(self.group, topic.name, each.partition_index)
                self.history.seen(
                    place, each.metadata or "", each.committed_offset, floors[place], f"OffsetFetch of {self.name}"
                )
                self.positions[topic.name, each.partition_index] = max(each.committed_offset, 0)

    # -- heartbeats ----------------------------------------------------------------------------------------------

    async def _heartbeat(self) -> None:
        generation = self.generation
        while True:
            await asyncio.sleep(HEARTBEAT_S * (0.8 + 0.4 * self.chance.random()))
            newest = self.history.synced.get(self.group, -1)
            sent_s, error = self.world.now_s, NONE
            try:
                answer = await self.call(
                    await self.find(self.group),
                    HeartbeatRequest(
                        group_id=self.group,
                        generation_id=generation,
                        member_id=self.member_id,
                        group_instance_id=self.instance_id,
                    ),
                    lane="heartbeat",
                )
                error = ErrorCode(answer.error_code)
                if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                    continue
                if error is NONE:
                    self._beat_in(generation, newest, sent_s)
                    self._check_unfenced(sent_s, "a Heartbeat")
                self._react(error)
            except CallError:
                self.coordinator = 0  # the session decides
            except RejoinError as trouble:
                self._trouble = trouble
                if error is not ErrorCode.REBALANCE_IN_PROGRESS:
                    return
            except FencedError as trouble:
                self._trouble = trouble
                return

    def _stop_heartbeats(self) -> None:
        if self._heartbeats is not None:
            self._heartbeats.cancel()
            self._heartbeats = None

    # -- consuming -----------------------------------------------------------------------------------------------

    async def _consume(self) -> None:
        polls = 0
        while True:
            if self._trouble is not None and not (self.kind.is_zombie and self.chance.random() < 0.5):
                trouble, self._trouble = self._trouble, None
                raise trouble
            if self.kind.is_slow and self.chance.random() < (0.005 if self.history.is_calm else 0.05):
                await asyncio.sleep(self.chance.random() * 18)
            if self.kind.is_zombie and not self.history.is_calm:
                if self.chance.random() < 0.01:
                    self.world.note(f"{self.name} stands still")
                    self.loop.pause(self.session_ms / 1000 * (1 + self.chance.random()))
                elif self.chance.random() < 0.1:
                    await self._haunt()
            if self.kind.leaves and (self.chance.random() < 0.01 or self.history.is_calm):
                await self._leave()
                await asyncio.sleep(self.chance.random() * 10)
                if self.history.is_calm:
                    return  # for good: the others must get its partitions
                self.is_out = False
                raise RejoinError("it comes back", forgets=True)
            await self._poll()
            polls += 1
            self._check_left_out(polls)
            if polls % 2 == 0 and self.assignment:
                await self._commit()
            # One Fetch brings a segment at most: in the end it catches up.
            await asyncio.sleep(0.05 if self.history.is_calm else 0.1 + 0.9 * self.chance.random())

    def _check_left_out(self, polls: int) -> None:
        """Rejoin as the leader if partitions still have no owner. Kafka's clients wait for the next rebalance.

        Their last owner was replaced by a process that owns nothing, and so gives up nothing and does not rejoin.
        """
        if self._left_out and self.history.is_calm and polls >= POLLS_LEFT_OUT:
            raise RejoinError("partitions have no owner")

    async def _poll(self) -> None:
        """Fetch from one partition."""
        if not self.assignment:
            return
        topic, number = self.chance.choice(self.assignment)
        position = self.positions.get((topic, number), 0)
        request = FetchRequest(
            max_wait_ms=100,
            min_bytes=1,
            topics=[
                FetchTopic(
                    topic=topic,
                    partitions=[FetchPartition(partition=number, fetch_offset=position, partition_max_bytes=1 << 20)],
                )
            ],
        )
        answer = await self.call(self._owner_of(topic, number), request, lane="fetch")
        for found in answer.responses:
            for each in found.partitions:
                if each.error_code:
                    await asyncio.sleep(0.1)
                elif each.records:
                    self.positions[topic, number] = self._read(topic, number, position, each.records)

    def _read(self, topic: str, number: int, position: int, data: bytes) -> int:
        produced = self.history.produced.get((topic, number), {})
        for at, header in iter_batches(data):
            for record in read_records(data, at, header):
                if record.offset < position:
                    continue
                wanted = produced.get(record.offset)
                place = topic, number, record.offset
                if (first := self.history.read.setdefault(record.value or b"", place)) != place:
                    self.world.violated(f"{record.value!r} is at {first} and at {place}: it was written twice")
                if record.offset != position or (wanted is not None and wanted.encode() != record.value):
                    self.world.violated(
                        f"{self.name} read {record.value!r} at {topic}-{number} {record.offset}, where {wanted} at "
                        f"{position} is due"
                    )
                position = record.offset + 1
        return position

    def _beat_in(self, generation: int, newest: int, sent_s: float) -> None:
        """Check a heartbeat that was good. A node that loads its groups answers so to all of them, as Kafka does."""
        node = self.nodes.get(self.coordinator)
        if node is not None and not node.was_loading(self.group, sent_s):
            self.history.beat_in(self.group, generation, self.name, newest)

    def _check_unfenced(self, sent_s: float, what: str) -> None:
        node = self.nodes.get(self.coordinator)
        if self.instance_id is not None and node is not None and node.is_ready:
            self.history.unfenced(self.group, self.instance_id, self.member_id, sent_s, what)

    async def _haunt(self) -> None:
        """Send a Heartbeat and a commit of the generation before, which a slow connection might have kept back."""
        newest = self.history.synced.get(self.group, -1)
        request = HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation - 1,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        node, sent_s = await self.find(self.group), self.world.now_s
        answer = await self.call(node, request)
        if answer.error_code == NONE:
            self._beat_in(self.generation - 1, newest, sent_s)
        await self._commit(self.generation - 1)

    async def _commit(self, generation: int | None = None) -> None:
        generation = self.generation if generation is None else generation
        history, name = self.history, self.history.name()
        writes: list[tuple[Place, Write]] = []
        newest = history.synced.get(self.group, -1)
        sent_s = self.world.now_s
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for topic, number in self.assignment:
            position = self.positions.get((topic, number), 0)
            place = Place(self.group, topic, number)
            writes.append((place, history.sent(place, name, position)))
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(partition_index=number, committed_offset=position, committed_metadata=name)
            )
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=each) for topic, each in topics.items()],
        )
        try:
            answer = await self.call(await self.find(self.group), request)
        except (CallError, asyncio.CancelledError):
            for _, write in writes:
                history.unanswered(write)
            raise
        errors = {
            Place(self.group, topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in answer.topics
            for each in topic.partitions
        }
        for place, write in writes:
            history.answered(place, write, errors[place])
            if errors[place] is NONE:
                history.committed_in(self.group, generation, self.name, newest)
                self._check_unfenced(sent_s, "a commit")
        for error in errors.values() if generation == self.generation else ():
            if error not in (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REBALANCE_IN_PROGRESS):
                self._react(error)

    async def _leave(self) -> None:
        answer = await self.call(
            await self.find(self.group),
            LeaveGroupRequest(
                group_id=self.group,
                member_id=self.member_id,
                members=[MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id, reason="done")],
            ),
        )
        self._react(ErrorCode(answer.error_code))
        self.is_out = True
        self._forget()
        self._stop_heartbeats()

    def _react(self, error: ErrorCode) -> None:
        """Raise what a client does about an error."""
        if error is NONE:
            return
        if error in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT):
            self.coordinator = 0
            raise RejoinError(f"{error.name}") if not self.is_member else CallError(error.name)
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            raise RejoinError(error.name, forgets=error is ErrorCode.UNKNOWN_MEMBER_ID)
        if error is ErrorCode.FENCED_INSTANCE_ID:
            raise FencedError
        raise RejoinError(error.name)


_STATIC_VERSIONS: Final = {  # the first with a group.instance.id
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 3,
    ApiKey.HEARTBEAT: 3,
    ApiKey.LEAVE_GROUP: 3,
    ApiKey.OFFSET_COMMIT: 7,
}


def _by_topic(places: list[tuple[str, int]]) -> list[TopicPartitions]:
    found: dict[str, list[int]] = {}
    for topic, number in places:
        found.setdefault(topic, []).append(number)
    return [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in found.items()]
