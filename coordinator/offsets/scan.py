"""The periodic look for expired offsets and groups, in slices.

Every offsets.retention.check.interval.ms a partition's groups are walked, some hundred in one event, so that requests
run in between. A group with an append in flight is left to the next round: what is in flight may be newer than what we
would decide from (spec 12.4).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.group.state import DEAD
from coordinator.offsets.deletion import expire
from coordinator.offsets.expiration import find_expired

if TYPE_CHECKING:
    from coordinator.group.event import Event
    from coordinator.offsets.partition import OffsetsPartition
    from coordinator.purgatory.group_timers import GroupTimers

GROUPS_PER_EVENT: Final = 200


def schedule_scan(shard: OffsetsPartition, timers: GroupTimers, event: Event) -> None:
    """The next round, one interval from now."""
    due_ms = event.now_ms + event.config.offsets_retention_check_interval_ms
    shard.scan = timers.run_at(due_ms, lambda later: _scan(shard, timers, list(shard.groups), later), shard)


def _scan(shard: OffsetsPartition, timers: GroupTimers, left: list[str], event: Event) -> None:
    for _ in range(min(GROUPS_PER_EVENT, len(left))):
        group = shard.groups.get(left.pop())
        if group is None or group.in_flight or group.state is DEAD:
            continue
        offsets, with_group = find_expired(group, shard.offsets, event.wall_ms, event.config.offsets_retention_ms)
        if offsets or with_group:
            expire(group, offsets, with_group=with_group, event=event)
    if left:
        shard.scan = timers.run_at(event.now_ms, lambda later: _scan(shard, timers, left, later), shard)
    else:
        schedule_scan(shard, timers, event)
