"""Counters of the coordinator, with the meaning that Kafka's `GroupCoordinatorMetrics` gives them."""

from __future__ import annotations

from coordinator.core.group.parked_heartbeat import Release


class Counters:
    """Cumulative counts since the start. Gauges (groups by state, offsets) are kept where they change."""

    __slots__ = (
        "completed_rebalances",
        "consumer_rebalances",
        "expired_sessions",
        "fenced_members",
        "forgotten_members",
        "offset_commits",
        "offset_deletions",
        "offset_expirations",
        "rebalances_by_cause",
        "refused_groups",
        "refused_offsets",
        "released_consumer_heartbeats",
        "released_heartbeats",
        "released_syncs",
    )

    def __init__(self) -> None:
        self.offset_commits = 0  # offset records handed to the log, transactional ones included
        self.offset_expirations = 0  # offsets removed by retention
        self.offset_deletions = 0  # offset tombstones written for OffsetDelete
        self.completed_rebalances = 0  # a leader's assignments became durable
        self.expired_sessions = 0  # members removed because their session timed out
        self.consumer_rebalances = 0  # KIP-848: group epochs that began because of members or topics
        self.fenced_members = 0  # KIP-848: members removed because they did not give up their partitions in time
        self.forgotten_members = 0  # member ids handed out and forgotten early because of group.max.pending.members
        self.refused_groups = 0  # joins and commits refused by max.groups
        self.refused_offsets = 0  # in commits, by max.offsets
        self.rebalances_by_cause: dict[str, int] = {}
        self.released_heartbeats = {why.value: 0 for why in Release}  # parked ones, by why they ended
        self.released_consumer_heartbeats = {why.value: 0 for why in Release}  # held ones of KIP-848 groups
        self.released_syncs = {why.value: 0 for why in Release}  # held ones
