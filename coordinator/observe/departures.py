"""Departures of members, as far as the log tells how they went.

A member of the classic protocol cannot lose its session while less than its session timeout has passed since its last
sign of life, and a commit is one. So a member whose partitions were committed lately left by itself. After a longer
silence it may have left or not, and the log does not tell; then the length of the silence is all that is known.
"""

from __future__ import annotations

from typing import Final

import msgspec

from coordinator.core.events.model import Change, ChangeKind, ClientInfo

SURE: Final = 0.95  # of a timeout, because the clocks of two brokers may differ after a change of the leader
TICK_MS: Final = 1_500  # by which a timer of Kafka, or an answer to DescribeGroups, may be late


def went(
    client: ClientInfo,
    *,
    gone_ms: int,
    heard_ms: int,
    alive_ms: int,
    session_timeout_ms: int,
    rebalance_timeout_ms: int,
    after_ms: int = 0,
) -> Change:
    """Return the departure of a member that was gone at `gone_ms`, by a leave or the end of its session.

    `heard_ms` is the last trace of it in the log, `alive_ms` the last one that renewed its session; -1: none.
    """
    proof_ms = session_timeout_ms * SURE
    left = alive_ms >= 0 and gone_ms - alive_ms < proof_ms
    return Change(
        kind=ChangeKind.LEFT if left else ChangeKind.GONE,
        member=client,
        after_ms=after_ms,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        silent_ms=gone_ms - heard_ms if heard_ms >= 0 else -1,
    )


def took_whole_timeout(waited_ms: int, timeout_ms: int) -> bool:
    """Return whether a wait ended just when its timeout was over."""
    return timeout_ms > 0 and timeout_ms - TICK_MS <= waited_ms <= timeout_ms + 2 * TICK_MS


def as_dropped(change: Change, after_ms: int = 0) -> Change:
    """Return the departure of a member that did not rejoin, or give up its partitions, within the rebalance timeout."""
    return msgspec.structs.replace(change, kind=ChangeKind.DROPPED, after_ms=after_ms)


def as_expired(change: Change) -> Change:
    """Return the departure of a member whose session ended."""
    return msgspec.structs.replace(change, kind=ChangeKind.EXPIRED)
