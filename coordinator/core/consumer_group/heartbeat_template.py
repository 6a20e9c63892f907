"""A ConsumerGroupHeartbeat of a member with nothing to do, for repetitions of it with the same bytes.

`is_plain` decides when the template is made. Of what it looks at, a repetition can only differ in the member's value,
which is replaced by each change, in the epochs of the group, and in the topics. The template declines when one of them
is another one, when settings of the group were altered, and while an earlier heartbeat of the member is held or an
append of the group is in flight, because the answer belongs behind these. A group with a regular expression has none,
because that is resolved again after some time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.heartbeat import is_plain
from coordinator.core.consumer_group.held_heartbeat import (
    SENDS_AGAIN_SOON,
    HeldConsumerHeartbeat,
    longest_hold_ms,
)
from coordinator.core.consumer_group.interval import heartbeat_interval_ms
from coordinator.core.consumer_group.session import session_timeout_ms
from coordinator.core.repeated_heartbeat import RepeatedHeartbeat
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.groups import ConsumerGroupHeartbeat, ConsumerGroups
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket


class ConsumerHeartbeatTemplate(RepeatedHeartbeat):
    """One such heartbeat."""

    __slots__ = (
        "_answered",
        "_command",
        "_configs",
        "_epoch",
        "_group",
        "_groups",
        "_has_one_answer",
        "_held_ms",
        "_member",
        "_own_configs",
        "_session",
        "_timeout_ms",
    )

    def __init__(
        self,
        groups: ConsumerGroups,
        group: ConsumerGroup,
        command: ConsumerGroupHeartbeat,
        ticket: Ticket,
        context: Context,
    ) -> None:
        member_id = command.request.member_id
        self._groups = groups
        self._group = group
        self._command = command
        self._member = member = group.members[member_id]
        self._session = session = groups.session(group, member_id)
        self._epoch = group.epoch
        self._configs = context.group_configs
        self._own_configs = context.group_configs.get(group.group_id)
        self._timeout_ms = session_timeout_ms(group, member_id, context)
        self._held_ms = longest_hold_ms(group, session, ticket, context)
        self._answered = ConsumerGroupHeartbeatResponse(
            error_code=0,
            member_id=member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=heartbeat_interval_ms(group, member, session, context),
        )
        # The interval of the others depends on what happened to their last heartbeats (`next_interval_ms`).
        self._has_one_answer = ticket.client_software.name not in SENDS_AGAIN_SOON

    @classmethod
    def of(
        cls, groups: ConsumerGroups, command: ConsumerGroupHeartbeat, ticket: Ticket, context: Context
    ) -> ConsumerHeartbeatTemplate | None:
        """Return a template of a heartbeat; None if a repetition of it may change something."""
        group = groups.group_of(command)
        if group is None or group.is_dead or group.regex_counts:
            return None
        if not is_plain(group, command.request, ticket, groups.topics, context):
            return None
        template = cls(groups, group, command, ticket, context)
        return None if template.is_interval_growing() else template

    def is_interval_growing(self) -> bool:
        """Return whether the next answer tells a longer interval than the last one did, and waits longer."""
        told_ms = self._session.told_ms
        return self._has_one_answer and 0 <= told_ms < self._answered.heartbeat_interval_ms

    @property
    def may_wait(self) -> bool:
        return self._held_ms > 0

    @property
    def response(self) -> ConsumerGroupHeartbeatResponse:
        return self._answered

    def renew(self, now_ms: int) -> bool:
        return self._has_one_answer and self._holds() and self._start_session(now_ms)

    def park(self, ticket: Ticket, context: Context) -> HeldConsumerHeartbeat | None:
        if not self._held_ms or not self._holds() or not self._start_session(context.now_ms):
            return None
        self._session.may_be_held = ticket.may_be_held = True
        return self._groups.hold(self._group, self._command, ticket, self._held_ms, context)

    def _holds(self) -> bool:
        """Return whether the heartbeat would be found to change nothing again."""
        group, member = self._group, self._member
        member_id = member.member_id
        return (
            group.members.get(member_id) is member
            and group.epoch == self._epoch
            and group.assignment_epoch == self._epoch
            and group.seen_topics_version == self._groups.topics.version
            and group.last_append is None
            and not group.is_deleted
            and not group.regex_counts
            and member_id not in group.held
            and self._configs.get(group.group_id) is self._own_configs
        )

    def _start_session(self, now_ms: int) -> bool:
        """Move the deadline of the session; False if its timer would have to be armed."""
        session = self._session
        timer = session.timer
        deadline_ms = now_ms + self._timeout_ms
        if timer is None or timer.is_completed or timer.fires_at_ms > deadline_ms:
            return False
        session.deadline_ms = deadline_ms
        session.heard_ms = now_ms
        return True
