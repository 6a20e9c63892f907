"""Runs over settings and seeds: those of one group, and the table that compares the settings."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from coordinator.whatif.figures import RunFigures, Spread, of_run
from coordinator.whatif.player import play
from coordinator.whatif.recorded import Recording
from coordinator.whatif.settings import RECORDED, Settings

COLLECTED_EVERY: Final = 50  # runs; the garbage of a run is in cycles, and looking for it all the time takes a tenth

LIMITS: Final = (
    "The coordinator is the real one. Clients and disk are models: their reaction times are drawn from those recorded, "
    "what happened to members is what the events tell, and silences and slow polls that had no effect when recorded "
    "are not known. Compare rows with each other rather than with other measurements."
)


class Cell(NamedTuple):
    """The figures of one run: the position of its settings, and its seed."""

    alternative: int
    seed: int
    figures: RunFigures


class AlternativeFigures(NamedTuple):
    """The figures of one alternative over all seeds, lost time in partition-seconds."""

    name: str
    rebalances: Spread
    lost_s: Spread
    moved: Spread


def run_alternative(recording: Recording, settings: Settings, number: int, seeds: Iterable[int]) -> Iterator[Cell]:
    """Play a recording with some settings, once for each seed. Raises SettingError, PlayError."""
    group = settings.applied(recording.group)
    was_enabled = gc.isenabled()
    gc.disable()
    gc.freeze()  # what is there already is not looked through
    try:
        for count, seed in enumerate(seeds):
            if count % COLLECTED_EVERY == COLLECTED_EVERY - 1:
                gc.collect()
            yield Cell(number, seed, of_run(play(group, recording.stimuli, seed), recording.since_ms))
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def outcomes(alternatives: Sequence[Settings], cells: Iterable[Cell]) -> list[AlternativeFigures]:
    """Return a row for each alternative. Cells of several groups with one seed are one run of all of them."""
    sums: Mapping[int, dict[int, RunFigures]] = {number: {} for number in range(len(alternatives))}
    for number, seed, figures in cells:
        of_seed = sums[number]
        of_seed[seed] = of_seed.get(seed, RunFigures()) + figures
    found = []
    for number, settings in enumerate(alternatives):
        runs = list(sums[number].values())
        if runs:
            name = "replayed" if settings.name == RECORDED else settings.name
            found.append(
                AlternativeFigures(
                    name,
                    Spread.of([run.rebalances for run in runs]),
                    Spread.of([run.lost_partition_ms / 1_000 for run in runs]),
                    Spread.of([run.moved for run in runs]),
                )
            )
    return found
