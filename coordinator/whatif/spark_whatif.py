"""Runs of many groups as a Spark job: a task plays some groups with some settings, over all seeds.

The driver sends the events of the groups with the job. Each run is independent, so the job scales with the cores.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow as pa

from coordinator.core.events.model import decode_event
from coordinator.whatif.client import PlayError
from coordinator.whatif.figures import RunFigures
from coordinator.whatif.grid import Cell, run_alternative
from coordinator.whatif.recorded import Recording, RecordingError, recording_of
from coordinator.whatif.settings import SettingError, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TASKS_PER_CORE: Final = 16
FIGURES: Final = RunFigures._fields
SCHEMA: Final = pa.schema(
    [
        ("pair", pa.int64()),
        ("seed", pa.int32()),
        *((name, pa.int64()) for name in FIGURES),
        ("problem", pa.string()),
    ]
)


@dataclass(slots=True)
class AllRuns:
    """The runs of the groups that could be replayed with all settings; of the others `problems` has a sentence each."""

    cells: list[Cell] = field(default_factory=list)
    groups: set[str] = field(default_factory=set)
    problems: dict[str, str] = field(default_factory=dict)


def task_count(spark: SparkSession, pairs: int) -> int:
    """Return the number of tasks for so many pairs of a group and settings."""
    return max(min(TASKS_PER_CORE * spark.sparkContext.defaultParallelism, pairs), 1)


def run_with_spark(
    spark: SparkSession, recorded: Mapping[str, Sequence[bytes]], alternatives: Sequence[Settings], seeds: int
) -> AllRuns:
    """Play groups, given by their events as JSON, with each of the alternatives and seeds 1 to `seeds`."""
    names = list(recorded)
    texts = [recorded[name] for name in names]
    pairs = len(names) * len(alternatives)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        known: dict[int, Recording] = {}
        for batch in batches:
            for pair in batch.column(0).to_pylist():
                group, number = divmod(pair, len(alternatives))
                rows = _rows(pair, texts[group], known, group, alternatives[number], number, seeds)
                yield pa.RecordBatch.from_pylist(rows, schema=SCHEMA)

    found = AllRuns()
    fields = ", ".join(("pair long", "seed int", *(f"{name} long" for name in FIGURES), "problem string"))
    rows = spark.range(0, pairs, 1, task_count(spark, pairs)).mapInArrow(run, fields).toArrow().to_pylist()
    for row in rows:
        if row["problem"] is not None:
            found.problems[names[row["pair"] // len(alternatives)]] = row["problem"]
    for row in rows:
        group, number = divmod(row["pair"], len(alternatives))
        if names[group] not in found.problems:
            found.groups.add(names[group])
            found.cells.append(Cell(number, row["seed"], RunFigures(*(row[name] for name in FIGURES))))
    return found


def _rows(
    pair: int,
    texts: Sequence[bytes],
    known: dict[int, Recording],
    group: int,
    settings: Settings,
    number: int,
    seeds: int,
) -> list[dict[str, Any]]:
    try:
        if group not in known:
            known.clear()  # pairs of one group follow each other
            known[group] = recording_of([decode_event(text) for text in texts])
        cells = list(run_alternative(known[group], settings, number, range(1, seeds + 1)))
        return [{"pair": pair, "seed": cell.seed, **cell.figures._asdict(), "problem": None} for cell in cells]
    except (RecordingError, SettingError, PlayError, msgspec.MsgspecError) as error:
        return [{"pair": pair, "seed": 0, "problem": str(error)}]
