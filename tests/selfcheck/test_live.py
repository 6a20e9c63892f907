"""A real daemon with a damaged record, its clients, a compaction, and the commands that mend it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import aiokafka
import confluent_kafka
import kafka
import pytest

from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.offsets_records import encode_offset_key
from protocol.record_batch import build_batch, iter_batches
from tests.compaction.live import SMALL_SEGMENTS, SteppingDaemon, compact
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.questions import commit_offsets, committed_offsets, list_groups
from tests.support.wire import call

pytestmark = pytest.mark.integration

OVERRIDES = (
    SMALL_SEGMENTS,
    "group.initial.rebalance.delay.ms=0",
    "offsets.commit.topic.check=false",
    "offsets.snapshot.min.bytes=0",
    "offsets.snapshot.stop.ms=60000",
    "offsets.topic.num.partitions=1",
)
BROKEN, FINE = "broken", "fine"
DAMAGED = (encode_offset_key(BROKEN, "t", 0), b"\0\3short")


def newest(daemon: Daemon) -> Path:
    return sorted((daemon.data_dir / "__consumer_offsets-0").glob("*.log"))[-1]


def inject(daemon: Daemon, *records: tuple[bytes, bytes]) -> int:
    """Append a batch to the log of a stopped daemon. Returns its offset."""
    path = newest(daemon)
    data = path.read_bytes()
    end = max((header.last_offset + 1 for _, header in iter_batches(data)), default=int(path.stem))
    path.write_bytes(data + build_batch(records, base_offset=end, timestamp_ms=1))
    return end


def coordinator(*words: str) -> tuple[int, str]:
    """Run a command; return its exit code and everything that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "coordinator", *words], capture_output=True, text=True, cwd=REPOSITORY, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[SteppingDaemon]:
    made = SteppingDaemon(tmp_path / "daemon", overrides=OVERRIDES, topics=("t:2",), http="127.0.0.1:0",
                           arguments=("--http-port-file", str(tmp_path / "http-port")))  # fmt: skip
    made.start()
    producer = kafka.KafkaProducer(bootstrap_servers=f"127.0.0.1:{made.port}")
    for number in range(10):
        producer.send("t", str(number).encode(), partition=0)
    producer.close()
    for offset in range(4):
        commit_offsets(made.port, BROKEN, {("t", 0): offset, ("t", 1): 5})
        commit_offsets(made.port, FINE, {("t", 0): 7})
    made.stop()
    inject(made, DAMAGED)
    yield made
    if made.is_running:
        made.stop()


def test_a_damaged_record_quarantines_one_group_through_starts_snapshots_and_compactions(
    daemon: SteppingDaemon,
) -> None:
    daemon.start()
    for _ in range(2):
        assert list_groups(daemon.port) == {BROKEN: "Quarantined", FINE: "Empty"}
        assert committed_offsets(daemon.port, FINE) == {("t", 0): 7}
        commit_offsets(daemon.port, FINE, {("t", 0): 7})
        compact(daemon)
        assert list_groups(daemon.port)[BROKEN] == "Quarantined"
        daemon.restart()
    lines = [line for line in daemon.log_lines() if "group quarantined partition=0 group=broken" in line]
    assert len(lines) == 3, "one for each start"
    assert "coordinator log verify" in lines[0]
    http_port = (daemon.directory.parent / "http-port").read_text().strip()
    with urllib.request.urlopen(f"http://127.0.0.1:{http_port}/metrics") as answer:
        text = answer.read().decode()
    assert "kafka_coordinator_group_num_quarantined_groups 1" in text
    assert "kafka_coordinator_group_num_quarantined_records 1" in text
    server = ("-b", f"127.0.0.1:{daemon.port}")
    code, said = coordinator("groups", "explain", BROKEN, *server)
    assert (code, "is quarantined, because its record at log offset" in said) == (1, True), said
    code, said = coordinator("groups", "describe", BROKEN, *server)
    assert (code, "coordinator log repair" in said) == (1, True), said
    code, said = coordinator("groups", "list", *server)
    assert "Quarantined" in said

    answer = call(daemon.port, DeleteGroupsRequest(groups_names=[BROKEN]), 2)
    assert [each.error_code for each in answer.results] == [0]
    daemon.restart()
    assert list_groups(daemon.port) == {FINE: "Empty"}


def test_verify_tells_and_repair_takes_the_record_out(daemon: SteppingDaemon) -> None:
    daemon.start()
    data = str(daemon.data_dir)
    code, said = coordinator("log", "verify", data)
    assert (code, "'broken' is quarantined" in said, "goes back to offset 3" in said) == (1, True, True), said
    code, said = coordinator("log", "repair", data, "--execute")
    assert (code, "a daemon serves" in said) == (2, True), said
    daemon.stop()
    code, said = coordinator("log", "repair", data)
    assert (code, "would take out of" in said, "nothing was changed" in said) == (1, True, True), said
    code, said = coordinator("log", "repair", data, "--execute")
    assert (code, "kept " in said) == (0, True), said
    code, said = coordinator("log", "verify", data, "--json")
    assert code == 0, said
    assert [json.loads(line)["findings"] for line in said.splitlines()] == [[]] * len(said.splitlines())
    daemon.start()
    assert committed_offsets(daemon.port, BROKEN) == {("t", 0): 3, ("t", 1): 5}
    assert committed_offsets(daemon.port, FINE) == {("t", 0): 7}


def test_a_damaged_batch_in_the_middle_stops_the_partition_and_names_the_command(daemon: SteppingDaemon) -> None:
    daemon.start()
    for offset in range(100):
        commit_offsets(daemon.port, FINE, {("t", 0): offset})
    daemon.stop()
    for path in (daemon.data_dir / "__consumer_offsets-0").glob("live-state*"):
        path.unlink()
    oldest = sorted((daemon.data_dir / "__consumer_offsets-0").glob("*.log"))[0]
    data = bytearray(oldest.read_bytes())
    data[100] ^= 0xFF
    oldest.write_bytes(data)
    daemon.start()
    failed = [line for line in daemon.log_lines() if "loading failed partition=0" in line]
    assert "`coordinator log repair` on that directory" in failed[0]
    daemon.kill()  # its log has the traceback of the load
    code, said = coordinator("log", "repair", str(oldest.parent), "--execute")
    assert code == 0, said
    daemon.start()
    assert committed_offsets(daemon.port, FINE) == {("t", 0): 99}
    daemon.kill()


def test_of_very_many_damaged_records_the_first_are_named_in_the_log(daemon: SteppingDaemon) -> None:
    inject(daemon, *((encode_offset_key(f"{BROKEN}-{number}", "t", 0), DAMAGED[1]) for number in range(129)))
    daemon.start()
    lines = [line for line in daemon.log_lines() if "quarantined partition=0" in line]
    assert len(lines) == 101
    assert "more records set aside or quarantined partition=0 count=30: " in lines[-1]
    assert list(list_groups(daemon.port).values()).count("Quarantined") == 130


@pytest.mark.parametrize("is_gone", [False, True], ids=["a damaged checkpoint", "no segment"])
def test_a_start_that_is_refused_names_a_command_that_can_be_typed_in(tmp_path: Path, is_gone: bool) -> None:
    daemon = Daemon(tmp_path).start()
    daemon.stop()
    directory = daemon.data_dir / "__consumer_offsets-0"
    if is_gone:
        for path in directory.glob("*.log"):
            path.unlink()
    else:
        (directory / "recovery-checkpoint").write_text("checksum=0\nversion=1\n")
    with pytest.raises(AssertionError, match=r"the daemon ended with"):
        daemon.start()
    (named,) = re.findall(r"`coordinator log verify (\S+)`", daemon.log_text())
    code, said = coordinator("log", "verify", named)
    assert (code, named) == (1, str(directory)), said


# -- real clients --------------------------------------------------------------------------------------------------


def with_kafka_python(server: str, *, subscribes: bool) -> Any:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=server, group_id=BROKEN, auto_offset_reset="earliest", enable_auto_commit=False
    )
    try:
        if subscribes:
            consumer.subscribe(["t"])
        else:
            consumer.assign([kafka.TopicPartition("t", 0)])
        return consumer.poll(10_000)
    finally:
        consumer.close(autocommit=False)


def with_aiokafka(server: str, *, subscribes: bool) -> Any:
    async def read() -> Any:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=server, group_id=BROKEN, auto_offset_reset="earliest", enable_auto_commit=False
        )
        await consumer.start()
        try:
            if subscribes:
                consumer.subscribe(["t"])
            else:
                consumer.assign([aiokafka.TopicPartition("t", 0)])
            return await asyncio.wait_for(consumer.getone(), 10)
        finally:
            await consumer.stop()

    return asyncio.run(read())


def with_librdkafka(server: str, *, subscribes: bool) -> Any:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": server, "group.id": BROKEN, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    try:
        if subscribes:
            consumer.subscribe(["t"])
        else:
            consumer.assign([confluent_kafka.TopicPartition("t", 0)])
        message = consumer.poll(10)
        if message is not None and message.error() is not None:
            raise confluent_kafka.KafkaException(message.error())
        return message
    finally:
        consumer.close()


@pytest.mark.parametrize("subscribes", [False, True], ids=["assigned", "subscribed"])
@pytest.mark.parametrize("read", [with_kafka_python, with_aiokafka, with_librdkafka])
def test_a_client_of_a_quarantined_group_hears_an_error_and_reads_nothing(
    daemon: SteppingDaemon, read: Callable[..., Any], subscribes: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """An answer without the offsets would let `auto.offset.reset` move the group to the start or the end."""
    for library in ("aiokafka", "kafka"):
        caplog.set_level(logging.CRITICAL, library)
    daemon.start()
    with pytest.raises(Exception, match="Unknown"):
        read(f"127.0.0.1:{daemon.port}", subscribes=subscribes)
