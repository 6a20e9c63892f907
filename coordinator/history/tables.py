"""The whole past of one group: the extracted rows from Parquet below the mark, and the log beyond it.

The order of reading makes this exact while a daemon runs and compacts: the log, then the marks, then the Parquet files
below the mark; records of the log below the mark are dropped. Anything a compaction had replaced when the log was read
is below the mark that was read afterwards, and so comes from Parquet.

One group needs the files of one log partition, most of which Parquet's statistics skip, so Spark is not needed. For a
moment, most files are not opened: see `load_moment`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coordinator.columnar.consumer_columns import CONSUMERS
from coordinator.history import file_list
from coordinator.history.commits import Commits, Ints, Markers, TopicPartition, no_commits, resolve
from coordinator.history.consumer_groups import merged
from coordinator.history.group_rows import LastCommits, rows_of_group
from coordinator.history.layout import (
    TableFile,
    commit_files,
    consumer_files,
    group_files,
    has_files,
    transaction_files,
)
from coordinator.history.rebalances import GenerationMember, GroupRecord
from coordinator.history.rows import COMMITS, GROUPS, TRANSACTIONS, RowBlock, Rows, joined, read_blocks
from coordinator.history.segments import SegmentsError, segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.topic_names import kept_names, topic_names
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.history_marks import NO_MARKS, NOT_EXTRACTED, Mark, Marks, MarksError, read_marks

_CLOCKS_MS: Final = 3_600_000  # how far the times of two segments may be out of order
_TRIES: Final = 3


class HistoryError(Exception):
    """The history and the log do not belong together. The message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """All known records of a group, in log order."""

    group: str
    partition: int  # of the offsets log
    commits: Commits
    records: list[GroupRecord]
    rows: Rows  # the records as they were read, with all transactions of the partition
    compacted_to: int  # below this log offset the log was compacted before it was extracted or read
    whole_since_ms: int  # nothing after this time is missing; -1: nothing is missing at all
    extracted_to: int  # the mark
    damages: tuple[str, ...]  # a sentence for each skipped part


def load_group(
    source: HistorySource,
    group: str,
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    skip_corrupt: bool = False,
) -> GroupHistory:
    """Load the past of a group. `since_ms` and `until_ms` let Parquet files of other days be skipped.

    Raises SegmentsError, MarksError, HistoryError (one sentence each), CorruptBatchError (file and position).
    """

    def stored(partition: int, mark: Mark, live: Rows) -> Rows:
        return _extracted(source, group, partition, mark, since_ms, until_ms)

    return _loaded(source, group, stored, skip_corrupt=skip_corrupt)


def load_moment(
    source: HistorySource, group: str, at_ms: int, *, range_ms: int, committed_within_ms: int
) -> GroupHistory:
    """Load what a page of a group at a moment needs. Errors as `load_group`; damage is skipped.

    These are the records of the group in the range before the moment and the last one before that range, and the last
    commit of each partition. Files are opened from the moment backwards. What the moment does not need may be missing.
    """

    def stored(partition: int, mark: Mark, live: Rows) -> Rows:
        return _at_moment(source, group, partition, mark, live, at_ms, range_ms, committed_within_ms)

    return _loaded(source, group, stored, skip_corrupt=True, until_ms=at_ms)


def _loaded(
    source: HistorySource,
    group: str,
    stored_rows: Callable[[int, Mark, Rows], Rows],
    *,
    skip_corrupt: bool,
    until_ms: int | None = None,
) -> GroupHistory:
    """Load a group; again if the mark moved, because rows may have been left out or joined meanwhile."""
    partition = source.partition_of(group)
    for tries in range(_TRIES):
        before = _mark(source, partition)
        is_last = tries == _TRIES - 1
        try:
            found = _load_once(source, group, partition, stored_rows, skip_corrupt=skip_corrupt, until_ms=until_ms)
        except (MarksError, HistoryError, FileNotFoundError):
            if is_last or _mark(source, partition) == before:
                raise
            continue
        if is_last or _mark(source, partition) == before:
            break
    return found


def _load_once(
    source: HistorySource,
    group: str,
    partition: int,
    stored_rows: Callable[[int, Mark, Rows], Rows],
    *,
    skip_corrupt: bool,
    until_ms: int | None,
) -> GroupHistory:
    directory = offsets_log_dir(source.data_dir, partition)
    mark = _mark(source, partition)
    blocks: list[RowBlock] = []
    if until_ms is None or until_ms >= mark.newest_ms - _CLOCKS_MS:
        begin = mark.next_offset
        try:
            blocks = list(read_blocks(directory, partition, begin, None, group=group, skip_corrupt=skip_corrupt))
        except FileNotFoundError:
            pass  # there is only a history, or another broker of a Kafka has that partition
        except OSError as error:
            raise SegmentsError(
                f"{directory} cannot be read ({error.strerror or error}); mend its permissions"
            ) from None
        mark = _mark(source, partition)
    live = joined(block.rows for block in blocks)
    for tries in range(_TRIES):
        try:
            stored = stored_rows(partition, mark, live)
            break
        except FileNotFoundError:  # files were joined meanwhile (`history.thinning`)
            if tries == _TRIES - 1:
                raise
    lost = lost_segments(source, partition, mark, skip_corrupt=skip_corrupt)
    coverage = _Coverage(mark, source.cleaner_checkpoint().get(partition, 0))
    for block in blocks:
        coverage.add(block.offsets, block.timestamps_ms)
    coverage.without([segment for segment, _ in lost])
    rows = Rows(*(_in_order(getattr(stored, each.name), getattr(live, each.name), mark) for each in fields(Rows)))
    return GroupHistory(
        group,
        partition,
        commits_of(rows.commits, _markers(rows.transactions)),
        _records(source, rows),
        rows,
        coverage.compacted_to,
        coverage.whole_since_ms,
        mark.next_offset,
        (
            *([file_list.sentence(source.history_dir, partition, lost)] if lost else []),
            *(
                f"{directory}, byte {damage.position} of a segment: {damage.reason}"
                for block in blocks
                for damage in block.damages
            ),
        ),
    )


def _records(source: HistorySource, rows: Rows) -> list[GroupRecord]:
    classic = group_records(rows.groups)
    return merged(classic, rows.consumers, _names(source)) if rows.consumers.num_rows else classic


def _names(source: HistorySource) -> dict[str, str]:
    return kept_names(source.history_dir) | topic_names(source.data_dir)


def lost_segments(source: HistorySource, partition: int, mark: Mark, *, skip_corrupt: bool) -> list[file_list.Lost]:
    """Return the segments with missing files. HistoryError: there are some, and `skip_corrupt` is off."""
    lost = file_list.missing(source.history_dir, partition, mark)
    if lost:  # or their segments were joined or removed between the looks at list and directories
        lost = file_list.missing(source.history_dir, partition, marks_of(source).of(partition))
    if lost and not skip_corrupt:
        raise HistoryError(
            f"{file_list.sentence(source.history_dir, partition, lost)}; restore them from a copy, or go on without "
            "them with --skip-corrupt"
        )
    return lost


def marks_of(source: HistorySource) -> Marks:
    """Return the marks of a history, empty if it was not begun. HistoryError: its marks.json was removed."""
    marks = read_marks(source.history_dir)
    if marks is None and has_files(source.history_dir):
        raise HistoryError(f"{source.history_dir} holds a history without its marks.json; restore that from a copy")
    return marks or NO_MARKS


def _mark(source: HistorySource, partition: int) -> Mark:
    """Return the partition's current mark. HistoryError: the history is of another cluster than the log."""
    marks = marks_of(source)
    if not marks.partitions:
        return NOT_EXTRACTED
    bases = segment_bases(offsets_log_dir(source.data_dir, partition))
    if bases and marks.cluster_id != source.cluster_id:
        raise HistoryError(
            f"{source.history_dir} is the history of another cluster than {source.data_dir}; "
            "name its own with --history-dir"
        )
    mark = marks.of(partition)
    if any(mark.last_segment < base < mark.next_offset for base in bases):
        # The log was truncated into the newest extracted segment (see `extract.due`): read that from the log again.
        return replace(mark, next_offset=mark.last_segment, segments=max(mark.segments - 1, 0))
    return mark


class _Coverage:
    """Finds where the log was compacted before it was extracted or read, by gaps in its offsets."""

    def __init__(self, mark: Mark, clean_up_to: int) -> None:
        self.compacted_to = mark.compacted_to
        self.whole_since_ms = mark.whole_since_ms
        self._next_offset = mark.next_offset
        self._newest_ms = mark.newest_ms
        self._clean_up_to = clean_up_to

    def without(self, lost: Sequence[file_list.ExtractedSegment]) -> None:
        """Count these segments, whose files are missing, as compacted."""
        for segment in lost:
            self.compacted_to = max(self.compacted_to, segment.end)
            self.whole_since_ms = max(self.whole_since_ms, segment.newest_ms)

    def add(self, offsets: Ints, times: Ints) -> None:
        """Add the next records, by log offset and timestamp. The end of the read range does not count as a gap."""
        inside = offsets >= self._next_offset
        offsets, times = offsets[inside], times[inside]
        if not len(offsets):
            return
        around = np.concatenate(([self._next_offset - 1], offsets))
        gaps = np.flatnonzero(np.diff(around) > 1)
        if len(gaps):
            self.compacted_to = max(self.compacted_to, int(around[gaps[-1] + 1]), self._clean_up_to)
            self.whole_since_ms = max(self.whole_since_ms, self._newest_ms)
        compacted = times[offsets <= self.compacted_to]  # the record after a gap is not older than the lost ones
        if self.compacted_to and len(compacted):
            self.whole_since_ms = max(self.whole_since_ms, int(compacted.max()))
        self._newest_ms = max(self._newest_ms, int(times.max()))
        self._next_offset = int(offsets[-1]) + 1


def _extracted(
    source: HistorySource, group: str, partition: int, mark: Mark, since_ms: int | None, until_ms: int | None
) -> Rows:
    """Read the rows of a group, and the transactions of its partition, from Parquet."""

    def read(files: list[TableFile], schema: pa.Schema, *, whole: bool = False) -> pa.Table:
        return _table(files, schema, None if whole else group, mark)

    history_dir = source.history_dir
    # A marker may be later than the commits it decides, so transactions of all times are read.
    return Rows(
        read(list(commit_files(history_dir, partition, since_ms=since_ms, until_ms=until_ms)), COMMITS),
        read(group_files(history_dir, partition), GROUPS),
        read(transaction_files(history_dir, partition), TRANSACTIONS, whole=True),
        read(consumer_files(history_dir, partition), CONSUMERS),
    )


def _table(files: Sequence[TableFile], schema: pa.Schema, group: str | None, mark: Mark) -> pa.Table:
    found = [rows_of_group(file.path, schema, group) for file in files if file.start < mark.next_offset]
    return pa.concat_tables([schema.empty_table(), *found])


def _at_moment(
    source: HistorySource,
    group: str,
    partition: int,
    mark: Mark,
    live: Rows,
    at_ms: int,
    range_ms: int,
    committed_within_ms: int,
) -> Rows:
    """Read what `load_moment` needs, the newest files first."""
    history_dir = source.history_dir
    since_ms = at_ms - committed_within_ms
    begin, end = 0, mark.next_offset  # the log offsets between which files may have rows of the range
    newest_ms = -1
    for line in file_list.read(history_dir, partition):
        if line.newest_ms < since_ms - _CLOCKS_MS:
            begin = line.end
        if newest_ms > at_ms + _CLOCKS_MS:
            end = min(end, line.start)
        newest_ms = max(newest_ms, line.newest_ms)
    last = LastCommits(COMMITS, group, at_ms)
    last.note(live.commits)
    found = commit_files(history_dir, partition, since_ms=since_ms, until_ms=at_ms)
    for file in sorted((file for file in found if begin <= file.start < end), key=lambda each: each.start)[::-1]:
        last.add(file.path)
    groups: list[pa.Table] = []
    is_known = _has_until(live.groups, at_ms - range_ms)
    for file in [file for file in group_files(history_dir, partition) if file.start < end][::-1]:
        if is_known:
            break
        table = rows_of_group(file.path, GROUPS, group)
        is_known = _has_until(table, at_ms - range_ms)
        groups.append(table)
    return Rows(
        pa.concat_tables([COMMITS.empty_table(), *last.tables]),
        pa.concat_tables([GROUPS.empty_table(), *groups]),
        _table(transaction_files(history_dir, partition), TRANSACTIONS, None, mark),
        # All of them, because a state needs the newest record of each key, however old that is.
        _table(consumer_files(history_dir, partition), CONSUMERS, group, mark),
    )


def _has_until(table: pa.Table, until_ms: int) -> bool:
    return bool((table["timestamp_ms"].to_numpy() <= until_ms).any())


def _in_order(stored: pa.Table, live: pa.Table, mark: Mark) -> pa.Table:
    """Return the stored rows below the mark and the live ones beyond it, in log order, each once, in one chunk."""
    beyond = live["log_offset"].to_numpy() >= mark.next_offset
    live = live if beyond.all() else live.filter(pa.array(beyond))
    table = pa.concat_tables([stored, live]).combine_chunks()
    offsets = table["log_offset"].to_numpy()
    if (offsets[1:] > offsets[:-1]).all():
        return table
    return table.take(pa.array(np.unique(offsets, return_index=True)[1]))  # a row is in two files while they are joined


def commits_of(table: pa.Table, markers: Markers) -> Commits:
    """Convert rows of one group, in log order, to `Commits`."""
    count = table.num_rows
    if not count:
        return no_commits()
    topics = table["topic"].combine_chunks().dictionary_encode()
    names = topics.dictionary.to_pylist()
    pairs = topics.indices.to_numpy().astype(np.int64) << 32 | (table["partition"].to_numpy().astype(np.int64) + 2**31)
    found, inverse = np.unique(pairs, return_inverse=True)
    unsorted: list[TopicPartition] = [(names[pair >> 32], (pair & 0xFFFFFFFF) - 2**31) for pair in found.tolist()]
    order = sorted(range(len(unsorted)), key=unsorted.__getitem__)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    log_offset = _ints(table, "log_offset")
    timestamp_ms = _ints(table, "timestamp_ms")
    producer_id = _ints(table, "producer_id")
    is_tombstone = table["tombstone"].to_numpy()
    # A deletion takes effect at once, even within a transaction.
    counts_from, counts_ms, is_open = resolve(
        log_offset, timestamp_ms, np.where(is_tombstone, -1, producer_id), markers
    )
    return Commits(
        keys=[unsorted[number] for number in order],
        key=rank[inverse],
        log_offset=log_offset,
        timestamp_ms=timestamp_ms,
        offset=_ints(table, "committed_offset"),
        is_tombstone=is_tombstone,
        committed_ms=np.where(is_tombstone, timestamp_ms, _ints(table, "committed_ms")),
        leader_epoch=_ints(table, "leader_epoch"),
        producer_id=producer_id,
        counts_from=counts_from,
        counts_ms=counts_ms,
        is_open=is_open,
        metadata=table["metadata"],
    )


def _ints(table: pa.Table, name: str) -> Ints:
    """Return a column of numbers, with -1 for null."""
    column = table[name]
    values: npt.NDArray[Any] = (column.fill_null(-1) if column.null_count else column).to_numpy()
    return values.astype(np.int64, copy=False)


def _markers(table: pa.Table) -> Markers:
    return Markers(
        _ints(table, "log_offset"),
        _ints(table, "timestamp_ms"),
        _ints(table, "producer_id"),
        table["committed"].to_numpy(),
    )


def group_records(table: pa.Table) -> list[GroupRecord]:
    """Convert rows of groups to values."""
    return [
        GroupRecord(
            row["log_offset"],
            row["timestamp_ms"],
            row["tombstone"],
            row["generation"] or 0,
            row["protocol_type"],
            row["protocol"],
            row["leader"],
            tuple(map(_member, row["members"] or ())),
        )
        for row in table.to_pylist()
    ]


def _member(facts: dict[str, Any]) -> GenerationMember:
    assignment = facts["assignment"]
    partitions = None
    if assignment is not None:
        partitions = tuple(sorted((each["topic"], number) for each in assignment for number in each["partitions"]))
    return GenerationMember(
        facts["member_id"], facts["group_instance_id"], facts["client_id"], facts["client_host"], partitions
    )
