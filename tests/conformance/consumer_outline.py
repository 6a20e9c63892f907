"""The parts that must be equal of KIP-848 groups on servers that agree.

In scripts where Kafka's choice of partitions is determined, that is everything. In a *loose* script members may be
assigned other partitions, and so take another number of steps to get them: then it is the epochs of the group, its
members and their subscriptions, and how many partitions there are to give.
"""

from __future__ import annotations

from typing import Any, Final

LOOSE_MEMBER: Final = ("member_epoch", "assignment", "target_assignment")
LOOSE_CLASSIC: Final = {
    "JoinGroup": ("generation_id",),
    "SyncGroup": ("assignment", "protocol_type", "protocol_name"),
}
REBALANCE_IN_PROGRESS: Final = 27
LOOSE_BEAT: Final = ("member_epoch", "assignment")


def ordered_assignment(found: dict[str, Any] | None) -> None:
    """Put an assignment in one order; topics without partitions count as none."""
    if found is None:
        return
    parts = [each for each in found.get("topic_partitions", []) if each.get("partitions")]
    for part in parts:
        part["partitions"].sort()
    found["topic_partitions"] = sorted(parts, key=lambda each: str(each.get("topic_id", "")))


def ordered_description(found: dict[str, Any]) -> None:
    """Put a described group in one order."""
    for member in found.get("members", []):
        member.get("subscribed_topic_names", []).sort()
        for field in ("assignment", "target_assignment"):
            ordered_assignment(member.get(field))
    found.get("members", []).sort(key=lambda each: str(each.get("member_id", "")))


def loose_description(found: dict[str, Any], *, is_settled: bool = False) -> dict[str, Any]:
    """Return what must be equal of a described group wherever the partitions are.

    `is_settled`: the target has been computed for the members and topics of now. Before that, what a member had that
    left, or a topic that was deleted, may have been more or less.
    """
    members = found.get("members", [])
    sizes = sorted(size_of(each.get("target_assignment")) for each in members)
    subscriptions = {repr((each.get("subscribed_topic_names"), each.get("subscribed_topic_regex"))) for each in members}
    loose = {name: each for name, each in found.items() if name != "group_state"}
    loose["members"] = [{name: each for name, each in one.items() if name not in LOOSE_MEMBER} for one in members]
    if is_settled and found.get("group_epoch") == found.get("assignment_epoch"):
        loose["targets"] = sizes if len(subscriptions) == 1 else sum(sizes)
    return loose


def loose_classic(api: str, found: dict[str, Any]) -> None:
    """Take from an answer to a member of the classic protocol what depends on who has which partitions."""
    if found.get("error_code") == REBALANCE_IN_PROGRESS and api in ("SyncGroup", "Heartbeat"):
        del found["error_code"]
    for field in LOOSE_CLASSIC.get(api, ()):
        found.pop(field, None)
    for group in found.get("groups", ()) if api == "DescribeGroups" else ():
        for member in group.get("members", ()):
            member.pop("member_assignment", None)


def loose_beat(found: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in found.items() if name not in LOOSE_BEAT}


def size_of(assignment: dict[str, Any] | None) -> int:
    return sum(len(part["partitions"]) for part in (assignment or {}).get("topic_partitions", []))


def twice_assigned(found: dict[str, Any], field: str) -> list[tuple[str, int]]:
    """Return the partitions that two members of a described group have."""
    seen: set[tuple[str, int]] = set()
    twice = []
    for member in found.get("members", []):
        for part in (member.get(field) or {}).get("topic_partitions", []):
            for partition in part["partitions"]:
                where = (part.get("topic_id", ""), partition)
                twice += [where] if where in seen else []
                seen.add(where)
    return twice
