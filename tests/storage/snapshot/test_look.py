"""A look for snapshots that are due, while files of the log are replaced."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.config.config import Config
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.offsets_log import OffsetsLog
from coordinator.storage.snapshot import keeper
from coordinator.storage.snapshot.keeper import Snapshots


@pytest.mark.parametrize(("is_swapped", "failed"), [(True, 0), (False, 1)])
def test_a_look_that_met_a_compaction_has_not_failed(
    is_swapped: bool, failed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = (SimpleNamespace(base_offset=0, next_offset=9, size_bytes=size) for size in (1 << 30, 1 << 29))
    log = SimpleNamespace(segments=(old, old), is_swapping=False, size_bytes=2 << 30, directory=tmp_path)

    def order_for(*_: Any) -> Any:
        if is_swapped:
            log.segments = (new, old)
        raise FileNotFoundError("a segment")

    monkeypatch.setattr(keeper, "order_for", order_for)
    snapshots = Snapshots(Config(), RealFileSystem(), cast("OffsetsLog", SimpleNamespace(logs={0: log})))
    snapshots.in_thread_look()
    assert snapshots.counters.failed == failed
