"""Logs change their owner: ours read by Kafka's dump tool, Kafka's by ours, and a daemon goes on where Kafka stopped.

Needs a real Kafka, so `make interchange` runs it and `make test` does not; test_kafka_log.py holds us to a log that
Kafka wrote and that is kept as data.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from coordinator.cli.main import main
from protocol.offsets_records import OffsetValue, encode_offset_key, encode_offset_value
from protocol.record_batch import build_batch, iter_batches
from tests.conformance.consumer_exchange import fill_consumers, go_on, told_of_consumers, write_catalogue
from tests.conformance.exchange import (
    PARTITION,
    commit,
    fill,
    fill_transactions,
    keep_log,
    told,
)
from tests.conformance.kafka import Kafka, dump_log
from tests.conformance.lockstep import KAFKA_SETTINGS, OUR_OVERRIDES, TOPICS
from tests.support.daemon import Daemon
from tests.support.eventually import eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


def test_kafkas_dump_tool_prints_what_we_committed(tmp_path: Path) -> None:
    topics = [f"{name}:{partitions}" for name, partitions in TOPICS.items()]
    overrides = ["offsets.topic.num.partitions=1", "group.initial.rebalance.delay.ms=300"]
    with Daemon(tmp_path, overrides=overrides, topics=topics) as daemon:
        fill(daemon.port)
        data_dir = daemon.data_dir
    printed = dump_log(*sorted((data_dir / PARTITION).glob("*.log")))
    for wanted in ("simple", "partly-deleted", "stable", "left", "note 3", "ä😀", "by a member", "fixed", "<DELETE>"):
        assert wanted in printed
    assert "isvalid: false" not in printed.lower()
    assert printed.count("baseOffset") == printed.count("isvalid: true")


def test_a_daemon_serves_the_groups_and_offsets_of_a_kafka(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = {"group.initial.rebalance.delay.ms": "300"}
    with Kafka(tmp_path / "kafka", settings=settings) as kafka:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
        fill(kafka.port)
        fill_transactions(kafka.address)
        before = told(kafka.port)
    kafka.start()  # what Kafka itself makes of its log
    expected = told(kafka.port)
    kafka.stop()
    assert expected["fetched"] == before["fetched"]

    capsys.readouterr()
    assert main(["log", "dump", str(kafka.data_dir), "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {each.get("group") for each in lines} >= {"simple", "deleted", "stable", "left", "transactional"}
    assert [each["marker"] for each in lines if each["kind"] == "marker"] == ["commit", "abort"]

    ours = Daemon(tmp_path / "ours", overrides=["offsets.topic.num.partitions=1"])
    shutil.copytree(kafka.data_dir, ours.data_dir)
    with ours:
        assert told(ours.port) == expected
    if os.environ.get("KEEP_KAFKA_LOG") == "1":  # make corpus
        keep_log(kafka.data_dir, expected)


def test_a_kafka_serves_the_groups_and_offsets_of_a_daemon(tmp_path: Path) -> None:
    topics = [f"{name}:{partitions}" for name, partitions in TOPICS.items()]
    overrides = ["offsets.topic.num.partitions=1", "group.initial.rebalance.delay.ms=300"]
    with Daemon(tmp_path / "ours", overrides=overrides, topics=topics) as daemon:
        fill(daemon.port)
        expected = told(daemon.port)
    with Kafka(tmp_path / "kafka") as kafka:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
    partition = kafka.data_dir / PARTITION
    for each in (*partition.glob("*.log"), *partition.glob("*.index"), *partition.glob("*.timeindex")):
        each.unlink()
    for segment in (daemon.data_dir / PARTITION).glob("*.log"):
        shutil.copy(segment, partition)
    with kafka:
        assert told(kafka.port) == expected


def test_a_daemon_takes_its_log_back_after_a_kafka_has_merged_its_segments(tmp_path: Path) -> None:
    """The segments that the daemon had listed are gone rightly: the list counts only until a Kafka served the log."""
    overrides = [
        "offsets.topic.num.partitions=1",
        "offsets.topic.segment.bytes=1024",
        "offsets.commit.topic.check=false",
        "group.initial.rebalance.delay.ms=300",
    ]
    settings = {
        "group.initial.rebalance.delay.ms": "300",
        "log.cleaner.enable": "true",
        "log.cleaner.backoff.ms": "100",
        "log.cleaner.dedupe.buffer.size": "2097152",
        "log.cleaner.min.cleanable.ratio": "0.01",
    }
    with Kafka(tmp_path / "kafka", settings=settings) as kafka:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
        fill(kafka.port)
    ours = Daemon(tmp_path / "ours", overrides=overrides)
    shutil.copytree(kafka.data_dir, ours.data_dir)
    for kills in (False, True):
        with ours:
            for offset in range(100):
                commit(ours.port, "simple", "t0", 0, offset)
            expected = told(ours.port)
            if kills:
                ours.kill()
        ours_before = bases(ours.data_dir / PARTITION)
        assert len(ours_before) > 5
        exchange(ours.data_dir / PARTITION, kafka.data_dir / PARTITION)
        (kafka.data_dir / "cleaner-offset-checkpoint").write_text("0\n0\n")
        with kafka:
            assert told(kafka.port)["fetched"] == expected["fetched"]
            most = len(ours_before) - 4

            def is_merged(most: int = most) -> bool:
                return len(bases(kafka.data_dir / PARTITION)) <= most

            eventually(is_merged, "the cleaner has merged segments", within_s=60)
            expected = told(kafka.port)
        exchange(kafka.data_dir / PARTITION, ours.data_dir / PARTITION)
        assert not set(ours_before) <= set(bases(ours.data_dir / PARTITION))
        with ours:
            assert told(ours.port)["fetched"] == expected["fetched"]
    (ours.data_dir / PARTITION / f"{bases(ours.data_dir / PARTITION)[0]:020d}.log").unlink()
    assert ours.spawn().wait(60) == 2  # what the Kafka left is listed now
    assert "the file is missing" in ours.log_text()


def bases(directory: Path) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob("*.log"))


def exchange(source: Path, target: Path) -> None:
    shutil.rmtree(target)
    shutil.copytree(source, target)


def test_members_of_the_newer_protocol_go_on_while_their_log_changes_its_owner_three_times(tmp_path: Path) -> None:
    """Each server tells of the groups of the other what that told, and no member is fenced or loses a partition."""
    kafka = Kafka(tmp_path / "kafka", settings=KAFKA_SETTINGS)
    ours = Daemon(tmp_path / "ours", overrides=["offsets.topic.num.partitions=1", *OUR_OVERRIDES])
    with kafka:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
        write_catalogue(kafka.port, ours.data_dir)
        theirs = fill_consumers(kafka.port, "k-")
        expected = told_of_consumers(kafka.port)
    assert len(expected["consumers"]) == 6
    shutil.copy(kafka.data_dir / "meta.properties", ours.data_dir)
    shutil.copytree(kafka.data_dir / PARTITION, ours.data_dir / PARTITION)
    with ours:
        assert told_of_consumers(ours.port) == expected
        go_on(ours.port, theirs, 20)
        own = fill_consumers(ours.port, "o-")
        expected = told_of_consumers(ours.port)
    assert len(expected["consumers"]) == 12
    exchange(ours.data_dir / PARTITION, kafka.data_dir / PARTITION)
    kafka.start()
    assert told_of_consumers(kafka.port) == expected
    go_on(kafka.port, theirs, 30)
    go_on(kafka.port, own, 30)
    expected = told_of_consumers(kafka.port)
    kafka.kill()
    exchange(kafka.data_dir / PARTITION, ours.data_dir / PARTITION)
    with ours:
        assert told_of_consumers(ours.port) == expected
        go_on(ours.port, theirs, 40)
        go_on(ours.port, own, 40)


def test_a_kafka_serves_its_log_after_a_repair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Kafka(tmp_path / "kafka", settings={"group.initial.rebalance.delay.ms": "300"}) as kafka:
        for name, partitions in TOPICS.items():
            kafka.create_topic(name, partitions)
        fill(kafka.port)
        fill_transactions(kafka.address)
    kafka.start()
    expected = told(kafka.port)
    kafka.stop()
    path = kafka.data_dir / PARTITION / f"{bases(kafka.data_dir / PARTITION)[-1]:020d}.log"
    commands = [["log", "verify", str(kafka.data_dir)], ["log", "repair", str(kafka.data_dir), "--execute"]]
    assert main(commands[0]) == 0, capsys.readouterr().out

    end = max(header.last_offset for _, header in iter_batches(path.read_bytes())) + 1
    value = encode_offset_value(OffsetValue(1, -1, "", 1, -1))
    damaged = [(encode_offset_key("simple", "t0", 9), b"\0\3short"), (encode_offset_key("another", "t0", 0), value)]
    batches = [
        build_batch(damaged, base_offset=end, timestamp_ms=1),
        build_batch(damaged[:1], base_offset=end + 2, timestamp_ms=1),
    ]
    path.write_bytes(path.read_bytes() + b"".join(batches))
    assert main(commands[0]) == 1
    assert main(commands[1]) == 0, capsys.readouterr().out
    assert main(commands[0]) == 0, capsys.readouterr().out
    with kafka:
        found = told(kafka.port)
    another = [each for each in found["fetched"] if each["group_id"] == "another"]
    assert another[0]["topics"][0]["partitions"][0]["committed_offset"] == 1, "the sound record of a damaged batch"
    assert [each for each in found["fetched"] if each not in another] == expected["fetched"]
