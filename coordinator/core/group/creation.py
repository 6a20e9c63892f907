"""The record of a group that its first JoinGroup makes, and the answers that wait until it is durable.

If the append fails, the group is forgotten, and with it the member ids that it handed out: a client that had been
answered MEMBER_ID_REQUIRED would hear UNKNOWN_MEMBER_ID next and begin again, for as long as the disk is full. So until
the record is durable the answers to JoinGroup are held back, and are the error if it fails (spec 4.6).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import InFlight, client_error
from coordinator.core.group.history import Outcome
from coordinator.core.group.responses import join_error, refuse_parked_join, refuse_parked_sync

if TYPE_CHECKING:
    from coordinator.core.context import Event
    from coordinator.core.effects import Reply
    from protocol.error_codes import ErrorCode


class CreateGroup(InFlight):
    """The record of a new group is on its way. `creating` has all of these by group id, until their fate is known."""

    writes_group = True
    __slots__ = ("creating", "group_id", "held")

    def __init__(self, group_id: str, creating: dict[str, CreateGroup]) -> None:
        self.group_id = group_id
        self.creating = creating
        self.held: list[Reply] = []
        creating[group_id] = self

    def hold(self, event: Event) -> None:
        """Keep back what this event answers."""
        self.held += event.replies
        event.replies.clear()

    def durable(self, event: Event) -> None:
        if self.group is not None:
            self.group.is_recorded = True
        self._release(event)

    def failed(self, error: ErrorCode, event: Event) -> None:
        """The group vanishes again, and who waits in it hears why."""
        group = self.group
        if group is None or group.is_recorded:
            self._release(event)
            return
        self.abandoned(client_error(error), event)
        for member in group.members.values():
            refuse_parked_join(group, member, client_error(error), event)
            refuse_parked_sync(member, client_error(error), event)
        group.end_rebalance(Outcome.INTERRUPTED, event)
        group.shard.forget(group)

    def abandoned(self, error: ErrorCode, event: Event) -> None:
        self._end()
        for reply in self.held:
            event.reply(reply.ticket, join_error(error))
        self.held.clear()

    def _release(self, event: Event) -> None:
        self._end()
        event.replies += self.held
        self.held.clear()

    def _end(self) -> None:
        if self.creating.get(self.group_id) is self:
            del self.creating[self.group_id]
