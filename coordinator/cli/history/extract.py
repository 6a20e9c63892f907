"""`coordinator history extract`: saves closed segments of the log as Parquet, in this process or as Spark tasks."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import sources_of, writing_to
from coordinator.cli.screen import tell
from coordinator.compaction.request import RequestError, daemon_facts
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from coordinator.history.events import ExtractedEvents
    from coordinator.history.extract import Extracted
    from coordinator.history.source import HistorySource


def run(arguments: argparse.Namespace) -> int:
    """Extract and print the result. Call within `reading_files`."""
    with writing_to(arguments.history_dir) as (arguments.history_dir, push):
        try:
            return _run(arguments)
        finally:
            push()


def _run(arguments: argparse.Namespace) -> int:
    sources = sources_of(arguments)
    if not sources[0].data_dir.is_dir():
        raise CliError(f"there is no data directory {sources[0].data_dir}; name it with --data-dir")
    started = time.perf_counter()
    events: list[ExtractedEvents] = []
    with _progress() as on_segment:
        done = [
            each
            for source in sources
            for each in extracted(
                source,
                arguments.master,
                skip_corrupt=arguments.skip_corrupt,
                retention_ms=retention_ms_of(source, arguments.retention_ms),
                on_segment=on_segment,
                on_events=events.append,
            )
        ]
    seconds = time.perf_counter() - started
    where = ", ".join(str(path) for path in dict.fromkeys(source.history_dir for source in sources))
    if arguments.json:
        print(json.dumps(_facts(where, done, events, seconds), indent=2))
    else:
        print(_sentence(where, done, events, seconds))
    for problem in (problem for each in events for problem in each.problems):
        tell(f"left for the next extraction: {problem}")
    for each in done:
        for position, reason in each.damages:
            tell(
                f"left out: partition {each.task.partition}, segment {each.task.base_offset}, byte {position}: {reason}"
            )
    return int(_tell_missing(sources))


def retention_ms_of(source: HistorySource, given: int | None) -> int:
    """Return the retention that is asked for, else that of the daemon of the data directory; -1: everything is kept."""
    if given is not None:
        return given
    try:
        facts = daemon_facts(source.data_dir)
    except RequestError:
        return -1
    return -1 if facts is None else facts.history_retention_ms


def _tell_missing(sources: list[HistorySource]) -> bool:
    """Name the missing files of the history. Returns whether there are any."""
    from coordinator.history import file_list
    from coordinator.history.tables import marks_of

    found = False
    for source in sources:
        for partition, mark in marks_of(source).partitions.items():
            if lost := file_list.missing(source.history_dir, partition, mark):
                found = True
                tell(
                    f"coordinator: {file_list.sentence(source.history_dir, partition, lost)}; restore them from a copy"
                )
    return found


def extracted(
    source: HistorySource,
    master: str | None,
    *,
    skip_corrupt: bool = False,
    retention_ms: int = -1,
    on_segment: Callable[[Extracted], None] = lambda _: None,
    on_events: Callable[[ExtractedEvents], None] = lambda _: None,
) -> list[Extracted]:
    """Extract everything that is due, and remove what is too old; `coordinator compact` does this if history is on.

    Raises CliError if Spark cannot be started or the disk refuses, and else as `coordinator.history.extract.extract`.
    """
    try:
        if master is not None:
            from coordinator.cli.history.all_groups import spark_session
            from coordinator.history.spark_extract import extract_with_spark

            with spark_session(master) as spark:
                done = extract_with_spark(source, spark, skip_corrupt=skip_corrupt)
        else:
            from coordinator.history.extract import extract

            done = extract(source, skip_corrupt=skip_corrupt, on_segment=on_segment)
        from coordinator.history.events import extract_events
        from coordinator.history.retention import Limits, forget_old
        from coordinator.storage.log.fs import RealFileSystem

        on_events(extract_events(source))  # so few that this process does it in either case
        forget_old(source, Limits(retention_ms), wall_ms(), RealFileSystem())
        return done
    except OSError as error:
        raise CliError(
            f"the history in {source.history_dir} cannot be written ({error.strerror or error}); "
            "finished segments stay extracted, run this again when it can"
        ) from None


@contextmanager
def _progress() -> Iterator[Callable[[Extracted], None]]:
    """Show a line that counts segments, on a terminal."""
    count = 0

    def show(done: Extracted) -> None:
        nonlocal count
        count += 1
        line = f"\r{count} segments; partition {done.task.partition} up to offset {done.task.end}\x1b[K"
        print(line, end="", file=sys.stderr, flush=True)

    if not sys.stderr.isatty():
        yield lambda _: None
        return
    try:
        yield show
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _facts(where: str, done: list[Extracted], events: list[ExtractedEvents], seconds: float) -> dict[str, Any]:
    return {
        "history_dir": where,
        "segments": len(done),
        "commits": sum(each.commits for each in done),
        "group_records": sum(each.groups for each in done),
        "events": sum(each.events for each in events),
        "files": sum(each.files for each in done) + sum(each.segments for each in events),
        "bytes_read": sum(each.bytes_read for each in done),
        "bytes_written": sum(each.bytes_written for each in done) + sum(each.bytes_written for each in events),
        "seconds": round(seconds, 3),
    }


def _sentence(where: str, done: list[Extracted], events: list[ExtractedEvents], seconds: float) -> str:
    facts = _facts(where, done, events, seconds)
    if not done:
        if not any(each.segments for each in events):
            return f"nothing to extract: {where} has every closed segment"
        return f"extracted {facts['events']} events of groups in {seconds:.1f} s to {facts['files']} files of {where}"
    also = f", {facts['events']} events of groups" if facts["events"] else ""
    return (
        f"extracted {facts['segments']} segments in {seconds:.1f} s: {facts['commits']} commits and "
        f"{facts['group_records']} states of groups{also}, {_megabytes(facts['bytes_read'])} of log became "
        f"{_megabytes(facts['bytes_written'])} in {facts['files']} files of {where}"
    )


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:.1f} MB"
