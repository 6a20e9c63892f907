"""Groups and offsets in all their forms, put into a server by requests, and what the server then says of them.

`fill` makes the same groups on Kafka and on us; `fill_transactions` adds what only Kafka can take. `told` is what a
client can learn of them. With these, a log can change its owner in a test: what Kafka told before, we must tell after.
`make interchange KEEP_KAFKA_LOG=1` keeps a log that Kafka wrote in corpus/kafka-log, with what Kafka told of it after a
restart, so that `make test` can try ours on it without a JVM.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any, Final

from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.conformance.corpus import FOLDER
from tests.conformance.script import plain
from tests.support.wire import Wire, call

KEPT_LOG: Final = FOLDER / "kafka-log"
TOLD: Final = "told.json"
PARTITION: Final = "__consumer_offsets-0"
SESSION_MS: Final = 1_700_000  # members outlive any restart of a test


def commit(port: int, group: str, topic: str, partition: int, offset: int, **more: Any) -> None:
    version = more.pop("version", 8)
    one = OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, **more)
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[one])]
    answer = call(port, OffsetCommitRequest(group_id=group, topics=topics), version)
    assert [each.error_code for each in answer.topics[0].partitions] == [0], answer


def fill(port: int) -> None:
    """Simple groups, deleted ones, Stable and Empty ones with members of both kinds."""
    for number in range(5):
        commit(port, "simple", "t0", number % 4, 100 + number, committed_metadata=f"note {number}")
    commit(port, "simple", "t1", 0, 7, committed_leader_epoch=3, committed_metadata="ä😀")
    commit(port, "deleted", "t0", 0, 1)
    commit(port, "partly-deleted", "t0", 0, 1)
    commit(port, "partly-deleted", "t1", 1, 2)
    topic = OffsetDeleteRequestTopic(name="t0", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    assert call(port, OffsetDeleteRequest(group_id="partly-deleted", topics=[topic]), 0).error_code == 0
    assert call(port, DeleteGroupsRequest(groups_names=["deleted"]), 2).results[0].error_code == 0
    asyncio.run(_members(port))


async def _members(port: int) -> None:
    await asyncio.gather(_stable(port), _left(port))


async def _join(wire: Wire, group: str, protocol_type: str, instance: str | None = None) -> Any:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=60_000,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[
            JoinGroupRequestProtocol(name="range", metadata=b"\x00\x01\x00\x00\x00\x01\x00\x02t0\xff\xff\xff\xff")
        ],
    )
    answer = await wire.request(request, 9)
    if answer.error_code == 79:
        request.member_id = answer.member_id
        answer = await wire.request(request, 9)
    assert answer.error_code == 0, answer
    return answer


async def _sync(wire: Wire, group: str, protocol_type: str, joined: Any, assignments: dict[str, bytes]) -> None:
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type=protocol_type,
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=key, assignment=each) for key, each in assignments.items()],
    )
    answer = await wire.request(request, 5)
    assert answer.error_code == 0, answer


async def _stable(port: int) -> None:
    """Three members, one of them static, with an assignment and commits of a member."""
    wires = [await Wire.connect(port, client_id=f"client-{number}") for number in range(3)]
    instances = ("fixed", None, None)
    joins = [_join(wire, "stable", "consumer", each) for wire, each in zip(wires, instances, strict=True)]
    joined = await asyncio.gather(*joins)
    leader = next(each for each in joined if each.members)
    assignments = {each.member_id: f"work of {number}".encode() for number, each in enumerate(leader.members)}
    syncs = [
        _sync(wire, "stable", "consumer", each, assignments if each is leader else {})
        for wire, each in zip(wires, joined, strict=True)
    ]
    await asyncio.gather(*syncs)
    partition = OffsetCommitRequestPartition(partition_index=1, committed_offset=55, committed_metadata="by a member")
    request = OffsetCommitRequest(
        group_id="stable",
        generation_id_or_member_epoch=leader.generation_id,
        member_id=leader.member_id,
        topics=[OffsetCommitRequestTopic(name="t0", partitions=[partition])],
    )
    instance = next(each.group_instance_id for each in leader.members if each.member_id == leader.member_id)
    request.group_instance_id = instance
    answer = await wires[0].request(request, 8)
    assert answer.topics[0].partitions[0].error_code == 0
    for wire in wires:
        await wire.close()


async def _left(port: int) -> None:
    """A group of another type whose only member left."""
    async with await Wire.connect(port, client_id="worker") as wire:
        joined = await _join(wire, "left", "connect")
        await _sync(wire, "left", "connect", joined, {joined.member_id: b"all"})
        answer = await wire.request(
            LeaveGroupRequest(group_id="left", members=[MemberIdentity(member_id=joined.member_id)]), 5
        )
        assert answer.error_code == 0
        assert answer.members[0].error_code == 0


def fill_transactions(address: str) -> None:
    """A group that committed within transactions: one committed, one aborted."""
    from confluent_kafka import Consumer, Producer, TopicPartition

    consumer = Consumer({"bootstrap.servers": address, "group.id": "transactional"})
    producer = Producer({"bootstrap.servers": address, "transactional.id": "exchange"})
    producer.init_transactions(30)
    for offset, ends_well in ((10, True), (20, False)):
        producer.begin_transaction()
        position = [TopicPartition("t0", 2, offset)]
        producer.send_offsets_to_transaction(position, consumer.consumer_group_metadata(), 30)
        if ends_well:
            producer.commit_transaction(30)
        else:
            producer.abort_transaction(30)
    consumer.close()


def told(port: int) -> dict[str, Any]:
    """Return all that a client can learn of all groups. Member ids are as stored, so they must be equal."""
    listed = call(port, ListGroupsRequest(), 5)
    names = sorted(each.group_id for each in listed.groups)
    described = call(port, DescribeGroupsRequest(groups=names), 5)
    groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
    fetched = call(port, OffsetFetchRequest(groups=groups, require_stable=True), 8)
    found = {
        "listed": plain(listed)["groups"],
        "described": plain(described)["groups"],
        "fetched": plain(fetched)["groups"],
    }
    for each in found["described"]:
        each.get("members", []).sort(key=lambda member: member["member_id"])
    for each in found["fetched"]:
        for topic in each.get("topics", []):
            topic["partitions"].sort(key=lambda partition: partition.get("partition_index", 0))
        each.get("topics", []).sort(key=lambda topic: topic["name"])
    return {key: sorted(each, key=lambda entry: entry["group_id"]) for key, each in found.items()}


def keep_log(kafka_data: Path, answers: dict[str, Any]) -> None:
    """Store a stopped Kafka's offsets partition, without indexes (they can be made again), and what it told."""
    shutil.rmtree(KEPT_LOG, ignore_errors=True)
    (KEPT_LOG / PARTITION).mkdir(parents=True)
    shutil.copy(kafka_data / "meta.properties", KEPT_LOG)
    for segment in sorted((kafka_data / PARTITION).glob("*.log")):
        shutil.copy(segment, KEPT_LOG / PARTITION)
    (KEPT_LOG / TOLD).write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n")
