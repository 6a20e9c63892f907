"""KIP-848 groups in all their forms, put into a server by their members, and what the server then says of them.

`fill_consumers` makes the same groups on Kafka and on us, as `exchange.fill` does with classic ones.
`told_of_consumers` is what a client can learn of them, and `go_on` lets their members go on at the server that has
taken the log over.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from coordinator.storage.file_names import CATALOGUE_NAME
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest
from tests.conformance.consumer_outline import ordered_description
from tests.conformance.exchange import told
from tests.conformance.group_members import AWAY, ClassicMember, Member, settle
from tests.conformance.script import plain
from tests.support.wire import call

TOPICS: Final = ("t0", "t1")


@dataclass
class Filled:
    """The members of the groups that `fill_consumers` has made."""

    pair: list[Member]
    static: list[Member]  # the second one is away
    moving: list[Member]  # the first one still has to give up
    matching: Member  # by a regular expression
    mixed: list[Member | ClassicMember]
    downgraded: ClassicMember


def fill_consumers(port: int, prefix: str) -> Filled:
    """Make groups whose names begin with `prefix`."""
    pair = [Member(f"{prefix}pair", each, TOPICS) for each in ("a", "b")]
    static = [Member(f"{prefix}static", each, TOPICS, instance=f"i-{each}") for each in ("a", "b")]
    for group in (pair, static):
        for member in group:
            member.join(port)
        settle(port, group)
    pair[0].commit(port, "t0", 0, 10)
    pair[1].commit(port, "t1", 1, 11)
    static[0].commit(port, "t0", 2, 12)
    static[1].leave(port, AWAY)

    moving = [Member(f"{prefix}moving", each, ("t0",)) for each in ("a", "b")]
    moving[0].join(port)
    settle(port, moving[:1])
    moving[1].join(port)
    moving[0].beat(port)  # it is told to give up two, and has not answered yet
    assert sum(map(len, moving[0].owned.values())) == 2

    matching = Member(f"{prefix}matching", "a", regex="t[01]")
    matching.join(port)
    settle_all_partitions(port, matching)
    matching.commit(port, "t1", 0, 13)

    left = Member(f"{prefix}left", "a", TOPICS)
    left.join(port)
    settle(port, [left])
    left.commit(port, "t0", 3, 14)
    left.leave(port)
    gone = Member(f"{prefix}gone", "a", TOPICS)
    gone.join(port)
    gone.commit(port, "t0", 3, 15)
    gone.leave(port)
    assert call(port, DeleteGroupsRequest(groups_names=[gone.group]), 2).results[0].error_code == 0

    mixed, downgraded = (
        ClassicMember(f"{prefix}{name}", TOPICS, given={"t0": [0, 1, 2, 3], "t1": [0, 1]})
        for name in ("mixed", "downgraded")
    )
    for classic in (mixed, downgraded):
        classic.join(port)
    newer = [Member(classic.group, "new", TOPICS) for classic in (mixed, downgraded)]
    for classic, member in zip((mixed, downgraded), newer, strict=True):
        member.join(port)
        settle(port, [classic, member])
        classic.commit(port, *next((topic, some[0]) for topic, some in classic.owned.items()), 16)
    newer[1].leave(port)
    downgraded.beat(port)  # the group is a classic one again, and tells its member to join
    return Filled(pair, static, moving, matching, [mixed, newer[0]], downgraded)


def settle_all_partitions(port: int, member: Member) -> None:
    """Let a member go on until its regular expression is resolved: it is Stable before, with nothing."""
    for _ in range(100):
        settle(port, [member])
        if sum(map(len, member.owned.values())) == 6:
            return
    raise AssertionError(f"{member.group} has {member.owned}")


def go_on(port: int, filled: Filled, offset: int) -> None:
    """Let all members go on: none is fenced, those of settled groups keep what they have, and the others get theirs."""
    keeping = [*filled.pair, filled.matching, *[each for each in filled.mixed if isinstance(each, Member)]]
    before = {(each.group, each.member_id): each.owned for each in keeping}
    settle(port, filled.pair)
    settle(port, [filled.matching])
    settle(port, filled.mixed)
    assert {(each.group, each.member_id): each.owned for each in keeping} == before
    for member in (*keeping, filled.static[0]):
        member.commit(port, "t0", 1, offset)

    away = filled.static[1]
    if away.epoch == AWAY:
        away.member_id += "-again"
        away.join(port)
        assert sum(map(len, away.owned.values())) == 3, "the partitions of a static member wait for it"
    settle(port, filled.static)
    settle(port, filled.moving)
    assert [sum(map(len, each.owned.values())) for each in filled.moving] == [2, 2]
    filled.downgraded.beat(port)


def told_of_consumers(port: int) -> dict[str, Any]:
    """Return all that a client can learn of all groups."""
    found = told(port)
    listed = call(port, ListGroupsRequest(types_filter=["consumer"]), 5)
    names = sorted(each.group_id for each in listed.groups)
    request = ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False)
    described = plain(call(port, request, 1))["groups"]
    for each in described:
        ordered_description(each)
    return {**found, "consumers": sorted(described, key=lambda each: str(each["group_id"]))}


def write_catalogue(port: int, data_dir: Path, names: Collection[str] = TOPICS) -> None:
    """Give a daemon that has not started yet the topics of a running server, with their ids."""
    found = call(port, MetadataRequest(topics=None), 12).topics
    topics = [
        {"name": each.name, "id": each.topic_id.hex(), "partitions": len(each.partitions), "configs": {}}
        for each in found
        if each.name in names
    ]
    data_dir.mkdir(parents=True, exist_ok=True)
    (data_dir / CATALOGUE_NAME).write_text(json.dumps({"version": 1, "topics": topics, "deleted": []}))
