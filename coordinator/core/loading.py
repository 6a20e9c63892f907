"""Activation of a loaded partition: its groups and offsets become available, and all sessions restart.

`LoadedState` is built in the thread that reads the log, so that the event loop only has to install it. The sessions of
many members start a few hundred at a time, while the groups are served: a member whose request comes first has its
session already. Of the first groups, the load is recorded as an event (`loads_recorded`).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.consumer_group.stored import StoredGroup
from coordinator.core.events.model import Cause, Trigger
from coordinator.core.group.group import Group  # at run time, like OffsetStore: a compiled dataclass looks its types up
from coordinator.core.group.incidents import loads_recorded, record_load
from coordinator.core.group.rebalance import prepare_rebalance
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import STABLE, GroupState
from coordinator.core.offsets.consumer_records import IgnoredRecords
from coordinator.core.offsets.quarantine import Quarantine, restore
from coordinator.core.offsets.store import OffsetStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordinator.core.context import Context
    from coordinator.core.offsets.replay import Replay, ReplayedGroup
    from coordinator.core.shard import Shard
    from coordinator.core.timers import GroupTimers

SESSIONS_PER_EVENT: Final = 500  # members


@dataclass(slots=True)
class LoadedState:
    """Groups and offsets of a partition's log, ready to be installed."""

    groups: dict[str, Group]
    by_state: dict[GroupState, int]
    with_members: list[Group]
    offsets: OffsetStore
    unknown: int  # number of records of unknown kinds
    quarantine: Quarantine
    stored: list[StoredGroup] = field(default_factory=list)  # the KIP-848 groups, as their records say
    ignored: list[IgnoredRecords] = field(default_factory=list)  # a report for the log
    consumer_groups: dict[str, ConsumerGroup] = field(default_factory=dict)  # the same groups, to be installed

    @classmethod
    def of(
        cls,
        groups: Iterable[Group],
        offsets: OffsetStore,
        unknown: int,
        quarantine: Quarantine | None = None,
        stored: Iterable[StoredGroup] = (),
        ignored: Iterable[IgnoredRecords] = (),
        consumer_groups: Iterable[ConsumerGroup] = (),
    ) -> LoadedState:
        by_id = {group.group_id: group for group in groups}
        with_members = [group for group in by_id.values() if group.members]
        return cls(
            by_id,
            Counter(group.state for group in by_id.values()),
            with_members,
            offsets,
            unknown,
            quarantine or Quarantine.empty(),
            list(stored),
            list(ignored),
            {group.group_id: group for group in consumer_groups},
        )

    @classmethod
    def replayed(
        cls, found: Iterable[ReplayedGroup], replay: Replay, offsets: OffsetStore, shard: Shard, wall_ms: int
    ) -> LoadedState:
        """Decode what `replay.settle` has returned: classic groups and offsets. The replay holds the rest."""
        groups, quarantine, stored, consumer_groups = restore(found, replay, shard, wall_ms)
        return cls.of(groups, offsets, replay.unknown, quarantine, stored, replay.ignored, consumer_groups)


def start_sessions(shard: Shard, timers: GroupTimers, sessions: Iterator[None], context: Context) -> None:
    """Start the sessions of loaded members, SESSIONS_PER_EVENT now and the others in later events.

    `sessions` starts one in each step.
    """

    def step(later: Context) -> None:
        for number, _ in enumerate(sessions, 1):
            if number == SESSIONS_PER_EVENT:
                timers.run_at(later.now_ms, step, shard)
                return

    step(context)


def sessions_of(shard: Shard, groups: list[Group], context: Context) -> Iterator[None]:
    """Start the sessions of the members of classic groups, one in each step, but for those that a request has started.

    The core has one Context for all events.
    """
    recorded = loads_recorded(context)
    for number, group in enumerate(groups):
        for member in list(group.members.values()):
            if member.session is None and not member.is_gone and shard.groups.get(group.group_id) is group:
                restart_session(group, member, member.session_timeout_ms, context)
            yield
        is_there = shard.groups.get(group.group_id) is group
        if is_there and number < recorded:
            record_load(group, context)
        if is_there and group.state is STABLE and len(group.members) > context.config.group_max_size:
            prepare_rebalance(group, Trigger(Cause.OVER_FULL), context)
