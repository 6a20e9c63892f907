"""The differences we know and mean, as rules: docs/differences.md gives the reasons under the same names.

A rule looks at one disagreement and at what led to it, as narrowly as it can: whatever it does not name is a finding.
Some differences leave the groups in different states; nothing can be compared after them, and the script ends.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from tests.conformance.script import Script, Step

REBALANCE_IN_PROGRESS: Final = 27
COORDINATOR_NOT_AVAILABLE: Final = 15
GROUP_MAX_SIZE_REACHED: Final = 81
UNKNOWN_MEMBER_ID: Final = 25
UNKNOWN_SERVER_ERROR: Final = -1
MAX_SIZE: Final = 5  # group.max.size on both servers
ADMINISTRATION: Final = ("ListGroups", "DeleteGroups", "DescribeGroups", "OffsetDelete")
NOT_ANSWERED: Final = "no answer"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A difference: a request that one side alone answered, two answers, or two descriptions of a group."""

    script: Script
    index: int  # the request, or the step after which a group differs
    now: int  # the step that was just done
    kafka: Any
    ours: Any
    before: dict[str, Any]  # how the groups looked on both before this step
    after: dict[str, Any]  # how Kafka describes them now
    said: int | None  # the error code of Kafka's answer to this step

    @property
    def step(self) -> Step:
        return self.script[self.index]

    @property
    def trigger(self) -> Step:
        return self.script[self.now]

    @property
    def api(self) -> str:
        return str(self.step.get("api", ""))

    @property
    def we_alone_answered(self) -> bool:
        return bool(self.kafka == NOT_ANSWERED)


@dataclass(frozen=True, slots=True)
class Known:
    """One listed difference. `ends_script`: the groups are no longer comparable. `closes`: the connection is stuck."""

    name: str
    matches: Callable[[Disagreement], bool]
    ends_script: bool = False
    closes: bool = False


def _who(step: Step) -> str:
    """The slot of a Join, or the member a Sync names."""
    member = str(step.get("body", {}).get("member_id", "")).removeprefix("$id:").split("#")[0]
    return str(step.get("as") or member)


def _replaced_request(found: Disagreement) -> bool:
    """C.5: a parked request whose member sent another: Kafka never answers the first."""
    is_told = found.we_alone_answered and found.ours.get("error_code") == REBALANCE_IN_PROGRESS
    is_late = found.we_alone_answered and found.api == "SyncGroup" and not found.ours.get("error_code")
    return (
        (is_told or is_late)  # late: its assignment was durable here when the second one came
        and found.api in ("JoinGroup", "SyncGroup")
        and found.now > found.index
        and found.trigger.get("api") == found.api
        and _who(found.trigger) == _who(found.step)
    )


def _sync_of_a_removed_member(found: Disagreement) -> bool:
    """C.4: the member went while its Sync was parked: Kafka never answers that."""
    return found.we_alone_answered and found.api == "SyncGroup" and found.ours.get("error_code") == UNKNOWN_MEMBER_ID


def _expelled_member_awaited(found: Disagreement) -> bool:
    """C.1: the size limit expels a member, or forgets an id, that all others waited for; Kafka goes on waiting."""
    refused = found.trigger.get("api") == "JoinGroup" and found.said == GROUP_MAX_SIZE_REACHED
    if not refused or found.ours == NOT_ANSWERED:
        return False
    group = found.trigger["body"]["group_id"].removeprefix("$")
    before, after = found.before.get(group), found.after.get(group)
    return bool(
        before
        and after
        and before["group_state"] == after["group_state"] == "PreparingRebalance"
        and len(after["members"]) >= MAX_SIZE
        and (found.we_alone_answered or found.ours.get("group_state") == "CompletingRebalance")
    )


def _assignment_of_a_rebalancing_group(found: Disagreement) -> bool:
    """C.10: DescribeGroups shows the last generation's assignments while a group rebalances."""
    if found.api != "DescribeGroups" or found.we_alone_answered:
        return False
    stripped = copy.deepcopy(found.kafka)
    for group in stripped.get("groups", []):
        if group.get("group_state") != "Stable":
            for member in group.get("members", []):
                member.pop("member_assignment", None)
    return bool(stripped == found.ours)


def _unused_id_given_back(found: Disagreement) -> bool:
    """C.3: LeaveGroup of an id that was handed out and never used starts a rebalance, although no member left."""
    if found.trigger.get("api") != "LeaveGroup":
        return False
    group = found.trigger["body"]["group_id"].removeprefix("$")
    before, after = found.before.get(group), found.after.get(group)
    if before is None or after is None or before["group_state"] not in ("Stable", "CompletingRebalance"):
        return False
    return bool(before["members"] == after["members"] and after["group_state"] == "PreparingRebalance")


def _protocol_named_twice(found: Disagreement) -> bool:
    """A list that names a protocol twice: Kafka counts it twice and fails, or later finds no protocol that all have."""
    names = [each["name"] for each in found.step.get("body", {}).get("protocols", [])]
    twice = any(
        len({each["name"] for each in step["body"]["protocols"]}) < len(step["body"]["protocols"])
        for step in found.script[: found.now + 1]
        if step.get("api") == "JoinGroup"
    )
    return twice and (len(set(names)) < len(names) or found.api != "")


def _group_without_a_record(found: Disagreement) -> bool:
    """A commit of which nothing is stored: Kafka keeps a group in memory for it all the same, seen sooner or later."""
    body = found.step.get("body", {})
    names = {each for each in (*body.get("groups_names", ()), *body.get("groups", ())) if isinstance(each, str)}
    for step in found.script[: found.now + 1]:
        body = step.get("body", {})
        if step.get("api") != "OffsetCommit" or isinstance(body.get("generation_id_or_member_epoch"), str):
            continue
        metadata = [each.get("committed_metadata") for topic in body["topics"] for each in topic["partitions"]]
        group = body["group_id"]
        concerns = found.api in ("ListGroups", "OffsetFetch") or found.step.get("body", {}).get("group_id") == group
        if "$x4097" in metadata and (concerns or group in names or not found.api):
            is_outline = isinstance(found.kafka, dict) and found.kafka.get("group_state") == "Empty"
            return (is_outline and found.ours.get("group_state") == "Dead") or found.api in ADMINISTRATION
    return False


def _coordinator_of_another_kind(found: Disagreement) -> bool:
    """FindCoordinator for share groups, which we do not coordinate; for transactions while Kafka creates its topic."""
    if found.api != "FindCoordinator" or found.we_alone_answered:
        return False
    asked = found.step.get("body", {}).get("key_type")
    codes = {each.get("error_code") for each in found.kafka.get("coordinators") or [found.kafka]}
    return asked == 2 or (asked == 1 and codes == {COORDINATOR_NOT_AVAILABLE})


def _static_member_of_a_full_group(found: Disagreement) -> bool:
    """A static member returns to a full group, whose member it is: Kafka refuses it until its old session ends."""
    body = found.step.get("body", {})
    if found.api != "JoinGroup" or found.we_alone_answered or found.kafka.get("error_code") != GROUP_MAX_SIZE_REACHED:
        return False
    before = found.before.get(body["group_id"].removeprefix("$")) or {"members": []}
    instances = {instance_id for _, instance_id in before["members"]}
    return not body["member_id"] and body.get("group_instance_id") in instances - {None}


def _fetch_of_no_member(found: Disagreement) -> bool:
    """OffsetFetch 9+ without a member id, and with a member epoch: Kafka fails on the null."""
    if found.api != "OffsetFetch" or found.step["v"] < 9 or found.we_alone_answered:
        return False
    asked = {each["group_id"]: each for each in found.step["body"]["groups"]}
    pairs = list(zip(found.kafka.get("groups", []), found.ours.get("groups", []), strict=False))
    return len(pairs) == len(asked) and all(
        kafka == ours
        or (
            kafka.get("error_code") == UNKNOWN_SERVER_ERROR
            and ours.get("error_code") == UNKNOWN_MEMBER_ID
            and asked[kafka["group_id"]].get("member_id") is None
            and asked[kafka["group_id"]].get("member_epoch", -1) >= 0
        )
        for kafka, ours in pairs
    )


def _instance_id_of_a_present_member(found: Disagreement) -> bool:
    """A member of a KIP-848 group joins again as another instance: Kafka does not find its target."""
    body = found.trigger.get("body", {})
    is_join = found.trigger.get("api") == "ConsumerGroupHeartbeat" and body.get("member_epoch") == 0
    if not is_join or body.get("instance_id") is None or found.said or found.we_alone_answered:
        return False
    before = (found.before.get(body["group_id"].removeprefix("$")) or {}).get("consumer") or {}
    return any(
        each["member_id"].partition("#")[0] == body["member_id"] and each.get("instance_id") != body["instance_id"]
        for each in before.get("members", [])
    )


def _is_join_of_a_consumer(step: Step) -> bool:
    return step.get("api") == "ConsumerGroupHeartbeat" and step["body"].get("member_epoch") == 0


def _upgrade_without_a_protocol(found: Disagreement) -> bool:
    """A classic group is to be upgraded that has not chosen a protocol yet: Kafka fails on the missing name."""
    if not _is_join_of_a_consumer(found.trigger) or found.said != UNKNOWN_SERVER_ERROR:
        return False
    before = found.before.get(found.trigger["body"]["group_id"].removeprefix("$")) or {}
    return before.get("group_state") == "PreparingRebalance"


def _refused_upgrade(found: Disagreement) -> bool:
    """A refused client of the other protocol: Kafka has told the members of the classic group to rejoin before."""
    between = found.script[found.index + 1 : found.now + 1]
    return (
        found.api in ("JoinGroup", "SyncGroup")
        and isinstance(found.kafka, dict)
        and found.kafka.get("error_code") == REBALANCE_IN_PROGRESS
        and any(
            _is_join_of_a_consumer(step) and step["body"]["group_id"] == found.step["body"]["group_id"]
            for step in between
        )
    )


LISTED: Final = (
    Known("C.1", _expelled_member_awaited, ends_script=True),
    Known("C.5", _replaced_request, closes=True),
    Known("C.4", _sync_of_a_removed_member, closes=True),
    Known("C.10", _assignment_of_a_rebalancing_group),
    Known("C.3", _unused_id_given_back, ends_script=True),
    Known("other-coordinators", _coordinator_of_another_kind),
    Known("group-without-a-record", _group_without_a_record, ends_script=True),
    Known("static-member-of-a-full-group", _static_member_of_a_full_group, ends_script=True),
    Known("instance-id-of-a-present-member", _instance_id_of_a_present_member, ends_script=True),
    Known("upgrade-without-a-protocol", _upgrade_without_a_protocol, ends_script=True),
    Known("refused-upgrade", _refused_upgrade, ends_script=True),
    Known("fetch-of-no-member", _fetch_of_no_member),
    Known("protocol-named-twice", _protocol_named_twice, ends_script=True),
)


def known_difference(found: Disagreement) -> Known | None:
    """The listed difference that this is, if any."""
    return next((known for known in LISTED if known.matches(found)), None)
