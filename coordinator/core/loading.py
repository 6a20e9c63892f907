"""A partition has been read: its groups and offsets come into service, and every session begins anew.

What takes long is made before, by whoever reads the log, in a thread (`LoadedState`); what is left for the event loop
is to put it in its place. Sessions of very many members are started a few hundred at a time, with the groups in service
already: a member that is heard of first has its session by then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from coordinator.core.group.history import Cause, Trigger
from coordinator.core.group.rebalance import prepare_rebalance
from coordinator.core.group.session import restart_session
from coordinator.core.group.state import STABLE, GroupState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.core.shard import Shard
    from coordinator.core.timers import GroupTimers

SESSIONS_PER_EVENT: Final = 500


@dataclass(slots=True)
class LoadedState:
    """What a partition's log leaves, ready to be put in its place."""

    groups: dict[str, Group]
    by_state: dict[GroupState, int]
    with_members: list[Group]
    offsets: OffsetStore
    unknown: int  # records of kinds that are not ours

    @classmethod
    def of(cls, groups: Iterable[Group], offsets: OffsetStore, unknown: int) -> LoadedState:
        by_id = {group.group_id: group for group in groups}
        with_members = [group for group in by_id.values() if group.members]
        return cls(by_id, Counter(group.state for group in by_id.values()), with_members, offsets, unknown)


def start_sessions(shard: Shard, timers: GroupTimers, groups: list[Group], context: Context) -> None:
    """Members of loaded groups are alive as of now, unless they were heard of."""
    steps = _sessions(shard, groups, context)  # there is one Event, whatever the time is

    def step(later: Context) -> None:
        if next(steps, None) is not None:
            timers.run_at(later.now_ms, step, shard)

    step(context)


def _sessions(shard: Shard, groups: list[Group], context: Context) -> Iterator[bool]:
    """Pauses after each some hundred members."""
    left = SESSIONS_PER_EVENT
    for group in groups:
        for member in list(group.members.values()):
            if member.session is None and not member.is_gone and shard.groups.get(group.group_id) is group:
                restart_session(group, member, member.session_timeout_ms, context)
            left -= 1
            if not left:
                yield True
                left = SESSIONS_PER_EVENT
        is_there = shard.groups.get(group.group_id) is group
        if is_there and group.state is STABLE and len(group.members) > context.config.group_max_size:
            prepare_rebalance(group, Trigger(Cause.OVER_FULL), context)
