"""Groups of the consumer protocol (KIP-848) with a real client, over sockets, through a kill of the daemon."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.support.daemon import Daemon
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


class Reader:
    """A consumer and the partitions of `orders` that it has."""

    def __init__(self, daemon: Daemon, name: str, protocol: str = "consumer", **settings: str) -> None:
        self.name = name
        self.partitions: set[int] = set()
        self.consumer = Consumer(
            {
                "bootstrap.servers": daemon.address,
                "group.id": "g",
                "group.protocol": protocol,
                "client.id": name,
                "reconnect.backoff.max.ms": "200",
                **settings,
            }
        )
        self.consumer.subscribe(["orders"], on_assign=self._given, on_revoke=self._taken, on_lost=self._taken)

    def _given(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.partitions |= {each.partition for each in partitions}

    def _taken(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.partitions -= {each.partition for each in partitions}

    def poll(self) -> None:
        self.consumer.poll(0.05)

    def close(self) -> None:
        self.consumer.close()
        self.partitions.clear()


@pytest.fixture
def readers() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def poll_until(readers: list[Reader], partitions: list[int], what: str) -> None:
    """Poll all readers until each has so many partitions."""

    def have() -> bool:
        for reader in readers:
            reader.poll()
        return [len(reader.partitions) for reader in readers] == partitions

    eventually(have, what)
    owned = [partition for reader in readers for partition in reader.partitions]
    assert sorted(owned) == list(range(6))


def test_members_share_the_partitions_and_go_on_after_a_kill(tmp_path: Path, readers: ExitStack) -> None:
    daemon = readers.enter_context(Daemon(tmp_path / "data"))
    daemon.create_topic("orders", 6)
    one = Reader(daemon, "one")
    readers.callback(one.consumer.close)
    poll_until([one], [6], "one has all partitions")
    two = Reader(daemon, "two")
    readers.callback(two.consumer.close)
    poll_until([one, two], [3, 3], "both have three partitions")
    mine = min(one.partitions)
    one.consumer.commit(offsets=[TopicPartition("orders", mine, 7)], asynchronous=False)

    epochs = described(daemon)
    daemon.restart()
    eventually(lambda: described(daemon) == epochs, "the group is as before the kill")
    one.consumer.commit(offsets=[TopicPartition("orders", mine, 8)], asynchronous=False)
    (committed,) = one.consumer.committed([TopicPartition("orders", mine)])
    assert committed.offset == 8
    assert [len(reader.partitions) for reader in (one, two)] == [3, 3]

    two.close()
    poll_until([one], [6], "one has all partitions again")


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_rolling_restart_changes_the_protocol_and_back(tmp_path: Path, readers: ExitStack, strategy: str) -> None:
    daemon = readers.enter_context(Daemon(tmp_path / "data"))
    daemon.create_topic("orders", 6)
    timing = {"heartbeat.interval.ms": "500", "session.timeout.ms": "6000"}
    classic = {"protocol": "classic", "partition.assignment.strategy": strategy, **timing}
    a, b = (Reader(daemon, name, **classic) for name in ("a", "b"))
    for reader in (a, b):
        readers.callback(reader.consumer.close)
    poll_until([a, b], [3, 3], "the classic members have three partitions each")
    mine = min(a.partitions)
    a.consumer.commit(offsets=[TopicPartition("orders", mine, 7)], asynchronous=False)
    assert type_of_group(daemon) == "CLASSIC"

    c = Reader(daemon, "c")
    readers.callback(c.consumer.close)
    poll_until([a, b, c], [2, 2, 2], "the three members have two partitions each")
    assert type_of_group(daemon) == "CONSUMER"
    mine = min(a.partitions)
    a.consumer.commit(offsets=[TopicPartition("orders", mine, 9)], asynchronous=False)
    daemon.restart()
    a.consumer.commit(offsets=[TopicPartition("orders", mine, 10)], asynchronous=False)  # it is connected again
    a.close()
    poll_until([b, c], [3, 3], "two members of two protocols have three partitions each")
    b.close()
    poll_until([c], [6], "the member of the new protocol has all partitions")

    d = Reader(daemon, "d", **classic)
    readers.callback(d.consumer.close)
    poll_until([c, d], [3, 3], "a classic member joins again")
    c.close()
    poll_until([d], [6], "the classic member has all partitions")
    assert type_of_group(daemon) == "CLASSIC"
    (committed,) = d.consumer.committed([TopicPartition("orders", mine)])
    assert committed.offset >= 9


def type_of_group(daemon: Daemon) -> str:
    admin = AdminClient({"bootstrap.servers": daemon.address})
    (group,) = admin.list_consumer_groups().result().valid
    return str(group.type.name)


ASSIGNORS = """
class Last:
    name = "last"

    def assign(self, spec):
        return {max(spec.members): {topic_id: range(count) for topic_id, count in spec.topics.items()}}


class Endless:
    name = "endless"

    def assign(self, spec):
        while True:
            pass
"""


@pytest.fixture
def assignors_of_a_user(tmp_path: Path) -> Path:
    """A directory with a package that offers two assignors."""
    site = tmp_path / "site"
    info = site / "of_a_user-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "of_a_user.py").write_text(ASSIGNORS, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: of-a-user\nVersion: 1.0\n", encoding="utf-8")
    lines = "[coordinator.assignors]\nlast = of_a_user:Last\nendless = of_a_user:Endless\n"
    (info / "entry_points.txt").write_text(lines, encoding="utf-8")
    return site


def test_an_assignor_of_a_user_that_never_returns_holds_up_its_own_group_only(
    tmp_path: Path, readers: ExitStack, assignors_of_a_user: Path
) -> None:
    daemon = Daemon(
        tmp_path / "data",
        overrides=["group.consumer.assignors=uniform,last,endless", "group.consumer.assignor.timeout.ms=1000"],
        environment={"PYTHONPATH": str(assignors_of_a_user)},
    )
    readers.enter_context(daemon)
    daemon.create_topic("orders", 6)
    stuck = Reader(daemon, "stuck", **{"group.id": "stuck", "group.remote.assignor": "endless"})
    readers.callback(stuck.consumer.close)

    def is_told() -> bool:
        stuck.poll()
        return "has returned nothing for 1000 ms" in daemon.log_text()

    eventually(is_told, "the log tells of the assignor")
    one = Reader(daemon, "one", **{"group.remote.assignor": "last"})
    readers.callback(one.consumer.close)
    poll_until([one], [6], "a group with another assignor is served")
    assert stuck.partitions == set()


def described(daemon: Daemon) -> tuple[str, list[tuple[str, list[int]]]]:
    """Return the state of the group, and the partitions of each client."""
    admin = AdminClient({"bootstrap.servers": daemon.address})
    group = admin.describe_consumer_groups(["g"])["g"].result()
    members = [
        (member.client_id, sorted(each.partition for each in member.assignment.topic_partitions))
        for member in group.members
    ]
    return group.state.name, sorted(members)
