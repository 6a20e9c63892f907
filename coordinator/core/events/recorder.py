"""The flight recorder: the newest events of each group, and what is counted for each group.

It holds at most `per_group` events of a group; then the oldest go, incidents before rebalances if they are more than
half. It holds `total` events of all groups together and `groups` groups; then the least active group is forgotten.
An incident that repeats within REPEATS_WITHIN_MS is counted in the first one and published again each time the number
has doubled. So is one of another client if `alike` are known already. Clients in a loop, one or many, can
therefore fill neither the ring nor the topic of events.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Final

from coordinator.core.events.model import GONE, AnyEvent, ClientInfo, Incident, IncidentKind, Rebalance
from coordinator.core.events.owner_history import OwnerHistory
from coordinator.core.events.ownership_log import OwnerChange, OwnershipLog

REPEATS_WITHIN_MS: Final = 600_000
OWNER_CHANGES: Final = 1_000  # of a KIP-848 group
CHANGE_BYTES: Final = 250  # of one change, and of each topic in it
PARTITION_BYTES: Final = 8
LOOKED_BACK: Final = 64  # events in which a repeated incident is looked for
NEVER_COUNTED_TOGETHER: Final = frozenset({IncidentKind.REBALANCE_SLOW, IncidentKind.GROUP_LOADED})
REFUSED_COMMITS: Final = frozenset({IncidentKind.COMMIT_REFUSED})
FENCINGS: Final = frozenset({IncidentKind.FENCED, IncidentKind.STATIC_MEMBER_REPLACED})


class RecordedGroup:
    """The events of one group, oldest first, and its counters since the start of the coordinator."""

    __slots__ = ("commits_refused", "events", "fencings", "rebalance_ms", "rebalances", "rebalances_by_cause")

    def __init__(self) -> None:
        self.events: deque[AnyEvent] = deque()
        self.rebalances = 0  # ended ones
        self.rebalance_ms = 0  # how long they took together
        self.rebalances_by_cause: dict[str, int] = {}
        self.commits_refused = 0
        self.fencings = 0


class FlightRecorder:
    """Events by group. `publish` gets each new event, and an incident again when its number has doubled."""

    __slots__ = (
        "_alike",
        "_groups",
        "_kept",
        "_most_groups",
        "_per_group",
        "_total",
        "member_owners",
        "named",
        "others",
        "owners",
        "publish",
    )

    def __init__(
        self,
        per_group: int,
        total: int,
        groups: int,
        publish: Callable[[AnyEvent], None] = lambda event: None,
        alike: int = 8,
        owners_bytes: int = 0,
    ) -> None:
        self._alike = alike
        self._per_group = min(per_group, total)
        self._total = total
        self._most_groups = groups
        self._groups: OrderedDict[str, RecordedGroup] = OrderedDict()  # the least active group first
        self._kept = 0  # events kept, of all groups
        self.named: frozenset[str] | None = None  # groups that /metrics shows by name; None: all
        self.others = RecordedGroup()  # counters of the groups that were not among them at the time; it has no events
        self.publish = publish
        self.owners = OwnerHistory(per_group, owners_bytes)  # of classic groups
        self.member_owners = OwnershipLog(OWNER_CHANGES, owners_bytes, _size_of)  # of KIP-848 groups

    def __repr__(self) -> str:
        return f"<FlightRecorder {self._kept} events of {len(self._groups)} groups>"

    @property
    def groups(self) -> OrderedDict[str, RecordedGroup]:
        """The records by group, the least active one first. The caller must not change it."""
        return self._groups

    def events(self, group_id: str) -> list[AnyEvent]:
        """Return the events of a group, oldest first."""
        record = self._groups.get(group_id)
        return list(record.events) if record is not None else []

    def departures(self, group_id: str, client: ClientInfo, since_ms: int) -> int:
        """Return how often a client went from a group since then, under any member id, or had its place taken."""
        found = 0
        for event in self._groups[group_id].events if group_id in self._groups else ():
            if isinstance(event, Rebalance):
                found += sum(
                    change.kind in GONE and _is_same_client(change.member, client)
                    for change in event.changes
                    if event.at_ms + change.after_ms >= since_ms
                )
            elif event.what is IncidentKind.STATIC_MEMBER_REPLACED and (event.last_ms or event.at_ms) >= since_ms:
                found += event.times if event.member.instance_id == client.instance_id else 0
        return found

    def rebalance(self, event: Rebalance) -> None:
        """Record a rebalance that has ended."""
        record = self._record(event.group)
        cause = event.trigger.cause.value
        for counted in self._counted(record, event.group):
            counted.rebalances += 1
            counted.rebalance_ms += event.took_ms
            counted.rebalances_by_cause[cause] = counted.rebalances_by_cause.get(cause, 0) + 1
        self._keep(record, event)
        self.publish(event)

    def incident(self, event: Incident) -> None:
        """Record an incident, or count it in the one that it repeats."""
        record = self._record(event.group)
        for counted in self._counted(record, event.group):
            if event.what in REFUSED_COMMITS:
                counted.commits_refused += 1
            elif event.what in FENCINGS:
                counted.fencings += 1
        if event.what in NEVER_COUNTED_TOGETHER:
            former = None
        elif not self._per_group:
            return  # without a memory, repetitions cannot be told
        else:
            former = _repeated(record, event, self._alike)
        if former is None:
            self._keep(record, event)
            self.publish(event)
            return
        former.times += 1
        former.last_ms = event.at_ms
        former.waited_ms, former.at_most_ms = event.waited_ms, event.at_most_ms
        if not _is_same_side(former, event):
            former.others += 1
        if not former.times & (former.times - 1):  # 2, 4, 8, ...
            self.publish(former)

    def restore(self, events: Sequence[AnyEvent]) -> None:
        """Take over events of an earlier run, oldest first, older than all that are kept; none of these is dropped.

        An incident that was published again comes once, as it was the last time.
        """
        groups = self._groups
        for event in reversed(events):
            if self._kept >= self._total:
                return
            record = groups.get(event.group)
            if record is None:
                if len(groups) >= self._most_groups:
                    continue
                record = groups[event.group] = RecordedGroup()
                groups.move_to_end(event.group, last=False)
            if len(record.events) >= self._per_group:
                continue
            if isinstance(event, Incident) and any(_is_same(each, event) for each in _incidents(record)):
                continue
            record.events.appendleft(event)
            self._kept += 1

    def _record(self, group_id: str) -> RecordedGroup:
        groups = self._groups
        record = groups.get(group_id)
        if record is None:
            record = groups[group_id] = RecordedGroup()
            if len(groups) > self._most_groups:
                self._forget_oldest()
        else:
            groups.move_to_end(group_id)
        return record

    def _counted(self, record: RecordedGroup, group_id: str) -> tuple[RecordedGroup, ...]:
        return (record,) if self.named is None or group_id in self.named else (record, self.others)

    def _keep(self, record: RecordedGroup, event: AnyEvent) -> None:
        if not self._per_group:
            return
        record.events.append(event)
        self._kept += 1
        if len(record.events) > self._per_group:
            _drop_one(record.events)
            self._kept -= 1
        while self._kept > self._total:
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        _, record = self._groups.popitem(last=False)
        self._kept -= len(record.events)


def _drop_one(events: deque[AnyEvent]) -> None:
    """Remove the oldest event, or the oldest incident if more than half are incidents."""
    incidents = [number for number, event in enumerate(events) if isinstance(event, Incident)]
    if 2 * len(incidents) > len(events):
        del events[incidents[0]]
    else:
        events.popleft()


def _repeated(record: RecordedGroup, event: Incident, most_alike: int) -> Incident | None:
    """Return the recent incident that `event` repeats, or is counted in because `most_alike` are alike."""
    alike = 0
    newest: Incident | None = None
    for number, former in enumerate(reversed(record.events)):
        if number == LOOKED_BACK:
            break
        if (
            isinstance(former, Incident)
            and former.what is event.what
            and former.error == event.error
            and former.api == event.api
            and event.at_ms - (former.last_ms or former.at_ms) <= REPEATS_WITHIN_MS
        ):
            if _is_same_side(former, event):
                return former
            alike += 1
            newest = newest or former
    return newest if alike >= most_alike else None


def _is_same_side(one: Incident, other: Incident) -> bool:
    """Return whether two incidents concern one client. Two that replace each other in turn are one incident."""
    if one.what is IncidentKind.STATIC_MEMBER_REPLACED:
        return one.member.instance_id == other.member.instance_id
    return _is_same_client(one.member, other.member)


def _is_same_client(one: ClientInfo, other: ClientInfo) -> bool:
    """Return whether two runs of one client are meant: member ids differ from run to run."""
    return (one.client_id, one.host, one.instance_id) == (other.client_id, other.host, other.instance_id)


def _size_of(change: OwnerChange) -> int:
    """Return about how many bytes a change takes."""
    return CHANGE_BYTES + sum(CHANGE_BYTES + PARTITION_BYTES * len(some) for some in change.partitions.values())


def _incidents(record: RecordedGroup) -> list[Incident]:
    return [event for event in record.events if isinstance(event, Incident)]


def _is_same(kept: Incident, event: Incident) -> bool:
    return (kept.at_ms, kept.what, kept.member) == (event.at_ms, event.what, event.member)
