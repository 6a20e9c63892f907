"""The figures of all groups, for the console's list: state, members, lag, rebalances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.listed import ListedFigures, encode
from coordinator.core.events.model import Rebalance, shortened
from coordinator.core.group.describe import CONSUMER, GROUPS_PER_STEP, QUARANTINED

if TYPE_CHECKING:
    from collections.abc import Generator

    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.events.recorder import FlightRecorder, RecordedGroup
    from coordinator.core.group.group import Group
    from coordinator.core.registry import GroupRegistry


def list_figures(registry: GroupRegistry, recorder: FlightRecorder) -> Generator[None, None, list[bytes]]:
    """Return the JSON of all groups in parts, one for each step, those that are quarantined in the last.

    A group that is created or deleted meanwhile may or may not be in the list.
    """
    parts: list[bytes] = []
    groups = registry.groups
    ids = list(groups)
    for start in range(0, len(ids), GROUPS_PER_STEP):
        if start:
            yield
        some = map(groups.get, ids[start : start + GROUPS_PER_STEP])
        parts.append(encode([_figures(group, recorder) for group in some if group is not None and group.is_recorded]))
    newer = list(registry.consumer_groups.values())
    for start in range(0, len(newer), GROUPS_PER_STEP):
        if parts:
            yield
        some_newer = newer[start : start + GROUPS_PER_STEP]
        parts.append(encode([_consumer_figures(group, recorder) for group in some_newer if group.is_recorded]))
    quarantined = [
        ListedFigures(group_id, "", QUARANTINED, -1, -1, -1, 0, 0, -1)
        for shard in registry.partitions
        for group_id in shard.quarantine.groups
    ]
    if quarantined:
        parts.append(encode(quarantined))
    return parts


def _consumer_figures(group: ConsumerGroup, recorder: FlightRecorder) -> ListedFigures:
    record = recorder.groups.get(shortened(group.group_id))
    running = group.progress.running
    return ListedFigures(
        group.group_id,
        CONSUMER,
        group.state.value,
        len(group.members),
        group.epoch,
        group.lag,
        group.unknown_ends,
        record.rebalances if record is not None else 0,
        _last_rebalance_ms(record) if running is None else running.began_wall_ms,
        CONSUMER,
    )


def _figures(group: Group, recorder: FlightRecorder) -> ListedFigures:
    record = recorder.groups.get(shortened(group.group_id))
    last_ms = group.rebalance.started_wall_ms if group.rebalance is not None else _last_rebalance_ms(record)
    return ListedFigures(
        group.group_id,
        group.protocol_type or "",
        group.state.value,
        len(group.members),
        group.generation,
        group.lag,
        group.unknown_ends,
        record.rebalances if record is not None else 0,
        last_ms,
    )


def _last_rebalance_ms(record: RecordedGroup | None) -> int:
    if record is None:
        return -1
    return next((event.at_ms for event in reversed(record.events) if isinstance(event, Rebalance)), -1)
