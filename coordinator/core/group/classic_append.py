"""The base of pending appends that write the record of a classic group."""

from __future__ import annotations

from coordinator.core.context import PendingAppend
from coordinator.core.group.group import Group


class ClassicAppend(PendingAppend):
    """Pending append of the record of a classic group."""

    __slots__ = ()

    writes_group = True

    @property
    def classic_group(self) -> Group | None:
        """The group that the record is of."""
        group = self.group
        return group if isinstance(group, Group) else None
