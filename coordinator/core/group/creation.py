"""The first record of a group, and the JoinGroup responses that wait until it is durable.

If the append fails, the group and the member ids that it handed out are forgotten. A client that had already received
MEMBER_ID_REQUIRED would then get UNKNOWN_MEMBER_ID and start again, for as long as the disk is full. Therefore the
responses to JoinGroup are held back until the record is durable, and become errors if it fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.model import RebalanceOutcome
from coordinator.core.group.classic_append import ClassicAppend
from coordinator.core.group.progress import end_rebalance
from coordinator.core.group.responses import join_error, refuse_parked_join, refuse_parked_sync, sync_error
from coordinator.core.log_errors import client_error
from protocol.messages.sync_group import SyncGroupResponse

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Reply
    from protocol.error_codes import ErrorCode


class CreateGroup(ClassicAppend):
    """Pending append of the first record of a group. `creating` holds them by group id until their outcome is known."""

    __slots__ = ("creating", "group_id", "held")

    def __init__(self, group_id: str, creating: dict[str, CreateGroup]) -> None:
        self.group_id = group_id
        self.creating = creating
        self.held: list[Reply] = []
        creating[group_id] = self

    def hold(self, context: Context) -> None:
        """Hold back the replies of this event."""
        self.held += context.replies
        context.replies.clear()

    def durable(self, context: Context) -> None:
        if self.group is not None:
            self.group.is_recorded = True
        self._release(context)

    def failed(self, error: ErrorCode, context: Context) -> None:
        """Remove the group and answer its parked requests with the error."""
        group = self.classic_group
        if group is None or group.is_recorded:
            self._release(context)
            return
        self.abandoned(client_error(error), context)
        for member in group.members.values():
            refuse_parked_join(group, member, client_error(error), context)
            refuse_parked_sync(member, client_error(error), context)
        end_rebalance(group, RebalanceOutcome.INTERRUPTED, context)
        group.shard.forget(group)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        self._end()
        for reply in self.held:
            # A JoinGroup that starts a rebalance also answers the parked SyncGroup requests.
            is_sync = isinstance(reply.response, SyncGroupResponse)
            context.reply(reply.ticket, sync_error(error) if is_sync else join_error(error))
        self.held.clear()

    def _release(self, context: Context) -> None:
        self._end()
        context.replies += self.held
        self.held.clear()

    def _end(self) -> None:
        if self.creating.get(self.group_id) is self:
            del self.creating[self.group_id]
