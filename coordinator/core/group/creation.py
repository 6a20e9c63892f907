"""The record of a group that its first JoinGroup makes, and the answers that wait until it is durable.

If the append fails, the group is forgotten, and with it the member ids that it handed out: a client that had been
answered MEMBER_ID_REQUIRED would hear UNKNOWN_MEMBER_ID next and begin again, for as long as the disk is full. So until
the record is durable the answers to JoinGroup are held back, and are the error if it fails (spec 4.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import PendingAppend, client_error
from coordinator.core.group.history import RebalanceOutcome
from coordinator.core.group.responses import join_error, refuse_parked_join, refuse_parked_sync

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Reply
    from protocol.error_codes import ErrorCode


class CreateGroup(PendingAppend):
    """The record of a new group is on its way. `creating` has all of these by group id, until their fate is known."""

    writes_group = True
    __slots__ = ("creating", "group_id", "held")

    def __init__(self, group_id: str, creating: dict[str, CreateGroup]) -> None:
        self.group_id = group_id
        self.creating = creating
        self.held: list[Reply] = []
        creating[group_id] = self

    def hold(self, context: Context) -> None:
        """Keep back what this event answers."""
        self.held += context.replies
        context.replies.clear()

    def durable(self, context: Context) -> None:
        if self.group is not None:
            self.group.is_recorded = True
        self._release(context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        """The group vanishes again, and who waits in it hears why."""
        group = self.group
        if group is None or group.is_recorded:
            self._release(context)
            return
        self.abandoned(client_error(error), context)
        for member in group.members.values():
            refuse_parked_join(group, member, client_error(error), context)
            refuse_parked_sync(member, client_error(error), context)
        group.end_rebalance(RebalanceOutcome.INTERRUPTED, context)
        group.shard.forget(group)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._end()
        for reply in self.held:
            context.reply(reply.ticket, join_error(error))
        self.held.clear()

    def _release(self, context: Context) -> None:
        self._end()
        context.replies += self.held
        self.held.clear()

    def _end(self) -> None:
        if self.creating.get(self.group_id) is self:
            del self.creating[self.group_id]
