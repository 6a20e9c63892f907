"""The server's view of a rehearsal: owners of partitions, refused requests, late commits.

A `RehearsalObserver` is a layer of the table of routes (`Routes.add_layer`). It notes; it changes nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.consumer_group.group import ConsumerGroupState
from coordinator.core.group.state import STABLE
from coordinator.rehearse.callbacks import PartitionOwners
from coordinator.rehearse.record import WrongCommit
from coordinator.torture.input import TOPIC
from coordinator.torture.watch import NotingSession, Watch
from protocol.api_keys import ApiKey
from protocol.consumer import decode_assignment, decode_subscription
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError

if TYPE_CHECKING:
    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.effects import Ticket
    from coordinator.server.api.handler import Handle
    from coordinator.server.runtime import Runtime

# Answers to members that are behind: their epoch or generation is an old one, or they were removed.
STALE_ERRORS: Final = frozenset(
    {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.STALE_MEMBER_EPOCH,
    }
)
# A heartbeat that crosses a rebalance has an old generation, and its client goes on.
STALE_HEARTBEAT: Final = STALE_ERRORS - {ErrorCode.ILLEGAL_GENERATION}
PART_OF_A_JOIN: Final = frozenset({ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS})
MOST_NOTED: Final = 1000  # late commits


class RehearsedMember(NamedTuple):
    """A member of the group."""

    member_id: str
    client: str
    uses_consumer_protocol: bool
    is_static: bool


class RehearsalObserver:
    """The notes on one group of one server."""

    def __init__(self, runtime: Runtime, group: str) -> None:
        self._runtime = runtime
        self._group = group
        self._left: set[str] = set()  # members that left by a request
        self.watch = Watch(runtime, group)
        self.owners = PartitionOwners()
        self.assignors: dict[str, None] = {}  # that members of the classic protocol offered, in their order
        self.refused: Counter[tuple[str, str, str]] = Counter()  # client, request, error
        self.refused_joins: dict[str, str] = {}  # by client: the answer to its last attempt
        self.late_commits: list[WrongCommit] = []
        runtime.routes.add_layer(self.see, _SEEN.keys())

    @property
    def epoch(self) -> int:
        """The generation or epoch of the group; -1 if there is no group."""
        core = self._runtime.core
        if (consumer := core.consumer_group_ids.get(self._group)) is not None:
            return consumer.epoch
        classic = core.groups.get(self._group)
        return -1 if classic is None else classic.generation

    @property
    def is_stable(self) -> bool:
        """True if there is nothing that the members have yet to do."""
        core = self._runtime.core
        if (consumer := core.consumer_group_ids.get(self._group)) is not None:
            return consumer.state is ConsumerGroupState.STABLE
        classic = core.groups.get(self._group)
        return classic is not None and classic.state is STABLE and not classic.pending_sync

    def members(self) -> list[RehearsedMember]:
        """Return all members."""
        core = self._runtime.core
        if (consumer := core.consumer_group_ids.get(self._group)) is not None:
            return [
                RehearsedMember(each.member_id, each.client_id, each.classic is None, each.instance_id is not None)
                for each in consumer.members.values()
            ]
        classic = core.groups.get(self._group)
        return [
            RehearsedMember(each.member_id, each.client_id, False, each.group_instance_id is not None)
            for each in (() if classic is None else classic.members.values())
        ]

    def see(self, handle: Handle, node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Note a request, have it handled, and note its answer."""
        if request.group_id != self._group:
            handle(node, request, ticket, now_ms)
            return
        note = _SEEN[ApiKey(ticket.api_key)](self, request, ticket.client_id)
        if note is not None:
            ticket.session = NotingSession(ticket.session, note, request, ticket.client_id)
        handle(node, request, ticket, now_ms)
        self.look()

    def look(self) -> None:
        """Note what the group says of its members."""
        now_s, core = time.monotonic(), self._runtime.core
        consumer = core.consumer_group_ids.get(self._group)
        there: Collection[str] = ()
        if consumer is not None:
            there = consumer.members
            for member in consumer.members.values():
                if member.classic is None:
                    pending = self._numbers(member.pending)
                    owned = self._numbers(member.assigned) | pending
                    self.owners.set(now_s, member.member_id, member.client_id, owned, pending)
        elif (classic := core.groups.get(self._group)) is not None:
            there = classic.members
        for member_id in self.owners.members.difference(there):
            self.owners.gone(now_s, member_id, is_lost=member_id not in self._left)

    # -- requests, each of which returns what notes its answer --------------------------------------------------

    def _joins(self, request: Any, client: str) -> _Note:
        self.assignors.update(dict.fromkeys(each.name for each in request.protocols))
        if request.member_id and request.protocols:
            kept = self._owned(request.protocols[0].metadata) & self.owners.of_member(request.member_id)
            self.owners.set(time.monotonic(), request.member_id, client, kept)
        return self._join_answered

    def _syncs(self, request: Any, client: str) -> _Note:
        return self._sync_answered

    def _heartbeats(self, request: Any, client: str) -> _Note:
        return self._heartbeat_answered

    def _leaves(self, request: Any, client: str) -> None:
        self._left.update([request.member_id, *(each.member_id for each in request.members)])

    def _consumer_heartbeats(self, request: Any, client: str) -> _Note:
        if request.member_epoch == -1:
            self._left.add(request.member_id)
        return self._consumer_heartbeat_answered

    def _commits(self, request: Any, client: str) -> _Note:
        committed = self.watch.committed
        late = {
            each.partition_index: WrongCommit(
                client, each.partition_index, each.committed_offset, committed.get((TOPIC, each.partition_index), -1)
            )
            for topic in request.topics
            if self.watch.name_of(topic) == TOPIC
            for each in topic.partitions
            if self.owners.has_given_up(request.member_id, each.partition_index)
        }

        def answered(request: Any, response: Any, client: str) -> None:
            outcomes = [(topic, each) for topic in response.topics for each in topic.partitions]
            self._note_refused({each.error_code for _, each in outcomes}, client, "OffsetCommit", STALE_ERRORS)
            accepted = {
                each.partition_index
                for topic, each in outcomes
                if not each.error_code and self.watch.name_of(topic) == TOPIC
            }
            self.late_commits += [late[number] for number in late if number in accepted]
            del self.late_commits[MOST_NOTED:]

        return answered

    def _commits_in_transaction(self, request: Any, client: str) -> _Note:
        def answered(request: Any, response: Any, client: str) -> None:
            codes = {each.error_code for topic in response.topics for each in topic.partitions}
            self._note_refused(codes, client, "TxnOffsetCommit", STALE_ERRORS)

        return answered

    # -- answers -------------------------------------------------------------------------------------------------

    def _join_answered(self, request: Any, response: Any, client: str) -> None:
        self._note_join(response, client)

    def _sync_answered(self, request: Any, response: Any, client: str) -> None:
        if response.error_code:
            return
        before = self.owners.of_member(request.member_id)
        given = _of_topic(_decoded(decode_assignment, response.assignment, "assigned_partitions"))
        self.owners.set(time.monotonic(), request.member_id, client, before | given, before - given)

    def _heartbeat_answered(self, request: Any, response: Any, client: str) -> None:
        if response.error_code == ErrorCode.REBALANCE_IN_PROGRESS:
            owned = self.owners.of_member(request.member_id)
            self.owners.set(time.monotonic(), request.member_id, client, owned, owned)
        elif request.member_id not in self._left:
            self._note_refused({response.error_code}, client, "Heartbeat", STALE_HEARTBEAT)

    def _consumer_heartbeat_answered(self, request: Any, response: Any, client: str) -> None:
        if request.member_epoch == 0:
            self._note_join(response, client)
        elif request.member_id not in self._left:
            self._note_refused({response.error_code}, client, "ConsumerGroupHeartbeat", STALE_HEARTBEAT)

    # -- helpers -------------------------------------------------------------------------------------------------

    def _note_join(self, response: Any, client: str) -> None:
        error = ErrorCode(response.error_code)
        if error in PART_OF_A_JOIN:
            self.refused_joins.pop(client, None)
        else:
            message = getattr(response, "error_message", None)
            self.refused_joins[client] = f"{error.name} ({message.rstrip('.')})" if message else error.name

    def _note_refused(self, codes: Iterable[int], client: str, request: str, stale: frozenset[ErrorCode]) -> None:
        for code in codes:
            if code in stale:
                self.refused[client, request, ErrorCode(code).name] += 1

    def _owned(self, metadata: bytes) -> frozenset[int]:
        return _of_topic(_decoded(decode_subscription, metadata, "owned_partitions"))

    def _numbers(self, assignment: Assignment) -> frozenset[int]:
        topic = self._runtime.topics.catalogue.topics.get(TOPIC)
        return frozenset() if topic is None else frozenset(assignment.get(topic.topic_id, ()))


def _decoded(decode: Callable[[bytes], Any], data: bytes, field: str) -> Iterable[Any]:
    try:
        return getattr(decode(data), field) or ()
    except ProtocolError:  # an assignor with a format of its own
        return ()


def _of_topic(topics: Iterable[Any]) -> frozenset[int]:
    return frozenset(number for each in topics if each.topic == TOPIC for number in each.partitions)


_Note = Callable[[Any, Any, str], None]
_SEEN: Final[dict[ApiKey, Callable[[RehearsalObserver, Any, str], _Note | None]]] = {
    ApiKey.JOIN_GROUP: RehearsalObserver._joins,
    ApiKey.SYNC_GROUP: RehearsalObserver._syncs,
    ApiKey.HEARTBEAT: RehearsalObserver._heartbeats,
    ApiKey.LEAVE_GROUP: RehearsalObserver._leaves,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: RehearsalObserver._consumer_heartbeats,
    ApiKey.OFFSET_COMMIT: RehearsalObserver._commits,
    ApiKey.TXN_OFFSET_COMMIT: RehearsalObserver._commits_in_transaction,
}
