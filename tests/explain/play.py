"""A play: named clients act out a story against the real core in virtual time, which begins at 22:13:20 UTC."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from coordinator.config.config import Config
from coordinator.core.effects import ClientSoftware
from coordinator.core.events.model import Story, decode_story, encode
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding, GroupVerdict
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member

LIBRDKAFKA = ClientSoftware("librdkafka", "2.16")
JAVA = ClientSoftware("apache-kafka-java", "4.4.0")


def assigned(*partitions: int) -> bytes:
    topics = [TopicPartitions("orders", list(partitions))] if partitions else []
    return encode_assignment(Assignment(assigned_partitions=topics), 0)


def protocols(*topics: str, names: Sequence[str] = ("range",), user_data: bytes | None = None) -> Any:
    metadata = encode_subscription(Subscription(topics=list(topics), user_data=user_data), 0)
    return tuple((name, metadata) for name in names)


class Play:
    """Clients `name` on `pod-name` join group "g" of a cluster. Those on stage send heartbeats while time passes."""

    def __init__(self, config: Config | None = None) -> None:
        self.cluster = Cluster(config)
        self.partitions = 6

    def client(self, name: str, **facts: Any) -> Member:
        facts = {"host": f"/pod-{name}", "software": LIBRDKAFKA, "protocols": protocols("orders")} | facts
        return self.cluster.member(client_id=name, **facts)

    def clients(self, *names: str, **facts: Any) -> list[Member]:
        members = [self.client(name, **facts) for name in names]
        self.rebalance(members)
        return members

    def rebalance(self, members: Sequence[Member]) -> None:
        """Let all members join, new ones first, and share the partitions evenly."""
        for member in sorted(members, key=lambda each: each.member_id != ""):
            member.join()
        for _ in range(10):
            if not any(member.is_waiting for member in members):
                break
            deadline = self.cluster.core.next_deadline_ms()
            assert deadline is not None
            self.cluster.advance(max(deadline - self.cluster.clock.now_ms, 0))
        self.sync(members)

    def sync(self, members: Sequence[Member]) -> None:
        for member in members:
            member.take_id()
        shares = {
            member.member_id: assigned(*range(number, self.partitions, len(members)))
            for number, member in enumerate(members)
        }
        for member in members:
            member.sync(shares if member.is_leader else {})
        assert all(member.last_sync.error is ErrorCode.NONE for member in members)

    def wait(self, duration: str, *members: Member) -> None:
        """Let time pass while these members, and no others, send heartbeats."""
        self.cluster.advance(duration, heartbeating=members)

    def returns(self, member: Member, others: Sequence[Member]) -> None:
        """Let a new run of a client join."""
        member.member_id = ""
        self.rebalance([*others, member])

    def story(self) -> Story:
        """Return the story as the command reads it, over the wire."""
        story = self.cluster.core.story("g", self.cluster.clock.now_ms)
        assert story is not None
        return decode_story(encode(story))

    def verdict(self) -> GroupVerdict:
        return explain(self.story())[0]

    def codes(self) -> list[Finding]:
        return [verdict.code for verdict in explain(self.story())]
