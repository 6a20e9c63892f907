"""Scripted members of KIP-848 groups, on the scripted cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.consumer_group.held_heartbeat import HeldHeartbeat
from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware, Describable
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.support.cluster import Cluster

if TYPE_CHECKING:
    from tests.support.call import Call

Partitions = Mapping[str, Iterable[int]]  # topic name -> partitions


class ConsumerWorld(Cluster):
    """The scripted cluster with one log partition, and short words for what KIP-848 clients do in group `g`."""

    def __init__(self, topics: Mapping[str, int] | None = None, **options: Any) -> None:
        self._seen = 0  # records
        super().__init__(partitions=1, topics=topics, **options)

    def beat(
        self,
        member_id: str,
        epoch: int,
        *,
        topics: Iterable[str] | None = None,
        owned: Partitions | None = None,
        version: int = 1,
        group_id: str = "g",
        client_id: str = "client",
        software: ClientSoftware = UNKNOWN_SOFTWARE,
        can_wait: bool = False,
        host: str = "/127.0.0.1",
        describable: Describable | None = None,
        **fields: Any,
    ) -> Call:
        """Send a heartbeat; a field that is not given is null. A join gives a rebalance timeout and owns nothing."""
        if epoch == 0:
            fields.setdefault("rebalance_timeout_ms", 300_000)
            owned = {} if owned is None else owned
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if topics is None else list(topics),
            topic_partitions=None if owned is None else self.partitions(owned),
            **fields,
        )
        return self.send(
            "consumer_heartbeat",
            request,
            version,
            client_id=client_id,
            software=software,
            can_wait=can_wait,
            host=host,
            describable=describable,
        )

    def release_held(self, call: Call) -> None:
        """Receive more bytes on the connection of a held heartbeat."""
        self.execute(self.core.release(self._held(call), self.clock.now_ms))
        self._after_event()

    def drop_held(self, call: Call) -> None:
        """Lose the connection of a held heartbeat."""
        self.core.drop(self._held(call))

    def _held(self, call: Call) -> HeldHeartbeat:
        held = [each for group in self.core.consumer_group_ids.values() for each in group.held.values()]
        return next(each for each in held if each.ticket.session is call)

    def full(self, member_id: str, epoch: int, topics: Iterable[str], owned: Partitions, **fields: Any) -> Call:
        """Send a heartbeat with all fields."""
        return self.beat(member_id, epoch, topics=topics, owned=owned, rebalance_timeout_ms=300_000, **fields)

    def partitions(self, owned: Partitions) -> list[TopicPartitions]:
        found = []
        for name, partitions in owned.items():
            topic = self.topics_image.by_name(name)
            assert topic is not None
            found.append(TopicPartitions(topic_id=topic.topic_id, partitions=list(partitions)))
        return found

    def told(self, call: Call) -> tuple[int, dict[str, list[int]] | None]:
        """Return the epoch and the assignment of an answer: topic name -> partitions, None if it has none."""
        assert call.error is ErrorCode.NONE, call.answer
        if call.answer.assignment is None:
            return call.answer.member_epoch, None
        found = {}
        for part in call.answer.assignment.topic_partitions:
            topic = self.topics_image.by_id(part.topic_id)
            found["?" if topic is None else topic.name] = list(part.partitions)
        return call.answer.member_epoch, found

    def new_records(self) -> str:
        """Return the kinds of the records since the last call, as in "5 3 7 8t"; t is for a tombstone."""
        records = self.log.raw(0)
        new, self._seen = records[self._seen :], len(records)
        kinds = [(int.from_bytes(key[:2], "big"), value) for key, value in new]
        return " ".join(f"{kind}{'' if value is not None else 't'}" for kind, value in kinds)

    def consumer_group(self, group_id: str = "g") -> ConsumerGroup:
        return self.core.consumer_group_ids[group_id]

    @property
    def epochs(self) -> tuple[int, int, str]:
        """The group epoch, the assignment epoch and the state."""
        group = self.consumer_group()
        return group.epoch, group.assignment_epoch, group.state.value

    def describe_consumer_group(self, group_id: str = "g", *, version: int = 1) -> DescribedGroup:
        request = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
        (described,) = self.send("consumer_describe", request, version).answer.groups
        assert isinstance(described, DescribedGroup)
        return described

    def assigned(self, member_id: str) -> dict[str, list[int]]:
        """Return what a member is assigned now, by topic name."""
        member = self.consumer_group().members[member_id]
        names = {topic_id: topic.name for topic_id in member.assigned if (topic := self.topics_image.by_id(topic_id))}
        return {names[topic_id]: list(partitions) for topic_id, partitions in member.assigned.items()}
