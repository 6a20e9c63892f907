"""The observer at a real Kafka: consumers commit, the observer is killed again and again, Kafka stops and returns.

The mirror must have exactly the bytes of Kafka's own log. Needs Java and Kafka's jars, so `make interchange` runs it
and `make test` does not.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.cli.main import main
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.conformance.kafka import LATEST, Kafka
from tests.observe.follow import Following
from tests.observe.world import log_bytes
from tests.support.eventually import eventually
from tests.support.wire import call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOPIC, PARTITIONS, OFFSETS_PARTITIONS = "orders", 4, 5
SETTINGS = {
    "offsets.topic.num.partitions": str(OFFSETS_PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    with Kafka(tmp_path_factory.mktemp("kafka"), settings=SETTINGS) as running:
        running.create_topic(TOPIC, PARTITIONS)
        yield running


def ends(kafka: Kafka) -> dict[int, int]:
    """The end of each partition of the offsets topic."""
    asked = [ListOffsetsPartition(partition_index=each, timestamp=LATEST) for each in range(OFFSETS_PARTITIONS)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="__consumer_offsets", partitions=asked)])
    (answer,) = call(kafka.port, request, 5).topics
    return {each.partition_index: each.offset for each in answer.partitions}


async def _commit(address: str, group: str, times: int, pause_s: float = 0.0) -> None:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    consumer = AIOKafkaConsumer(TOPIC, bootstrap_servers=address, group_id=group, enable_auto_commit=False)
    await consumer.start()
    try:
        for number in range(times):
            await consumer.commit({TopicPartition(TOPIC, each): number for each in range(PARTITIONS)})
            await asyncio.sleep(pause_s)
    finally:
        await consumer.stop()


def commit(kafka: Kafka, *groups: str, times: int = 30, pause_s: float = 0.0) -> None:
    async def all_groups() -> None:
        await asyncio.gather(*(_commit(kafka.address, group, times, pause_s) for group in groups))

    asyncio.run(all_groups())


async def _in_transactions(address: str, group: str) -> None:
    from aiokafka import AIOKafkaProducer, TopicPartition

    producer = AIOKafkaProducer(bootstrap_servers=address, transactional_id=f"tx-{group}")
    await producer.start()
    try:
        for number, is_committed in ((5, True), (6, False)):
            await producer.begin_transaction()
            await producer.send_offsets_to_transaction({TopicPartition(TOPIC, 0): number}, group)
            await (producer.commit_transaction() if is_committed else producer.abort_transaction())
    finally:
        await producer.stop()


def same_bytes(kafka: Kafka, mirror: Path) -> None:
    for number in range(OFFSETS_PARTITIONS):
        name = f"__consumer_offsets-{number}"
        theirs = log_bytes(list((kafka.data_dir / name).glob("*.log")))
        ours = log_bytes(list((mirror / name).glob("*.log")))
        assert ours == theirs, name


def test_an_observer_that_is_killed_again_and_again_mirrors_kafkas_bytes(kafka: Kafka, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    following = Following(kafka.address, mirror).start()
    names = [f"group-{number}" for number in range(6)]
    working = threading.Thread(target=commit, args=(kafka, *names), kwargs={"times": 300, "pause_s": 0.02})
    working.start()
    kills = 0
    while working.is_alive():
        time.sleep(0.9)
        following.kill()
        kills += 1
        following.start()
    working.join()
    commit(kafka, "last", times=1)
    said = following.until_ends(ends(kafka))
    assert kills >= 5
    assert said["offsets"]["group-3|orders|2"] == 299
    assert said["offsets"]["last|orders|0"] == 0
    assert following.stop() == 0
    same_bytes(kafka, mirror)


def test_commits_in_transactions_count_when_they_are_committed(kafka: Kafka, tmp_path: Path) -> None:
    with Following(kafka.address, tmp_path / "mirror") as following:
        commit(kafka, "transactional", times=2)
        asyncio.run(_in_transactions(kafka.address, "transactional"))
        eventually(
            lambda: following.said.get("offsets", {}).get("transactional|orders|0") == 5,
            "the committed transaction counts",
        )
        following.until_ends(ends(kafka))
        assert following.said["offsets"]["transactional|orders|0"] == 5


def test_a_cluster_that_vanishes_and_returns_is_followed_again(kafka: Kafka, tmp_path: Path) -> None:
    mirror = tmp_path / "mirror"
    with Following(kafka.address, mirror) as following:
        commit(kafka, "before", times=3)
        following.until_ends(ends(kafka))
        kafka.kill()
        eventually(lambda: "listens" in following.said["problem"], "the problem is told")
        kafka.start()
        commit(kafka, "after", times=3)
        said = following.until_ends(ends(kafka))
        assert said["offsets"]["after|orders|0"] == 2
        eventually(lambda: not following.said["problem"], "the problem is over")
        assert following.said["restarts"] == 0
        assert following.stop() == 0
    same_bytes(kafka, mirror)


def test_all_commands_on_files_work_on_the_mirror(
    kafka: Kafka, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mirror = tmp_path / "mirror"
    commit(kafka, "questioned", times=4)
    with Following(kafka.address, mirror) as following:
        following.until_ends(ends(kafka))
        place = ["--data-dir", str(mirror), "--json"]
        asked = {
            "commits": ["history", "commits", "questioned", *place],
            "rebalances": ["history", "rebalances", "questioned", *place],
            "rate": ["history", "rate", "questioned", *place],
            "extract": ["history", "extract", *place],
        }
        answers = {}
        for name, words in asked.items():
            capsys.readouterr()
            assert main(words) == 0, (name, capsys.readouterr().err)
            answers[name] = json.loads(capsys.readouterr().out)
        assert len(answers["commits"]) == 4 * PARTITIONS
        time.sleep(2)  # the moment lies behind the commits
        restore = ["restore", "questioned", "--at", "-1s", "--data-dir", str(mirror), "--json"]
        assert main([*restore, "--bootstrap-server", kafka.address]) == 0, capsys.readouterr().err
        assert "questioned" in capsys.readouterr().out
        assert main(["log", "verify", str(mirror)]) == 0
        assert main(["log", "dump", str(mirror)]) == 0
        assert "questioned" in capsys.readouterr().out
