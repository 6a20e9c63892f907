"""Counters of the membership of this node, for metrics."""

from __future__ import annotations

from dataclasses import dataclass, field

from coordinator.metrics.histogram import LATENCY_BOUNDS_S, Histogram


@dataclass(slots=True)
class MembershipCounters:
    """Counts since the start of the process."""

    claims: int = 0  # partitions that this node has claimed
    lost: int = 0  # partitions whose claim was lost, or given up without a hand-over
    handed_over: int = 0  # partitions released for another node
    expired_nodes: int = 0  # nodes that this one has declared dead
    lease_losses: int = 0  # leases that ended without a renewal
    renewal_seconds: Histogram = field(default_factory=lambda: Histogram(LATENCY_BOUNDS_S))  # successful ones
