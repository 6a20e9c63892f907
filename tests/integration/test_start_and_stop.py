"""Start, refusal to start, and stop of the daemon, as a user at a shell sees them.

An error that the user can correct ends with exit code 2 and one sentence on stderr, never with a traceback. SIGTERM
ends with exit code 0 after everything acknowledged is on disk and each waiting request is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.server.startup import told_host
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.offsets_records import OffsetValue, encode_offset_key, encode_offset_value
from protocol.record_batch import build_batch
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.questions import committed_offsets, describe_group
from tests.support.wire import ConnectionEnded, Wire, call, is_closed

pytestmark = pytest.mark.integration

FAST = ("group.initial.rebalance.delay.ms=0",)


def refused(*arguments: str, environment: dict[str, str] | None = None, is_alone: bool = True) -> str:
    """Start a daemon that must not start; its one sentence, which is the last one where it `is_alone` not."""
    done = subprocess.run(
        [sys.executable, "-m", "coordinator", "serve", "--http", "off", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=30,
        env={**os.environ, **(environment or {})},
    )
    assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 or not is_alone, done.stderr
    return lines[-1]


def test_it_says_where_it_listens_and_writes_the_port_file_when_it_is_ready(tmp_path: Path) -> None:
    with Daemon(tmp_path / "d") as daemon:
        assert daemon.port_file.read_text() == f"{daemon.port}\n"
        assert call(daemon.port, ApiVersionsRequest(), 0).error_code == 0
        assert f"listening on 127.0.0.1:{daemon.port}" in daemon.log_text()


@pytest.mark.parametrize("workers", [1, 2])
def test_the_port_file_follows_no_symbolic_link(tmp_path: Path, workers: int) -> None:
    """Its directory may be /tmp, where others can put links to files that the daemon's user may write."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    daemon = Daemon(tmp_path / "d", arguments=("--workers", str(workers)))
    daemon.port_file.with_name("port.partial").symlink_to(victim)
    with daemon:
        assert not daemon.port_file.is_symlink()
    assert victim.read_text() == "precious"
    assert sorted(path.name for path in daemon.directory.glob("port*")) == ["port", "port.partial"]


def test_a_port_in_use_is_refused(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused("--listen", f"127.0.0.1:{port}", "--data-dir", str(tmp_path / "data"))
    assert str(port) in sentence and "in use" in sentence


@pytest.fixture
def taken_http_port() -> Iterator[None]:
    """The default HTTP port is in use: by this test, or already by another process."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(socket.create_server(("127.0.0.1", 9080)))
        yield


@pytest.mark.usefixtures("taken_http_port")
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_default_http_port_in_use_is_a_warning_and_the_daemon_serves(tmp_path: Path, workers: str) -> None:
    with Daemon(tmp_path / "d", http=None, arguments=["--workers", workers]) as daemon:
        assert call(daemon.port, ApiVersionsRequest(), 0).error_code == 0
        (line,) = [line for line in daemon.log_lines() if "HTTP port" in line]
        assert "WARNING" in line and "127.0.0.1:9080" in line and "--http host:port" in line


@pytest.mark.usefixtures("taken_http_port")
def test_an_http_port_in_use_that_was_asked_for_is_refused(tmp_path: Path) -> None:
    sentence = refused(
        "--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "data"), "--http", "127.0.0.1:9080", is_alone=False
    )
    assert "the HTTP port 127.0.0.1:9080 cannot be opened" in sentence and "--http off" in sentence


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_what_clients_are_told_where_all_interfaces_are_bound_is_a_warning(
    host: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert told_host("127.0.0.1") == "127.0.0.1"
    assert not caplog.records
    assert told_host(host) == socket.gethostname()
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert socket.gethostname() in record.getMessage() and "--advertised host:port" in record.getMessage()


def test_another_number_of_partitions_than_a_topic_has_is_a_warning(tmp_path: Path) -> None:
    with Daemon(tmp_path / "d", topics=["orders:4", "payments:4", "refunds:4"]) as daemon:
        assert "although" not in daemon.log_text()
    arguments = ["--topic", "orders:6", "--topic", "payments:2", "--topic", "refunds"]
    with Daemon(tmp_path / "d", arguments=arguments) as daemon:
        more, fewer = (line for line in daemon.log_lines() if "although" in line)
        assert "WARNING topic orders has 4 partitions and keeps them, although 6 were asked for" in more
        assert "kafka-topics.sh --alter --topic orders --partitions 6" in more
        assert "WARNING topic payments has 4 partitions" in fewer and "cannot be removed" in fewer


def test_a_second_daemon_on_the_same_data_directory_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    with Daemon(tmp_path / "d") as daemon:
        sentence = refused("--listen", "127.0.0.1:0", "--data-dir", str(daemon.data_dir))
        assert str(daemon.data_dir) in sentence
        assert call(daemon.port, ApiVersionsRequest(), 0).error_code == 0


def test_the_lock_of_a_killed_daemon_does_not_prevent_a_start(tmp_path: Path) -> None:
    with Daemon(tmp_path / "d") as daemon:
        daemon.restart()
        assert call(daemon.port, ApiVersionsRequest(), 0).error_code == 0


def test_a_data_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    for directory in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/coordinator-data")):
        sentence = refused("--listen", "127.0.0.1:0", "--data-dir", str(directory))
        assert str(directory) in sentence


def test_a_data_directory_of_another_format_version_is_refused_untouched(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d")
    daemon.start()
    daemon.stop()
    meta = daemon.data_dir / "meta.properties"
    lines = meta.read_text().splitlines()
    changed = [f"{line.partition('=')[0]}=99" if "version" in line.partition("=")[0] else line for line in lines]
    assert changed != lines
    meta.write_text("\n".join(changed) + "\n")
    sentence = refused("--listen", "127.0.0.1:0", "--data-dir", str(daemon.data_dir))
    assert "99" in sentence and "version" in sentence
    assert meta.read_text() == "\n".join(changed) + "\n"


def test_the_number_of_offsets_partitions_is_fixed_by_the_first_start(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", overrides=("offsets.topic.num.partitions=3",))
    daemon.start()
    daemon.stop()
    sentence = refused(
        *("--listen", "127.0.0.1:0", "--data-dir", str(daemon.data_dir)),
        *("--override", "offsets.topic.num.partitions=5"),
    )
    assert "offsets.topic.num.partitions" in sentence and "3" in sentence


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--override", "group.max.sise=3"), ("group.max.sise", "group.max.size")),
        (("--override", "group.max.size=many"), ("group.max.size", "many")),
        (("--override", "group.max.size=0"), ("group.max.size", "0")),
        (("--override", "group.max.size"), ("group.max.size",)),
        (("--override", "log.flush.policy=sometimes"), ("log.flush.policy", "sync")),
        (("--listen", "nonsense"), ("nonsense",)),
        (("--listen", "127.0.0.1:99999"), ("99999",)),
        (("--listen", "203.0.113.1:9092"), ("203.0.113.1",)),
        (("--topic", "orders:none"), ("orders",)),
        (("--topic", "bad name!:3"), ("bad name!",)),
        (("--config", "/nonexistent/server.properties"), ("/nonexistent/server.properties",)),
        (("--port-file", "/nonexistent/port"), ("/nonexistent",)),
    ],
    ids=lambda value: " ".join(value),
)
def test_a_wrong_setting_is_named_with_what_to_do(
    tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    sentence = refused("--data-dir", str(tmp_path / "data"), "--listen", "127.0.0.1:0", *arguments)
    assert all(word in sentence for word in words), sentence


def test_a_wrong_setting_in_the_environment_is_named_too(tmp_path: Path) -> None:
    sentence = refused(
        "--data-dir",
        str(tmp_path / "data"),
        "--listen",
        "127.0.0.1:0",
        environment={"COORDINATOR_GROUP_MAX_SIZE": "none"},
    )
    assert "GROUP_MAX_SIZE" in sentence or "group.max.size" in sentence


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_answers_who_waits_and_keeps_what_was_acknowledged(tmp_path: Path, number: signal.Signals) -> None:
    daemon = Daemon(tmp_path / "d", overrides=FAST, topics=("plain:4",))
    await asyncio.to_thread(daemon.start)
    async with await Wire.connect(daemon.port) as first, await Wire.connect(daemon.port) as second:
        leader = await alone_in_group(first, "group", "plain")
        waiting = GroupMember(second, "group", ["plain"])
        joining = asyncio.create_task(waiting.join())
        await leader.notices_a_rebalance()
        commits = [first.send(leader.commit_request({("plain", 0): offset}), 8) for offset in range(1, 201)]
        await commits[0]
        os.kill(daemon.pid, number)
        answered = 0
        for commit in commits:
            try:
                response = await asyncio.wait_for(commit, 20)
            except ConnectionEnded:
                continue
            code = ErrorCode(response.topics[0].partitions[0].error_code)
            assert code is ErrorCode.NONE or code.retriable, code
            answered += code is ErrorCode.NONE
        code = await asyncio.wait_for(joining, 20)
        assert code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR), code
    process = daemon.process
    assert await asyncio.to_thread(process.wait, 20) == 0
    await asyncio.to_thread(daemon.start)
    assert committed_offsets(daemon.port, "group")["plain", 0] >= answered > 0
    assert describe_group(daemon.port, "group").assignments == {leader.member_id: frozenset({("plain", 0)})}, (
        "the last durable generation is back"
    )
    daemon.stop()


def test_a_stop_with_idle_connections_does_not_wait_for_them(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d")
    daemon.start()
    idle = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(20)]
    assert daemon.terminate() == 0
    for each in idle:
        assert is_closed(each)
        each.close()


def write_offsets(directory: Path, batches: int) -> None:
    """Append batches of a thousand committed offsets, which take a few milliseconds each to load."""
    log = Log.open(directory, LogConfig(segment_bytes=1 << 30, segment_ms=1 << 40), RealFileSystem())
    value = encode_offset_value(OffsetValue(1, -1, "", 0, -1))
    for number in range(batches):
        records = [(encode_offset_key(f"group-{number}", "topic", partition), value) for partition in range(1000)]
        base_offset = log.log_end_offset
        batch = build_batch(records, base_offset=base_offset, timestamp_ms=1)
        log.append_all([Entry(batch, base_offset + 999, 1)])
    log.flush()
    log.high_watermark = log.log_end_offset
    log.close()


def test_a_stop_does_not_wait_until_a_big_log_is_loaded(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", overrides=("offsets.topic.num.partitions=1",))
    with daemon:
        pass
    write_offsets(daemon.data_dir / "__consumer_offsets-0", 150)
    daemon.spawn()
    eventually(lambda: listens(daemon.port), "the daemon listens, and loads")
    assert daemon.terminate() == 0
    assert not daemon.port_file.exists(), "it was not ready yet"
    daemon.stop()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_it_can_be_stopped_and_started_again_and_again_on_the_same_data(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "d", topics=("plain:4",))
    for _ in range(3):
        daemon.start()
        assert daemon.terminate() == 0
    eventually(lambda: "Traceback" not in daemon.log_text(), "no traceback")
    assert daemon.log_text().count("listening on") == 3


async def test_it_runs_on_plain_asyncio_too(tmp_path: Path) -> None:
    daemon = Daemon(
        tmp_path / "d",
        overrides=FAST,
        topics=("plain:4",),
        environment={"COORDINATOR_EVENT_LOOP": "asyncio", "PYTHONASYNCIODEBUG": "1"},
    )
    await asyncio.to_thread(daemon.start)
    async with await Wire.connect(daemon.port) as wire:
        member = await alone_in_group(wire, "group", "plain")
        for offset in range(100):
            assert await member.commit({("plain", 0): offset}) is ErrorCode.NONE
            assert await member.heartbeat() is ErrorCode.NONE
    await asyncio.to_thread(daemon.stop)
    assert "never awaited" not in daemon.log_text()
