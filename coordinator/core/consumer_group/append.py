"""The append of one event of a KIP-848 group, with what undoes the event.

The change is in memory at once, so that the next event decides from it. Its answers, and those of later events that
wrote nothing, wait until the append is durable, because they tell of it. If it fails, the log drops it and all later
appends; the newest is undone first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coordinator.core.consumer_group.record_places import note_records
from coordinator.core.consumer_group.undo import MEMBER, Inverse, undo
from coordinator.core.context import PendingAppend
from coordinator.core.log_errors import client_error

if TYPE_CHECKING:
    from collections.abc import Callable

    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.notes import Note
    from coordinator.core.context import Context, Records
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from protocol.error_codes import ErrorCode


class ConsumerGroupAppend(PendingAppend):
    """Pending append of the records of one event."""

    __slots__ = (
        "answers",
        "classic",
        "consumer_group",
        "inverses",
        "note",
        "on_failed",
        "records",
        "removed",
        "undone",
    )

    def __init__(
        self,
        group: ConsumerGroup,
        records: Records,
        inverses: list[Inverse],
        removed: list[str],
        on_failed: Callable[[Context], None] | None,
        classic: Group | None = None,
        note: Note | None = None,
    ) -> None:
        self.consumer_group = group
        self.records = records
        self.inverses = inverses
        self.answers: list[tuple[Ticket, Any, Callable[[ErrorCode], Any]]] = []
        self.on_failed = on_failed  # what tries again, if no client does
        self.classic = classic  # the classic group that takes the place of the group
        self.note = note  # for the flight recorder, when it is durable
        self.removed = removed  # members whose timers end when it is durable
        self.undone: set[str] = set()  # members whose former values were restored

    def answer(self, ticket: Ticket, response: Any, refused: Callable[[ErrorCode], Any]) -> None:
        """Send `response` when the append is durable; `refused` makes the answer for an error."""
        self.answers.append((ticket, response, refused))

    def durable(self, context: Context) -> None:
        group = self.consumer_group
        group.is_recorded = True
        group.record_offset = self.last_offset
        note_records(group.record_places, self.records, self.last_offset - len(self.records) + 1)
        if self.classic is not None:
            self.classic.is_recorded = True
            self.classic.record_offset = self.last_offset
        self._settled()
        if self.note is not None:
            group.progress.take(self.note, group, context)
        for member_id in self.removed:
            if member_id not in group.members and (session := group.sessions.pop(member_id, None)) is not None:
                session.cancel()
        for ticket, response, _ in self.answers:
            context.reply(ticket, response)
        self.answers.clear()

    def undo(self) -> None:
        inverses, self.inverses = self.inverses, []
        if inverses:
            self.undone = {inverse.key for inverse in inverses if inverse.what == MEMBER}
            undo(self.consumer_group, inverses)

    def failed(self, error: ErrorCode, context: Context) -> None:
        self.undo()  # it is not in the log's queue if it was too large
        self._settled()
        group = self.consumer_group
        for member_id in self.undone:
            member, session = group.members.get(member_id), group.sessions.get(member_id)
            if member is not None and session is not None:
                session.restore(member, context)
        self.abandoned(client_error(error), context)
        if self.on_failed is not None:
            self.on_failed(context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        for ticket, _, refused in self.answers:
            context.reply(ticket, refused(error))
        self.answers.clear()

    def _settled(self) -> None:
        self.inverses, self.records = [], ()
        if self.consumer_group.last_append is self:
            self.consumer_group.last_append = None
