"""Arguments of the commands that read history, and the functions that open it.

These commands read the files of a daemon, running or not, or of a Kafka. Errors of files become one sentence here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.errors import CliError
from coordinator.cli.screen import need_extra, tell
from coordinator.compaction.request import RequestError, daemon_facts
from coordinator.config.config import Config
from coordinator.history.times import ago, local_time, parse_moment, parse_span
from coordinator.storage.file_names import WORKERS_DIR, offsets_log_dir
from coordinator.storage.history_marks import MarksError
from coordinator.storage.log.fs import RealFileSystem

if TYPE_CHECKING:
    from coordinator.history.questions import Selection
    from coordinator.history.source import HistorySource
    from coordinator.history.tables import GroupHistory

DEFAULT_DATA_DIR: Final = Config().log_dirs


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the directories of the log and its history."""
    add = parser.add_argument
    add(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help=f"the data directory of a coordinator or of a Kafka; default: {DEFAULT_DATA_DIR}",
    )
    add(
        "--history-dir",
        type=directory_or_url,
        metavar="DIR",
        help="the directory of its history, or of the tables of any Kafka (`coordinator tables`), or its URL in a "
        "bucket; default: that of its daemon, else `history` in the data directory",
    )
    add(
        "--offsets-partitions",
        type=positive,
        metavar="N",
        help="the number of partitions of the offsets log, if DIR does not hold all (a Kafka of several brokers)",
    )
    add("--skip-corrupt", action="store_true", help="leave out damaged batches instead of stopping there")


def add_selection(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select partitions and a range of time."""
    add = parser.add_argument
    add("-t", "--topic", action="append", default=[], metavar="TOPIC", help="only this topic; repeatable")
    add("--partition", action="append", default=[], type=int, metavar="N", help="only this partition; repeatable")
    add_times(parser)


def add_times(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that select a range of time."""
    add = parser.add_argument
    add("--since", metavar="TIME", help="2026-11-20T14:05Z, 2026-11-20T14:05+01:00, 2026-11-20T14:05 (local) or -15m")
    add("--until", metavar="TIME", help="as --since; default: now")


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number


def retention_ms(text: str) -> int:
    number = int(text)
    if number < -1:
        raise ValueError(text)
    return number


def moment(flag: str, text: str | None, now: int) -> int | None:
    """Parse a time of the command line; None if it was not given."""
    if text is None:
        return None
    try:
        return parse_moment(text, now)
    except ValueError as error:
        raise CliError(f"{flag}: {error}") from None


def duration(flag: str, text: str) -> int:
    """Parse a span of time of the command line, in ms."""
    try:
        return parse_span(text)
    except ValueError as error:
        raise CliError(f"{flag}: {error}") from None


def directory_or_url(text: str) -> Path | str:
    """Parse a directory, or its URL in a bucket, such as `s3://bucket/tables`."""
    return text if "://" in text else Path(text)


def pull_history(arguments: argparse.Namespace) -> None:
    """Put a copy of a history that is in a bucket in its place. Call within `reading_files`."""
    if isinstance(arguments.history_dir, str):
        from coordinator.history.bucket import Bucket, shown

        bucket = Bucket.of(arguments.history_dir)
        bucket.pull()
        if not bucket.has_files:
            raise CliError(f"there is no history in {shown(bucket.url)}; check the address, or write one there first")
        arguments.history_dir = bucket.copy


@contextmanager
def writing_to(place: Path | str | None) -> Iterator[tuple[Path | None, Callable[[], object]]]:
    """Give the directory to write a history to, and a function that brings what was written to its bucket, if any.

    Call within `reading_files`.
    """
    if not isinstance(place, str):
        yield place, lambda: None
        return
    from coordinator.history.bucket import writing

    with writing(place) as bucket:
        yield bucket.copy, bucket.push


def add_retention(parser: argparse.ArgumentParser, default: str) -> None:
    """Add --retention-ms, Kafka's word for how long something is kept; None if it is not given."""
    parser.add_argument(
        "--retention-ms",
        type=retention_ms,
        metavar="MS",
        help=f"remove what is older, but the last commit of each partition; -1: keep everything; default: {default}",
    )


@contextmanager
def reading_files() -> Iterator[None]:
    """Turn errors of logs and histories into CliErrors of one sentence."""
    need_extra()
    from coordinator.columnar.batches import CorruptBatchError
    from coordinator.history.bucket import BucketError
    from coordinator.history.extract import ExtractError
    from coordinator.history.questions import QuestionError
    from coordinator.history.segments import SegmentsError
    from coordinator.history.tables import HistoryError

    try:
        yield
    except (
        BucketError,
        ExtractError,
        HistoryError,
        MarksError,
        QuestionError,
        SegmentsError,
        CorruptBatchError,
    ) as error:
        raise CliError(str(error)) from None


@contextmanager
def asking_duckdb() -> Iterator[None]:
    """Turn errors of DuckDB into CliErrors of one sentence."""
    need_extra("duckdb")
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise CliError(str(error).partition("\n")[0], 1) from None


def sources_of(arguments: argparse.Namespace) -> list[HistorySource]:
    """Return the data directory with its history, or those of the daemon's workers. Call within `reading_files`."""
    from coordinator.history.source import HistorySource

    pull_history(arguments)
    data_dir: Path = arguments.data_dir or Path(DEFAULT_DATA_DIR)
    if arguments.data_dir is None and arguments.history_dir is not None:
        alone = HistorySource.alone(arguments.history_dir, arguments.offsets_partitions)
        if alone is not None and alone.cluster_id != HistorySource.cluster_of(data_dir):
            return [alone]  # these tables are of another cluster than the directory that happens to be here
    places = [data_dir]
    if (data_dir / WORKERS_DIR).is_dir():
        from coordinator.storage.worker_dirs import homes

        workers = homes(RealFileSystem(), data_dir.absolute())
        places = [workers[node] for node in sorted(workers)] or places
    return [HistorySource.of(place, history_dir(arguments, place), arguments.offsets_partitions) for place in places]


def check_files(arguments: argparse.Namespace, sources: Sequence[HistorySource]) -> None:
    """Name missing files. HistoryError: there are some, and they are not to be skipped."""
    from coordinator.history import file_list
    from coordinator.history.tables import lost_segments, marks_of

    for source in sources:
        for partition, mark in marks_of(source).partitions.items():
            if lost := lost_segments(source, partition, mark, skip_corrupt=arguments.skip_corrupt):
                tell(f"left out: {file_list.sentence(source.history_dir, partition, lost)}")


def source_of(arguments: argparse.Namespace) -> HistorySource:
    """Return the source that has the group's partition of the offsets log. Call within `reading_files`."""
    sources = sources_of(arguments)
    for source in sources:
        if offsets_log_dir(source.data_dir, source.partition_of(arguments.group)).is_dir():
            return source
    return sources[0]


def history_dir(arguments: argparse.Namespace, data_dir: Path) -> Path | None:
    """Return the given directory, else that of the daemon; None: the default."""
    given: Path | None = arguments.history_dir
    if given is not None:
        return given
    try:
        facts = daemon_facts(data_dir)
    except RequestError:
        return None
    told = Path(facts.history_dir) if facts is not None and facts.history_dir else None
    if told is not None and not told.is_absolute():
        raise CliError(
            f"the daemon of {data_dir} keeps its history in {told}, relative to its working "
            "directory; give the full path with --history-dir"
        )
    return told


def selection_of(arguments: argparse.Namespace, now: int) -> Selection:
    """Return the selection of --topic, --partition, --since and --until."""
    from coordinator.history.questions import Selection

    since, until = moment("--since", arguments.since, now), moment("--until", arguments.until, now)
    if since is not None and until is not None and since > until:
        raise CliError("--since is later than --until; exchange them")
    limits = {name: value for name, value in (("since_ms", since), ("until_ms", until)) if value is not None}
    return Selection(tuple(arguments.topic), tuple(arguments.partition), **limits)


def load(
    arguments: argparse.Namespace, source: HistorySource, *, since_ms: int | None = None, until_ms: int | None = None
) -> GroupHistory:
    """Load the group's past; CliError if there is none. Call within `reading_files`."""
    from coordinator.history.tables import load_group

    past = load_group(
        source, arguments.group, since_ms=since_ms, until_ms=until_ms, skip_corrupt=arguments.skip_corrupt
    )
    if not len(past.commits) and not past.records:
        where = f"{source.data_dir} and {source.history_dir}" if past.extracted_to else f"{source.data_dir}"
        raise CliError(
            f"nothing is known of a group {arguments.group!r} in {where} (partition {past.partition} of the offsets "
            "log); check its name, or name another directory with --data-dir",
            1,
        )
    for damage in past.damages:
        tell(f"left out: {damage}")
    return past


def check_selection(past: GroupHistory, topics: Sequence[str], partitions: Sequence[int] = ()) -> None:
    """Raise CliError for a topic or partition to which the group never committed."""
    known = {topic for topic, _ in past.commits.keys}
    unknown = [repr(topic) for topic in topics if topic not in known]
    numbers = {partition for topic, partition in past.commits.keys if not topics or topic in topics}
    unknown += [f"partition {each}" for each in partitions if each not in numbers] if not unknown else []
    if unknown:
        raise CliError(
            f"no commit of group {past.group!r} to {', '.join(unknown)} is known in that time; it committed to: "
            f"{', '.join(sorted(known)) or 'nothing'}",
            1,
        )


def tell_gaps(past: GroupHistory, now: int, since_ms: int | None = None) -> None:
    """Warn that the log was compacted before its history was extracted, unless only a later time is selected."""
    if past.whole_since_ms >= 0 and (since_ms is None or since_ms < past.whole_since_ms):
        tell(
            f"up to {local_time(past.whole_since_ms, milliseconds=False)} ({ago(past.whole_since_ms, now)}) "
            "the log was compacted before its history was extracted: older commits may be missing"
        )
