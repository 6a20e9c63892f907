"""The assignor `uniform`: members get equal numbers of partitions, and keep what they have where that allows it.

Source: Kafka's `UniformAssignor`.
"""

from __future__ import annotations

from coordinator.core.consumer_group.assignors.interface import AssignmentSteps, GroupSpec
from coordinator.core.consumer_group.assignors.pace import Pace
from coordinator.core.consumer_group.assignors.uniform_heterogeneous import assign_heterogeneous
from coordinator.core.consumer_group.assignors.uniform_homogeneous import assign_homogeneous


class UniformAssignor:
    """Assigns equal numbers of partitions."""

    @property
    def name(self) -> str:
        return "uniform"

    @property
    def is_offloaded(self) -> bool:
        return False

    def steps(self, spec: GroupSpec) -> AssignmentSteps:
        """Compute the target assignment in steps, and return it."""
        assign = assign_homogeneous if spec.is_homogeneous else assign_heterogeneous
        return assign(spec, Pace(spec))
