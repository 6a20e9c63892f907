"""The rules about known differences, and the page that gives their reasons; how a script is made shorter."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from protocol.codec import decode_request
from protocol.errors import ProtocolError
from protocol.headers import decode_request_header
from tests.conformance.corpus import recordings
from tests.conformance.frames import bent_frame
from tests.conformance.known import (
    GROUP_MAX_SIZE_REACHED,
    LISTED,
    MAX_SIZE,
    NOT_ANSWERED,
    Disagreement,
    known_difference,
)
from tests.conformance.lockstep import Difference, Outcome
from tests.conformance.script import APIS, Script, Step, build, plain, request_class
from tests.conformance.shrink import shrink

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "differences.md").read_text() + (DOCS / "consumer-groups.md").read_text()


def test_every_rule_has_its_reason_in_the_page() -> None:
    for known in LISTED:
        assert f"| {known.name} |" in PAGE


def disagreement(step: Step, kafka: object, ours: object) -> Disagreement:
    return Disagreement([step], 0, 0, kafka, ours, {}, {}, None)


@pytest.mark.parametrize("api", ["Heartbeat", "JoinGroup", "SyncGroup", "LeaveGroup", "OffsetFetch", "OffsetCommit"])
def test_no_rule_forgives_another_error_code(api: str) -> None:
    body = {"group_id": "$g0", "member_id": "$id:m0", "protocols": [{"name": "range"}], "members": [], "topics": []}
    found = disagreement(
        {"op": "send", "api": api, "c": 0, "v": 1, "body": body}, {"error_code": 25}, {"error_code": 27}
    )
    assert known_difference(found) is None


def test_no_rule_forgives_an_answer_that_comes_too_early() -> None:
    body = {"group_id": "$g0", "member_id": "$id:m0", "protocols": [{"name": "range"}]}
    step = {"op": "send", "api": "JoinGroup", "c": 0, "v": 1, "as": "m0", "body": body}
    assert known_difference(disagreement(step, NOT_ANSWERED, {"generation_id": 1})) is None


@pytest.mark.parametrize(("instance_id", "is_known"), [("i1", True), ("i2", False), (None, False)])
def test_a_full_group_takes_back_its_own_static_members_alone(instance_id: str | None, is_known: bool) -> None:
    body = {"group_id": "$g0", "member_id": "", "group_instance_id": instance_id, "protocols": [{"name": "range"}]}
    step = {"op": "send", "api": "JoinGroup", "c": 0, "v": 5, "as": "m2", "body": body}
    before = {"g0": {"group_state": "Stable", "members": [["$id:m0", None], ["$id:m1", "i1"]]}}
    found = Disagreement([step], 0, 0, {"error_code": 81}, {"generation_id": 2}, before, before, 81)
    known = known_difference(found)
    assert (known is not None and known.name == "static-member-of-a-full-group") is is_known


@pytest.mark.parametrize("api", ["Heartbeat", "JoinGroup", "SyncGroup", "LeaveGroup", "DescribeGroups"])
def test_no_rule_forgives_an_answer_that_ours_does_not_give(api: str) -> None:
    """The answer may be that of an earlier request, told after a JoinGroup that the full, rebalancing group refused."""
    body = {"group_id": "$g0", "member_id": "$id:m0", "protocols": [{"name": "range"}]}
    join = {"op": "send", "api": "JoinGroup", "c": 1, "v": 5, "as": "m9", "body": {**body, "member_id": ""}}
    members = [[f"$id:m{number}", None] for number in range(MAX_SIZE)]
    groups = {"g0": {"group_state": "PreparingRebalance", "members": members}}
    script = [{"op": "send", "api": api, "c": 0, "v": 1, "as": "m0", "body": body}, join]
    found = Disagreement(script, 0, 1, {"generation_id": 2}, NOT_ANSWERED, groups, groups, GROUP_MAX_SIZE_REACHED)
    assert known_difference(found) is None


async def test_a_script_is_shortened_to_the_steps_that_matter() -> None:
    async def run(script: Script) -> Outcome:
        numbers = [step["n"] for step in script]
        bad = 3 in numbers and 11 in numbers and numbers.index(3) < numbers.index(11)
        difference = Difference(0, {"op": "send", "api": "X"}, "answers differ", {"a": 1}, {"a": 2}) if bad else None
        return Outcome(difference=difference)

    script: Script = [{"op": "send", "n": number} for number in range(25)]
    found = (await run(script)).difference
    assert found is not None
    short, _ = await shrink(script, found, run)
    assert [step["n"] for step in short] == [3, 11]


def test_a_message_survives_being_written_as_plain_data() -> None:
    for recording in recordings()[:40]:
        for step in recording.script:
            if step["op"] == "send" and "$gen" not in repr(step):
                message = build(request_class(step["api"]), step["body"])
                assert build(request_class(step["api"]), plain(message)) == message


def test_bent_frames_differ_from_each_other_and_never_crash_a_decoder() -> None:
    chance = random.Random(1)
    versions = {name: range(9 if name == "OffsetCommit" else 1) for name in APIS}
    versions["OffsetCommit"] = range(2, 9)
    frames = {bent_frame(chance, {**versions, "OffsetFetch": range(1, 9)}) for _ in range(300)}
    assert len(frames) > 200
    for frame in frames:
        try:
            header, position = decode_request_header(bytes.fromhex(frame)[4:])
            decode_request(header.api_key, header.api_version, bytes.fromhex(frame)[4:], position)
        except ProtocolError:
            pass
