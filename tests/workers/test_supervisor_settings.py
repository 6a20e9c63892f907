"""Settings that several workers cannot share are refused before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.config.sources import load
from coordinator.server.server import NO_FILES, StartupError
from coordinator.workers import supervisor


@pytest.mark.parametrize(
    ("profile", "settings", "sentence"),
    [
        ("test", {}, "2 workers share a data directory, and :memory: is one of a single process; leave --workers out"),
        ("test", {"log.dirs": "data"}, "the verbs for tests work on one process and not on 2 workers; leave --workers"),
        ("", {"test.verbs.token": "t"}, "the verbs for tests work on one process and not on 2 workers; leave"),
    ],
)
def test_workers_share_a_directory_and_have_no_verbs(
    profile: str, settings: dict[str, str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    config = load(flags={"workers": "2", **settings}, profile=profile)
    with pytest.raises(StartupError, match=sentence):
        supervisor.run(config, NO_FILES, "info", lambda addresses: None)
    assert list(tmp_path.iterdir()) == []
