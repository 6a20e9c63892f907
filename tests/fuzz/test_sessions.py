"""A short run of changed sessions against a real daemon; `make fuzz-sessions` runs longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from tests.fuzz import sessions

pytestmark = pytest.mark.integration

DEEP = ("JOIN_GROUP", "SYNC_GROUP", "HEARTBEAT", "OFFSET_COMMIT")


def test_changed_sessions_disturb_no_other_client_and_lose_no_commit(tmp_path: Path) -> None:
    judge = sessions.run(tmp_path, seed=1, sessions=40)
    assert judge.closed and judge.lines, "nothing was bad enough to be closed"
    for api in DEEP:
        assert judge.answers[api, int(ErrorCode.NONE)], f"no session got as far as {api}"
