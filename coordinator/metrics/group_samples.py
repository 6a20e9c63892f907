"""Samples of the figures by group. Runs on the HTTP thread, over figures that do not change any more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, Literal

from coordinator.metrics.health import Sample

if TYPE_CHECKING:
    from coordinator.metrics.group_figures import GroupFigures

PREFIX: Final = "coordinator_group_"

# name, kind, what it means, field
_BY_GROUP: Final[tuple[tuple[str, Literal["gauge", "counter"], str, str], ...]] = (
    ("members", "gauge", "Members of the group.", "members"),
    ("generation", "gauge", "The generation of the group.", "generation"),
    (
        "rebalance_seconds_total",
        "counter",
        "Time of the group's ended rebalances, from their trigger to their end.",
        "rebalance_s",
    ),
    ("refused_commits_total", "counter", "Commits refused as stale, or of unknown members.", "commits_refused"),
    (
        "fencings_total",
        "counter",
        "Static members replaced, and requests refused because another member has their instance id.",
        "fencings",
    ),
    ("lag_offsets", "gauge", "Offsets behind the ends of the partitions that are on this node, summed.", "lag"),
    ("longest_lag_offsets", "gauge", "The same, of the partition that is furthest behind.", "longest_lag"),
    (
        "lag_seconds",
        "gauge",
        "How long the oldest record that is not committed has waited, to within one record batch.",
        "lag_s",
    ),
    (
        "unknown_lag_partitions",
        "gauge",
        "Partitions with a committed offset whose end is not known on this node.",
        "unknown_partitions",
    ),
)


def samples(groups: Iterable[GroupFigures]) -> Iterator[Sample]:
    """Yield the samples of all groups. What is not known has none."""
    for each in groups:
        labels = {"group": each.label}
        for state, count in each.states.items():
            yield Sample(
                PREFIX + "state", "1 for the state that the group is in.", "gauge", count, {**labels, "state": state}
            )
        for cause, count in each.rebalances.items():
            yield Sample(
                PREFIX + "rebalances_total",
                "Ended rebalances of the group, by cause.",
                "counter",
                count,
                {**labels, "cause": cause},
            )
        for name, kind, help, field in _BY_GROUP:
            value = getattr(each, field)
            if value is not None:
                yield Sample(PREFIX + name, help, kind, value, labels)
