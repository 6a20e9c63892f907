"""The periodic scan for expired offsets and groups, in the background and in steps.

Every offsets.retention.check.interval.ms the groups of a partition are scanned, some hundred offsets in one step;
requests run in between, and the disk gets time to write the tombstones. A group with an append in flight waits for the
next scan, because that append may be newer than what the decision would be made from. Of a packed group
(`packed_groups.py`) only its age is read.

A group with more offsets than a step scans loses them in parts, each step deciding from what is committed then. The
group itself is deleted when it has none left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.offsets.deletion import RemoveOffsets, expire, in_appends, in_parts, offset_tombstones
from coordinator.core.offsets.expiration import find_expired, find_expired_of, is_too_young
from coordinator.core.shard import MOST_PAUSES, PAUSE_MS

if TYPE_CHECKING:
    from coordinator.core.any_group import AnyGroup
    from coordinator.core.context import Context
    from coordinator.core.offsets.deletion import Positions
    from coordinator.core.shard import Shard
    from coordinator.core.timers import GroupTimers
    from coordinator.core.work import Steps
    from protocol.error_codes import ErrorCode

# Values that tests change are not Final: mypyc would compile them into the code.
OFFSETS_PER_STEP = 500


def schedule_scan(shard: Shard, timers: GroupTimers, context: Context) -> None:
    """Schedule the next scan, one interval from now."""
    due_ms = context.now_ms + context.config.offsets_retention_check_interval_ms
    shard.scan = timers.run_at(due_ms, lambda later: _begin(shard, timers, later), shard)


def _begin(shard: Shard, timers: GroupTimers, context: Context) -> None:
    shard.scan = timers.in_background(_scan(shard, timers, context), shard)


def _scan(shard: Shard, timers: GroupTimers, context: Context) -> Steps:
    looked = 0
    store = shard.offsets
    # An id is let go with its group. Kept until the end, the ids would hold pages of memory of all deleted groups, and
    # giving those back at once takes 20 ms.
    waiting = [*reversed(shard.consumer_groups), *reversed(shard.groups)]
    while waiting:
        group_id = waiting.pop()
        if looked >= OFFSETS_PER_STEP:
            looked = 0
            yield from shard.let_others_run()
        looked += 1
        group = shard.find(group_id)
        if group is None or group.in_flight or group.is_dead:
            continue
        retention_ms = context.config.offsets_retention_ms
        if is_too_young(group, store, context.wall_ms, retention_ms):
            continue  # it stays packed
        offsets = sum(map(len, store.of_group(group_id).values()))
        looked += offsets
        if offsets > OFFSETS_PER_STEP:
            yield from _scan_long(group, shard, context)
            looked = OFFSETS_PER_STEP
            continue
        expired, with_group = find_expired(group, store, context.wall_ms, retention_ms)
        if expired or with_group:
            expire(group, expired, with_group=with_group, context=context)
    schedule_scan(shard, timers, context)


class _OwnTombstones:
    """Number of this scan's own appends in flight for a group. Any other append ends the scan of the group."""

    __slots__ = ("in_flight",)

    def __init__(self) -> None:
        self.in_flight = 0


class _RemoveSome(RemoveOffsets):
    __slots__ = ("own",)

    def __init__(self, positions: Positions, own: _OwnTombstones) -> None:
        super().__init__(positions)
        self.own = own
        own.in_flight += 1

    def durable(self, context: Context) -> None:
        self.own.in_flight -= 1
        super().durable(context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.own.in_flight -= 1


def _scan_long(group: AnyGroup, shard: Shard, context: Context) -> Steps:
    """Scan some offsets in each step, until all are done or another append of the group is in flight."""
    own = _OwnTombstones()
    for topic, indexes in in_parts(shard.offsets.of_group(group.group_id), OFFSETS_PER_STEP):
        yield from shard.let_others_run()
        if group.in_flight > own.in_flight or group.is_dead:
            return
        retention_ms = context.config.offsets_retention_ms
        expired = find_expired_of(group, shard.offsets, topic, indexes, context.wall_ms, retention_ms)
        if expired:
            context.counters.offset_expirations += len(expired)
            for positions in in_appends(group.group_id, expired, context):
                context.append(group, offset_tombstones(group.group_id, positions), _RemoveSome(positions, own))
    for _ in range(MOST_PAUSES):
        if not own.in_flight:
            break
        yield PAUSE_MS
    if group.in_flight or group.is_dead or shard.offsets.has(group.group_id):
        return
    if find_expired(group, shard.offsets, context.wall_ms, context.config.offsets_retention_ms).group:
        expire(group, [], with_group=True, context=context)
