"""Plans and manifests of compactions, and the intent of a swap: a value that is written as it was read, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Final

from coordinator.compaction.plan import (
    CompactionStats,
    InputSegment,
    Manifest,
    OutputSegment,
    PartitionPlan,
    PartitionResult,
    Plan,
    PlanError,
)
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.swap import Add, Intent
from tests.fuzz.edits import edited
from tests.fuzz.texts import other_json

SHA: Final = "ab" * 32
FIRST, SECOND = "00000000000000000000.log", "00000000000000000040.log"


def check(data: bytes) -> None:
    for kind in (Plan, Manifest):
        try:
            found = kind.from_bytes(data)
        except PlanError as error:
            assert str(error)
        else:
            assert kind.from_bytes(found.to_bytes()) == found
    try:
        intent = Intent.from_bytes(data, Path("swap.json"))
    except CorruptLogError as error:
        assert error.reason
    else:
        assert Intent.from_bytes(intent.to_bytes(), Path("swap.json")) == intent
        assert all("/" not in name for name in (*intent.removes, *(add.name for add in intent.adds)))
        assert all("/" not in add.staged for add in intent.adds)


def seeds() -> list[bytes]:
    inputs = (InputSegment(FIRST, 900, SHA, 0, 40), InputSegment(SECOND, 700, SHA, 40, 70))
    plan = Plan("p1", "e1", 1_000, 2_000, 1_000, 86_400_000, 1 << 20, (PartitionPlan(0, 70, inputs),))
    output = OutputSegment(FIRST, f"0/{FIRST}.1", 300, SHA, 10, 2, 3, 70, 1_000)
    result = PartitionResult(0, inputs, (output,), CompactionStats(900, 300))
    manifest = Manifest("p1", "e1", SHA, "1", "single", (result,), {"read": 0.5})
    adds = (Add(FIRST, FIRST + ".cleaned", 300, SHA), Add(FIRST[:-4] + ".index", FIRST[:-4] + ".index.cleaned", 8, SHA))
    return [plan.to_bytes(), manifest.to_bytes(), Intent("p1", 70, adds, (SECOND,)).to_bytes(), b"[" * 1_500]


def mutate(data: bytes, chance: Random) -> bytes:
    kind = chance.random()
    if kind < 0.2 or not data:
        data = chance.choice(SEEDS)
    if kind < 0.7:
        return other_json(data, chance)
    return edited(data, chance)


SEEDS: Final = [json.dumps(json.loads(each)).encode() for each in seeds()[:3]]
