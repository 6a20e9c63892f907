"""The origins of the offsets log for `coordinator tables`: data directories, a store that nodes share, or any Kafka."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from coordinator.cli.engine import engine_config, run_with_engine
from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import DEFAULT_DATA_DIR, sources_of
from coordinator.cli.screen import tell
from coordinator.storage.log_store import LogStoreError

if TYPE_CHECKING:
    from coordinator.cli.client import Client
    from coordinator.config.config import Config
    from coordinator.history.source import HistorySource
    from coordinator.history.spark_stream import StreamSource
    from coordinator.membership.directory import Engine

Connect: TypeAlias = "Callable[[], Client]"


class Origin(Protocol):
    """A place of the offsets log. Methods raise CliError."""

    @property
    def connect(self) -> Connect | None:
        """Connects to the brokers that know topics and log ends; None: there are none."""

    def tables(self) -> HistorySource:
        """Return the tables, with the facts of the log."""

    def log(self, source: HistorySource) -> StreamSource:
        """Return the log for the stream."""

    def ends(self, source: HistorySource) -> Mapping[int, int]:
        """Return the ends of the partitions of the log, as far as they are known."""

    def names(self) -> Mapping[str, str]:
        """Return the names of topics by the texts of their ids, as far as they are known."""


def origin_of(arguments: argparse.Namespace) -> Origin:
    """Return the origin that the arguments name. CliError: they name none or several."""
    names_engine = bool(arguments.log_engine or arguments.config)
    named = [names_engine, arguments.data_dir is not None, arguments.bootstrap_server is not None]
    if sum(named) > 1:
        raise CliError("name one log: with --data-dir, with --bootstrap-server, or with --log-engine or --config")
    if not names_engine and (arguments.cluster_id or arguments.override):
        raise CliError("--cluster-id and --override are for a log.engine; name it with --log-engine or --config")
    if arguments.command_config is not None and not (arguments.bootstrap_server or arguments.lag_from):
        raise CliError("--command-config is for a Kafka; name it with --bootstrap-server or --lag-from")
    if arguments.bootstrap_server and arguments.lag_from:
        raise CliError("--lag-from goes with a data directory: the Kafka of --bootstrap-server knows its own log ends")
    connect = _connector(arguments)
    if names_engine:
        return EngineOrigin(arguments, connect, engine_config(arguments))
    if arguments.bootstrap_server is None:
        return DirectoryOrigin(arguments, connect)
    assert connect is not None
    return KafkaOrigin(arguments, connect)


def _connector(arguments: argparse.Namespace) -> Connect | None:
    """Return a function that connects to the brokers; None: there are none.

    Each trigger connects anew: a client keeps its connections and its deadline, and brokers restart.
    """
    addresses = arguments.lag_from or arguments.bootstrap_server
    if addresses is None:
        return None
    from coordinator.cli.client import Client, read_command_config

    config = read_command_config(arguments.command_config)
    return lambda: Client(addresses, arguments.timeout, config)


def _names_of(connect: Connect) -> Mapping[str, str]:
    from coordinator.columnar.consumer_columns import topic_id_text

    with connect() as client:
        return {topic_id_text(each.topic_id): each.name or "" for each in client.metadata(None).topics}


def _without_files(arguments: argparse.Namespace, cluster_id: str, partitions: int) -> HistorySource:
    from coordinator.history.source import NO_DATA_DIR, HistorySource

    return HistorySource(arguments.tables_dir / NO_DATA_DIR, arguments.tables_dir, cluster_id, partitions)


@dataclass(frozen=True, slots=True)
class DirectoryOrigin:
    """The data directory of a coordinator, with those of its workers, or of a Kafka."""

    arguments: argparse.Namespace
    connect: Connect | None

    def tables(self) -> HistorySource:
        self.arguments.data_dir = self.arguments.data_dir or Path(DEFAULT_DATA_DIR)
        self.arguments.history_dir = self.arguments.tables_dir
        source = sources_of(self.arguments)[0]
        if not source.data_dir.is_dir():
            raise CliError(
                f"there is no data directory {source.data_dir}; name it with --data-dir, a Kafka with "
                "--bootstrap-server, or a log.engine with --log-engine"
            )
        return source

    def log(self, source: HistorySource) -> StreamSource:
        from coordinator.history.spark_stream import DirectorySource

        dirs = [each.data_dir for each in sources_of(self.arguments)]
        most, skips = self.arguments.max_offsets_per_trigger, self.arguments.skip_corrupt
        return DirectorySource(dirs, most, skips, source.cleaner_checkpoint)

    def ends(self, source: HistorySource) -> Mapping[int, int]:
        from coordinator.columnar.log_reader import Reading, log_end
        from coordinator.history.segments import partitions_in
        from coordinator.storage.file_names import offsets_log_dir

        reading = Reading(skip_corrupt=self.arguments.skip_corrupt)
        return {
            number: log_end(offsets_log_dir(each.data_dir, number), reading).offset
            for each in sources_of(self.arguments)
            for number in partitions_in(each.data_dir)
        }

    def names(self) -> Mapping[str, str]:
        from coordinator.history.topic_names import topic_names

        return topic_names(sources_of(self.arguments)[0].data_dir)


@dataclass(frozen=True, slots=True)
class EngineOrigin:
    """The store that nodes share. Of the names of topics it knows none, so brokers are asked if they are given."""

    arguments: argparse.Namespace
    connect: Connect | None
    config: Config

    def tables(self) -> HistorySource:
        found: list[HistorySource] = []

        async def ask(engine: Engine) -> None:
            facts = await engine.directory.known_facts()
            if facts is None:
                raise CliError(
                    f"{engine.store.name} has no records of the cluster {self.config.cluster_id}; check --cluster-id", 1
                )
            found.append(_without_files(self.arguments, facts.cluster_id, facts.offsets_partitions))

        run_with_engine(self.config, ask, for_reading=True)
        return found[0]

    def log(self, source: HistorySource) -> StreamSource:
        from coordinator.history.spark_stream import EngineSource

        return EngineSource(self.config, source.offsets_partitions, self.arguments.max_offsets_per_trigger)

    def ends(self, source: HistorySource) -> Mapping[int, int]:
        from coordinator.spark.spark_engine_source import extents

        try:
            found = extents(self.config, source.offsets_partitions)
        except LogStoreError as error:
            raise CliError(str(error), 1) from None
        return {number: extent.end_offset for number, extent in found.items()}

    def names(self) -> Mapping[str, str]:
        if self.connect is None:
            return {}
        try:
            return _names_of(self.connect)
        except CliError as error:
            tell(f"the names of topics are not known now: {error}; their ids stand for new ones")
            return {}


@dataclass(frozen=True, slots=True)
class KafkaOrigin:
    """The offsets topic of a Kafka."""

    arguments: argparse.Namespace
    connect: Connect

    def tables(self) -> HistorySource:
        """Return the tables, with the cluster id of the Kafka and the number of partitions of its offsets topic."""
        from coordinator.cli.client import explain
        from coordinator.core.topics.names import OFFSETS_TOPIC

        with self.connect() as client:
            answer = client.metadata([OFFSETS_TOPIC])
        topic = answer.topics[0]
        if topic.error_code or not topic.partitions:
            raise CliError(
                f"the topic {OFFSETS_TOPIC} cannot be read: {explain(topic.error_code)}; it exists once a group has "
                "committed, and its reader needs the ACLs Read and Describe on it",
                1,
            )
        return _without_files(self.arguments, answer.cluster_id or "", len(topic.partitions))

    def log(self, source: HistorySource) -> StreamSource:
        from coordinator.history.spark_stream import KafkaSource

        settings: dict[str, str] = {}  # in Kafka's words, as options of Spark's Kafka source
        if self.arguments.command_config is not None:
            from coordinator.cli.command_config import read_settings

            found = read_settings(self.arguments.command_config)
            settings = {f"kafka.{name}": value for name, value in found.items()}
        return KafkaSource(self.arguments.bootstrap_server, settings, self.arguments.max_offsets_per_trigger)

    def ends(self, source: HistorySource) -> Mapping[int, int]:
        from coordinator.cli.log_ends import log_end_offsets
        from coordinator.core.topics.names import OFFSETS_TOPIC

        wanted = [(OFFSETS_TOPIC, number) for number in range(source.offsets_partitions)]
        with self.connect() as client:
            return {number: end for (_, number), end in log_end_offsets(client, wanted).items()}

    def names(self) -> Mapping[str, str]:
        return _names_of(self.connect)
