"""Suggestions by the silence of a member, of which an observed log does not tell how it went.

A client commits every few seconds, and usually once more when it closes. So a short silence before its end suggests
that it left, one as long as its session timeout that it died, and one as long as its max.poll.interval.ms that it did
not poll. A client that has nothing to commit is silent anyway: these are suggestions, and the sentences say so.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from coordinator.core.events.model import ChangeKind
from coordinator.core.events.words import duration
from coordinator.explain.visits import Visit

LATER_MS: Final = 8_000  # a commit each 5 s, and up to 3 s until the others have rejoined
SOONER: Final = 0.95
SHORT: Final = 0.5  # of the shorter timeout


class Likely(Enum):
    """A way in which a member seems to have gone."""

    LEFT = "left"
    EXPIRED = "expired"
    POLL_TIMEOUT = "poll timeout"
    NOT_KNOWN = "not known"


ADVICE: Final = {
    Likely.LEFT: "If {name} was stopped, all is well.",
    Likely.EXPIRED: (
        "{name} was killed, is frozen, or has lost its network, it seems: look at its process and its log; the others "
        "have its partitions."
    ),
    Likely.POLL_TIMEOUT: (
        "{name} works for longer than its max.poll.interval.ms between two polls, it seems. Let it take less at once "
        "(max.poll.records, a smaller batch), or raise max.poll.interval.ms above its longest work."
    ),
    Likely.NOT_KNOWN: (
        "Look at the log of {name}: it was stopped, or it was killed, or it did not poll for its max.poll.interval.ms."
    ),
}


def likely(visit: Visit) -> Likely:
    """Return how a member seems to have gone."""
    silent_ms = visit.silent_ms
    if visit.how is not ChangeKind.GONE or silent_ms < 0:
        return Likely.NOT_KNOWN
    session, poll = visit.session_timeout_ms, visit.rebalance_timeout_ms
    matches = [
        each
        for each, timeout_ms in ((Likely.EXPIRED, session), (Likely.POLL_TIMEOUT, poll))
        if _fits(silent_ms, timeout_ms)
    ]
    if len(matches) == 1:
        return matches[0]
    if session <= 0:
        return Likely.NOT_KNOWN  # a short silence is short beside the session timeout only
    shortest_ms = min(session, poll) if poll > 0 else session
    return Likely.LEFT if silent_ms <= shortest_ms * SHORT else Likely.NOT_KNOWN


def _fits(silent_ms: int, timeout_ms: int) -> bool:
    return 0 < timeout_ms * SOONER <= silent_ms <= timeout_ms + min(LATER_MS, timeout_ms // 2)


def clue(visit: Visit) -> str:
    """Return the end of a sentence: what the log had last of a member, and what that looks like."""
    if visit.how is not ChangeKind.GONE or visit.silent_ms < 0:
        return ""
    before = f"; the last that the log has of it was {duration(visit.silent_ms)} before"
    session, poll = duration(visit.session_timeout_ms), duration(visit.rebalance_timeout_ms)
    looks = {
        Likely.LEFT: ", so it looks as if it left by itself",
        Likely.EXPIRED: f", about its session timeout of {session}, so it looks like an expired session",
        Likely.POLL_TIMEOUT: f", about its max.poll.interval.ms of {poll}, so it looks like a client that did not poll",
        Likely.NOT_KNOWN: "",
    }
    return before + looks[likely(visit)]
