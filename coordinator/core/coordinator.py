"""The group coordinator: events in, effects out.

Four things can happen to it: a request arrives (`handle`), time passes (`advance_clock`), an append became durable
(`appended`), an append failed (`append_failed`). Each runs to its end, alone, and returns `Effects`; the coordinator
performs nothing, reads no clock and draws no random number. `next_deadline_ms` says when time matters next. Besides:
loading a partition from its log, the deletion of a topic, and the end of the process.

Here requests find their partition and group, or hear why that cannot serve (spec 0.3). What happens then is in
`coordinator.core.group` (members and rebalances) and `coordinator.core.offsets` (commits, deletion, expiry, recovery);
what waits is in `coordinator.core.purgatory`.

An exception in one group breaks nothing else: its request gets UNKNOWN_SERVER_ERROR, its partition forgets everything
and is to be loaded again from the log (`take_broken_partitions`), and `take_faults` says what to write down.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.committed_rows import Row, settled
from coordinator.core.context import Event, InvariantError
from coordinator.core.effects import Effects, Producer, Ticket
from coordinator.core.error_responses import failure
from coordinator.core.group.checks import check_session_timeout, check_strings
from coordinator.core.group.counters import Counters
from coordinator.core.group.creation import CreateGroup
from coordinator.core.group.describe import describe, describe_error, describe_unknown, list_groups
from coordinator.core.group.heartbeat import HeartbeatMemo, heartbeat
from coordinator.core.group.history import Rebalance
from coordinator.core.group.join import JoinGroup, join
from coordinator.core.group.leave import leave, leave_unknown_group
from coordinator.core.group.records import empty_group_record
from coordinator.core.group.responses import join_error, sync_error
from coordinator.core.group.state import GroupState
from coordinator.core.group.sync import sync
from coordinator.core.loading import Harvest, start_sessions
from coordinator.core.offsets.commit import EndTransaction, commit, commit_pending
from coordinator.core.offsets.commit_template import CommitAgain, CommitMemo, commit_again
from coordinator.core.offsets.deletion import delete_groups, delete_offsets, forget_topic, forget_topics_of_loaded
from coordinator.core.offsets.fetch import fetch_offsets
from coordinator.core.offsets.scan import schedule_scan
from coordinator.core.registry import Directory
from coordinator.core.shard import OffsetsPartition, PartitionState
from coordinator.core.timers import GroupTimers
from coordinator.core.work import Steps
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_commit import OffsetCommitRequest
from protocol.messages.offset_delete import OffsetDeleteRequest
from protocol.messages.offset_fetch import OffsetFetchRequest
from protocol.messages.sync_group import SyncGroupRequest
from protocol.messages.txn_offset_commit import TxnOffsetCommitRequest

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.group.group import Group

# What one call of `advance_clock` runs at most; the rest is due at once, and other events run in between.
MAX_TIMERS_PER_EVENT: Final = 250
MAX_FAULTS_KEPT: Final = 100
MAX_OFFSET: Final = 2**63 - 1
# What tests change is not Final: the compiler would write it into the code.
DESCRIBED_PER_STEP = 200  # groups and members
REPEATED_AT_MOST: Final = 20  # a DescribeGroups of more groups describes each once, where Kafka repeats them
HASHED_PER_UNIT: Final = 7  # as a shift: characters of a group's id that are hashed while one group is looked at
NONE: Final = ErrorCode.NONE


class DescribeGroups(NamedTuple):
    """A DescribeGroupsRequest, and what its version makes of a group that does not exist (an error from v6 on)."""

    request: DescribeGroupsRequest
    unknown_is_an_error: bool


class GroupCoordinator:
    """See the module."""

    def __init__(
        self,
        config: Config,
        *,
        partitions: int,
        new_member_uuid: Callable[[], str],
        topic_partition_exists: Callable[[str, int], bool],
        wall_offset_ms: int,
        on_rebalance: Callable[[Rebalance], None] = lambda rebalance: None,
        on_too_large: Callable[[str, int], None] = lambda group_id, size: None,
        owns: Callable[[int], bool] = lambda partition: True,
    ) -> None:
        self.wall_offset_ms = wall_offset_ms  # wall clock minus monotonic clock; the runtime keeps it right
        self.metrics = Counters()
        self.unknown_records = 0  # records of kinds that are not ours, met while loading
        self._directory = Directory(partitions, owns)
        self._groups = self._directory.groups
        self._timers = GroupTimers()
        self._timers.contain = self._contain
        self._event = Event(config, self._timers, self.metrics, new_member_uuid, on_rebalance, on_too_large)
        self._config = config
        self._topic_check = topic_partition_exists if config.offsets_commit_topic_check else None
        self._creating: dict[str, CreateGroup] = {}  # groups whose first record is not durable yet
        self._broken: dict[int, None] = {}
        self._faults: list[str] = []
        self._handlers: dict[type, Callable[[Any, Ticket, Event], None]] = {
            JoinGroup: self._join,
            SyncGroupRequest: self._sync,
            HeartbeatRequest: self._heartbeat,
            LeaveGroupRequest: self._leave,
            OffsetCommitRequest: self._offset_commit,
            CommitAgain: commit_again,
            TxnOffsetCommitRequest: self._txn_offset_commit,
            OffsetFetchRequest: self._offset_fetch,
            OffsetDeleteRequest: self._offset_delete,
            DeleteGroupsRequest: self._delete_groups,
            ListGroupsRequest: self._list_groups,
            DescribeGroups: self._describe_groups,
        }

    # -- the four inputs -----------------------------------------------------------------------------------------

    def handle(self, request: Any, ticket: Ticket, now_ms: int) -> Effects:
        """A request. Its ticket is in the replies, or parked, or waits for an append."""
        event = self._begin(now_ms)
        try:
            self._handlers[type(request)](request, ticket, event)
        except Exception as fault:
            self._contain(fault, _group_ids(request), event)
            if not any(reply.ticket is ticket for reply in event.replies):
                if isinstance(request, DescribeGroups):
                    request = request.request
                event.reply(ticket, failure(request, ErrorCode.UNKNOWN_SERVER_ERROR))
        return self._end(event) if event.too_large else event.effects()

    def advance_clock(self, now_ms: int) -> Effects:
        """Time has passed: run what is due, up to a bound."""
        event = self._begin(now_ms)
        wheel = self._timers.wheel
        wheel.advance(now_ms)
        for _ in range(MAX_TIMERS_PER_EVENT):
            operation = wheel.pop_due()
            if operation is None:
                break
            try:
                operation.timer_fired(now_ms, event)
            except Exception as fault:
                self._contain(fault, _group_ids(operation), event, getattr(operation, "shard", None))
        return self._end(event)

    def appended(self, partition: int, high_watermark: int, now_ms: int, at_most: int = MAX_OFFSET) -> Effects:
        """Everything below `high_watermark` is durable. Of much, about the oldest `at_most` records are applied.

        What is left (`is_behind`) is for further calls; others may run in between, nobody has been told of it yet.
        """
        shard = self._directory.partitions[partition]
        event = self._begin(now_ms)
        if shard.in_flight:
            high_watermark = min(high_watermark, shard.in_flight[0].last_offset + at_most)
        try:
            while (append := shard.take_durable(high_watermark)) is not None:
                group = append.group
                if group is None:
                    append.durable(event)
                    continue
                group.in_flight -= 1
                if append.writes_group:
                    group.record_offset = append.last_offset
                append.durable(event)
                if not group.in_flight:
                    self._check_waiting(("group", group.group_id), event)
            self._check_waiting(("partition", partition), event)
        except Exception as fault:
            self._contain(fault, (), event, shard)
        return self._end(event) if event.too_large else event.effects()

    def is_behind(self, partition: int, high_watermark: int) -> bool:
        """Whether something below `high_watermark` has not been applied yet."""
        in_flight = self._directory.partitions[partition].in_flight
        return bool(in_flight) and in_flight[0].last_offset < high_watermark

    def append_failed(self, partition: int, from_offset: int, error: ErrorCode, now_ms: int) -> Effects:
        """Nothing from `from_offset` on is in the log; the next append takes that offset."""
        shard = self._directory.partitions[partition]
        event = self._begin(now_ms)
        try:
            for append in shard.take_failed(from_offset):
                if append.group is not None:
                    append.group.in_flight -= 1
                append.failed(error, event)
                if append.group is not None and not append.group.in_flight:
                    self._check_waiting(("group", append.group.group_id), event)
            self._check_waiting(("partition", partition), event)
        except Exception as fault:
            self._contain(fault, (), event, shard)
        return self._end(event)

    @property
    def has_work(self) -> bool:
        """Whether something that is too long for one event has a step to do: call `work`, and others in between."""
        return self._timers.work.is_due

    def work(self, now_ms: int) -> Effects:
        """Do one step of what is too long for one event."""
        event = self._begin(now_ms)
        self._timers.work.step(event)
        return self._end(event)

    @property
    def has_new_deadline(self) -> bool:
        """Whether `next_deadline_ms` may be earlier than when it was last asked."""
        return self._timers.wheel.has_new_deadline

    @property
    def is_troubled(self) -> bool:
        """Whether there are faults or broken partitions to be taken."""
        return bool(self._faults or self._broken)

    def next_deadline_ms(self) -> int | None:
        """When to call `advance_clock` at the latest."""
        return self._timers.wheel.next_deadline_ms()

    # -- what else can happen ------------------------------------------------------------------------------------

    def topic_partitions_deleted(self, topic: str, partitions: Iterable[int], now_ms: int) -> Effects:
        """A topic, or some of its partitions, is gone."""
        event = self._begin(now_ms)
        self._directory.topics_gone += 1
        forget_topic(self._directory, self._timers, topic, frozenset(partitions), event)
        return self._end(event)

    def end_transaction(self, partition: int, producer: Producer, *, commit: bool, now_ms: int) -> Effects:
        """A transaction that has offsets in `partition` ends: append its marker. Ignored while it cannot serve."""
        shard = self._directory.partitions[partition]
        event = self._begin(now_ms)
        if shard.state is PartitionState.ACTIVE:
            then = EndTransaction(shard, producer.producer_id, is_commit=commit)
            event.append_to(shard, (), then, producer, marker=commit)
        return self._end(event)

    def shutdown(self, now_ms: int) -> Effects:
        """The process ends: whoever waits is told to look for the coordinator again (spec 12.7)."""
        event = self._begin(now_ms)
        self._timers.work.finish(event)
        self._directory.is_down = True
        for shard in self._directory.partitions:
            shard.unload(PartitionState.NOT_OWNED, ErrorCode.NOT_COORDINATOR, event)
        self._timers.appends.check_all(event)
        return self._end(event)

    # -- loading -------------------------------------------------------------------------------------------------

    def load_begin(self, partition: int) -> None:
        """The log of a partition will be read. What it held is forgotten; who waits there hears with the next event."""
        shard = self._directory.partitions[partition]
        if shard.state is PartitionState.ACTIVE:
            self._unload(shard, self._event)
        shard.state = PartitionState.LOADING

    def loaded(self, partition: int, harvest: Harvest, next_offset: int, now_ms: int) -> Effects:
        """The log has been read, since `load_begin`: groups and offsets are what it says, every session begins anew.

        The groups of the harvest were made for `partition(number)`.
        """
        shard = self._directory.partitions[partition]
        event = self._begin(now_ms)
        self._timers.wheel.advance(now_ms)
        self.unknown_records += harvest.unknown
        shard.state = PartitionState.ACTIVE
        shard.offsets = harvest.offsets
        shard.next_offset = next_offset
        shard.add_all(harvest.groups, harvest.by_state)
        start_sessions(shard, self._timers, harvest.with_members, event)
        schedule_scan(shard, self._timers, event)
        forget_topics_of_loaded(shard, self._directory, self._timers, event)
        return self._end(event)

    def load_failed(self, partition: int) -> None:
        """The log of a partition cannot be read or understood."""
        shard = self._directory.partitions[partition]
        shard.state = PartitionState.FAILED

    # -- heartbeats and commits by their bytes -------------------------------------------------------------------

    def heartbeat_memo(
        self, group_id: str, member_id: str, group_instance_id: str | None, generation: int
    ) -> HeartbeatMemo | None:
        """After a Heartbeat that succeeded: a short cut for the next one with the same bytes."""
        group = self._groups.get(group_id)
        return None if group is None else HeartbeatMemo.of(group, member_id, group_instance_id, generation)

    def commit_memo(self, request: OffsetCommitRequest) -> CommitMemo | None:
        """After an OffsetCommit that was accepted: a short cut for others that differ in the offsets alone."""
        return CommitMemo.of(self._directory, request, self._topic_check, self._config.offset_metadata_max_bytes)

    # -- what others look at -------------------------------------------------------------------------------------

    def settled(self, partition: int, below_offset: int) -> Iterator[list[Row]] | None:
        """What memory has from the log of a partition below an offset; None while it is not served from here."""
        shard = self._directory.partitions[partition]
        return settled(shard, below_offset) if shard.state is PartitionState.ACTIVE else None

    @property
    def is_down(self) -> bool:
        return self._directory.is_down

    @property
    def groups(self) -> dict[str, Group]:
        """All groups by id; not to be changed."""
        return self._groups

    @property
    def group_count(self) -> int:
        return len(self._groups)

    @property
    def groups_by_state(self) -> dict[GroupState, int]:
        """Kept live; not to be changed."""
        return self._directory.groups_by_state

    @property
    def offset_count(self) -> int:
        return sum(shard.offsets.count for shard in self._directory.partitions)

    @property
    def partitions_by_state(self) -> dict[str, int]:
        counts = dict.fromkeys((state.value for state in PartitionState), 0)
        for shard in self._directory.partitions:
            counts[shard.state.value] += 1
        return counts

    @property
    def appends_in_flight(self) -> int:
        return sum(len(shard.in_flight) for shard in self._directory.partitions)

    @property
    def timers(self) -> GroupTimers:
        """The purgatories, for metrics."""
        return self._timers

    def partition(self, number: int) -> OffsetsPartition:
        return self._directory.partitions[number]

    def partition_for(self, group_id: str) -> int:
        """The partition of the offsets log that a group belongs to."""
        return self._directory.partition_of(group_id)

    def take_broken_partitions(self) -> list[int]:
        """Partitions to be loaded again; each is told once."""
        broken = list(self._broken)
        self._broken.clear()
        return broken

    def take_faults(self) -> list[str]:
        """What went wrong since the last call, each with its traceback."""
        faults = self._faults[:]
        self._faults.clear()
        return faults

    # -- requests ------------------------------------------------------------------------------------------------

    def _join(self, command: JoinGroup, ticket: Ticket, event: Event) -> None:
        request = command.request
        group_id = request.group_id
        if self._directory.is_down:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif group_id == "":
            error = ErrorCode.INVALID_GROUP_ID
        else:
            error = check_session_timeout(request, self._config)
        if error is NONE:
            error = check_strings(request)
        if error is not NONE:
            event.reply(ticket, join_error(error, request.member_id))
            return
        error = self._directory.refusal(group_id)
        if error is not NONE:
            event.reply(ticket, join_error(error))
            return
        group = self._groups.get(group_id)
        if group is not None:
            join(group, command, ticket, event)
            if not group.is_recorded and (creation := self._creating.get(group_id)) is not None:
                creation.hold(event)
        elif request.member_id != "":
            event.reply(ticket, join_error(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        else:
            self._join_new_group(command, ticket, event)

    def _join_new_group(self, command: JoinGroup, ticket: Ticket, event: Event) -> None:
        """The first JoinGroup makes the group, whatever comes of it, and its record, for which its answer waits."""
        group = self._directory.create(command.request.group_id, event)
        if group is None:
            event.reply(ticket, join_error(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        record = empty_group_record(group)
        join(group, command, ticket, event)
        creation = CreateGroup(group.group_id, self._creating)
        creation.hold(event)
        event.append(group, (record,), creation)

    def _sync(self, request: SyncGroupRequest, ticket: Ticket, event: Event) -> None:
        group = self._groups.get(request.group_id) if request.group_id else None
        if group is not None:
            sync(group, request, ticket, event)
        else:
            error = self._refusal(request.group_id)
            event.reply(ticket, sync_error(error if error is not NONE else ErrorCode.UNKNOWN_MEMBER_ID))

    def _heartbeat(self, request: HeartbeatRequest, ticket: Ticket, event: Event) -> None:
        group = self._groups.get(request.group_id) if request.group_id else None
        if group is not None:
            heartbeat(group, request, ticket, event)
            return
        error = self._refusal(request.group_id)
        if error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            error = NONE  # blind success: the member is spared a rejoin that loading would refuse
        elif error is NONE:
            error = ErrorCode.UNKNOWN_MEMBER_ID
        event.reply(ticket, HeartbeatResponse(error_code=int(error)))

    def _leave(self, request: LeaveGroupRequest, ticket: Ticket, event: Event) -> None:
        group = self._groups.get(request.group_id) if request.group_id else None
        if group is not None:
            leave(group, request, ticket, event)
            return
        error = self._refusal(request.group_id)
        event.reply(
            ticket,
            leave_unknown_group(request) if error is NONE else LeaveGroupResponse(error_code=int(error)),
        )

    def _refusal(self, group_id: str) -> ErrorCode:
        """For requests that may not name the empty group."""
        if self._directory.is_down:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        return self._directory.refusal(group_id) if group_id else ErrorCode.INVALID_GROUP_ID

    def _offset_commit(self, request: OffsetCommitRequest, ticket: Ticket, event: Event) -> None:
        commit(self._directory, request, self._topic_check, ticket, event)

    def _txn_offset_commit(self, request: TxnOffsetCommitRequest, ticket: Ticket, event: Event) -> None:
        commit_pending(self._directory, request, self._topic_check, ticket, event)

    def _offset_fetch(self, request: OffsetFetchRequest, ticket: Ticket, event: Event) -> None:
        # A lambda: compiled, a function within a function that has a name refers to itself, which makes a cycle.
        fetch_offsets(
            self._directory,
            self._timers,
            request,
            lambda steps, later: self._in_steps(steps, request, ticket, later),
            ticket,
            event,
        )

    def _offset_delete(self, request: OffsetDeleteRequest, ticket: Ticket, event: Event) -> None:
        delete_offsets(self._directory, self._timers, request, self._topic_check, ticket, event)

    def _delete_groups(self, request: DeleteGroupsRequest, ticket: Ticket, event: Event) -> None:
        steps = delete_groups(self._directory, self._timers, request, ticket, event)
        self._in_steps(steps, request, ticket, event)

    def _list_groups(self, request: ListGroupsRequest, ticket: Ticket, event: Event) -> None:
        if self._directory.is_down:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif any(shard.state is PartitionState.LOADING for shard in self._directory.partitions):
            error = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        else:
            self._in_steps(self._listing(request, ticket, event), request, ticket, event)
            return
        event.reply(ticket, ListGroupsResponse(error_code=int(error)))

    def _listing(self, request: ListGroupsRequest, ticket: Ticket, event: Event) -> Steps:
        groups = yield from list_groups(self._groups, request.states_filter, request.types_filter)
        event.reply(ticket, ListGroupsResponse(groups=groups))

    def _describe_groups(self, command: DescribeGroups, ticket: Ticket, event: Event) -> None:
        self._in_steps(self._describing(command, ticket, event), command.request, ticket, event)

    def _describing(self, command: DescribeGroups, ticket: Ticket, event: Event) -> Steps:
        with_operations = command.request.include_authorized_operations
        described = []
        looked = 0  # groups and members since the last step
        asked: Iterable[str] = command.request.groups
        if len(command.request.groups) > REPEATED_AT_MOST:
            asked = dict.fromkeys(asked)  # each once: the answer to a short request is bounded
        for group_id in asked:
            if looked >= DESCRIBED_PER_STEP:
                looked = 0
                yield None
            group = self._groups.get(group_id)
            error = self._directory.refusal(group_id) if group is None else NONE
            if group is not None:
                described.append(describe(group, with_operations=with_operations))
                looked += len(group.members)
            elif error is not NONE:
                described.append(describe_error(group_id, error))
            else:
                described.append(
                    describe_unknown(group_id, is_an_error=command.unknown_is_an_error, with_operations=with_operations)
                )
            looked += 1 + (len(group_id) >> HASHED_PER_UNIT)
        event.reply(ticket, DescribeGroupsResponse(groups=described))

    # -- inside --------------------------------------------------------------------------------------------------

    def _in_steps(self, steps: Steps, request: Any, ticket: Ticket, event: Event) -> None:
        """Answer a request in as many steps as it takes; mostly the first is the last."""
        self._timers.work.start(steps, lambda fault, later: self._answer_fault(fault, request, ticket, later), event)

    def _answer_fault(self, fault: Exception, request: Any, ticket: Ticket, event: Event) -> None:
        self._contain(fault, _group_ids(request), event)
        event.reply(ticket, failure(request, ErrorCode.UNKNOWN_SERVER_ERROR))

    def _begin(self, now_ms: int) -> Event:
        event = self._event
        event.now_ms = now_ms
        event.wall_ms = now_ms + self.wall_offset_ms
        return event

    def _end(self, event: Event) -> Effects:
        """Fail the appends that are too large for the log, then return the effects of the event."""
        too_large = event.too_large
        while too_large:
            append = too_large.popleft()
            try:
                append.failed(ErrorCode.MESSAGE_TOO_LARGE, event)
            except Exception as fault:
                self._contain(fault, _group_ids(append), event)
        return event.effects()

    def _check_waiting(self, key: tuple[str, str | int], event: Event) -> None:
        """Requests that wait for the appends of a group, or of a partition, may go on now."""
        appends = self._timers.appends
        if appends.watched_keys:
            appends.check_and_complete(key, event)

    def _contain(
        self, fault: Exception, group_ids: Iterable[str], event: Event, shard: OffsetsPartition | None = None
    ) -> None:
        """Something that must hold did not. The partition concerned starts again from its log; the others go on."""
        if len(self._faults) < MAX_FAULTS_KEPT:
            self._faults.append(_account(fault))
        if isinstance(fault, InvariantError) and fault.group_id:
            group_ids = (fault.group_id,)
        shards = [shard] if shard is not None else [self._directory.shard_of(group_id) for group_id in group_ids]
        for broken in shards:
            if broken.state is PartitionState.ACTIVE:
                self._broken[broken.partition] = None
                self._unload(broken, event)

    def _unload(self, shard: OffsetsPartition, event: Event) -> None:
        shard.unload(PartitionState.LOADING, ErrorCode.NOT_COORDINATOR, event)
        self._timers.appends.check_all(event)


def _account(fault: Exception) -> str:
    return "".join(traceback.format_exception(fault))


def _group_ids(source: Any) -> list[str]:
    """The groups that a request or an operation is about."""
    if isinstance(source, (JoinGroup, DescribeGroups)):
        source = source.request
    if isinstance(source, OffsetFetchRequest):
        return [group.group_id for group in source.groups]
    if isinstance(source, DeleteGroupsRequest):
        return list(source.groups_names)
    group_id = getattr(source, "group_id", None)
    group = getattr(source, "group", None)
    if group_id is None and group is not None:
        group_id = group.group_id
    return [] if group_id is None else [group_id]
