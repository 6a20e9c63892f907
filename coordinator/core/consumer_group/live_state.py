"""A KIP-848 group at this moment, for `groups explain` and the console: epochs, members, and what it waits for."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.clients import client_of
from coordinator.core.consumer_group.moves import owned_by
from coordinator.core.consumer_group.notes import partitions_of
from coordinator.core.consumer_group.session import timeout_of
from coordinator.core.consumer_group.waits import waiting_members
from coordinator.core.events.model import (
    NAMED_AT_MOST,
    SHOWN_AT_MOST,
    LiveGroup,
    LiveMember,
    RebalanceOutcome,
    shortened,
)
from coordinator.core.group.group import CONSUMER

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.member import ConsumerMember
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context

RANGES_SHOWN: Final = 20  # of the partitions of one topic
PARTITIONS_READ: Final = 10_000  # of the assignments of all members that are shown


def live_state(group: ConsumerGroup, topics: TopicsImage, assignors: tuple[str, ...], context: Context) -> LiveGroup:
    """Return the present state of a group. At most SHOWN_AT_MOST members are in it, those that are waited for first."""
    waits, waiting, at_most_ms = waiting_members(group, context.now_ms)
    record = context.recorder.groups.get(shortened(group.group_id))
    partitions = partitions_of(group)
    progress = group.progress
    running = progress.running
    reading = _Reading(group, topics)
    return LiveGroup(
        group=group.group_id,
        at_ms=context.wall_ms,
        state=group.state.value,
        since_ms=running.began_wall_ms if running is not None else progress.settled_wall_ms,
        loaded_at_ms=group.shard.loaded_at_ms,
        generation=group.epoch,
        protocol_type=CONSUMER,
        protocol=shortened(group.assignor_name(assignors)),
        partitions=partitions,
        member_count=len(group.members),
        waits=waits,
        waits_for=[client_of(group, each) for each in waiting[:NAMED_AT_MOST]],
        waits_for_count=len(waiting),
        waits_at_most_ms=at_most_ms,
        members=[_member(group, each, reading, context) for each in _shown(group, waiting)],
        rebalance=progress.event(group, RebalanceOutcome.RUNNING, context.now_ms, partitions),
        rebalances=record.rebalances if record is not None else 0,
        commits_refused=record.commits_refused if record is not None else 0,
        fencings=record.fencings if record is not None else 0,
        type=CONSUMER,
        assignment_epoch=group.assignment_epoch,
        classic_members=group.classic_count,
        unmatched=_unmatched(group, topics),
    )


def _shown(group: ConsumerGroup, waiting: Sequence[ConsumerMember]) -> Iterator[ConsumerMember]:
    first = {member.member_id: member for member in waiting[:SHOWN_AT_MOST]}
    yield from first.values()
    others = (member for member_id, member in group.members.items() if member_id not in first)
    yield from islice(others, SHOWN_AT_MOST - len(first))


def _member(group: ConsumerGroup, member: ConsumerMember, reading: _Reading, context: Context) -> LiveMember:
    session = group.sessions.get(member.member_id)
    timeout_ms = timeout_of(group, member, context)
    is_held = member.member_id in group.held
    silent_ms = -1
    if session is not None and not is_held:
        silent_ms = max(context.now_ms - session.deadline_ms + timeout_ms, 0)
    names = sorted(islice(member.topic_names, NAMED_AT_MOST))
    return LiveMember(
        member=client_of(group, member),
        partitions=_count(owned_by(member)),
        silent_ms=silent_ms,
        session_timeout_ms=timeout_ms,
        rebalance_timeout_ms=max(member.rebalance_timeout_ms, 0),
        protocols=_protocols(member),
        topics=[shortened(name) for name in (*names, *([member.regex] if member.regex else []))][:NAMED_AT_MOST],
        revoking=_count(member.pending),
        awaited=reading.awaited(member),
        epoch=member.epoch,
        step_ms=context.now_ms - session.stepped_ms if session is not None and session.stepped_ms >= 0 else -1,
        is_classic=member.classic is not None,
        assigned=reading.named(owned_by(member)),
        target=reading.named(group.target_of(member.member_id)),
        giving_up=reading.named(member.pending),
    )


def _protocols(member: ConsumerMember) -> list[str]:
    if member.classic is not None:
        return [shortened(name) for name, _ in member.classic.protocols[:NAMED_AT_MOST]]
    return [shortened(member.assignor)] if member.assignor else []


def _count(assignment: Assignment) -> int:
    return sum(map(len, assignment.values()))


def _unmatched(group: ConsumerGroup, topics: TopicsImage) -> list[str]:
    """Return subscribed names without a topic, and regular expressions that match none."""
    names = (name for name in group.name_counts if topics.by_name(name) is None)
    regexes = (regex for regex in group.regex_counts if regex in group.regexes and not group.regexes[regex].topics)
    return [shortened(each) for each in islice((*sorted(names), *sorted(regexes)), NAMED_AT_MOST)]


class _Reading:
    """A reader of assignments, up to PARTITIONS_READ partitions."""

    __slots__ = ("_group", "_left", "_topics")

    def __init__(self, group: ConsumerGroup, topics: TopicsImage) -> None:
        self._group = group
        self._topics = topics
        self._left = PARTITIONS_READ

    def named(self, assignment: Assignment) -> list[str]:
        """Return the topics with their partitions, as in "orders 0-3, 7"."""
        self._left -= _count(assignment)
        if self._left < 0:
            return []
        parts = [
            f"{shortened(topic.name)} {ranges(partitions)}"
            for topic_id, partitions in assignment.items()
            if (topic := self._topics.by_id(topic_id)) is not None
        ]
        return sorted(parts)[:NAMED_AT_MOST]

    def awaited(self, member: ConsumerMember) -> int:
        """Return how many partitions of its target are held by others."""
        target = self._group.target_of(member.member_id)
        self._left -= _count(target)
        if self._left < 0:
            return 0
        own = member.member_id
        return sum(
            self._group.holder_of(topic_id, partition) not in {None, own}
            for topic_id, partitions in target.items()
            for partition in partitions
        )


def ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges, as in "0-3, 7"."""
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in found[:RANGES_SHOWN]]
    return ", ".join(shown) + (f" and {len(found) - RANGES_SHOWN} more" if len(found) > RANGES_SHOWN else "")
