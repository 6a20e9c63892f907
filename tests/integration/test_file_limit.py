"""Writes that really fail: the kernel refuses to let a file grow, in the middle of a batch, again and again.

RLIMIT_FSIZE gives what a full disk gives (a short write, then an error from the system call) without needing a disk to
fill. Each time the commits concerned get an error that clients retry, the torn batch is cut off, a new segment is
begun, and the next commit succeeds. In the end nothing acknowledged is missing, also after SIGKILL.
"""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.support.daemon import Daemon
from tests.support.questions import committed_offsets
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

LIMIT_BYTES = 100_000
COMMITS = 120
RETRIABLE = {ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE}


def commit(partition: int, offset: int) -> OffsetCommitRequest:
    """About 4 kB of log, so that a file is soon at its limit."""
    entry = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata="m" * 4000
    )
    return OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name="orders", partitions=[entry])],
    )


async def test_writes_that_fail_are_told_retriably_and_nothing_acknowledged_is_lost(tmp_path: Path) -> None:
    with Daemon(tmp_path / "d", topics=["orders:4"]) as daemon:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (LIMIT_BYTES, hard))
        acknowledged: dict[int, int] = {}
        refused = 0
        async with await Wire.connect(daemon.port) as wire:
            for number in range(COMMITS):
                partition = number % 4
                answer: OffsetCommitResponse = await wire.send(commit(partition, number), 8)
                (error,) = {entry.error_code for topic in answer.topics for entry in topic.partitions}
                if error == ErrorCode.NONE:
                    acknowledged[partition] = number
                else:
                    refused += 1
                    assert error in RETRIABLE
        assert refused >= COMMITS * 4000 // LIMIT_BYTES - 1, "the limit was not met often enough to show anything"
        assert refused <= COMMITS // 8, "a new segment should have taken the next commit"
        assert committed_offsets(daemon.port, "g") == {("orders", key): value for key, value in acknowledged.items()}
        daemon.restart()
        assert committed_offsets(daemon.port, "g") == {("orders", key): value for key, value in acknowledged.items()}


async def test_a_join_that_would_make_a_group_says_that_it_cannot_be_written(tmp_path: Path) -> None:
    """A member id of a group that is forgotten again would send the client round in a circle."""
    join = JoinGroupRequest(
        group_id="new",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    with Daemon(tmp_path / "d", overrides=["offsets.topic.num.partitions=1"]) as daemon:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (16, hard))
        async with await Wire.connect(daemon.port) as wire:
            answers = [await wire.request(join, 5) for _ in range(20)]
            assert {ErrorCode(answer.error_code) for answer in answers} <= RETRIABLE, answers
            resource.prlimit(daemon.pid, resource.RLIMIT_FSIZE, (soft, hard))
            given = await wire.request(join, 5)
            assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
        # The daemon's log is a file of a test, and took no line either while the limit was in force.
        assert "appends succeed again partition=0 failures=20" in daemon.log_text()
