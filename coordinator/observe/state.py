"""The groups of an observed cluster, from the records of its offsets log.

The follower hands in commits and all other records, each partition's in the order of the log, and what DescribeGroups
answers. Events go to a flight recorder, owners to an ownership log, and the story of a group can be asked for as from
our own coordinator. What the log does not tell is a sentence in the story's `unknown`. Everything is bounded by
`ObserverLimits`; groups that wrote least lately are forgotten. Times are handed in.

Commits of a fetch are handed in before its other records: the last commit of a member that went tells how it went.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from coordinator.console.model import GroupRow
from coordinator.core.events.model import AnyEvent, ClientInfo, LiveGroup, Rebalance, Story, shortened
from coordinator.core.events.ownership_log import OwnerChange, OwnershipLog
from coordinator.core.events.recorder import FlightRecorder
from coordinator.observe import unknown
from coordinator.observe.classic import ClassicGroup
from coordinator.observe.consumer_groups import ObservedConsumerGroup
from coordinator.observe.described import RECENT_MS, SETTLED
from coordinator.observe.limits import ObserverLimits
from coordinator.observe.moves import Partitions
from coordinator.observe.offsets import Committed, CommittedOffsets, LastCommit, TopicPartition
from coordinator.observe.topic_names import TopicNames
from protocol.errors import DecodeError
from protocol.group_records import RecordKey, RecordKind, Value, decode_record_key, decode_record_value
from protocol.messages.consumer_group_records import ConsumerGroupCurrentMemberAssignmentValue
from protocol.offsets_records import decode_group_value

DEFAULT_LIMITS: Final = ObserverLimits()
CLASSIC: Final = "classic"
TYPES: Final[Mapping[RecordKind, str]] = {
    kind: kind.name.partition("_")[0].lower() for kind in RecordKind if kind is not RecordKind.CLASSIC_GROUP
}
FORGOTTEN_AT_ONCE: Final = 64  # one part in so many groups, so that forgetting is rare


@dataclass(slots=True)
class NamedGroup:
    """A share or streams group, of which only the name is read."""

    group: str
    type: str
    at_ms: int


ObservedGroup: TypeAlias = ClassicGroup | ObservedConsumerGroup | NamedGroup


class ObservedGroups:
    """The state of all groups."""

    def __init__(
        self,
        topic_names: dict[bytes, str] | None = None,
        limits: ObserverLimits = DEFAULT_LIMITS,
        *,
        consumer_session_timeout_ms: int = 0,
    ) -> None:
        self.limits = limits
        self.topic_names = {} if topic_names is None else topic_names  # by topic id; the caller keeps it current
        self.topics = TopicNames(self.topic_names)
        self.recorder = FlightRecorder(limits.events_per_group, limits.events, limits.groups)
        self._session_timeout_ms = consumer_session_timeout_ms  # of KIP-848 groups; 0: not known
        self.is_caught_up = False
        self.undecodable = 0  # records that could not be read
        self.unknown_kinds: Counter[int] = Counter()  # by key version
        self.forgotten = 0  # groups beyond the limits
        self._groups: dict[str, ObservedGroup] = {}
        self._last_ms: dict[str, int] = {}  # the newest record or commit of each group
        self._offsets = CommittedOffsets()
        self._owners = OwnershipLog(limits.owner_changes_per_group, limits.owner_changes)
        self._removed: tuple[int, ClassicGroup | None] = (-1, None)  # the last one; it may become a KIP-848 group

    def __repr__(self) -> str:
        return f"<ObservedGroups {len(self._groups)} groups, {self._offsets.kept} offsets>"

    # -- what the follower hands in ----------------------------------------------------------------------------

    def commits(
        self,
        groups: list[str],
        topics: list[str],
        partitions: list[int],
        offsets: list[int],
        at_ms: list[int],
    ) -> None:
        """Take some commits; the lists are equally long. Offset -1: it was deleted."""
        self._offsets.add(groups, topics, partitions, offsets, at_ms)
        self._keep_within_limits()

    def record(self, at_ms: int, key: bytes, value: bytes | None) -> None:
        """Take a record that is no commit. One that cannot be read is counted."""
        try:
            found = decode_record_key(key)
            if found is None:
                self.unknown_kinds[int.from_bytes(key[:2], "big", signed=True)] += 1
                return
            self._apply(at_ms, found, value)
        except DecodeError:
            self.undecodable += 1

    def described(self, now_ms: int, group: str, state: str, members: Sequence[ClientInfo]) -> None:
        """Take an answer to DescribeGroups, whose members are named by their ids."""
        found = self._groups.get(group)
        if isinstance(found, ClassicGroup):
            found.described(now_ms, state, members)
        elif found is None and members and state not in SETTLED:
            classic = self._groups[group] = ClassicGroup(group)
            classic.described(now_ms, state, members)
            self._touched(group, now_ms)

    def consumer_session_timeout(self, timeout_ms: int) -> None:
        """Take the session timeout of KIP-848 groups (group.consumer.session.timeout.ms), which the log lacks."""
        if timeout_ms == self._session_timeout_ms:
            return
        self._session_timeout_ms = timeout_ms
        for found in self._groups.values():
            if isinstance(found, ObservedConsumerGroup):
                found.session_timeout_ms = timeout_ms

    def caught_up(self) -> None:
        """Note that every partition has been read to the end that it had at the start."""
        self.is_caught_up = True

    # -- what the console asks for -----------------------------------------------------------------------------

    def groups(self) -> list[str]:
        """Return the ids of all groups with a record or an offset."""
        return [*self._groups, *(group for group in self._offsets.groups if group not in self._groups)]

    def type_of(self, group: str) -> str:
        """Return classic, consumer, share or streams."""
        found = self._groups.get(group)
        if isinstance(found, NamedGroup):
            return found.type
        return "consumer" if isinstance(found, ObservedConsumerGroup) else CLASSIC

    def live(self, group: str, now_ms: int) -> LiveGroup | None:
        """Return the present state of a group; None: there is no such group."""
        found = self._groups.get(group)
        if isinstance(found, NamedGroup):
            return LiveGroup(group=shortened(group), at_ms=now_ms, state="", protocol_type=found.type, type=found.type)
        state = found.live(now_ms) if found is not None else None
        if state is None and self._offsets.of(group):
            state = LiveGroup(group=shortened(group), at_ms=now_ms, state="Empty", partitions=0)
        if state is not None:
            record = self.recorder.groups.get(shortened(group))
            over = isinstance(found, ObservedConsumerGroup) and found.over() is not None
            state.rebalances = (record.rebalances if record is not None else 0) + over
        return state

    def story(self, group: str, now_ms: int) -> Story | None:
        """Return all that is known of a group; None: nothing is."""
        state = self.live(group, now_ms)
        events = self.events(group)
        if state is None and not events:
            return None
        return Story(at_ms=now_ms, state=state, events=events, unknown=self._unknown(group, events, now_ms))

    def events(self, group: str) -> list[AnyEvent]:
        """Return the events of a group that are kept, oldest first."""
        found = self._groups.get(group)
        over = found.over() if isinstance(found, ObservedConsumerGroup) else None
        return self.recorder.events(shortened(group)) + ([over] if over is not None else [])

    def ownership(self, group: str) -> list[OwnerChange]:
        """Return what each member owned since when, oldest first."""
        return [change._replace(partitions=self._named(group, change.partitions)) for change in self._owners.of(group)]

    def owners(self, group: str) -> Mapping[str, ClientInfo]:
        """Return the clients in `ownership` by their keys."""
        return self._owners.clients(group)

    def owners_known_from_ms(self, group: str) -> int:
        """Return the moment before which `ownership` knows nothing; -1: it knows nothing."""
        return self._owners.known_from_ms(group)

    def owned_now(self, group: str) -> dict[str, Partitions]:
        """Return the partitions of each member, by its key."""
        found = self._groups.get(group)
        if found is None or isinstance(found, NamedGroup):
            return {}
        return {key: self._named(group, partitions) for key, (_, partitions) in found.owned().items()}

    def offsets(self, group: str) -> Mapping[TopicPartition, Committed]:
        """Return the committed offsets of a group, and when each was committed."""
        return self._offsets.of(group)

    def row(self, group: str, now_ms: int) -> GroupRow:
        """Return the row of a group in a list, without its lag."""
        found = self._groups.get(group)
        record = self.recorder.groups.get(shortened(group))
        row = GroupRow(group=group, state="Empty", type=self.type_of(group), members=0)
        if record is not None:
            row.rebalances = record.rebalances
            last = next((event for event in reversed(record.events) if isinstance(event, Rebalance)), None)
            row.last_rebalance_ms = last.at_ms if last is not None else -1
        if isinstance(found, NamedGroup):
            row.state, row.members, row.protocol_type = "", -1, found.type
        elif isinstance(found, ObservedConsumerGroup):
            row.state, row.members, row.protocol_type = found.state, len(found.members), "consumer"
            row.generation = found.epoch
            if found.running is not None:
                row.rebalances += found.over() is not None
                row.last_rebalance_ms = found.running.at_ms
        elif found is not None and found.generation is not None:
            row.state, row.members = found.state(now_ms), len(found.generation.members)
            row.protocol_type, row.generation = found.generation.protocol_type, found.generation.number
        return row

    # -- records -----------------------------------------------------------------------------------------------

    def _apply(self, at_ms: int, key: RecordKey, data: bytes | None) -> None:
        if key.kind is RecordKind.CLASSIC_GROUP:
            self._apply_classic(at_ms, key.group, data)
        elif TYPES[key.kind] == "consumer":
            value = decode_record_value(key.kind, data) if data is not None else None
            self._apply_consumer(at_ms, key, value)
        elif key.kind in (RecordKind.SHARE_GROUP, RecordKind.STREAMS_GROUP):
            if data is None:
                self._remove(key.group)
                return
            self._groups[key.group] = NamedGroup(key.group, TYPES[key.kind], at_ms)
            self._touched(key.group, at_ms)

    def _apply_classic(self, at_ms: int, group: str, data: bytes | None) -> None:
        found = self._groups.get(group)
        if data is None:
            if isinstance(found, ClassicGroup):
                self._own_all(group, at_ms, found.owned(), {})
                self._remove(group)
                self._removed = (at_ms, found)
            return
        value = decode_group_value(data)
        if not isinstance(found, ClassicGroup):
            found = self._groups[group] = ClassicGroup(group)
        before = found.owned()
        events = found.apply(at_ms, value, self._last_commits(group))
        self._own_all(group, at_ms, before, found.owned())
        self._record(events)
        self._touched(group, at_ms)

    def _apply_consumer(self, at_ms: int, key: RecordKey, value: Value | None) -> None:
        found = self._groups.get(key.group)
        if not isinstance(found, ObservedConsumerGroup):
            if value is None:
                return
            found = self._groups[key.group] = ObservedConsumerGroup(
                key.group, self._session_timeout_ms, self.limits.members_per_group
            )
            removed_ms, classic = self._removed
            if classic is not None and (removed_ms, classic.group) == (at_ms, key.group):
                found.convert(classic.generation)
        if value is None and key.kind is RecordKind.CONSUMER_GROUP:
            self._record(found.apply(at_ms, key.kind, "", None, self._last_commits(key.group)))
            self._remove(key.group)
            return
        if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            self.topics.note(each.topic_id for each in value.assigned_partitions)
        before = found.members.get(key.second)
        self._record(found.apply(at_ms, key.kind, key.second, value, self._last_commits(key.group)))
        member = found.members.get(key.second) or before
        if member is not None and key.kind in (RecordKind.CONSUMER_MEMBER, RecordKind.CONSUMER_CURRENT):
            owned = member.owned if key.second in found.members else {}
            self._owners.own(key.group, at_ms, member.client, owned)
        self._touched(key.group, at_ms)

    def _record(self, events: Iterable[AnyEvent]) -> None:
        for event in events:
            if isinstance(event, Rebalance):
                self.recorder.rebalance(event)
            else:
                self.recorder.incident(event)

    def _own_all(
        self,
        group: str,
        at_ms: int,
        before: Mapping[str, tuple[ClientInfo, Partitions]],
        after: Mapping[str, tuple[ClientInfo, Partitions]],
    ) -> None:
        for key, (client, _) in before.items():
            if key not in after:
                self._owners.own(group, at_ms, client, {})
        for client, partitions in after.values():
            self._owners.own(group, at_ms, client, partitions)

    def _last_commits(self, group: str) -> Callable[[Partitions, int], LastCommit]:
        offsets, topics = self._offsets, self.topics
        return lambda partitions, until_ms: offsets.last_of(group, topics.named(partitions), until_ms)

    def _named(self, group: str, partitions: Partitions) -> Partitions:
        return self.topics.named(partitions) if self.type_of(group) != CLASSIC else partitions

    def _unknown(self, group: str, events: Sequence[AnyEvent], now_ms: int) -> list[str]:
        found = self._groups.get(group)
        sentences = [] if self.is_caught_up else [unknown.NOT_CAUGHT_UP]
        if isinstance(found, NamedGroup):
            return sentences + unknown.of_other_group(found.type)
        if isinstance(found, ObservedConsumerGroup):
            return sentences + unknown.of_consumer_group(events)
        last = found.polls.last if found is not None else None
        is_described = last is not None and now_ms - last.at_ms <= RECENT_MS
        return sentences + unknown.of_classic_group(events, is_described=is_described)

    # -- bounds ------------------------------------------------------------------------------------------------

    def _touched(self, group: str, at_ms: int) -> None:
        self._last_ms[group] = at_ms
        self._keep_within_limits()

    def _remove(self, group: str) -> None:
        self._groups.pop(group, None)
        self._last_ms.pop(group, None)

    def _keep_within_limits(self) -> None:
        limits = self.limits
        if len(self._groups) > limits.groups or len(self._offsets) > limits.groups:
            self._forget(max(limits.groups // FORGOTTEN_AT_ONCE, 1))
        while self._offsets.kept > limits.offsets:
            self._forget(max(len(self._offsets) // FORGOTTEN_AT_ONCE, 1))

    def _forget(self, count: int) -> None:
        """Forget the groups that wrote least lately."""
        for group in sorted(self.groups(), key=self._active_ms)[:count]:
            self._remove(group)
            self._offsets.forget(group)
            self._owners.forget(group)
            self.forgotten += 1

    def _active_ms(self, group: str) -> int:
        return max(self._last_ms.get(group, -1), self._offsets.last_ms(group))
