"""Requests and answers between `coordinator compact` and a daemon are small files, which are checked when read."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.compaction import request as request_module
from coordinator.compaction.plan import JobDir
from coordinator.compaction.request import (
    REQUEST_LIFE_MS,
    Answer,
    DaemonFacts,
    PlanOutcome,
    Request,
    RequestError,
    announce,
    answer,
    ask,
    compaction_dir,
    daemon_facts,
    outcome_of,
    read_request,
    sweep,
    touched_ms,
    wait_for_answer,
)


def now_ms() -> int:
    return int(time.time() * 1000)


def request_file(data_dir: Path) -> Path:
    return compaction_dir(data_dir) / "request.json"


def test_the_daemon_reads_the_request_that_was_written(tmp_path: Path) -> None:
    request = Request.new(roll=True, min_cleanable_ratio=0.25, partitions=(3, 1))
    assert read_request(tmp_path) is None
    ask(tmp_path, request)
    assert read_request(tmp_path) == request
    assert [path.name for path in compaction_dir(tmp_path).iterdir()] == ["request.json"], "no draft is left"


def test_a_second_command_is_told_to_wait(tmp_path: Path) -> None:
    first = Request.new()
    ask(tmp_path, first)
    with pytest.raises(RequestError, match=r"another compaction has just been asked for .*wait a moment"):
        ask(tmp_path, Request.new())
    assert read_request(tmp_path) == first


def test_a_request_of_an_ended_command_is_overwritten(tmp_path: Path) -> None:
    first = replace(Request.new(), created_ms=now_ms() - REQUEST_LIFE_MS - 1)
    ask(tmp_path, first)
    with pytest.raises(RequestError, match="wait a moment"):
        ask(tmp_path, Request.new())  # it was written just now
    long_ago_s = first.created_ms / 1000
    os.utime(request_file(tmp_path), (long_ago_s, long_ago_s))
    second = Request.new()
    ask(tmp_path, second)
    assert read_request(tmp_path) == second


@pytest.mark.parametrize("age_ms", [REQUEST_LIFE_MS + 1, -REQUEST_LIFE_MS - 1])
def test_a_request_is_stale_after_a_minute_of_either_clock(age_ms: int) -> None:
    request = Request.new()
    assert not request.is_stale(0, request.created_ms)
    assert request.is_stale(0, request.created_ms + age_ms)
    assert request.is_stale(request.created_ms, request.created_ms + age_ms)


def test_a_waiting_command_touches_its_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_module, "TOUCH_S", 0.0)
    request, touched = Request.new(), list[int]()

    def daemon(_: float) -> None:
        touched.append(touched_ms(tmp_path))
        os.utime(request_file(tmp_path), (1, 1))  # a minute and more goes by
        if len(touched) == 3:
            answer(tmp_path, Answer(request.nonce, (), "planned"))

    wait_for_answer(tmp_path, request, sleep=daemon)
    assert min(touched) >= request.created_ms - 1000
    assert touched_ms(tmp_path) == 0, "there is no request any more"


def test_waiting_returns_the_answer_and_removes_the_files(tmp_path: Path) -> None:
    request = Request.new()

    def daemon(_: float) -> None:
        answer(tmp_path, Answer(request.nonce, ("p1",), "planned", written_ms=5))

    found = wait_for_answer(tmp_path, request, sleep=daemon)
    assert found == Answer(request.nonce, ("p1",), "planned", True, 5)
    assert list(compaction_dir(tmp_path).iterdir()) == []


def test_preliminary_answers_are_passed_on_while_waiting(tmp_path: Path) -> None:
    request, news = Request.new(), list[str]()
    to_say = [(False, "hashing"), (False, "hashing more"), (True, "planned")]

    def daemon(_: float) -> None:
        is_final, reason = to_say.pop(0)
        assert read_request(tmp_path) == request, "it stands until it is answered for good"
        answer(tmp_path, Answer(request.nonce, (), reason, is_final))

    assert wait_for_answer(tmp_path, request, sleep=daemon, on_news=news.append).reason == "planned"
    assert news == ["hashing", "hashing more"]


def test_waiting_for_a_silent_daemon_ends_with_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"did not answer in 0 s; look into its log"):
        wait_for_answer(tmp_path, Request.new(), timeout_s=0.01)
    assert list(compaction_dir(tmp_path).iterdir()) == [], "the request is taken back"


def test_an_answer_to_another_request_does_not_remove_this_one(tmp_path: Path) -> None:
    request = Request.new()
    ask(tmp_path, request)
    answer(tmp_path, Answer("0" * 16, (), "too late"))
    assert read_request(tmp_path) == request


GOOD = {"nonce": "0" * 16, "created_ms": 1, "roll": False, "min_cleanable_ratio": None, "partitions": None}
BAD = [
    b"",
    b"\xff",
    b"[]",
    b"null",
    b"{}",
    b"[" * 100_000,
    b"x" * (2 << 20),
    *(
        json.dumps({**GOOD, name: value}).encode()
        for name, value in {
            "nonce": "../../etc",
            "created_ms": "now",
            "roll": 1,
            "min_cleanable_ratio": 1.5,
            "partitions": [-1],
            "surplus": 1,
        }.items()
    ),
]


@pytest.mark.parametrize("data", BAD, ids=lambda data: data[:30])
def test_a_malformed_request_is_refused_with_one_sentence(tmp_path: Path, data: bytes) -> None:
    compaction_dir(tmp_path).mkdir()
    request_file(tmp_path).write_bytes(data)
    with pytest.raises(RequestError) as caught:
        read_request(tmp_path)
    assert "\n" not in str(caught.value)
    request_file(tmp_path).write_text(json.dumps(GOOD))
    assert read_request(tmp_path) is not None, "the good one is good"


def test_the_facts_of_the_daemon_are_written_and_read(tmp_path: Path) -> None:
    facts = DaemonFacts("e", 1, True, "", 3_600_000, 0.5, 0, 2**63 - 1)
    assert daemon_facts(tmp_path) is None
    announce(tmp_path, facts)
    assert daemon_facts(tmp_path) == facts
    (compaction_dir(tmp_path) / "daemon.json").write_text('{"epoch": 1}')
    with pytest.raises(RequestError, match=r"does not describe a daemon .*use the version of the daemon"):
        daemon_facts(tmp_path)


def test_the_outcome_of_a_plan_is_read_from_its_directory(tmp_path: Path) -> None:
    job = JobDir.of(tmp_path, "p")
    assert outcome_of(job) is None
    job.path.mkdir(parents=True)
    assert outcome_of(job) is None
    job.refused.write_text("it was damaged\n")
    assert outcome_of(job) == PlanOutcome(False, "it was damaged")
    job.done.write_text("compacted\n")
    assert outcome_of(job) == PlanOutcome(True, "compacted")


def test_answers_that_are_not_fetched_are_removed(tmp_path: Path) -> None:
    directory = compaction_dir(tmp_path)
    directory.mkdir()
    old, young, ours = (
        directory / name for name in ("answer-" + "1" * 16 + ".json", "request.json.abc", "daemon.json")
    )
    for path in (old, young, ours):
        path.write_text("{}")
    long_ago_s = time.time() - 3 * REQUEST_LIFE_MS / 1000
    for path in (old, ours):
        os.utime(path, (long_ago_s, long_ago_s))
    sweep(tmp_path, now_ms())
    assert sorted(path.name for path in directory.iterdir()) == ["daemon.json", "request.json.abc"]
