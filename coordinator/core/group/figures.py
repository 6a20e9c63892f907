"""The figures of all groups, for the console's list: state, members, lag, rebalances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.model import Rebalance, shortened
from coordinator.core.group.describe import GROUPS_PER_STEP, QUARANTINED
from protocol.messages.list_group_figures import ListedGroupFigures

if TYPE_CHECKING:
    from collections.abc import Generator

    from coordinator.core.events.recorder import FlightRecorder
    from coordinator.core.group.group import Group
    from coordinator.core.registry import GroupRegistry


def list_figures(registry: GroupRegistry, recorder: FlightRecorder) -> Generator[None, None, list[ListedGroupFigures]]:
    """List all groups in steps, in no particular order, with those that are quarantined at the end.

    A group that is created or deleted meanwhile may or may not be in the list.
    """
    listed: list[ListedGroupFigures] = []
    groups = registry.groups
    ids = list(groups)
    for start in range(0, len(ids), GROUPS_PER_STEP):
        if start:
            yield
        some = map(groups.get, ids[start : start + GROUPS_PER_STEP])
        listed += [_figures(group, recorder) for group in some if group is not None and group.is_recorded]
    for shard in registry.partitions:
        listed += [
            ListedGroupFigures(
                group_id=group_id,
                protocol_type="",
                group_state=QUARANTINED,
                members=-1,
                generation=-1,
                lag=-1,
                unknown_partitions=0,
                rebalances=0,
                last_rebalance_ms=-1,
            )
            for group_id in shard.quarantine.groups
        ]
    return listed


def _figures(group: Group, recorder: FlightRecorder) -> ListedGroupFigures:
    record = recorder.groups.get(shortened(group.group_id))
    last_ms = -1
    if group.rebalance is not None:
        last_ms = group.rebalance.started_wall_ms
    elif record is not None:
        last_ms = next((event.at_ms for event in reversed(record.events) if isinstance(event, Rebalance)), -1)
    return ListedGroupFigures(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state.value,
        members=len(group.members),
        generation=group.generation,
        lag=group.lag,
        unknown_partitions=group.unknown_ends,
        rebalances=record.rebalances if record is not None else 0,
        last_rebalance_ms=last_ms,
    )
