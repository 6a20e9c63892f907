"""A short run of `make exactly-once`, with one program and one seed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.clients.exactly_once import run, shares

pytestmark = pytest.mark.integration


def test_each_record_is_processed_once_when_clients_and_daemon_die(tmp_path: Path) -> None:
    result = run("librdkafka", tmp_path, seed=273, kills=6)
    assert not result.broken, result.broken
    assert result.kills == {"client": 2, "daemon": 2, "both": 2}
    assert (result.rivals, result.pauses, result.stops) == (1, 1, 1)
    assert result.records > 0
    assert (result.lost, result.twice) == (0, 0)


def test_kills_are_divided_among_programs() -> None:
    assert shares(["a", "b", "c"], 8) == {"a": 3, "b": 3, "c": 2}
