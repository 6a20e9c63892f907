"""A short run of `make kills`, with one seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.kills import run

pytestmark = pytest.mark.integration


async def test_nothing_acknowledged_is_lost_when_a_daemon_dies_in_service_and_in_its_start(tmp_path: Path) -> None:
    counts = await run(tmp_path / "daemon", seed=5, kills=6)
    assert counts["while it served"] + counts["during its start"] == 6
    assert counts["generations answered"] > 6
    assert counts["starts from a snapshot"] > 0
