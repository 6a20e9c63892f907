"""The usual heartbeat interval of a member: short while it waits for partitions, the configured one else.

A member learns of its next step by its next heartbeat. With an interval of five seconds, a member that waits for what
another one gives up learns of it seconds late. So a member that has not yet all of its target is told a short interval,
which grows with the time that it has waited: a slow revocation costs some twenty heartbeats more and no flood. An
interval that is configured for the group or the broker is left as it is. A client whose next heartbeat can be held may
be told a shorter one: `next_interval_ms`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.config.config import Config
from coordinator.core.consumer_group.member import UNREVOKED

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.session import MemberSession
    from coordinator.core.context import Context

DEFAULT_INTERVAL_MS: Final = Config().group_consumer_heartbeat_interval_ms
PART_OF_WAIT: Final = 4  # the interval is this part of the time that the member has waited


def heartbeat_interval_ms(
    group: ConsumerGroup, member: ConsumerMember, session: MemberSession, context: Context
) -> int:
    """Return the interval for the answer to a heartbeat of `member`, in milliseconds."""
    config = context.config
    interval_ms = config.group_consumer_heartbeat_interval_ms
    own = context.group_configs.get(group.group_id)
    if own is not None and "consumer.heartbeat.interval.ms" in own:
        return own["consumer.heartbeat.interval.ms"]
    is_waiting = group.epoch > group.assignment_epoch or (
        member.state != UNREVOKED and not member.is_reconciled(group.assignment_epoch)
    )
    if not is_waiting:
        session.waiting_since_ms = -1
        return interval_ms
    short_ms = config.group_consumer_waiting_heartbeat_interval_ms
    if not short_ms or interval_ms != DEFAULT_INTERVAL_MS:
        return interval_ms
    if session.waiting_since_ms < 0:
        session.waiting_since_ms = context.now_ms
    return min(max(short_ms, (context.now_ms - session.waiting_since_ms) // PART_OF_WAIT), interval_ms)
