"""The verbs of a test server: what a test sees of groups, and what it makes go wrong.

Every coroutine here belongs to the thread of the server. `Coordinator` offers the same verbs to other threads, the HTTP
port offers them to other languages. A verb that changes something returns when the change is made; what clients make of
it takes its time, and is awaited with `wait_stable` or `wait_committed`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeVar

from coordinator.core.group.forced import ExpireMember, ForceRebalance
from coordinator.core.group.state import STABLE
from coordinator.core.transactions.commands import TimeOutTransaction
from coordinator.server.faults import ANY, Action, Fault
from coordinator.testing.errors import (
    CoordinatorTestingError,
    GroupLoadingError,
    NotInTimeError,
    UnknownGroupError,
    UnknownMemberError,
    check_fired,
    check_reached,
)
from coordinator.testing.transaction_stages import StageTrigger, stage_of
from protocol.api_keys import ApiKey
from protocol.consumer import decode_assignment
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch

if TYPE_CHECKING:
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from coordinator.testing.host import ServerHost

T = TypeVar("T")
TopicPartition = tuple[str, int]
Payload = bytes | str | None

LOOK_S: Final = 0.001  # between two looks at what is awaited
TIMEOUT_S: Final = 10.0
LONGEST_ADVANCE_S: Final = 31 * 24 * 3600
LONGEST_S: Final = 3600
PRODUCE_TIMEOUT_MS: Final = 10_000
RIVAL_TIMEOUT_MS: Final = 10_000  # of the transactions of a producer that takes the place of another one
LOGIN_APIS: Final = frozenset(
    {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
)  # of which a connection has its own table


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a group, as the coordinator knows it."""

    member_id: str
    client_id: str
    instance_id: str | None
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group, as the coordinator knows it."""

    group: str
    state: str
    generation: int
    members: tuple[MemberView, ...]


class Verbs:
    """The verbs on one server."""

    def __init__(self, host: ServerHost) -> None:
        self._host = host

    # -- addresses ------------------------------------------------------------------------------------------------

    async def addresses(self) -> dict[str, str]:
        """Return the addresses of all listeners, host:port, by the name of the listener (PLAINTEXT if it has none)."""
        return self._host.addresses

    # -- topics, records, commits --------------------------------------------------------------------------------

    async def create_topics(self, topics: Mapping[str, int]) -> None:
        """Create topics with these numbers of partitions. One that exists with that number is left as it is."""
        wanted = {name: count for name, count in topics.items() if self._partitions(name) != count}
        request = CreateTopicsRequest(
            topics=[
                CreatableTopic(name=name, num_partitions=count, replication_factor=1, assignments=[], configs=[])
                for name, count in wanted.items()
            ],
            timeout_ms=PRODUCE_TIMEOUT_MS,
        )
        for result in (await self._host.call(request)).topics if wanted else ():
            if result.error_code:
                error = ErrorCode(result.error_code).name
                raise CoordinatorTestingError(
                    f"topic {result.name!r} cannot be created: {error} ({result.error_message or 'no details'})"
                )

    async def produce(self, topic: str, values: Iterable[Payload], *, partition: int = 0, key: Payload = None) -> int:
        """Append records to a partition. Returns the offset of the first one."""
        now_ms = time.time_ns() // 1_000_000
        batch = bytes(build_batch([(_bytes(key), _bytes(value)) for value in values], timestamp_ms=now_ms))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=PRODUCE_TIMEOUT_MS,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=self._topic_id(topic),
                    partition_data=[PartitionProduceData(index=partition, records=batch)],
                )
            ],
        )
        (done,) = (await self._host.call(request)).responses[0].partition_responses
        if done.error_code:
            error = ErrorCode(done.error_code).name
            raise CoordinatorTestingError(
                f"{topic}-{partition} takes no records: {error} ({done.error_message or '-'})"
            )
        return int(done.base_offset)

    async def committed(self, group: str) -> dict[TopicPartition, int]:
        """Return the committed offsets of a group; empty if it has none.

        Raises:
            GroupLoadingError: the node loads the group; `wait_committed` goes on.
        """
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        (found,) = (await self._host.call(request)).groups
        if found.error_code:
            kind = (
                GroupLoadingError
                if found.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                else CoordinatorTestingError
            )
            raise kind(f"the offsets of {group!r} cannot be read: {ErrorCode(found.error_code).name}")
        return {
            (topic.name, each.partition_index): each.committed_offset
            for topic in found.topics
            for each in topic.partitions
        }

    # -- groups --------------------------------------------------------------------------------------------------

    async def groups(self) -> list[str]:
        """Return the ids of all groups."""
        return sorted(self._host.runtime.core.groups)

    async def describe(self, group: str) -> GroupView:
        """Return what a group is now."""
        return _view(self._group(group))

    async def explain(self, group: str) -> str:
        """Say in words what a group is now, why, and what its last rebalances were."""
        from coordinator.explain.rules import explain  # late, because few tests ask for it

        runtime = self._host.runtime
        story = runtime.core.story(group, runtime.now_ms())
        if story is None:
            raise self._unknown_group(group)
        return "\n".join([*(each.sentence for each in explain(story)), *(event.text() for event in story.events)])

    async def rebalance(self, group: str, *, reason: str = "a test asked for it") -> None:
        """Have all members of a group join again."""
        error = await self._host.ask_core(ForceRebalance(group, reason))
        if error is ErrorCode.GROUP_ID_NOT_FOUND:
            raise self._unknown_group(group)
        _check(error, f"group {group!r} cannot be rebalanced")

    async def kick(self, member: str, *, group: str = "") -> None:
        """Remove a member, as an administrator does. It learns this from its next request: UNKNOWN_MEMBER_ID.

        `member`: its member id, instance id or client id.
        """
        found_group, found = self._member(member, group)
        left = await self._host.call(
            LeaveGroupRequest(
                group_id=found_group.group_id,
                members=[
                    MemberIdentity(
                        member_id=found.member_id, group_instance_id=found.group_instance_id, reason="kicked by a test"
                    )
                ],
            )
        )
        _check(ErrorCode(left.error_code or left.members[0].error_code), f"{member!r} cannot be removed")

    async def expire(self, member: str, *, group: str = "") -> None:
        """End the session of a member, as if it had been silent. It learns this from its next request."""
        found_group, found = self._member(member, group)
        command = ExpireMember(found_group.group_id, found.member_id)
        _check(
            await self._host.ask_core(command),
            f"{member!r} has no session to end: it has asked to join, and waits for the others",
        )

    async def fence(self, instance: str, *, group: str = "") -> None:
        """Have another process take the place of a static member, which hears FENCED_INSTANCE_ID from then on."""
        found_group, found = self._member(instance, group)
        if found.group_instance_id is None:
            raise UnknownMemberError(
                f"{instance!r} is a dynamic member of {found_group.group_id!r}, which cannot be fenced; give its "
                "client a group.instance.id, or use kick()"
            )
        from protocol.messages.join_group import JoinGroupRequestProtocol

        joined = await self._host.call(
            JoinGroupRequest(
                group_id=found_group.group_id,
                session_timeout_ms=found.session_timeout_ms,
                rebalance_timeout_ms=found.rebalance_timeout_ms,
                member_id="",
                group_instance_id=found.group_instance_id,
                protocol_type=found.protocol_type,
                protocols=[JoinGroupRequestProtocol(name=name, metadata=data) for name, data in found.protocols],
                reason="a test fences its predecessor",
            )
        )
        _check(ErrorCode(joined.error_code), f"{instance!r} cannot be fenced")

    async def wait_stable(self, group: str, *, members: int | None = None, timeout: float = TIMEOUT_S) -> GroupView:
        """Wait until a group is Stable and every member has its assignment.

        `members`: also until it has that many. `timeout`: seconds.
        """

        def stable() -> GroupView | None:
            found = self._host.runtime.core.groups.get(group)
            if found is None or found.state is not STABLE or found.pending_sync:
                return None
            if members is not None and len(found.members) != members:
                return None
            return _view(found)

        async def seen() -> str:
            found = self._host.runtime.core.groups.get(group)
            if found is None:
                return str(self._unknown_group(group))
            count = len(found.members)
            return f"it is {found.state.value} with {count} member{'s' * (count != 1)}. {await self.explain(group)}"

        wanted = "Stable" if members is None else f"Stable with {members} member{'s' * (members != 1)}"
        return await self._wait(stable, timeout, f"group {group!r} is {wanted}", seen)

    async def wait_committed(
        self, group: str, topic: str, offset: int, *, partition: int | None = None, timeout: float = TIMEOUT_S
    ) -> dict[TopicPartition, int]:
        """Wait until a group has committed `offset` or more: in one partition, or in all of a topic together."""
        latest: dict[TopicPartition, int] = {}
        deadline = time.monotonic() + timeout
        while True:
            with contextlib.suppress(GroupLoadingError):
                latest = {
                    where: each
                    for where, each in (await self.committed(group)).items()
                    if where[0] == topic and partition in (None, where[1])
                }
            if sum(latest.values()) >= offset:
                return latest
            if time.monotonic() >= deadline:
                where = topic if partition is None else f"{topic}-{partition}"
                raise NotInTimeError(
                    f"not within {timeout:g} s: group {group!r} has committed {offset} in {where}; "
                    f"it has {latest or 'none'}"
                )
            await asyncio.sleep(LOOK_S)

    # -- transactions --------------------------------------------------------------------------------------------

    async def fence_producer(self, transactional_id: str) -> None:
        """Have another producer take a transactional id. Its open transaction is aborted.

        The one that had it hears PRODUCER_FENCED or INVALID_PRODUCER_EPOCH from then on.
        """
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=RIVAL_TIMEOUT_MS)
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            error = ErrorCode((await self._host.call(request)).error_code)
            if error is not ErrorCode.CONCURRENT_TRANSACTIONS or time.monotonic() > deadline:
                _check(error, f"{transactional_id!r} cannot be taken")
                return
            await asyncio.sleep(LOOK_S)

    async def expire_transaction(self, transactional_id: str) -> None:
        """Abort an open transaction, as if it had been open for longer than its timeout. Its producer is fenced."""
        _check(
            await self._host.ask_transactions(TimeOutTransaction(transactional_id)),
            f"{transactional_id!r} has no transaction that could time out",
        )

    async def crash_at(self, stage: str, transactional_id: str = ANY, *, times: int = 1, down: float = 0.0) -> None:
        """Crash when a transaction is at a stage for the `times`th time from now, and start again.

        Returns at once. `stage`: ProducerId, Partitions, Records, Offsets, PrepareCommit, PrepareAbort, Markers,
        CompleteCommit or CompleteAbort. What it says is in the log then, and the request is not answered.
        `transactional_id` may have wildcards.
        """
        _check_seconds(down)
        self.at_stage(stage, transactional_id, lambda _: self._host.crash_now(down), times=times)

    def at_stage(self, stage: str, transactional_id: str, act: Callable[[str], None], *, times: int = 1) -> None:
        """Call `act` with the transactional id when a transaction is at a stage, before the server goes on."""
        if times < 1:
            raise CoordinatorTestingError(f"times={times}: it is 1 or more")
        self._host.stages.add(StageTrigger(stage_of(stage), transactional_id, times, act))

    # -- faults --------------------------------------------------------------------------------------------------

    async def fail_next(self, api: str, error: str, times: int = 1, *, client: str = ANY, group: str = ANY) -> Fault:
        """Answer the next requests of an API with an error, unhandled. `client` and `group` may have wildcards."""
        return self._add(Fault(Action.FAIL, api_of(api), times, client, group, error=error_of_name(error)))

    async def delay(self, api: str, ms: int, times: int = 1, *, client: str = ANY, group: str = ANY) -> Fault:
        """Handle the next requests of an API `ms` later. times=0: all of them."""
        return self._add(Fault(Action.DELAY, api_of(api), times, client, group, delay_ms=ms))

    async def lose_reply(self, api: str, times: int = 1, *, client: str = ANY, group: str = ANY) -> Fault:
        """Handle the next requests of an API, and close the connection instead of answering."""
        return self._add(Fault(Action.LOSE_REPLY, api_of(api), times, client, group))

    async def drop_connection(self, client: str = ANY) -> int:
        """Close the connections of a client now. Returns how many there were."""
        connections = [each for each in self._host.runtime.connections.all() if fnmatchcase(each.client_id, client)]
        for connection in connections:
            connection.close("a test drops it", quiet=True)
        if not connections:
            raise CoordinatorTestingError(f"no client {client!r} is connected; `client` is its client.id")
        return len(connections)

    async def list_faults(self) -> list[Fault]:
        """Return the faults that were not removed, with how often each has fired."""
        return self._host.faults.all()

    async def check_faults(self) -> None:
        """Raise an error if a fault was asked for that no request, or no transaction, has met."""
        check_fired(self._host.faults.all())
        check_reached(self._host.stages.waiting)

    async def clear_faults(self) -> None:
        """Take all faults back."""
        self._host.faults.clear()

    async def remove_fault(self, fault: Fault | int) -> None:
        """Take a fault back, by itself or its number. It fires no more, and is not missed if it never fired."""
        for each in self._host.faults.all():
            if each is fault or each.number == fault:
                self._host.faults.remove(each)
                return
        raise CoordinatorTestingError(f"there is no fault {fault}")

    async def move_coordinator(self, group: str) -> int:
        """Move the coordinator of a group to another node, where its members find it again. Returns the node id."""
        return await self._host.move_coordinator(group)

    async def pause(self, seconds: float) -> None:
        """Have the server do nothing for some time, as a stopped process does. Returns when that has begun."""
        _check_seconds(seconds)
        task = asyncio.current_task()
        assert task is not None
        task.add_done_callback(lambda _: time.sleep(seconds))  # behind the answer of this verb, before any request

    async def loading(self, group: str, seconds: float) -> None:
        """Have all groups of this one's partition answer COORDINATOR_LOAD_IN_PROGRESS for some time.

        Returns when that has begun.
        """
        _check_seconds(seconds)
        runtime = self._host.runtime
        partition = runtime.core.partition_for(group)
        if not await runtime.load_again(partition, seconds):
            raise CoordinatorTestingError(f"group {group!r} is being loaded already; wait until that is over")

    async def advance(self, seconds: float) -> None:
        """Let time go forward at once: sessions, rebalances and retention that end within `seconds` end now.

        31 days at most: the loop does not serve anything else meanwhile.
        """
        if not 0 <= seconds <= LONGEST_ADVANCE_S:
            raise CoordinatorTestingError(
                f"time goes forward by 0 to {LONGEST_ADVANCE_S} s at a time, not by {seconds}"
            )
        self._host.runtime.skip(int(seconds * 1000))

    async def restart(self, down: float = 0.0) -> None:
        """Stop and start the server, at the same address and with its data. `down`: seconds between the two."""
        _check_seconds(down)
        await self._host.restart(down)

    async def crash(self, down: float = 0.0) -> None:
        """Have the server end without a goodbye, and start again. `down`: seconds between the two."""
        _check_seconds(down)
        await self._host.crash(down)

    # -- internal ------------------------------------------------------------------------------------------------

    def _add(self, fault: Fault) -> Fault:
        if fault.api in LOGIN_APIS:
            raise CoordinatorTestingError(
                f"{fault.api.name} is a part of a login, and a login meets no fault; use drop_connection or pause"
            )
        try:
            return self._host.faults.add(fault)
        except ValueError as error:
            raise CoordinatorTestingError(str(error)) from None

    def _partitions(self, topic: str) -> int:
        found = self._host.runtime.topics.catalogue.topics.get(topic)
        return 0 if found is None else len(found.partitions)

    def _topic_id(self, topic: str) -> bytes:
        found = self._host.runtime.topics.catalogue.topics.get(topic)
        if found is None:
            topics = self._host.runtime.topics.catalogue.topics.values()
            known = ", ".join(sorted(each.name for each in topics if not each.is_internal)) or "none"
            raise CoordinatorTestingError(f"there is no topic {topic!r}; there are: {known}. create_topics() makes one")
        return found.topic_id

    def _group(self, group: str) -> Group:
        found = self._host.runtime.core.groups.get(group)
        if found is None:
            raise self._unknown_group(group)
        return found

    def _unknown_group(self, group: str) -> UnknownGroupError:
        known = ", ".join(sorted(self._host.runtime.core.groups)) or "none"
        return UnknownGroupError(f"there is no group {group!r} with members; there are: {known}")

    def _member(self, name: str, group: str) -> tuple[Group, Member]:
        """Find a member by its member id, its instance id or its client id."""
        groups: Sequence[Group] = [self._group(group)] if group else list(self._host.runtime.core.groups.values())
        found = [
            (each, member)
            for each in groups
            for member in each.members.values()
            if name in (member.member_id, member.group_instance_id, member.client_id)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(member.member_id for _, member in found)
            raise UnknownMemberError(f"{len(found)} members are called {name!r}; give a member id: {names}")
        known = ", ".join(member.client_id for each in groups for member in each.members.values()) or "none"
        raise UnknownMemberError(
            f"no member has the member id, instance id or client id {name!r}; client ids of members: {known}"
        )

    async def _wait(self, look: Callable[[], T | None], timeout: float, what: str, seen: Any) -> T:
        deadline = time.monotonic() + timeout
        while (found := look()) is None:
            if time.monotonic() >= deadline:
                raise NotInTimeError(f"not within {timeout:g} s: {what}; {await seen()}")
            await asyncio.sleep(LOOK_S)
        return found


def _view(group: Group) -> GroupView:
    return GroupView(
        group.group_id,
        group.state.value,
        group.generation,
        tuple(
            MemberView(each.member_id, each.client_id, each.group_instance_id, _partitions_of(each.assignment))
            for each in group.members.values()
        ),
    )


def _partitions_of(assignment: bytes) -> frozenset[TopicPartition]:
    if not assignment:
        return frozenset()
    try:
        decoded = decode_assignment(assignment)
    except ValueError:  # the assignment of a group that is not one of consumers
        return frozenset()
    return frozenset((each.topic, index) for each in decoded.assigned_partitions for index in each.partitions)


def _bytes(value: Payload) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _check(error: ErrorCode, sentence: str) -> None:
    if error is not ErrorCode.NONE:
        raise CoordinatorTestingError(f"{sentence} ({error.name})")


def _check_seconds(seconds: float) -> None:
    if not 0 <= seconds <= LONGEST_S:
        raise CoordinatorTestingError(f"{seconds} s: it takes 0 to {LONGEST_S} s")


def api_of(name: str) -> ApiKey:
    """Return an API by its name in Kafka (JoinGroup) or here (JOIN_GROUP)."""
    wanted = name.replace("_", "").lower()
    for key in ApiKey:
        if key.name.replace("_", "").lower() == wanted:
            return key
    raise CoordinatorTestingError(f"there is no API {name!r}; for example JoinGroup, Heartbeat, OffsetCommit, Fetch")


def error_of_name(name: str) -> ErrorCode:
    try:
        return ErrorCode[name.upper()]
    except KeyError:
        from difflib import get_close_matches

        close = get_close_matches(name.upper(), [each.name for each in ErrorCode], n=3, cutoff=0.3)
        hint = f"similar: {', '.join(close)}" if close else "it takes Kafka's names, for example NOT_COORDINATOR"
        raise CoordinatorTestingError(f"there is no error {name!r}; {hint}") from None
