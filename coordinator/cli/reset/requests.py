"""The requests of a reset: today's offsets, the ranges of the logs, and the commit into a group without members.

Works with any Kafka. A coordinator accepts a commit without a member only while the group has none. The group is
described first, so that an error can name its members; if a member joins in between, the coordinator refuses the
commit. All offsets go into one OffsetCommit, hence into one batch of the log: all of them or none.
Source: KafkaAdminClient.alterConsumerGroupOffsets (a commit with generation -1 and no member id), KIP-496 (deletion).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from coordinator.cli.client import Client, explain
from coordinator.cli.errors import CliError
from coordinator.cli.group_description import DescribedGroup, GroupNotFoundError, describe_if_there
from coordinator.cli.log_ends import EARLIEST, LATEST, log_offsets
from coordinator.cli.reset.plan import Act, PartitionReset, Reach, Today
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

if TYPE_CHECKING:
    from coordinator.history.commits import TopicPartition

NAMED_MEMBERS: Final = 5
_UNKNOWN: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_OCCUPIED: Final = frozenset(
    {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS}
)


def todays_offsets(client: Client, group_id: str) -> dict[TopicPartition, Today]:
    """Return the group's committed offsets. CliError: the coordinator does not tell them."""
    _, connection = client.coordinator(group_id)

    def ask() -> tuple[int, OffsetFetchResponse]:
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        answer = connection.call(request, OffsetFetchResponse, max_version=7)
        failed = (each.error_code for topic in answer.topics for each in topic.partitions)
        return answer.error_code or next(filter(None, failed), 0), answer

    return {
        (topic.name, each.partition_index): Today(each.committed_offset, each.metadata or "")
        for topic in client.patiently(f"the offsets of group {group_id!r}", ask).topics
        for each in topic.partitions
        if each.committed_offset >= 0
    }


def reach(client: Client, partitions: Iterable[TopicPartition]) -> Reach:
    """Return the ranges of the logs of these partitions."""
    wanted = set(partitions)
    topics = sorted({topic for topic, _ in wanted})
    answered = {topic.name or "": topic for topic in (client.metadata(topics).topics if topics else [])}
    there = frozenset(
        (name, each.partition_index)
        for name, topic in answered.items()
        if not topic.error_code
        for each in topic.partitions
    )
    # A topic with another error (such as a missing authorization) may exist.
    silent = {name for name, topic in answered.items() if topic.error_code not in (0, _UNKNOWN)}
    known = wanted & there
    return Reach(
        log_offsets(client, known, EARLIEST),
        log_offsets(client, known, LATEST),
        there | {key for key in wanted if key[0] in silent},
    )


def refusal(group: DescribedGroup) -> CliError:
    """Return the error for a group with members, which names them and says what to do."""
    named = [
        f"{member.instance_id or member.client_id or member.member_id} at {member.host.lstrip('/')}"
        for member in group.members[:NAMED_MEMBERS]
    ]
    more = len(group.members) - len(named)
    who = ", ".join(named) + (f" and {more} more" if more > 0 else "")
    count = "1 member" if len(group.members) == 1 else f"{len(group.members)} members"
    return CliError(
        f"group {group.group_id!r} is {group.state} with {count}{f' ({who})' if who else ''}: its members would go on "
        "from where they are and commit over the new offsets, so a coordinator refuses; stop them, wait until "
        f"`coordinator groups describe {group.group_id} --state` says Empty, and run this again",
        1,
    )


def execute(client: Client, group_id: str, steps: list[PartitionReset]) -> tuple[int, int]:
    """Carry out the plan and return (committed, deleted) counts. CliError: it was refused; says what was done."""
    group = describe_if_there(client, group_id)
    if group is not None and group.is_active:
        raise refusal(group)
    commits = [step for step in steps if step.act is Act.COMMIT]
    deletions = [step for step in steps if step.act is Act.DELETE]
    if commits:
        _commit(client, group_id, commits)
    if deletions:
        done = f"{len(commits)} offsets were set, but " if commits else ""
        delete_offsets(client, group_id, [(step.topic, step.partition) for step in deletions], done)
    return len(commits), len(deletions)


def _commit(client: Client, group_id: str, steps: list[PartitionReset]) -> None:
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for step in steps:
        if step.target is not None:
            topics.setdefault(step.topic, OffsetCommitRequestTopic(name=step.topic)).partitions.append(
                OffsetCommitRequestPartition(
                    partition_index=step.partition,
                    committed_offset=step.target,
                    committed_metadata=step.metadata,
                )
            )
    request = OffsetCommitRequest(group_id=group_id, member_id="", topics=list(topics.values()))

    def ask() -> tuple[int, OffsetCommitResponse]:
        _, connection = client.coordinator(group_id)
        answer = connection.call(request, OffsetCommitResponse, max_version=9)
        codes = {each.error_code for topic in answer.topics for each in topic.partitions}
        # Retried only if no offset was accepted: a repetition would do no harm, but look like another reset.
        return next(iter(codes)) if len(codes) == 1 and codes <= _PATIENCE else 0, answer

    answer = client.patiently(f"setting offsets of group {group_id!r}", ask)
    _demand_success(
        group_id,
        "set",
        [(topic.name, each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions],
    )


# The coordinator is loading, has moved or cannot write: no offset was accepted.
_PATIENCE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


def delete_offsets(client: Client, group_id: str, partitions: Iterable[TopicPartition], done: str = "") -> None:
    """Delete committed offsets. CliError: it was refused; begins with `done`, which says what was done before."""
    topics: dict[str, OffsetDeleteRequestTopic] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, OffsetDeleteRequestTopic(name=topic)).partitions.append(
            OffsetDeleteRequestPartition(partition_index=partition)
        )
    request = OffsetDeleteRequest(group_id=group_id, topics=list(topics.values()))

    def ask() -> tuple[int, OffsetDeleteResponse]:
        _, connection = client.coordinator(group_id)
        answer = connection.call(request, OffsetDeleteResponse)
        if answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
            raise GroupNotFoundError(group_id)
        return answer.error_code, answer

    answer = client.patiently(f"{done}deleting offsets of group {group_id!r}", ask)
    _demand_success(
        group_id,
        "deleted",
        [(topic.name, each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions],
        done,
    )


def _demand_success(group_id: str, verb: str, outcomes: list[tuple[str, int, int]], done: str = "") -> None:
    refused = [outcome for outcome in outcomes if outcome[2]]
    if not refused:
        return
    topic, partition, code = refused[0]
    if {code for _, _, code in refused} <= _OCCUPIED:
        raise CliError(
            f"group {group_id!r} got a member while this ran, and its coordinator refused; "
            "stop its consumers and run this again",
            1,
        )
    advice = ""
    if code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
        advice = f"; stop the members that read {topic!r}, then run this again"
    raise CliError(
        f"{done}{len(refused)} of {len(outcomes)} offsets of group {group_id!r} were not {verb}; "
        f"{topic}-{partition}: {explain(code)}{advice}",
        1,
    )
