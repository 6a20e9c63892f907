"""The daemon's preliminary answers to a request, and the final one, are written in order."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any, cast

import pytest

from coordinator.compaction.daemon import compactor
from coordinator.compaction.request import Answer, Request, answer, ask, compaction_dir, daemon_facts, read_json
from coordinator.config.config import Config
from coordinator.storage.log.fs import RealFileSystem
from tests.support.eventually import eventually


async def test_answers_are_written_in_order_on_a_slow_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work = []

    def slowly(data_dir: Path, reply: Answer) -> None:
        assert not at_work, "two threads write the same file"
        at_work.append(reply)
        time.sleep(0 if reply.is_final else 0.05)
        answer(data_dir, reply)
        at_work.remove(reply)

    monkeypatch.setattr(compactor, "answer", slowly)
    loop = asyncio.get_running_loop()
    nobody = cast("Any", None)
    daemon = compactor.Compactor(
        loop, tmp_path, Config(), RealFileSystem(), nobody, lambda partition, below: None, epoch="e"
    )
    request = Request.new()
    ask(tmp_path, request)
    for _ in range(3):
        daemon._tell(request, (), "it is worked on", is_final=False)
    daemon._tell(request, ("a-plan",), "it is made")
    await daemon.close()
    (said,) = compaction_dir(tmp_path).glob("answer-*.json")
    assert read_json(said, Answer).plan_ids == ("a-plan",)
    assert not at_work


async def test_a_request_while_the_daemon_loads_is_answered_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compactor, "SCAN_S", 0.01)
    loop = asyncio.get_running_loop()
    nobody = cast("Any", None)
    daemon = compactor.Compactor(
        loop, tmp_path, Config(), RealFileSystem(), nobody, lambda partition, below: None, epoch="e"
    )
    request = Request.new()
    ask(tmp_path, request)
    daemon.start()
    path = compaction_dir(tmp_path) / f"answer-{request.nonce}.json"
    await asyncio.to_thread(eventually, path.exists, "an answer")
    assert daemon_facts(tmp_path) is not None
    said = read_json(path, Answer)
    assert not said.is_final
    assert said.reason == "the daemon is loading its groups and offsets; it plans when it is ready"
    await daemon.close()
