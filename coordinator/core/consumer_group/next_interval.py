"""The heartbeat interval for the next answer, so that the next heartbeat waits when the group changes.

Java and franz-go wait for an answer for longer than an interval. They are told a short one if the next heartbeat can
be held. librdkafka takes a heartbeat without an answer for lost when the interval has passed. It is told the usual one,
and is held for nearly as long. After a step that is answered at once it has none that could be held; then its interval
begins short and grows with each heartbeat, so that there is never a long time without one.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.held_heartbeat import SENDS_AGAIN_SOON, has_step, is_held, longest_hold_ms
from coordinator.core.consumer_group.interval import DEFAULT_INTERVAL_MS, heartbeat_interval_ms

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.session import MemberSession
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket

SOON_MS: Final = 250
GROWTH_MS: Final = 500  # the first interval after a step, and what each further one is longer than the one before
# When so many heartbeats in a row were not held, or were ended early by the client's commits, the next ones come as
# usual. A client that commits every 5 s (Java by default) has a heartbeat waiting from each commit to the next.
MOST_UNHELD: Final = 2


class StepTaken(Enum):
    """The change that a heartbeat has made to its member, as its client sees it."""

    NONE = "none"
    TOLD = "told"  # the answer has partitions: the client sends the next heartbeat as soon as it has taken them
    UNTOLD = "untold"


def next_interval_ms(
    group: ConsumerGroup,
    member: ConsumerMember,
    session: MemberSession,
    ticket: Ticket,
    step: StepTaken,
    context: Context,
) -> int:
    """Return the interval for the answer to a heartbeat, in milliseconds, and remember that it was told."""
    interval_ms = heartbeat_interval_ms(group, member, session, context)
    if session.may_be_held and is_held(group, ticket, context):
        if ticket.client_software.name not in SENDS_AGAIN_SOON:
            interval_ms = min(interval_ms, _growing_ms(session, step))
        elif (
            session.unheld < MOST_UNHELD
            and not has_step(group, member.member_id)
            and longest_hold_ms(group, session, ticket, context) >= DEFAULT_INTERVAL_MS
        ):
            interval_ms = SOON_MS
    session.told_ms = interval_ms
    return interval_ms


def _growing_ms(session: MemberSession, step: StepTaken) -> int:
    if step is StepTaken.UNTOLD:
        return GROWTH_MS
    if step is StepTaken.TOLD or session.told_ms < 0:
        return DEFAULT_INTERVAL_MS
    return session.told_ms + GROWTH_MS
