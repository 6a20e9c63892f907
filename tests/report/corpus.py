"""Plays the groups of a corpus through the real core, and writes what a daemon would have kept as a data directory.

The events of the core go to the log of `__group_events`, its records to the offsets log, and lag around deploys to the
table `lag`, so that a report reads them as it reads a user's files. A corpus depends on its seed alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

import pyarrow as pa

from coordinator.core.events.model import AnyEvent, encode
from coordinator.core.shard import partition_for
from coordinator.core.topics.names import EVENTS_TOPIC, OFFSETS_TOPIC
from coordinator.history.lag_table import LAG
from coordinator.history.layout import LAG_DIR, day_directory, day_of
from coordinator.history.parquet import by_group, parquet_bytes, write_table
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.whatif.client import ConsumerModel
from coordinator.whatif.player import Player
from protocol.error_codes import ErrorCode
from protocol.messages.sync_group import SyncGroupResponse
from protocol.record_batch import build_batch
from tests.report.plants import DAY, MINUTE, SECOND, START_MS, Planted, Plot

PARTITIONS: Final = 8
RETRIES: Final = 8
Record = tuple[int, bytes, bytes | None]  # time, key, value


@dataclass(frozen=True, slots=True)
class Corpus:
    """A data directory, and what was planted in its groups; an empty list: nothing."""

    data_dir: Path
    days: int
    planted: dict[str, list[Planted]]
    events: int


class RetryingClient(ConsumerModel):
    """A client that tries again when the group is full."""

    tries = 0

    def _refused(self, error: ErrorCode, api: str) -> None:
        if error is not ErrorCode.GROUP_MAX_SIZE_REACHED:
            super()._refused(error, api)
            return
        self._end()
        self.tries += 1
        if self.tries % RETRIES:
            self._later(30 * SECOND, self.start)


class TwinClient(ConsumerModel):
    """A client with the instance id of another one, whose next heartbeat is refused."""

    def answered(self, run: int, member_id: str, response: Any) -> None:
        super().answered(run, member_id, response)
        if isinstance(response, SyncGroupResponse) and not response.error_code and self._is_in_generation:
            for other in self._player.clients.values():
                if other is not self and other.spec.instance_id == self.spec.instance_id and other._is_in_generation:
                    other._later(self._player.chance.randrange(3 * SECOND), other._beat)


class LateClient(ConsumerModel):
    """A client that commits for the generation before, after each rebalance."""

    def answered(self, run: int, member_id: str, response: Any) -> None:
        super().answered(run, member_id, response)
        if isinstance(response, SyncGroupResponse) and not response.error_code and self._is_in_generation:
            self._generation -= 1
            self.commit(100)
            self._generation += 1


def played(plot: Plot, seed: int) -> tuple[list[AnyEvent], list[Record]]:
    """Play a group. Return its events, and its records of the offsets log."""
    records: list[Record] = []
    player = Player(
        plot.spec(),
        plot.stimuli,
        seed,
        lambda append, at_ms: records.extend((at_ms, key, value) for key, value in append.records),
    )
    special = ((plot.retrying, RetryingClient), (plot.late_commits, LateClient), (plot.twins, TwinClient))
    for names, kind in special:
        for name in names:
            player.clients[name] = kind(player, player.clients[name].spec)
    player.run(0)
    return player.played.events, records


def lag_rows(plot: Plot) -> list[dict[str, Any]]:
    """Return the lag of a group every ten minutes around its deploys: it falls again soon, or after a day."""
    if not plot.deploys:
        return []
    chance = Random(f"lag {plot.name}")
    usual = chance.randrange(20, 900)
    most = 3_000 + round(usual * chance.uniform(6, 60))
    rows = []
    for deploy_ms in plot.deploys:
        falls_ms = deploy_ms + (DAY if plot.lag_grows else 15 * MINUTE)
        for at_ms in range(deploy_ms - 60 * MINUTE, deploy_ms + 120 * MINUTE, 10 * MINUTE):
            lag = most if deploy_ms <= at_ms < falls_ms else usual
            lag = round(lag * chance.uniform(0.7, 1.3))
            for topic, share in (("orders", 0.75), ("payments", 0.25)):
                row = (at_ms, plot.name, topic, 0, 1_000, 1_000 + round(lag * share), round(lag * share))
                rows.append(dict(zip(LAG.names, row, strict=True)))
    return rows


def write(directory: Path, plots: Iterable[Plot], days: int, seed: int) -> Corpus:
    """Play groups, and write their data directory."""
    directory.mkdir(parents=True)
    (directory / "meta.properties").write_text(
        "version=1\ncluster.id=corpus\nnode.id=1\ncoordinator.format.version=1\n"
        f"offsets.topic.num.partitions={PARTITIONS}\n"
    )
    events: dict[int, list[Record]] = defaultdict(list)
    offsets: dict[int, list[Record]] = defaultdict(list)
    lags: list[dict[str, Any]] = []
    planted = {}
    for plot in plots:
        found, records = played(plot, seed)
        partition = partition_for(plot.name, PARTITIONS)
        events[partition] += [(event.at_ms, plot.name.encode(), encode(event)) for event in found]
        offsets[partition] += records
        lags += lag_rows(plot)
        planted[plot.name] = plot.planted
    for topic, logs in ((EVENTS_TOPIC, events), (OFFSETS_TOPIC, offsets)):
        for partition in range(PARTITIONS):
            write_log(directory / f"{topic}-{partition}", logs[partition])
    _write_lag(directory / "history", lags)
    return Corpus(directory, days, planted, sum(map(len, events.values())))


def write_log(directory: Path, records: Sequence[Record]) -> None:
    """Write records as a log of batches of one record, in order of time."""
    log = Log.open(directory, LogConfig(segment_bytes=1 << 20))
    for at_ms, key, value in sorted(records, key=lambda each: each[0]):
        batch = build_batch([(key, value)], base_offset=log.log_end_offset, timestamp_ms=at_ms)
        log.append(bytes(batch), log.log_end_offset, 1)
    log.close()


def _write_lag(history_dir: Path, rows: Sequence[dict[str, Any]]) -> None:
    by_day: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        by_day[day_of(row["at_ms"])].append(row)
    for day, some in by_day.items():
        path = history_dir / LAG_DIR / day_directory(day) / f"at-{day * DAY:013d}.parquet"
        write_table(RealFileSystem(), path, parquet_bytes(by_group(pa.Table.from_pylist(some, LAG))))


def period(days: int) -> tuple[int, int]:
    """Return the first and the last millisecond of a corpus."""
    return START_MS, START_MS + days * DAY - 1
