"""A group at a past moment, for the console: its page, from the log, its history and its events.

Run as a program, it answers one question, which it reads as JSON from its stdin: `["from"]`, since when something is
known, or `["group", GROUP, MS]`. Its arguments are the data directory and the directory of the history, or nothing for
the default one. It exits with 1 and a sentence on stderr if there is no answer.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec

from coordinator.columnar.batches import CorruptBatchError
from coordinator.console.facts import facts, seams
from coordinator.console.lag import lag_of, note_owners
from coordinator.console.model import GroupPage, Ribbon, RibbonMember
from coordinator.console.names import member_names
from coordinator.console.owners import COOPERATIVE
from coordinator.console.ribbon import ribbon
from coordinator.core.events.model import (
    SHOWN_AT_MOST,
    AnyEvent,
    ClientInfo,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Story,
)
from coordinator.core.events.ownership_log import OwnerChange
from coordinator.explain.rules import explain
from coordinator.history.commits import Cut, standing
from coordinator.history.events import load_events
from coordinator.history.layout import COMMITS_DIR
from coordinator.history.rebalances import GenerationMember, GroupRecord, GroupType
from coordinator.history.segments import SegmentsError, segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.tables import GroupHistory, HistoryError, load_moment
from coordinator.history.times import local_time
from coordinator.storage.file_names import WORKERS_DIR, offsets_log_dir
from coordinator.storage.history_marks import MarksError
from coordinator.storage.log.fs import RealFileSystem

RANGE_MS: Final = 3_600_000  # of the ribbon
COMMITTED_WITHIN_MS: Final = 86_400_000  # how far back files of commits are read
MOST_EVENTS: Final = 32
BASE_TIMESTAMP_AT: Final = 27  # in the header of a record batch
NO_ENDS: Final = "The ends of the partitions at a past moment are not recorded, so its lag is not known."
NO_MEMBERS: Final = "The members and owners at a past moment are known by records of the group, and there are none."
NO_HEARTBEATS: Final = "Heartbeats are not recorded, so it is not known which member was silent."


class MomentError(Exception):
    """There is no answer. One sentence that says what to do."""


def page_at(sources: Sequence[HistorySource], group: str, at_ms: int) -> GroupPage:
    """Return the page of a group at a moment. Raises MomentError, and what `load_moment` raises."""
    source = _of_group(sources, group)
    past = load_moment(source, group, at_ms, range_ms=RANGE_MS, committed_within_ms=COMMITTED_WITHIN_MS)
    events = [each.event for each in load_events(source, group) if each.event.at_ms <= at_ms]
    records = [record for record in past.records if record.timestamp_ms <= at_ms]
    committed = standing(past.commits, Cut(until_ms=at_ms))
    if not records and not committed and not events:
        raise MomentError(f"nothing is known of this group at {local_time(at_ms)}; choose a later moment")
    story = _story(group, at_ms, records, events)
    drawn = _ribbon(story, records, at_ms)
    lag = lag_of({place: (each.offset, each.committed_ms) for place, each in committed.items()}, {}, [])
    note_owners(lag, drawn)
    return GroupPage(
        group=group,
        at_ms=at_ms,
        verdicts=explain(story),
        story=story,
        is_past=True,
        facts=facts(story),
        ribbon=drawn,
        lag=lag,
        unknown=[*_unknown(past, at_ms), *([] if records else [NO_MEMBERS])],
    )


def _of_group(sources: Sequence[HistorySource], group: str) -> HistorySource:
    """Return the source that has the group's partition of the offsets log."""
    for source in sources:
        if offsets_log_dir(source.data_dir, source.partition_of(group)).is_dir():
            return source
    raise MomentError("the log of this group is on another node of the cluster; ask the console there")


def _story(group: str, at_ms: int, records: Sequence[GroupRecord], events: Sequence[AnyEvent]) -> Story:
    running: Rebalance | None = None
    if (
        events
        and isinstance(newest_event := events[-1], Rebalance)
        and newest_event.at_ms + newest_event.took_ms > at_ms
    ):
        running = newest_event
        events = events[:-1]
    kept = list(events[-MOST_EVENTS:])
    newest = records[-1] if records else None
    if newest is None:
        return Story(at_ms=at_ms, state=_without_records(group, at_ms, running, events), events=kept)
    if newest.is_tombstone:
        return Story(at_ms=at_ms, events=kept)
    state = LiveGroup(
        group=group,
        at_ms=at_ms,
        state=newest.state or _state(newest, running, at_ms),
        type=newest.type.value,
        since_ms=newest.timestamp_ms if running is None else running.at_ms,
        generation=newest.generation,
        protocol_type=newest.protocol_type or "",
        protocol=newest.protocol or "",
        partitions=sum(len(member.partitions or ()) for member in newest.members),
        member_count=len(newest.members),
        members=[
            LiveMember(
                member=_client(member),
                partitions=-1 if member.partitions is None else len(member.partitions),
                is_leader=member.member_id == newest.leader,
                has_synced=running is None,
            )
            for member in newest.members[:SHOWN_AT_MOST]
        ],
        rebalance=None if running is None else _as_it_was(running, at_ms),
    )
    return Story(at_ms=at_ms, state=state, events=kept)


def _without_records(group: str, at_ms: int, running: Rebalance | None, events: Sequence[AnyEvent]) -> LiveGroup:
    """Return what events tell of a group that has commits and no record: one without members, or compacted too soon."""
    last = next((event for event in reversed(events) if isinstance(event, Rebalance)), None)
    members = 0 if last is None or last.outcome is RebalanceOutcome.EMPTY else last.members_after
    return LiveGroup(
        group=group,
        at_ms=at_ms,
        state="Stable" if members else "Empty",
        since_ms=-1 if last is None else last.at_ms + last.took_ms,
        generation=0 if last is None else last.generation,
        partitions=-1 if last is None else last.partitions,
        member_count=members,
        rebalance=None if running is None else _as_it_was(running, at_ms),
    )


def _state(newest: GroupRecord, running: Rebalance | None, at_ms: int) -> str:
    if running is not None:
        has_joined = running.join_ms >= 0 and running.at_ms + running.join_ms <= at_ms
        return "CompletingRebalance" if has_joined else "PreparingRebalance"
    return "Stable" if newest.members else "Empty"


def _as_it_was(event: Rebalance, at_ms: int) -> Rebalance:
    """Return a rebalance as it was at a moment in it."""
    has_joined = event.join_ms >= 0 and event.at_ms + event.join_ms <= at_ms
    return msgspec.structs.replace(
        event,
        outcome=RebalanceOutcome.RUNNING,
        join_ms=event.join_ms if has_joined else -1,
        sync_ms=at_ms - event.at_ms - event.join_ms if has_joined else -1,
        changes=[change for change in event.changes if event.at_ms + change.after_ms <= at_ms],
        partitions=-1,
        partitions_moved=0,
        unowned_partition_ms=0,
        records_read_twice=-1,
        shares=[],
    )


def _client(member: GenerationMember) -> ClientInfo:
    return ClientInfo(
        member.member_id, member.group_instance_id or "", member.client_id, member.client_host.lstrip("/")
    )


# -- the ribbon --------------------------------------------------------------------------------------------------


def _ribbon(story: Story, records: Sequence[GroupRecord], at_ms: int) -> Ribbon | None:
    if not any(record.members for record in records):
        return None
    from_ms = at_ms - RANGE_MS
    begun = [number for number, record in enumerate(records) if record.timestamp_ms <= from_ms]
    records = records[begun[-1] :] if begun else records
    found = {_key(member): member for record in records for member in record.members}
    names = member_names((key, member.client_id) for key, member in found.items())
    now = {_key(member) for member in records[-1].members}
    members = {
        key: RibbonMember(
            key=key,
            name=names[key],
            client_id=member.client_id,
            host=member.client_host.lstrip("/"),
            is_member=key in now,
        )
        for key, member in found.items()
    }
    return ribbon(
        [*_changes(records), *_given_up(story, records)],
        members,
        seams(story),
        from_ms=from_ms,
        until_ms=at_ms,
        known_from_ms=records[0].timestamp_ms,
    )


def _key(member: GenerationMember) -> str:
    return member.group_instance_id or member.member_id


def _changes(records: Sequence[GroupRecord]) -> Iterator[OwnerChange]:
    before: set[str] = set()
    for record in records:
        now = {_key(member) for member in record.members}
        for key in before - now:
            yield OwnerChange(record.timestamp_ms, key, {})
        for member in record.members:
            owned: dict[str, list[int]] = {}
            for topic, partition in member.partitions or ():
                owned.setdefault(topic, []).append(partition)
            yield OwnerChange(record.timestamp_ms, _key(member), owned)
        before = now


def _given_up(story: Story, records: Sequence[GroupRecord]) -> Iterator[OwnerChange]:
    """Yield what eager members gave up in rebalances. The beginning of each stands for the time of every member."""
    rebalances = [event for event in story.events if isinstance(event, Rebalance)]
    if story.state is not None and story.state.rebalance is not None:
        rebalances.append(story.state.rebalance)
    later = replace(records[-1], timestamp_ms=story.at_ms + 1)
    for before, after in pairwise([*records, later]):
        for event in rebalances:
            if before.timestamp_ms < event.at_ms < after.timestamp_ms and not _keeps(before):
                for member in before.members:
                    yield OwnerChange(event.at_ms, _key(member), {})
                break


def _keeps(record: GroupRecord) -> bool:
    """Return whether members keep their partitions in a rebalance."""
    return record.type is not GroupType.CLASSIC or record.protocol == COOPERATIVE


def _unknown(past: GroupHistory, at_ms: int) -> Iterator[str]:
    yield NO_ENDS
    yield NO_HEARTBEATS
    if past.whole_since_ms >= at_ms - RANGE_MS:
        yield (
            f"The log was compacted up to {local_time(past.whole_since_ms, milliseconds=False)} before its history was "
            "extracted, so generations and commits of that time may be missing; set history.enable=true to keep them."
        )
    for damage in past.damages:
        yield f"Left out: {damage}."


# -- since when --------------------------------------------------------------------------------------------------


def known_from_ms(sources: Sequence[HistorySource]) -> int:
    """Return the time of the oldest record of the log or its history, in ms since the epoch; -1: there is none."""
    return min((at_ms for source in sources for at_ms in _oldest(source)), default=-1)


def _oldest(source: HistorySource) -> Iterator[int]:
    commits = source.history_dir / COMMITS_DIR
    days = [each.name.removeprefix("date=") for each in commits.iterdir()] if commits.is_dir() else []
    for day in sorted(day for day in days if day != str(date.min))[:1]:
        yield int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()) * 1000
    for partition in range(source.offsets_partitions):
        directory = offsets_log_dir(source.data_dir, partition)
        for base in segment_bases(directory)[:1]:
            with (directory / f"{base:020d}.log").open("rb") as file:
                head = file.read(BASE_TIMESTAMP_AT + 8)
            if len(head) == BASE_TIMESTAMP_AT + 8:
                yield struct.unpack_from(">q", head, BASE_TIMESTAMP_AT)[0]


def sources_of(data_dir: Path, history_dir: Path | None) -> list[HistorySource]:
    """Return the data directory with its history, or those of its workers. Raises SegmentsError, MarksError."""
    places = [data_dir]
    if (data_dir / WORKERS_DIR).is_dir():
        from coordinator.storage.worker_dirs import homes  # late: a page of one process does not wait for it

        workers = homes(RealFileSystem(), data_dir.absolute())
        places = [workers[node] for node in sorted(workers)] or places
    return [HistorySource.of(place, history_dir) for place in places]


def main() -> int:
    """Answer the question on stdin."""
    data_dir, history_dir = sys.argv[1:3]
    question = msgspec.json.decode(sys.stdin.buffer.read(), type=list[str])
    try:
        sources = sources_of(Path(data_dir), Path(history_dir) if history_dir else None)
        if question[0] == "from":
            answer = str(known_from_ms(sources)).encode()
        else:
            answer = msgspec.json.encode(page_at(sources, question[1], int(question[2])))
    except (MomentError, SegmentsError, HistoryError, MarksError, CorruptBatchError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # without the time that unloading pyarrow takes
