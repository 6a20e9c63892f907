"""The group coordinator: events in, effects out.

It has four inputs: a request (`handle`), the time (`advance_clock`), a durable append (`appended`) and a failed append
(`append_failed`). Each call runs to its end and returns `Effects`; the coordinator performs no I/O, reads no clock and
draws no random numbers. `next_deadline_ms` is the time of the next timer. Other calls load a partition, report a
deleted topic, and end the process. This module finds the partition and group of a request, or the error that refuses
it. `core.group` (members, rebalances) and `core.offsets` (commits, deletion, expiration, recovery) do the rest.

An exception in one group does not affect others: its request gets UNKNOWN_SERVER_ERROR, its partition is unloaded and
is to be loaded again from the log (`take_broken_partitions`), and `take_faults` returns the traceback.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.committed_rows import Row, committed_rows
from coordinator.core.consumer_group.classic_members import ClassicMembers
from coordinator.core.consumer_group.describe import (
    DescribeConsumerGroups,
)
from coordinator.core.consumer_group.describe import (
    refused as consumer_group_refused,
)
from coordinator.core.consumer_group.group import ConsumerGroupState
from coordinator.core.consumer_group.groups import ConsumerGroupHeartbeat, ConsumerGroups
from coordinator.core.consumer_group.heartbeat import refused as heartbeat_refused
from coordinator.core.consumer_group.heartbeat_template import ConsumerHeartbeatTemplate
from coordinator.core.consumer_group.live_state import live_state as live_consumer_state
from coordinator.core.consumer_group.owners import member_owners
from coordinator.core.consumer_group.topics import NO_TOPICS
from coordinator.core.context import Context, InvariantError
from coordinator.core.effects import Effects, Ticket
from coordinator.core.events.model import AnyEvent, Story, shortened
from coordinator.core.events.owners import OwnersAnswer
from coordinator.core.events.recorder import FlightRecorder
from coordinator.core.group.checks import check_session_timeout, check_strings
from coordinator.core.group.counters import Counters
from coordinator.core.group.creation import CreateGroup
from coordinator.core.group.describe import DescribeGroups, describe_error, describe_groups, list_groups
from coordinator.core.group.figures import list_figures
from coordinator.core.group.forced import ExpireMember, ForceRebalance, expire_member, force_rebalance
from coordinator.core.group.heartbeat import HeartbeatTemplate, heartbeat
from coordinator.core.group.join import JoinGroup, join
from coordinator.core.group.leave import leave, leave_unknown_group
from coordinator.core.group.live_state import live_state
from coordinator.core.group.owner_records import owners_of
from coordinator.core.group.parked_heartbeat import Release
from coordinator.core.group.progress import requester_of
from coordinator.core.group.records import empty_group_record
from coordinator.core.group.responses import join_error, sync_error
from coordinator.core.group.state import STABLE, GroupState
from coordinator.core.group.sync import sync
from coordinator.core.last_polls import LastPoll, record_last_poll
from coordinator.core.loading import LoadedState, sessions_of, start_sessions
from coordinator.core.offsets.commit import (
    OFFSET_COMMIT,
    TXN_OFFSET_COMMIT,
    CommitWithoutEpochs,
    ResponseTypes,
    build_response,
    commit,
    refused_commit,
    split,
)
from coordinator.core.offsets.commit_template import CommitTemplate, RepeatedCommit, commit_repeated
from coordinator.core.offsets.deleted_topics import forget_topic, forget_topics_of_loaded, is_forgetting_many
from coordinator.core.offsets.deletion import delete_groups, delete_offsets
from coordinator.core.offsets.fetch import fetch_offsets
from coordinator.core.offsets.markers import write_markers
from coordinator.core.offsets.pending import pending_offsets
from coordinator.core.offsets.scan import schedule_scan
from coordinator.core.pending_markers import markers_refused
from coordinator.core.registry import GroupRegistry
from coordinator.core.repeated_heartbeat import RepeatedHeartbeat
from coordinator.core.shard import ANSWERED_AT_ONCE, PartitionState, Shard
from coordinator.core.timers import GroupTimers
from coordinator.core.totals import Totals
from coordinator.core.waiting_request import WaitingRequest
from coordinator.core.work import Steps
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.describe_groups import DescribeGroupsResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from protocol.messages.list_group_figures import ListGroupFiguresRequest, ListGroupFiguresResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponseGroup
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest, TxnOffsetCommitResponse
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.consumer_group.assignors.interface import ConsumerGroupPartitionAssignor
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.group.group import Group
    from coordinator.core.group.read_twice import TakeReadUpTo
    from coordinator.core.offsets.quarantine import QuarantinedGroup

# Timers run by one call of `advance_clock`. The rest is due at once, and other events may run in between.
MAX_TIMERS_PER_EVENT: Final = 250
LOOP_JOINS: Final = 4  # of one client within LOOP_WITHIN_MS, the present one included
LOOP_WITHIN_MS: Final = 300_000
MAX_OFFSET: Final = 2**63 - 1
UNLOADED_AT_ONCE: Final = 1000  # groups, if there is nothing to answer or to free
NONE: Final = ErrorCode.NONE


class GroupCoordinator:
    """Coordinator of the groups of one node, with all their partitions and timers."""

    def __init__(
        self,
        config: Config,
        *,
        partitions: int,
        new_member_uuid: Callable[[], str],
        topic_partition_exists: Callable[[str, int], bool],
        wall_offset_ms: int,
        take_read_up_to: TakeReadUpTo = lambda topic, partition, client_id, client_host: -1,
        on_event: Callable[[AnyEvent], None] = lambda event: None,
        on_too_large: Callable[[str, int], None] = lambda group_id, size: None,
        owns: Callable[[int], bool] = lambda partition: True,
        has_lease: bool = False,
        topics: TopicsImage = NO_TOPICS,
        assignors: Mapping[str, ConsumerGroupPartitionAssignor] = MappingProxyType({}),
        group_configs: Mapping[str, Mapping[str, int]] = MappingProxyType({}),
    ) -> None:
        self.is_suspended = False  # the lease of the partitions has ended: no request is answered
        self._suspensions = 0
        self._has_lease = has_lease
        self.wall_offset_ms = wall_offset_ms  # wall clock minus monotonic clock; the runtime updates it
        self.metrics = Counters()
        self.unknown_records = 0  # records of unknown kinds, found while loading
        self._registry = GroupRegistry(partitions, owns, config.group_max_subscribed_topics)
        self._groups = self._registry.groups
        self._timers = GroupTimers(config)
        self._timers.contain = self._contain
        self.recorder = FlightRecorder(
            config.group_max_rebalance_history,
            config.group_max_events,
            config.max_groups,
            on_event,
            config.group_events_max_alike,
            config.group_owners_max_bytes,
        )
        self._context = Context(
            config,
            self._timers,
            self.metrics,
            new_member_uuid,
            self.recorder,
            on_too_large,
            take_read_up_to,
            group_configs,
        )
        self._config = config
        self._topic_check = topic_partition_exists if config.offsets_commit_topic_check else None
        self._creating: dict[str, CreateGroup] = {}  # groups whose first record is not durable yet
        self._broken: dict[int, None] = {}
        self._faults: list[str] = []
        self.consumer_groups = ConsumerGroups(
            self._registry, self._timers, topics, assignors, is_enabled=config.serves_consumer_protocol
        )
        self._classic_members = ClassicMembers(self.consumer_groups)
        self._topics = topics
        self._handlers = {kind: row.handler(self) for kind, row in _REQUESTS.items()}

    # -- the four inputs -----------------------------------------------------------------------------------------

    def handle(self, request: Any, ticket: Ticket, now_ms: int) -> Effects:
        """Handle a request. Its ticket is replied to, parked, or waits for an append."""
        context = self._begin(now_ms)
        if self.is_suspended:
            context.reply(ticket, _error_response(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return context.effects()
        try:
            self._handlers[type(request)](request, ticket, context)
        except Exception as fault:
            self._contain(fault, _REQUESTS[type(request)].group_ids(request), context)
            if not any(reply.ticket is ticket for reply in context.replies):
                context.reply(ticket, _error_response(request, ErrorCode.UNKNOWN_SERVER_ERROR))
        return self._end(context) if context.too_large else context.effects()

    def advance_clock(self, now_ms: int) -> Effects:
        """Run the timers that are due, MAX_TIMERS_PER_EVENT at most."""
        context = self._begin(now_ms)
        wheel = self._timers.wheel
        wheel.advance(now_ms)
        for _ in range(MAX_TIMERS_PER_EVENT):
            operation = wheel.pop_due()
            if operation is None:
                break
            try:
                operation.timer_fired(now_ms, context)
            except Exception as fault:
                self._contain(fault, _group_id_of(operation), context, getattr(operation, "shard", None))
        return self._end(context)

    def appended(self, partition: int, high_watermark: int, now_ms: int, at_most: int = MAX_OFFSET) -> Effects:
        """Apply the appends below `high_watermark`, which are durable: about `at_most` records in one call.

        Further calls apply the rest (`is_behind`). Other events may run in between, since no client has an answer yet.
        """
        shard = self._registry.partitions[partition]
        context = self._begin(now_ms)
        if shard.in_flight:
            high_watermark = min(high_watermark, shard.in_flight[0].last_offset + at_most)
        try:
            while (append := shard.take_durable(high_watermark)) is not None:
                group = append.group
                if group is None:
                    append.durable(context)
                    continue
                group.in_flight -= 1
                if append.writes_group:
                    group.record_offset = append.last_offset
                append.durable(context)
                if not group.in_flight:
                    self._check_waiting(("group", group.group_id), context)
            self._check_waiting(("partition", partition), context)
        except Exception as fault:
            self._contain(fault, (), context, shard)
        return self._end(context) if context.too_large else context.effects()

    def is_behind(self, partition: int, high_watermark: int) -> bool:
        """Return whether an append below `high_watermark` has not been applied yet."""
        in_flight = self._registry.partitions[partition].in_flight
        return bool(in_flight) and in_flight[0].last_offset < high_watermark

    def append_failed(self, partition: int, from_offset: int, error: ErrorCode, now_ms: int) -> Effects:
        """Fail the appends from `from_offset` on, which are not in the log. The next append takes that offset.

        If they are very many, they are answered in steps (`work`).
        """
        shard = self._registry.partitions[partition]
        context = self._begin(now_ms)
        is_failing = bool(shard.failed)
        shard.fail(from_offset, error)
        if not is_failing:
            self._timers.in_turns(self._answer_failed(shard, context), shard, context)
        return self._end(context)

    def _answer_failed(self, shard: Shard, context: Context) -> Steps:
        failed = shard.failed
        while failed:
            for _ in range(min(ANSWERED_AT_ONCE, len(failed))):
                append, error = failed.popleft()
                if append.group is not None:
                    append.group.in_flight -= 1
                append.failed(error, context)
                if append.group is not None and not append.group.in_flight:
                    self._check_waiting(("group", append.group.group_id), context)
            if failed:
                yield None
        self._check_waiting(("partition", shard.partition), context)

    @property
    def has_work(self) -> bool:
        """True if work that is split into steps is due: call `work`, with other events in between."""
        return self._timers.work.is_due

    def work(self, now_ms: int) -> Effects:
        """Run one step of the work that is too long for one event."""
        context = self._begin(now_ms)
        self._timers.work.step(context)
        return self._end(context)

    @property
    def has_new_deadline(self) -> bool:
        """True if `next_deadline_ms` may be earlier than at its last call."""
        return self._timers.wheel.has_new_deadline

    @property
    def is_troubled(self) -> bool:
        """True if there are faults or broken partitions to be taken."""
        return bool(self._faults or self._broken)

    def next_deadline_ms(self) -> int | None:
        """Return the latest time for the next call of `advance_clock`; None if no timer is armed."""
        return self._timers.wheel.next_deadline_ms()

    # -- other events --------------------------------------------------------------------------------------------

    def topic_partitions_deleted(self, topic: str, partitions: Iterable[int], now_ms: int) -> Effects:
        """Delete the committed offsets of a topic, or of some of its partitions, that was deleted."""
        context = self._begin(now_ms)
        self._registry.topics_gone += 1
        forget_topic(self._registry, self._timers, topic, frozenset(partitions), context)
        return self._end(context)

    def is_forgetting_many(self) -> bool:
        """Return whether max.topics deleted topics or more wait for a search of the groups: delete no more."""
        return is_forgetting_many(self._registry, self._config.max_topics)

    def stop_background(self) -> None:
        """End the work that no request waits for: a stop begins."""
        self._timers.work.cancel_background()
        self._registry.deleted_topics.clear()

    def shutdown(self, now_ms: int) -> Effects:
        """Unload all partitions at the end of the process. Parked requests get NOT_COORDINATOR (clients retry).

        It takes steps if there is much (`work`). Background work ends, and that of requests is completed.
        """
        context = self._begin(now_ms)
        self._registry.is_down = True
        self.stop_background()
        self._timers.in_turns(self._unload_all(context), None, context)
        return self._end(context)

    def _unload_all(self, context: Context) -> Steps:
        groups = 0
        for shard in self._registry.partitions:
            groups += len(shard.groups)
            yield from shard.unload(PartitionState.NOT_OWNED, ErrorCode.NOT_COORDINATOR, context)
            if groups >= UNLOADED_AT_ONCE:
                groups = 0
                yield None
        self._timers.appends.check_all(context)

    def suspend(self, now_ms: int) -> Effects:
        """Answer no request until `resume`: another node may serve the partitions by now.

        Requests that wait for an append, their own or another one, are answered as timed out. Joins stay parked, and
        no deadline passes, because the clock of the node is halted meanwhile.
        """
        context = self._begin(now_ms)
        self.is_suspended = True
        self._suspensions += 1
        self._timers.in_turns(self._time_out_appends(context), None, context)
        return self._end(context)

    def _time_out_appends(self, context: Context) -> Steps:
        for shard in self._registry.partitions:
            while shard.time_out_appends(MAX_OFFSET, context) is not None:
                yield None
        self._timers.appends.complete_all(context)

    def resume(self) -> None:
        """Answer requests again: the lease was renewed before another node took a partition."""
        self.is_suspended = False

    # -- loading and unloading -----------------------------------------------------------------------------------

    def given_up(self, partition: int, now_ms: int) -> Effects:
        """Unload a partition, because another node serves it. Requests that wait get NOT_COORDINATOR."""
        shard = self._registry.partitions[partition]
        context = self._begin(now_ms)
        self._broken.pop(partition, None)
        try:
            if shard.state is PartitionState.ACTIVE:
                self._unload(shard, context)
        finally:  # whatever breaks, another node may serve it now
            shard.state = PartitionState.NOT_OWNED
        shard.deleted_topics.clear()
        return self._end(context)

    def load_begin(self, partition: int) -> None:
        """Unload a partition whose log will be read. The next event replies to the requests that were parked there."""
        shard = self._registry.partitions[partition]
        if shard.state is PartitionState.ACTIVE:
            self._unload(shard, self._context)
        shard.state = PartitionState.LOADING

    def loaded(self, partition: int, loaded_state: LoadedState, next_offset: int, now_ms: int) -> Effects:
        """Activate a partition with the groups and offsets of its log, read since `load_begin`. All sessions restart.

        The groups in `loaded_state` were made for the shard of `partition`.
        """
        shard = self._registry.partitions[partition]
        context = self._begin(now_ms)
        self._timers.wheel.advance(now_ms)
        self.unknown_records += loaded_state.unknown
        shard.state = PartitionState.ACTIVE
        shard.quarantine = loaded_state.quarantine
        shard.next_offset = next_offset
        shard.loaded_at_ms = context.wall_ms
        shard.install(loaded_state.groups, loaded_state.by_state, loaded_state.with_members, loaded_state.offsets)
        shard.install_consumer_groups(loaded_state.consumer_groups)
        consumer_groups = list(loaded_state.consumer_groups.values())
        sessions = chain(
            sessions_of(shard, loaded_state.with_members, context),
            self.consumer_groups.start_sessions(consumer_groups, context),
        )
        start_sessions(shard, self._timers, sessions, context)
        schedule_scan(shard, self._timers, context)
        forget_topics_of_loaded(shard, self._registry, self._timers, context)
        return self._end(context)

    def load_failed(self, partition: int) -> None:
        """Mark a partition as failed, because its log cannot be read or decoded."""
        shard = self._registry.partitions[partition]
        shard.state = PartitionState.FAILED

    # -- templates of heartbeats and commits ---------------------------------------------------------------------

    def heartbeat_template(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation: int
    ) -> HeartbeatTemplate | None:
        """Return a template of a Heartbeat that succeeded, for the next one with the same bytes."""
        group = None if self.is_suspended else self._groups.get(group_id)
        return None if group is None else HeartbeatTemplate.of(group, member_id, group_instance_id, generation)

    def consumer_heartbeat_template(
        self, command: ConsumerGroupHeartbeat, ticket: Ticket, now_ms: int
    ) -> ConsumerHeartbeatTemplate | None:
        """Return a template of a ConsumerGroupHeartbeat that changed nothing, for the next one with the same bytes."""
        if self.is_suspended:
            return None
        return ConsumerHeartbeatTemplate.of(self.consumer_groups, command, ticket, self._begin(now_ms))

    def park_heartbeat(self, template: RepeatedHeartbeat, ticket: Ticket, now_ms: int) -> WaitingRequest | None:
        """Renew the session and keep a repeated heartbeat for a later answer. None: it must be handled in full."""
        return template.park(ticket, self._begin(now_ms))

    def release(self, parked: WaitingRequest, now_ms: int) -> Effects:
        """Answer a request that waits, unless it was answered, because its connection has received more bytes."""
        context = self._begin(now_ms)
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if self.is_suspended else None
        parked.release(Release.NEXT_BYTES, context, error)
        return context.effects()

    def drop(self, parked: WaitingRequest) -> None:
        """Forget a request that waits, because its connection has ended."""
        parked.drop(Release.CONNECTION_LOST, self.metrics)

    def is_in_transaction(self, group_id: str, producer_id: int, producer_epoch: int) -> bool:
        """Return whether a producer has an open transaction in the partition of a group, so that none has to be asked.

        That is so from its first TxnOffsetCommit there until the marker. Afterwards, and after the partition was
        loaded, the transaction coordinator is asked.
        """
        shard = self._registry.partitions[self._registry.partition_of(group_id)]
        return shard.producers.get(producer_id, -1) == producer_epoch

    def may_commit(self, request: TxnOffsetCommitRequest) -> bool:
        """Return False if a TxnOffsetCommit is refused for its group or its topics, whatever its transaction is."""
        _, accepted = split(request.topics, self._topic_check)
        return bool(accepted) and self._refusal(request.group_id) is NONE

    def refused_commit(self, request: TxnOffsetCommitRequest, error: ErrorCode) -> TxnOffsetCommitResponse:
        """Return the answer to a TxnOffsetCommit whose transaction is not what it should be."""
        response: TxnOffsetCommitResponse = refused_commit(TXN_OFFSET_COMMIT, request.topics, self._topic_check, error)
        return response

    def commit_template(self, request: OffsetCommitRequest) -> CommitTemplate | None:
        """Return a template of an OffsetCommit that succeeded, for later ones that differ in the offsets only."""
        return CommitTemplate.of(self._registry, request, self._topic_check, self._config.offset_metadata_max_bytes)

    # -- queries -------------------------------------------------------------------------------------------------

    def committed_rows(self, partition: int, below_offset: int) -> Iterator[list[Row]] | None:
        """Yield the state in memory from records below an offset; None if this node does not serve the partition."""
        shard = self._registry.partitions[partition]
        return committed_rows(shard, below_offset) if shard.state is PartitionState.ACTIVE else None

    @property
    def is_down(self) -> bool:
        return self._registry.is_down

    @property
    def groups(self) -> dict[str, Group]:
        """All groups by id. The caller must not change it."""
        return self._groups

    @property
    def consumer_group_ids(self) -> dict[str, ConsumerGroup]:
        """All KIP-848 groups by id. The caller must not change it."""
        return self._registry.consumer_groups

    def consumer_groups_by_state(self) -> dict[str, int]:
        """Count the KIP-848 groups by the name of their state."""
        counts = dict.fromkeys((state.value for state in ConsumerGroupState), 0)
        for group in list(self._registry.consumer_groups.values()):
            counts[group.state.value] += 1
        return counts

    @property
    def group_count(self) -> int:
        return self._registry.group_count

    @property
    def groups_by_state(self) -> dict[GroupState, int]:
        """Live numbers of groups. The caller must not change it."""
        return self._registry.groups_by_state

    @property
    def offset_count(self) -> int:
        return self._registry.totals.offsets

    @property
    def totals(self) -> Totals:
        """The sums over all groups. The caller must not change them."""
        return self._registry.totals

    @property
    def partitions_by_state(self) -> dict[str, int]:
        counts = dict.fromkeys((state.value for state in PartitionState), 0)
        for shard in self._registry.partitions:
            counts[shard.state.value] += 1
        return counts

    @property
    def quarantined_groups(self) -> int:
        return sum(len(shard.quarantine.groups) for shard in self._registry.partitions)

    @property
    def quarantined_records(self) -> int:
        return sum(shard.quarantine.record_count for shard in self._registry.partitions)

    @property
    def appends_in_flight(self) -> int:
        return sum(len(shard.in_flight) for shard in self._registry.partitions)

    def story(self, group_id: str, now_ms: int) -> Story | None:
        """Return all that is known of a group, for `groups explain`; None if nothing is known."""
        context = self._begin(now_ms)
        group = self._groups.get(group_id)
        events = self.recorder.events(shortened(group_id))
        state = None
        if group is not None:
            state = live_state(group, context)
        elif (consumer_group := self._registry.consumer_groups.get(group_id)) is not None:
            state = live_consumer_state(consumer_group, self._topics, self.consumer_groups.names, context)
        if state is None and not events:
            return None
        if state is not None:
            state.pending_offsets = pending_offsets(self._registry.shard_of(group_id).offsets, group_id)
        return Story(at_ms=context.wall_ms, state=state, events=events)

    def last_polled(self, told: LastPoll, now_ms: int) -> None:
        """Take a client's word about its last poll into the events of its group."""
        group = self._groups.get(told.group_id) or self._registry.consumer_groups.get(told.group_id)
        record_last_poll(told, group, self._begin(now_ms))

    def owners(self, group_id: str, now_ms: int) -> OwnersAnswer:
        """Return who owned which partitions of a group, for the console."""
        context = self._begin(now_ms)
        answer = owners_of(group_id, self._groups.get(group_id), context)
        consumer_group = self._registry.consumer_groups.get(group_id)
        return member_owners(group_id, consumer_group, answer.generations, self._topics, context)

    def throttle_ms(self, request: JoinGroupRequest, ticket: Ticket, now_ms: int) -> int:
        """Return for how long a client that joins in a loop is told to wait; 0 for all others.

        Only a JoinGroup is throttled that gets its member id (from version 4 on), or that takes the place of a static
        member of a Stable group: so no rebalance waits for a throttled SyncGroup.
        """
        throttle_ms = self._config.group_loop_throttle_ms
        if not throttle_ms or request.member_id:
            return 0
        if request.group_instance_id is not None:
            group = self._groups.get(request.group_id)
            if group is None or group.state is not STABLE or request.group_instance_id not in group.static_members:
                return 0
        client = requester_of(ticket, "", request.group_instance_id)
        since_ms = now_ms + self.wall_offset_ms - LOOP_WITHIN_MS
        gone = self.recorder.departures(shortened(request.group_id), client, since_ms)
        return throttle_ms if gone + 1 >= LOOP_JOINS else 0

    def refusal(self, group_id: str) -> ErrorCode:
        """Return why this node does not answer for a group; NONE if it does."""
        return self._refusal(group_id)

    def quarantined(self, group_id: str) -> QuarantinedGroup | None:
        """Return the facts on a quarantined group; None if the group is not quarantined."""
        return self._registry.quarantined(group_id)

    @property
    def timers(self) -> GroupTimers:
        """The purgatories, for metrics."""
        return self._timers

    def partition(self, number: int) -> Shard:
        return self._registry.partitions[number]

    def partition_for(self, group_id: str) -> int:
        """Return the partition of the offsets log that a group belongs to."""
        return self._registry.partition_of(group_id)

    def take_broken_partitions(self) -> list[int]:
        """Return the partitions to be loaded again, each one once."""
        broken = list(self._broken)
        self._broken.clear()
        return broken

    def take_faults(self) -> list[str]:
        """Return the tracebacks of the faults since the last call."""
        faults = self._faults[:]
        self._faults.clear()
        return faults

    # -- requests ------------------------------------------------------------------------------------------------

    def _join(self, command: JoinGroup, ticket: Ticket, context: Context) -> None:
        request = command.request
        group_id = request.group_id
        if self._registry.is_down:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif group_id == "":
            error = ErrorCode.INVALID_GROUP_ID
        else:
            error = check_session_timeout(request, self._config)
        if error is NONE:
            error = check_strings(request)
        if error is not NONE:
            context.reply(ticket, join_error(error, request.member_id))
            return
        error = self._registry.refusal(group_id)
        if error is not NONE:
            context.reply(ticket, join_error(error))
            return
        group = self._groups.get(group_id)
        if group is not None:
            join(group, command, ticket, context)
            if not group.is_recorded and (creation := self._creating.get(group_id)) is not None:
                creation.hold(context)
        elif (consumer_group := self._registry.consumer_groups.get(group_id)) is not None and not (
            self.consumer_groups.give_way(group_id, context)
        ):
            self._classic_members.join(consumer_group, command, ticket, context)
        elif request.member_id != "":
            context.reply(ticket, join_error(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        else:
            self._join_new_group(command, ticket, context)

    def _join_new_group(self, command: JoinGroup, ticket: Ticket, context: Context) -> None:
        """Create a group for its first JoinGroup, even if that fails. The answer waits for the group's record."""
        group = self._registry.create(command.request.group_id, context)
        if group is None:
            context.reply(ticket, join_error(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        record = empty_group_record(group)
        join(group, command, ticket, context)
        creation = CreateGroup(group.group_id, self._creating)
        creation.hold(context)
        context.append(group, (record,), creation)

    def _sync(self, request: SyncGroupRequest, ticket: Ticket, context: Context) -> None:
        group = self._groups.get(request.group_id) if request.group_id else None
        if group is not None:
            sync(group, request, ticket, context)
        elif (consumer_group := self._registry.consumer_groups.get(request.group_id)) is not None:
            self._classic_members.sync(consumer_group, request, ticket, context)
        else:
            error = self._refusal(request.group_id)
            context.reply(ticket, sync_error(error if error is not NONE else ErrorCode.UNKNOWN_MEMBER_ID))

    def _heartbeat(self, request: HeartbeatRequest, ticket: Ticket, context: Context) -> None:
        group = self._groups.get(request.group_id) if request.group_id else None
        if group is not None:
            heartbeat(group, request, ticket, context)
            return
        consumer_group = self._registry.consumer_groups.get(request.group_id)
        if consumer_group is not None:
            self._classic_members.heartbeat(consumer_group, request, ticket, context)
            return
        error = self._refusal(request.group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            error = NONE  # success, as in Kafka: a member that rejoined would be refused until the partition is loaded
        elif error is NONE:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        context.reply(ticket, HeartbeatResponse(error_code=int(error)))

    def _leave(self, request: LeaveGroupRequest, ticket: Ticket, context: Context) -> None:
        group = self._groups.get(request.group_id) if request.group_id else None
        if group is not None:
            leave(group, request, ticket, context)
            return
        consumer_group = self._registry.consumer_groups.get(request.group_id)
        if consumer_group is not None:
            self._classic_members.leave(consumer_group, request, ticket, context)
            return
        error = self._refusal(request.group_id)
        context.reply(
            ticket,
            leave_unknown_group(request) if error is NONE else LeaveGroupResponse(error_code=int(error)),
        )

    def _force(self, command: ForceRebalance | ExpireMember, ticket: Ticket, context: Context) -> None:
        group = self._groups.get(command.group_id)
        if group is None:
            error = self._refusal(command.group_id)
            context.reply(ticket, error if error is not NONE else ErrorCode.GROUP_ID_NOT_FOUND)
        elif isinstance(command, ForceRebalance):
            context.reply(ticket, force_rebalance(group, command, context))
        else:
            context.reply(ticket, expire_member(group, command, context))

    def _refusal(self, group_id: str) -> ErrorCode:
        """Return the error for a group that is not in memory, in requests where the empty id is invalid."""
        if self._registry.is_down:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._registry.refusal(group_id) if group_id else ErrorCode.INVALID_GROUP_ID

    def _offset_commit(
        self, request: OffsetCommitRequest | TxnOffsetCommitRequest, ticket: Ticket, context: Context
    ) -> None:
        commit(self._registry, request, self._topic_check, ticket, context, self._topic_id_of)

    def _write_markers(self, request: WriteTxnMarkersRequest, ticket: Ticket, context: Context) -> None:
        write_markers(self._registry, request, ticket, context)

    def _commit_without_epochs(self, command: CommitWithoutEpochs, ticket: Ticket, context: Context) -> None:
        request = command.request
        commit(self._registry, request, self._topic_check, ticket, context, self._topic_id_of, knows_epochs=False)

    def _topic_id_of(self, name: str) -> bytes | None:
        topic = self._topics.by_name(name)
        return None if topic is None else topic.topic_id

    def _consumer_heartbeat(self, command: ConsumerGroupHeartbeat, ticket: Ticket, context: Context) -> None:
        self.consumer_groups.heartbeat(command, ticket, context)

    def _describe_consumer_groups(self, command: DescribeConsumerGroups, ticket: Ticket, context: Context) -> None:
        self._in_steps(self._describing_consumer_groups(command, ticket, context), command, ticket, context)

    def _describing_consumer_groups(self, command: DescribeConsumerGroups, ticket: Ticket, context: Context) -> Steps:
        described = yield from self.consumer_groups.describe(command.request)
        context.reply(ticket, ConsumerGroupDescribeResponse(groups=described))

    def _offset_fetch(self, request: OffsetFetchRequest, ticket: Ticket, context: Context) -> None:
        # A lambda, because mypyc makes a reference cycle of a named inner function.
        fetch_offsets(
            self._registry,
            self._timers,
            request,
            lambda steps, later: self._in_steps(steps, request, ticket, later),
            ticket,
            context,
        )

    def _offset_delete(self, request: OffsetDeleteRequest, ticket: Ticket, context: Context) -> None:
        delete_offsets(self._registry, self._timers, request, self._topic_check, ticket, context)

    def _delete_groups(self, request: DeleteGroupsRequest, ticket: Ticket, context: Context) -> None:
        steps = delete_groups(self._registry, self._timers, request, ticket, context)
        self._in_steps(steps, request, ticket, context)

    def _list_groups(self, request: ListGroupsRequest, ticket: Ticket, context: Context) -> None:
        if self._registry.is_down:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif any(shard.state is PartitionState.LOADING for shard in self._registry.partitions):
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        else:
            self._in_steps(self._listing(request, ticket, context), request, ticket, context)
            return
        context.reply(ticket, ListGroupsResponse(error_code=int(error)))

    def _listing(self, request: ListGroupsRequest, ticket: Ticket, context: Context) -> Steps:
        groups = yield from list_groups(self._registry, request.states_filter, request.types_filter)
        context.reply(ticket, ListGroupsResponse(groups=groups))

    def _list_figures(self, request: ListGroupFiguresRequest, ticket: Ticket, context: Context) -> None:
        self._in_steps(self._listing_figures(ticket, context), request, ticket, context)

    def _listing_figures(self, ticket: Ticket, context: Context) -> Steps:
        parts = yield from list_figures(self._registry, context.recorder)
        context.reply(ticket, ListGroupFiguresResponse(error_code=int(ErrorCode.NONE), parts=parts))

    def _describe_groups(self, command: DescribeGroups, ticket: Ticket, context: Context) -> None:
        self._in_steps(self._describing(command, ticket, context), command, ticket, context)

    def _describing(self, command: DescribeGroups, ticket: Ticket, context: Context) -> Steps:
        described = yield from describe_groups(command, self._registry)
        context.reply(ticket, DescribeGroupsResponse(groups=described))

    # -- internal ------------------------------------------------------------------------------------------------

    def _in_steps(self, steps: Steps, request: Any, ticket: Ticket, context: Context) -> None:
        """Answer a request in steps. The first one runs now and is usually the only one."""
        if self._has_lease:
            if self.is_suspended:  # it has waited for an append since before
                context.reply(ticket, _error_response(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
                return
            steps = self._unless_suspended(steps, request, ticket, context)
        self._timers.work.start(steps, lambda fault, later: self._answer_fault(fault, request, ticket, later), context)

    def _unless_suspended(self, steps: Steps, request: Any, ticket: Ticket, context: Context) -> Steps:
        """Take the steps, or refuse the request if the lease ended between two of them: what was read may be old."""
        suspensions = self._suspensions
        for pause_ms in steps:
            yield pause_ms
            if self._suspensions != suspensions:
                context.reply(ticket, _error_response(request, ErrorCode.COORDINATOR_NOT_AVAILABLE))
                return

    def _answer_fault(self, fault: Exception, request: Any, ticket: Ticket, context: Context) -> None:
        self._contain(fault, _REQUESTS[type(request)].group_ids(request), context)
        context.reply(ticket, _error_response(request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _begin(self, now_ms: int) -> Context:
        context = self._context
        context.now_ms = now_ms
        context.wall_ms = now_ms + self.wall_offset_ms
        return context

    def _end(self, context: Context) -> Effects:
        """Fail the appends that are too large for the log, then return the effects of the event."""
        too_large = context.too_large
        while too_large:
            append = too_large.popleft()
            try:
                append.failed(ErrorCode.MESSAGE_TOO_LARGE, context)
            except Exception as fault:
                self._contain(fault, _group_id_of(append), context)
        return context.effects()

    def _check_waiting(self, key: tuple[str, str | int], context: Context) -> None:
        """Complete the requests that waited for the appends of a group or of a partition."""
        appends = self._timers.appends
        if appends.watched_keys:
            appends.check_and_complete(key, context)

    def _contain(
        self, fault: Exception, group_ids: Iterable[str], context: Context, shard: Shard | None = None
    ) -> None:
        """Record a fault and unload the partitions that it concerns, to be loaded again. Others are not affected."""
        if len(self._faults) < self._config.max_kept_faults:
            self._faults.append(_account(fault))
        if isinstance(fault, InvariantError) and fault.group_id:
            group_ids = (fault.group_id,)
        shards = [shard] if shard is not None else [self._registry.shard_of(group_id) for group_id in group_ids]
        for broken in shards:
            if broken.state is PartitionState.ACTIVE:
                self._broken[broken.partition] = None
                self._unload(broken, context)

    def _unload(self, shard: Shard, context: Context) -> None:
        self._timers.in_turns(shard.unload(PartitionState.LOADING, ErrorCode.NOT_COORDINATOR, context), None, context)
        self._timers.appends.check_all(context)


def _account(fault: Exception) -> str:
    return "".join(traceback.format_exception(fault))


def _group_id_of(source: Any) -> list[str]:
    """Return the id of the group of a delayed operation or an append, if it has one."""
    group = getattr(source, "group", None)
    return [] if group is None else [group.group_id]


class _RequestRow(NamedTuple):
    """The facts about one type of request."""

    handler: Callable[[GroupCoordinator], Callable[[Any, Ticket, Context], None]]
    group_ids: Callable[[Any], list[str]]  # the groups that a fault in it concerns
    error_response: Callable[[Any, ErrorCode], Any]  # with the error at the level where the API has a field for it


def _group_id(request: Any) -> list[str]:
    return [request.group_id]


def _no_group(request: Any) -> list[str]:
    return []


def _commit_error(types: ResponseTypes, request: Any, error: ErrorCode) -> Any:
    return build_response(
        types,
        [
            (topic.name, partition.partition_index, int(error), None, topic_index)
            for topic_index, topic in enumerate(request.topics)
            for partition in topic.partitions
        ],
    )


_REQUESTS: Final[Mapping[type, _RequestRow]] = MappingProxyType(
    {
        JoinGroup: _RequestRow(
            lambda core: core._join,
            lambda command: [command.request.group_id],
            lambda command, error: join_error(error, command.request.member_id),
        ),
        SyncGroupRequest: _RequestRow(lambda core: core._sync, _group_id, lambda _, error: sync_error(error)),
        HeartbeatRequest: _RequestRow(
            lambda core: core._heartbeat, _group_id, lambda _, error: HeartbeatResponse(error_code=int(error))
        ),
        LeaveGroupRequest: _RequestRow(
            lambda core: core._leave, _group_id, lambda _, error: LeaveGroupResponse(error_code=int(error))
        ),
        OffsetCommitRequest: _RequestRow(
            lambda core: core._offset_commit,
            _group_id,
            lambda request, error: _commit_error(OFFSET_COMMIT, request, error),
        ),
        RepeatedCommit: _RequestRow(
            lambda core: commit_repeated,
            _group_id,
            lambda command, error: build_response(OFFSET_COMMIT, command.template.outcomes(int(error))),
        ),
        CommitWithoutEpochs: _RequestRow(
            lambda core: core._commit_without_epochs,
            lambda command: [command.request.group_id],
            lambda command, error: _commit_error(OFFSET_COMMIT, command.request, error),
        ),
        ConsumerGroupHeartbeat: _RequestRow(
            lambda core: core._consumer_heartbeat,
            lambda command: [command.request.group_id],
            lambda _, error: heartbeat_refused(error),
        ),
        DescribeConsumerGroups: _RequestRow(
            lambda core: core._describe_consumer_groups,
            _no_group,
            lambda command, error: ConsumerGroupDescribeResponse(
                groups=[consumer_group_refused(group_id, error) for group_id in command.request.group_ids]
            ),
        ),
        TxnOffsetCommitRequest: _RequestRow(
            lambda core: core._offset_commit,
            _group_id,
            lambda request, error: _commit_error(TXN_OFFSET_COMMIT, request, error),
        ),
        WriteTxnMarkersRequest: _RequestRow(
            lambda core: core._write_markers,
            _no_group,
            lambda request, error: markers_refused(request, error),
        ),
        OffsetFetchRequest: _RequestRow(
            lambda core: core._offset_fetch,
            lambda request: [group.group_id for group in request.groups],
            lambda request, error: OffsetFetchResponse(
                groups=[
                    OffsetFetchResponseGroup(group_id=group.group_id, topics=[], error_code=int(error))
                    for group in request.groups
                ]
            ),
        ),
        OffsetDeleteRequest: _RequestRow(
            lambda core: core._offset_delete, _group_id, lambda _, error: OffsetDeleteResponse(error_code=int(error))
        ),
        DeleteGroupsRequest: _RequestRow(
            lambda core: core._delete_groups,
            lambda request: list(request.groups_names),
            lambda request, error: DeleteGroupsResponse(
                results=[DeletableGroupResult(group_id=name, error_code=int(error)) for name in request.groups_names]
            ),
        ),
        ListGroupsRequest: _RequestRow(
            lambda core: core._list_groups, _no_group, lambda _, error: ListGroupsResponse(error_code=int(error))
        ),
        ListGroupFiguresRequest: _RequestRow(
            lambda core: core._list_figures,
            _no_group,
            lambda _, error: ListGroupFiguresResponse(error_code=int(error), parts=[]),
        ),
        ForceRebalance: _RequestRow(lambda core: core._force, _group_id, lambda _, error: error),
        ExpireMember: _RequestRow(lambda core: core._force, _group_id, lambda _, error: error),
        DescribeGroups: _RequestRow(
            lambda core: core._describe_groups,
            _no_group,
            lambda command, error: DescribeGroupsResponse(
                groups=[describe_error(group_id, error) for group_id in command.request.groups]
            ),
        ),
    }
)


def _error_response(request: Any, error: ErrorCode) -> Any:
    return _REQUESTS[type(request)].error_response(request, error)
