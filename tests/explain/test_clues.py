"""Suggestions by the silence of a member that went."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import ChangeKind, ClientInfo
from coordinator.explain.clues import Likely, clue, likely
from coordinator.explain.visits import Visit


def gone(silent_s: int, session_s: int, poll_s: int = 300) -> Visit:
    return Visit(
        member=ClientInfo("web-7-1", "", "web-7", "127.0.0.1"),
        how=ChangeKind.GONE,
        silent_ms=silent_s * 1000,
        session_timeout_ms=session_s * 1000,
        rebalance_timeout_ms=poll_s * 1000,
    )


@pytest.mark.parametrize(
    ("silent_s", "suggests"),
    [(5, Likely.LEFT), (30, Likely.NOT_KNOWN), (47, Likely.EXPIRED), (303, Likely.POLL_TIMEOUT)],
)
def test_the_timeout_that_the_silence_is_as_long_as_suggests_the_cause(silent_s: int, suggests: Likely) -> None:
    assert likely(gone(silent_s, session_s=45)) is suggests


def test_a_short_silence_suggests_nothing_where_the_session_timeout_is_not_known() -> None:
    """A killed member of a KIP-848 group, whose log lacks the timeout, would look as if it had left."""
    assert likely(gone(46, session_s=0)) is Likely.NOT_KNOWN
    assert clue(gone(46, session_s=0)) == "; the last that the log has of it was 46 s before"
    assert likely(gone(303, session_s=0)) is Likely.POLL_TIMEOUT
