"""The notes of a rehearsal on requests that are refused, late, or tell an owner."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from coordinator.config.sources import load
from coordinator.rehearse.observer import RehearsalObserver, RehearsedMember
from coordinator.rehearse.play import GROUP, SETTINGS
from coordinator.rehearse.record import WrongCommit
from coordinator.testing.host import ServerHost
from coordinator.testing.verbs import Verbs
from coordinator.torture.input import TOPIC
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.support.wire import Wire

pytestmark = pytest.mark.integration


class Scene:
    """A server with an observer, and two members of the consumer protocol that share four partitions."""

    def __init__(self, host: ServerHost, one: Wire, other: Wire) -> None:
        self.observer = RehearsalObserver(host.runtime, GROUP)
        self._topic_id = host.runtime.topics.catalogue.topics[TOPIC].topic_id
        self._wires = {"one": one, "other": other}
        self.epochs = {"one": 0, "other": 0}

    async def beat(self, member: str, owned: list[int] | None = None, epoch: int | None = None) -> set[int] | None:
        """Send a heartbeat, the first of which joins. Return the partitions that its answer names; None: no change."""
        joins = self.epochs[member] == 0
        parts = [TopicPartitions(topic_id=self._topic_id, partitions=owned)] if owned else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=member,
            member_epoch=self.epochs[member] if epoch is None else epoch,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=[TOPIC] if joins else None,
            topic_partitions=parts if joins or owned is not None else None,
        )
        answer = await self._wires[member].request(request, 1)
        if not answer.error_code:
            self.epochs[member] = answer.member_epoch
        if answer.assignment is None:
            return None
        return {number for each in answer.assignment.topic_partitions for number in each.partitions}

    async def commit(self, member: str, partition: int, offset: int, epoch: int | None = None) -> ErrorCode:
        asked = OffsetCommitRequestPartition(
            partition_index=partition, committed_offset=offset, committed_metadata=None
        )
        request = OffsetCommitRequest(
            group_id=GROUP,
            generation_id_or_member_epoch=self.epochs[member] if epoch is None else epoch,
            member_id=member,
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[asked])],
        )
        answer = await self._wires[member].request(request, 9)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    async def share(self) -> tuple[int, int]:
        """Have one member give two partitions to the other. Returns one that it kept and one that it gave up."""
        assert await self.beat("one") == {0, 1, 2, 3}
        await self.beat("one", [0, 1, 2, 3])
        await self.beat("other")
        kept = await self.beat("one")
        assert kept is not None
        await self.beat("one", sorted(kept))
        assert await self.beat("other") == {0, 1, 2, 3} - kept
        return min(kept), min({0, 1, 2, 3} - kept)


def play(test: Any) -> None:
    """Run `test` with a scene."""

    async def run() -> None:
        settings = {"listeners": "127.0.0.1:0", "http.listen": "off", **SETTINGS}
        host = ServerHost(load(flags=settings, profile="test"))
        await host.start()
        try:
            await Verbs(host).create_topics({TOPIC: 4})
            async with (
                await Wire.connect(host.port, client_id="copy-1") as one,
                await Wire.connect(host.port, client_id="copy-2") as other,
            ):
                scene: Coroutine[Any, Any, None] = test(Scene(host, one, other))
                await scene
        finally:
            await host.close()

    asyncio.run(run())


def test_owners_follow_the_heartbeats() -> None:
    async def test(scene: Scene) -> None:
        kept, given = await scene.share()
        owners = scene.observer.owners
        assert (owners.owner_of(kept), owners.owner_of(given)) == ("copy-1", "copy-2")
        assert [(each.client, each.kind.value, len(each.partitions)) for each in owners.callbacks] == [
            ("copy-1", "assigned", 4),
            ("copy-1", "revoked", 2),
            ("copy-2", "assigned", 2),
        ]
        assert scene.observer.members() == [
            RehearsedMember("one", "copy-1", True, False),
            RehearsedMember("other", "copy-2", True, False),
        ]
        assert await scene.beat("other", epoch=-1) is None
        assert owners.callbacks[-1].kind.value == "revoked"

    play(test)


def test_a_commit_for_a_partition_that_was_given_up_is_late() -> None:
    async def test(scene: Scene) -> None:
        kept, given = await scene.share()
        assert await scene.commit("one", kept, 3) is ErrorCode.NONE
        assert scene.observer.late_commits == []
        assert await scene.commit("one", given, 5) is ErrorCode.NONE
        assert scene.observer.late_commits == [WrongCommit("copy-1", given, 5, -1)]

    play(test)


def test_requests_with_an_old_epoch_are_counted() -> None:
    async def test(scene: Scene) -> None:
        _, given = await scene.share()
        assert await scene.commit("one", given, 5, epoch=1) is ErrorCode.STALE_MEMBER_EPOCH
        assert await scene.commit("one", given, 5, epoch=1) is ErrorCode.STALE_MEMBER_EPOCH
        await scene.beat("other", epoch=77)
        assert scene.observer.late_commits == []
        assert scene.observer.refused == {
            ("copy-1", "OffsetCommit", "STALE_MEMBER_EPOCH"): 2,
            ("copy-2", "ConsumerGroupHeartbeat", "FENCED_MEMBER_EPOCH"): 1,
        }

    play(test)
