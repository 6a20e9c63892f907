"""The scripts of KIP-848 groups, made without a server: each member that joins is taken for accepted."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.codec import declared_versions, encode_request
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tests.conformance.consumer_generator import WHOLE, ConsumerGenerator
from tests.conformance.consumer_lockstep import ConsumerLockstep
from tests.conformance.consumer_side import BEAT, ConsumerSide
from tests.conformance.corpus import RECORDED_CONSUMER, recordings
from tests.conformance.mixed_generator import MixedGenerator
from tests.conformance.script import APIS, Script, Step, build, request_class
from tests.conformance.side import Sent

CLASSIC = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")
SEEDS = [f"test/{number}" for number in range(40)]


def versions() -> dict[str, range]:
    """Return the versions that the protocol package declares and Kafka serves."""
    first = {"OffsetCommit": 2, "OffsetFetch": 1, "AlterReplicaLogDirs": 1}
    return {name: range(first.get(name, 0), declared_versions(key).stop) for name, key in APIS.items()}


class Accepted(ConsumerSide):
    """A side whose server, if there were one, would accept each join and each leave."""

    def take(self, index: int, step: Step) -> None:
        if step.get("api") != BEAT or "as" not in step or step["body"]["member_epoch"] not in (0, -1):
            return
        body = self.resolve(step["body"])
        group = body["group_id"].removeprefix("none.")
        member_id = body["member_id"] or f"made-{index}"
        members = self.consumers.setdefault(group, {"group_epoch": 2, "assignment_epoch": 2})
        ids = {each["member_id"] for each in members.get("members", [])} - {member_id}
        if body["member_epoch"] == 0:
            ids.add(member_id)
        members["members"] = [{"member_id": each} for each in sorted(ids)]
        epoch = 2 if body["member_epoch"] == 0 else -1
        answer = ConsumerGroupHeartbeatResponse(error_code=0, member_id=member_id, member_epoch=epoch)
        self._beats[index] = body
        self._learn(Sent(index, BEAT, step["v"], step["c"], step["as"], None), answer)  # type: ignore[arg-type]


async def written(make: type[ConsumerGenerator], seed: str, steps: int = 60) -> tuple[ConsumerGenerator, Script]:
    """Write a script, and return it with its generator."""
    run = ConsumerLockstep(0, 0)
    run.kafka = side = Accepted("Kafka", 0, "none.")
    generator = make(seed, steps, versions())
    while (step := generator.next_step(run)) is not None:
        side.take(len(run.script), step)
        run.script.append(step)
    return generator, run.script


@pytest.mark.parametrize("make", [ConsumerGenerator, MixedGenerator])
async def test_every_request_can_be_sent_in_its_version(make: type[ConsumerGenerator]) -> None:
    side = ConsumerSide("none", 0, "none.")
    seen = set()
    for seed in SEEDS:
        for step in (await written(make, seed))[1]:
            if step["op"] == "send":
                seen.add(step["api"])
                encode_request(build(request_class(step["api"]), side.resolve(step["body"])), step["v"])
    assert {BEAT, "ConsumerGroupDescribe", "OffsetCommit", "OffsetFetch", "ListGroups", "JoinGroup"} <= seen


async def test_a_seed_decides_the_script() -> None:
    for seed in SEEDS[:10]:
        assert (await written(ConsumerGenerator, seed))[1] == (await written(ConsumerGenerator, seed))[1]


async def test_scripts_are_of_all_flavours() -> None:
    flavours = {(await written(ConsumerGenerator, seed, steps=1))[0].flavour for seed in SEEDS}
    assert flavours == {"range", "whole", "loose"}


async def test_where_all_is_compared_no_made_up_id_decides_who_gets_what() -> None:
    for seed in SEEDS:
        generator, script = await written(ConsumerGenerator, seed)
        for step in script:
            body = step.get("body", {})
            if generator.flavour == "loose" or step.get("api") != BEAT or body["member_epoch"] != 0:
                continue
            is_refused = step["v"] > 0
            assert body["member_id"] != "" or is_refused or body.get("instance_id"), step


async def test_a_loose_script_says_so_in_each_heartbeat() -> None:
    for seed in SEEDS:
        generator, script = await written(ConsumerGenerator, seed)
        for step in script:
            if step.get("api") == BEAT:
                assert step.get("loose", False) is (generator.flavour == "loose")


async def test_where_members_get_equal_shares_there_is_one_topic_that_they_divide() -> None:
    for seed in SEEDS:
        generator, script = await written(ConsumerGenerator, seed)
        if generator.flavour == "whole":
            topics = [step["topics"] for step in script if step["op"] == "topics" and step["do"] == "create"]
            assert topics
            assert all(each == {"$t0": WHOLE} for each in topics)
            assert not any(step.get("do") == "grow" for step in script)


async def test_members_of_two_protocols_meet_in_mixed_scripts_alone() -> None:
    assert not any([await meetings(ConsumerGenerator, seed) for seed in SEEDS])
    assert sum([await meetings(MixedGenerator, seed) for seed in SEEDS]) > 20


async def meetings(make: type[ConsumerGenerator], seed: str) -> int:
    """Return how many requests of classic members go to a group that has members of the other protocol."""
    side = Accepted("Kafka", 0, "none.")
    count = 0
    for index, step in enumerate((await written(make, seed))[1]):
        group: Any = str(step.get("body", {}).get("group_id", ""))
        if step.get("api") in CLASSIC and side.consumers.get(group[1:], {}).get("members"):
            count += 1
        side.take(index, step)
    return count


def test_recorded_scripts_have_topics_of_their_own() -> None:
    recorded = recordings(RECORDED_CONSUMER)
    assert recorded
    for recording in recorded:
        assert {"op": "pass"} not in recording.script
        assert any(step["op"] == "topics" for step in recording.script)
