"""Bounds of what is kept of the groups of an observed cluster."""

from __future__ import annotations

from typing import NamedTuple


class ObserverLimits(NamedTuple):
    """Numbers of what is kept. Beyond `groups` and `offsets`, the groups that wrote least lately are forgotten."""

    groups: int = 20_000
    offsets: int = 2_000_000  # committed offsets, of all groups
    events_per_group: int = 64
    events: int = 200_000
    owner_changes_per_group: int = 1_000
    owner_changes: int = 400_000
    members_per_group: int = 20_000  # beyond it a group's members are not read
