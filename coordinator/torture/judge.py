"""Judges a played schedule by what the server saw and, if the application names an output, by what is in that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from coordinator.torture.abandoned import are_unavoidable
from coordinator.torture.records import counted, read_values
from coordinator.torture.verdict import Failure, FailureKind, ScheduleVerdict

if TYPE_CHECKING:
    from coordinator.testing.host import ServerHost
    from coordinator.torture.abandoned import AbandonedMembers
    from coordinator.torture.schedule import Schedule
    from coordinator.torture.watch import TopicPartition, Watch


def failures_seen(watch: Watch, abandoned: AbandonedMembers, schedule: Schedule) -> Iterator[Failure]:
    """Yield the failures that the requests show, at most one of each kind."""
    yield from _lost(watch)
    yield from _read_again(watch)
    if not are_unavoidable(schedule):
        yield from _abandoned(abandoned)
    yield from _first_wrong_commit(watch)


async def judge_output(
    host: ServerHost, output: str, partitions: Iterable[TopicPartition], watch: Watch, verdict: ScheduleVerdict
) -> None:
    """Compare the values that were given and committed with those that the application wrote to its output.

    Raises CoordinatorTestingError if a partition cannot be read.
    """
    given = {
        value: f"{topic}-{partition} offset {offset}"
        for topic, partition in partitions
        for offset, value in await read_values(host, topic, partition)
        if offset < watch.committed.get((topic, partition), 0)
    }
    written = counted(await read_values(host, output))
    verdict.processed_twice = sum(written[value] - 1 for value in given if written[value] > 1)
    if lost := [where for value, where in given.items() if value not in written]:
        sentence = f"{len(lost)} records were committed and their values are not in {output}, the first is {lost[0]}"
        verdict.failures.append(Failure(FailureKind.LOST, sentence))


def _lost(watch: Watch) -> Iterator[Failure]:
    if lost := watch.unsent(watch.committed):
        (topic, number), offsets = next(iter(lost.items()))
        count = sum(map(len, lost.values()))
        where = f"{topic}-{number} offset {offsets[0]}"
        yield Failure(
            FailureKind.LOST, f"{count} records were committed past and sent to no copy, the first is {where}"
        )


def _read_again(watch: Watch) -> Iterator[Failure]:
    for client, (topic, number), offset in watch.read_again[:1]:
        floor = watch.floor[topic, number]
        sentence = f"{client} read {topic}-{number} from offset {offset} again, where {floor} was committed"
        yield Failure(FailureKind.READ_AGAIN, sentence)


def _abandoned(abandoned: AbandonedMembers) -> Iterator[Failure]:
    for client in abandoned.found()[:1]:
        sentence = f"{client} joined as a new member, and left the group to wait for its old one"
        yield Failure(FailureKind.ABANDONED, sentence)


def _first_wrong_commit(watch: Watch) -> Iterator[Failure]:
    for commit in watch.commits:
        where = f"{commit.partition[0]}-{commit.partition[1]}"
        if commit.offset < commit.before:
            sentence = f"{commit.client} committed {where} at {commit.offset}, where {commit.before} was committed"
            yield Failure(FailureKind.WENT_BACK, sentence)
            return
        if not commit.is_owner:
            sentence = f"{commit.client} committed {where}, which it does not have any more"
            yield Failure(FailureKind.NOT_OWNER, sentence)
            return
