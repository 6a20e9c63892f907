"""Records what a real Kafka writes for groups whose members come and go: `python -m tests.observe.record [NAME ...]`.

Each scenario has a group of its own, and becomes one file under recorded/: a JSON line for each record of the offsets
log (time, key and value in hexadecimal), and one for each answer to DescribeGroups in which something was new. Needs
Java and Maven, once.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.metadata import MetadataRequest
from tests.conformance.kafka import Kafka
from tests.observe.member import Member
from tests.support.wire import call

RECORDED = Path(__file__).parent / "recorded"
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "500",
    "group.consumer.min.session.timeout.ms": "3000",
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "group.consumer.heartbeat.interval.ms": "1000",
}
TOPICS = {"orders": 6, "refunds": 2, "idle": 4, "growing": 2, "growing-too": 2}
AT_ONCE = 5


class Scenario:
    """One group, and the consumers that play it."""

    def __init__(self, kafka: Kafka, name: str) -> None:
        self.kafka = kafka
        self.name = name
        self.members: dict[str, Member] = {}
        self.marks: list[dict[str, Any]] = []
        self.ended_ms = 0

    def start(self, client: str, topics: str = "orders", **extra: object) -> None:
        """Start a consumer. Names of settings have underscores here."""
        settings: dict[str, object] = {
            "bootstrap.servers": self.kafka.address,
            "group.id": self.name,
            "client.id": client,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
            "topic.metadata.refresh.interval.ms": 2000,
        }
        if self.name.startswith("consumer-") or "group_protocol" in extra:
            settings["group.protocol"] = "consumer"
        else:
            settings |= {"session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
            settings["partition.assignment.strategy"] = "range"
        settings |= {key.replace("_", "."): value for key, value in extra.items()}
        self.mark(f"start {client}")
        self.members[client] = Member(topics, settings)

    def tell(self, client: str, line: str) -> None:
        self.mark(f"{line} {client}")
        self.members[client].tell(line)

    def close(self, *clients: str) -> None:
        for client in clients:
            self.mark(f"close {client}")
            self.members.pop(client).close()
            self.mark(f"closed {client}")

    def kill(self, client: str) -> None:
        self.mark(f"kill {client}")
        self.members.pop(client).kill()

    def mark(self, what: str) -> None:
        self.marks.append({"at_ms": int(time.time() * 1000), "did": what})

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)


def two(play: Scenario, topics: str = "orders", **extra: object) -> None:
    play.start("web-1", topics, **extra)
    play.wait(3)
    play.start("web-2", topics, **extra)
    play.wait(5)


def join(play: Scenario) -> None:
    two(play)
    play.start("web-3")
    play.wait(5)


def clean_leave(play: Scenario) -> None:
    two(play)
    play.close("web-2")
    play.wait(4)


def leader_leaves(play: Scenario) -> None:
    two(play)
    play.close("web-1")
    play.wait(4)


def killed(play: Scenario) -> None:
    two(play)
    play.wait(4)
    play.kill("web-2")
    play.wait(11)


def killed_idle(play: Scenario) -> None:
    two(play, "idle")
    play.wait(8)
    play.kill("web-2")
    play.wait(11)


def slow_poll(play: Scenario) -> None:
    two(play, max_poll_interval_ms=11_000)
    play.tell("web-2", "stall 16")
    play.wait(22)


def subscription(play: Scenario) -> None:
    two(play)
    play.tell("web-2", "subscribe orders,refunds")
    play.wait(5)


def static_restart(play: Scenario) -> None:
    play.start("web-1", group_instance_id="one")
    play.wait(3)
    play.start("web-2", group_instance_id="two")
    play.wait(5)
    play.kill("web-2")
    play.wait(1)
    play.start("web-2", group_instance_id="two")
    play.wait(5)


def static_closed(play: Scenario) -> None:
    play.start("web-1", group_instance_id="one")
    play.wait(3)
    play.start("web-2", group_instance_id="two")
    play.wait(5)
    play.close("web-2")
    play.wait(1)
    play.start("web-2", group_instance_id="two")
    play.wait(5)


def static_gone(play: Scenario) -> None:
    play.start("web-1", group_instance_id="one")
    play.wait(3)
    play.start("web-2", group_instance_id="two")
    play.wait(7)
    play.kill("web-2")
    play.wait(11)


def rolling(play: Scenario) -> None:
    two(play)
    play.start("web-3")
    play.wait(4)
    for client in ("web-1", "web-2", "web-3"):
        play.close(client)
        play.wait(2)
        play.start(client)
        play.wait(4)


def crash_loop(play: Scenario) -> None:
    two(play)
    for _ in range(3):
        play.kill("web-2")
        play.wait(2)
        play.start("web-2")
        play.wait(12)


def partitions(play: Scenario) -> None:
    from confluent_kafka.admin import AdminClient, NewPartitions  # type: ignore[attr-defined]

    topic = "growing-too" if play.name.startswith("consumer-") else "growing"
    two(play, topic)
    admin = AdminClient({"bootstrap.servers": play.kafka.address})
    play.mark("partitions 4")
    for done in admin.create_partitions([NewPartitions(topic, 4)]).values():
        done.result()
    play.wait(10)


def cooperative(play: Scenario) -> None:
    two(play, partition_assignment_strategy="cooperative-sticky")
    play.close("web-2")
    play.wait(5)


def slow_revocation(play: Scenario) -> None:
    play.start("web-1", max_poll_interval_ms=60_000)
    play.wait(4)
    play.tell("web-1", "stall 10")
    play.wait(1)
    play.start("web-2")
    play.wait(15)


def dropped(play: Scenario) -> None:
    """A member that does not rejoin, or does not revoke, within its max.poll.interval.ms."""
    play.start("web-1", max_poll_interval_ms=8_000)
    play.wait(6)
    play.tell("web-1", "stall 16")
    play.wait(1)
    play.start("web-2", max_poll_interval_ms=8_000)
    play.wait(22)


def emptied(play: Scenario) -> None:
    play.start("web-1")
    play.wait(5)
    play.close("web-1")
    play.wait(4)


def upgraded(play: Scenario) -> None:
    """A member of the new protocol joins a classic group, which becomes a KIP-848 group."""
    two(play)
    play.start("web-3", group_protocol="consumer")
    play.wait(8)


def interrupted(play: Scenario) -> None:
    """A member joins while another one holds up the rebalance."""
    play.start("web-1", max_poll_interval_ms=60_000)
    play.wait(4)
    play.tell("web-1", "stall 8")
    play.wait(1)
    play.start("web-2")
    play.wait(3)
    play.start("web-3")
    play.wait(10)


CLASSIC: dict[str, Callable[[Scenario], None]] = {
    "join": join,
    "clean-leave": clean_leave,
    "leader-leaves": leader_leaves,
    "killed": killed,
    "killed-idle": killed_idle,
    "slow-poll": slow_poll,
    "subscription": subscription,
    "static-restart": static_restart,
    "static-gone": static_gone,
    "rolling": rolling,
    "crash-loop": crash_loop,
    "partitions": partitions,
    "cooperative": cooperative,
    "slow-rejoin": slow_revocation,
    "dropped": dropped,
    "interrupted": interrupted,
    "emptied": emptied,
    "upgraded": upgraded,
}
CONSUMER: dict[str, Callable[[Scenario], None]] = {
    "join": join,
    "clean-leave": clean_leave,
    "killed": killed,
    "slow-poll": slow_poll,
    "subscription": subscription,
    "static-restart": static_closed,
    "static-gone": static_gone,
    "rolling": rolling,
    "crash-loop": crash_loop,
    "partitions": partitions,
    "slow-revocation": slow_revocation,
    "dropped": dropped,
    "interrupted": interrupted,
    "emptied": emptied,
}
SCENARIOS = {f"classic-{name}": play for name, play in CLASSIC.items()} | {
    f"consumer-{name}": play for name, play in CONSUMER.items()
}


def describe(kafka: Kafka, groups: list[str], found: dict[str, list[dict[str, Any]]], ended: threading.Event) -> None:
    """Ask for the classic groups each 500 ms, and keep the answers that differ from the last one."""
    while not ended.wait(0.5):
        for each in call(kafka.port, DescribeGroupsRequest(groups=groups), 5).groups:
            answer: dict[str, Any] = {
                "state": each.group_state,
                "members": [[m.member_id, m.group_instance_id or "", m.client_id, m.client_host] for m in each.members],
            }
            found.setdefault(each.group_id, []).append({"at_ms": int(time.time() * 1000), **answer})


def produce(kafka: Kafka, ended: threading.Event) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": kafka.address})
    number = 0
    while not ended.wait(0.1):
        for topic, partitions in TOPICS.items():
            if topic != "idle":
                number += 1
                producer.produce(topic, b"value", partition=number % min(partitions, 6))
        for partition in range(6):
            producer.produce("orders", b"value", partition=partition)
        producer.poll(0)
    producer.flush(5)


def read_log(kafka: Kafka) -> list[tuple[int, bytes, bytes | None]]:
    """Return the time, key and value of all records of the offsets log."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer(
        {"bootstrap.servers": kafka.address, "group.id": "reader", "enable.auto.commit": False, "check.crcs": True}
    )
    place = TopicPartition("__consumer_offsets", 0, 0)
    _, end = consumer.get_watermark_offsets(place, timeout=10)
    consumer.assign([place])
    records = []
    while True:
        message = consumer.poll(5)
        if message is None:
            break
        records.append((message.timestamp()[1], message.key() or b"", message.value()))
        if (message.offset() or 0) + 1 >= end:
            break
    consumer.close()
    return records


def main(names: list[str]) -> None:
    RECORDED.mkdir(exist_ok=True)
    wanted = {name: SCENARIOS[name] for name in names} if names else SCENARIOS
    with tempfile.TemporaryDirectory() as directory, Kafka(Path(directory) / "kafka", settings=SETTINGS) as kafka:
        for topic, count in TOPICS.items():
            kafka.create_topic(topic, count)
        answer = call(kafka.port, MetadataRequest(topics=None), 12)
        ids = {each.topic_id.hex(): each.name for each in answer.topics}
        plays = [Scenario(kafka, name) for name in wanted]
        described: dict[str, list[dict[str, Any]]] = {}
        ended = threading.Event()
        threads = [
            threading.Thread(target=produce, args=(kafka, ended)),
            threading.Thread(
                target=describe, args=(kafka, [n for n in wanted if n.startswith("classic-")], described, ended)
            ),
        ]
        for thread in threads:
            thread.start()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            done = [(play, pool.submit(wanted[play.name], play)) for play in plays]
            for play, future in done:
                future.result()
                play.ended_ms = int(time.time() * 1000)
                print(play.name, flush=True)
                threading.Thread(target=play.close, args=tuple(play.members)).start()
        ended.set()
        for thread in threads:
            thread.join()
        time.sleep(3)
        write(plays, read_log(kafka), described, ids)


def write(
    plays: list[Scenario],
    log: list[tuple[int, bytes, bytes | None]],
    described: dict[str, list[dict[str, Any]]],
    ids: dict[str, str],
) -> None:
    for play in plays:
        prefix = len(play.name).to_bytes(2, "big") + play.name.encode()
        lines: list[dict[str, Any]] = [
            {"at_ms": at_ms, "key": key.hex(), "value": None if value is None else value.hex()}
            for at_ms, key, value in log
            if key[2 : 2 + len(prefix)] == prefix
        ]
        lines += described.get(play.name, [])
        lines += play.marks
        lines = [line for line in lines if line["at_ms"] <= play.ended_ms]
        lines.sort(key=lambda line: line["at_ms"])
        lines = _without_repeats(lines)
        path = RECORDED / f"{play.name}.jsonl"
        head = {"topics": ids, "ended_ms": play.ended_ms}
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [head, *lines]))


def _without_repeats(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out answers to DescribeGroups that are alike before and after them."""
    answers = [line for line in lines if "state" in line]
    same = {
        id(here)
        for before, here, after in zip(answers, answers[1:], answers[2:], strict=False)
        if before["state"] == here["state"] == after["state"]
        and before["members"] == here["members"] == after["members"]
    }
    return [line for line in lines if id(line) not in same]


if __name__ == "__main__":
    main(sys.argv[1:])
