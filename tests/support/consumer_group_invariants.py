"""The invariants of a KIP-848 group: its counters agree with its members, and no partition has two holders."""

from __future__ import annotations

from collections import Counter

from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.consumer_group.member import STABLE, UNREVOKED
from coordinator.core.group.group import size_of


def check_consumer_group(group: ConsumerGroup) -> None:
    members = group.members.values()
    assert group.name_counts == Counter(name for member in members for name in member.topic_names)
    assert group.regex_counts == Counter(member.regex for member in members if member.regex)
    assert group.regex_topic_counts == Counter(
        topic for resolved in group.regexes.values() for topic in resolved.topics
    )
    assert group.assignor_votes == Counter(member.assignor for member in members if member.assignor is not None)
    assert group.classic_count == sum(member.classic is not None for member in members)
    classic = [member.classic.protocols for member in members if member.classic is not None]
    assert group.classic_protocols == Counter(name for protocols in classic for name, _ in protocols)
    assert group.metadata_bytes == sum(map(size_of, classic))
    assert group.stable_at == Counter(member.epoch for member in members if member.state == STABLE)
    assert group.static_members == {
        member.instance_id: member.member_id for member in members if member.instance_id is not None
    }
    holders: dict[bytes, dict[int, str]] = {}
    for member in members:
        for assignment in (member.assigned, member.pending):
            for topic_id, partitions in assignment.items():
                assert partitions == tuple(sorted(set(partitions)))
                for partition in partitions:
                    assert partition not in holders.setdefault(topic_id, {}), "a partition has two holders"
                    holders[topic_id][partition] = member.member_id
        for assignment, epochs in ((member.assigned, member.assigned_epochs), (member.pending, member.pending_epochs)):
            assert {topic_id: len(some) for topic_id, some in assignment.items()} == {
                topic_id: len(some) for topic_id, some in epochs.items()
            }
        session = group.sessions.get(member.member_id)
        if session is not None and session.rebalance_timer is not None and not session.rebalance_timer.is_completed:
            assert member.state == UNREVOKED
    assert group.holders == holders
    assert set(group.held) <= set(group.members)
    for member_id, held in group.held.items():
        assert held.is_waiting
        assert held.ticket.held is held
        assert held.member_id == member_id
        assert group.is_releasing or not held.has_step(), "a member has a step to take, and hears nothing"
    assert group.assignment_epoch <= group.epoch
    assert set(group.targets) <= set(group.members)
