"""Judges a played schedule by what the server saw and, if the application names an output, by what is in that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from coordinator.torture.abandoned import are_unavoidable
from coordinator.torture.input import ABORTED
from coordinator.torture.records import counted, read_values
from coordinator.torture.verdict import Failure, FailureKind, ScheduleVerdict

if TYPE_CHECKING:
    from coordinator.core.transactions.coordinator import TransactionCoordinator
    from coordinator.testing.host import ServerHost
    from coordinator.torture.abandoned import AbandonedMembers
    from coordinator.torture.schedule import Schedule
    from coordinator.torture.watch import TopicPartition, Watch


def failures_seen(
    watch: Watch, abandoned: AbandonedMembers, schedule: Schedule, *, restarts: int = 0
) -> Iterator[Failure]:
    """Yield the failures that the requests show, at most one of each kind. `restarts`: of copies that had ended."""
    yield from _lost(watch)
    yield from _read_again(watch)
    if not restarts and not are_unavoidable(schedule):
        yield from _abandoned(abandoned)
    yield from _first_wrong_commit(watch)


async def judge_output(
    host: ServerHost,
    output: str,
    partitions: Iterable[TopicPartition],
    watch: Watch,
    verdict: ScheduleVerdict,
    *,
    exactly_once: bool = False,
) -> None:
    """Compare the values that were given and committed with those that the application wrote to its output.

    Both are read as a reader of committed records does. `exactly_once`: no value may be there twice. Raises
    CoordinatorTestingError if a partition cannot be read.
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
    if exactly_once:
        verdict.failures += _not_once(given, written, output)


def _not_once(given: Mapping[bytes, str], written: Counter[bytes], output: str) -> Iterator[Failure]:
    if twice := [where for value, where in given.items() if written[value] > 1]:
        sentence = f"{len(twice)} records are in {output} more than once, the first is {twice[0]}"
        yield Failure(FailureKind.TWICE, sentence)
    if aborted := [value for value in written if value.startswith(ABORTED.encode())]:
        sentence = f"{sum(written[each] for each in aborted)} records of an aborted transaction were processed"
        yield Failure(FailureKind.UNCOMMITTED, sentence)


def held_back(transactions: TransactionCoordinator) -> Iterator[Failure]:
    """Yield a failure if a transaction is open: readers of committed records wait for its end."""
    for entry in list(transactions.open)[:1]:
        state = entry.current.state.label
        sentence = f"the transaction of {entry.transactional_id} stays {state}, and readers of its partitions wait"
        yield Failure(FailureKind.HELD_BACK, sentence)


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
