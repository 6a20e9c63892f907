"""`coordinator compact --dry-run`: the partitions that a round of compaction would clean. It changes nothing.

It reads the logs as they are. The settings of the daemon that serves them determine what is due; without a daemon,
those of the command line.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from coordinator.cli.compact.daemon_lock import daemon_of, is_served, sentences
from coordinator.cli.compact.rounds import Asked, options_of
from coordinator.compaction.daemon.dirtiness import lags_of
from coordinator.compaction.eligibility import Cleanable, ClosedSegment, Lags, LogFacts
from coordinator.compaction.planning import survey
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.history.segments import partitions_in, segment_bases
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.file_names import log_dir
from coordinator.storage.history_marks import mark_of
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from coordinator.storage.log.index import IndexDamagedError
from coordinator.storage.log.segment import Segment, segment_path


def dry_run(asked: Asked) -> dict[tuple[str, int], tuple[Cleanable, bool]]:
    """Return, by topic and partition, what can be cleaned, and whether it is due."""
    fs = RealFileSystem()
    found: dict[tuple[str, int], tuple[Cleanable, bool]] = {}
    with sentences():
        lags, history_dir = _settings(fs, asked)
        for each in asked.each_topic():
            views = [_view(fs, each, number) for number in each.chosen(partitions_in(each.data_dir, each.topic))]
            marks = {}
            if history_dir is not None and each.topic == OFFSETS_TOPIC:
                marks = {view.partition: mark_of(history_dir, view.partition) for view in views}
            options = options_of(each, marks, lags)
            surveyed = survey(fs, each.data_dir, views, now_ms=wall_ms(), options=options)
            found |= {(each.topic, number): (work, work.is_due(lags)) for number, work in sorted(surveyed.items())}
    return found


def _settings(fs: FileSystem, asked: Asked) -> tuple[Lags, Path | None]:
    """Return the settings that make a partition due, and the history directory; None: history is off."""
    if not is_served(fs, asked.data_dir):
        config = asked.config
        return lags_of(config, asked.ratio), Path(config.history_path) if config.history_enable else None
    facts = daemon_of(asked.data_dir, has_settings=asked.has_settings)
    lags = Lags(
        min_cleanable_dirty_ratio=facts.min_cleanable_ratio if asked.ratio is None else asked.ratio,
        min_compaction_lag_ms=facts.min_compaction_lag_ms,
        max_compaction_lag_ms=facts.max_compaction_lag_ms,
    )
    return lags, Path(facts.history_dir or asked.data_dir / "history") if facts.history_enable else None


def _view(fs: FileSystem, asked: Asked, partition: int) -> LogFacts:
    directory = log_dir(asked.data_dir, asked.topic, partition)
    bases = segment_bases(directory) or [0]
    closed = [_closed(fs, segment_path(directory, base), after, asked) for base, after in pairwise(bases)]
    return LogFacts(partition, tuple(closed), bases[-1])


def _closed(fs: FileSystem, path: Path, next_offset: int, asked: Asked) -> ClosedSegment:
    """Return the facts of a segment from its indexes, or from its batches if an index is damaged."""
    segment = Segment.open(fs, path, asked.config.log_index_interval_bytes)
    try:
        segment.load()
    except IndexDamagedError:
        segment.scan()  # in memory only; the job reports a damaged segment
    finally:
        segment.file.close()
    return ClosedSegment(
        segment.base_offset, segment.size_bytes, segment.max_timestamp, segment.first_timestamp, next_offset
    )
