"""Damage one file of a data directory, start the real server on it, and judge what came of it.

A start may keep everything, or lose what the damaged bytes held and say so in its log, or refuse with a sentence that
says what to do. It must not end with another error, hang, log a traceback, or serve an offset that was never
committed. Files that only save time (indexes, snapshots, checkpoints) must make no difference at all.

    python -m tests.fuzz.start_files --seed 7 --cases 1000
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from coordinator.core.topics.catalogue import CatalogueError, parse_document
from coordinator.server.server import StartupError
from coordinator.storage.log.checkpoint import Checkpoint
from coordinator.storage.log.fs import read_whole
from coordinator.testing.host import ServerHost
from protocol.record_batch import iter_batches
from tests.fuzz import edits
from tests.fuzz.start_world import START_S, TOPIC, Committed, Life, World, committed, files_of, put, records, worlds


def damaged(content: bytes, earlier: bytes | None, chance: Random) -> tuple[str, bytes | None]:
    """Return a name and the new content; None: the file is removed."""
    kind = chance.choice(
        ("edit", "edit", "edit", "flip", "flip", "tail", "half", "empty", "removed", "earlier", "zeros")
    )
    if kind == "earlier" and earlier is not None and earlier != content:
        return kind, earlier
    if kind == "removed":
        return kind, None
    if kind == "empty":
        return kind, b""
    if kind == "tail":
        return kind, content[: -chance.randint(1, max(len(content) // 3, 1))]
    if kind == "half":
        return kind, content[: chance.randrange(len(content) + 1)]
    if kind == "zeros":
        start = chance.randrange(len(content) + 1)
        return kind, content[:start] + bytes(len(content) - start)
    return kind, edits.edited(content, chance, (edits.flip,) if kind == "flip" else edits.EDITS)


# -- the judgement ---------------------------------------------------------------------------------------------------

# Files that only save time. What is not listed is authoritative, and may cost what it held.
HINTS: Final = re.compile(
    r"live-state|.*\.(index|timeindex)|cleaner-offset-checkpoint|topic-producers\.json|topic\.id"
    r"|plan\.json|DONE|REFUSED|manifest\.json"
)
# Texts without a checksum: another text that is valid as well cannot be told from the one that was written.
PLAIN_TEXTS: Final = frozenset({"meta.properties", "topics.json", "producer-ids.json"})
ADVICE: Final = re.compile("restore|remove|write|choose|copy|set |start the version|make room|bring")


class Listener(logging.Handler):
    """Keeps the warnings and errors of a run."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []
        self.tracebacks: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info and not record.getMessage().startswith("loading failed"):
            self.tracebacks.append(self.format(record))


@contextmanager
def listening() -> Iterator[Listener]:
    listener, logger = Listener(), logging.getLogger("coordinator")
    logger.addHandler(listener)
    propagates, logger.propagate = logger.propagate, False
    try:
        yield listener
    finally:
        logger.removeHandler(listener)
        logger.propagate = propagates


class WrongError(Exception):
    """A start did what it must not."""


async def case(world: World, path: Path, content: bytes | None, *, twice: bool = False) -> str:
    """Start on the directory with this content of one file; return the outcome in a word. WrongError: not allowed.

    `twice`: a second start must find what the first one found.
    """
    fs = world.fs.copy()
    put(fs, path, content)
    with listening() as listener:
        try:
            async with Life(fs) as host:
                outcome = await _judge(world, path, content, host, listener)
                found = await committed(host), records(host, [])
            if twice:
                async with Life(fs) as host:
                    again = await committed(host), records(host, [])
                if again != found:
                    raise WrongError("a second start found something else than the first one")
        except StartupError as error:
            sentence = str(error)
            if "\n" in sentence or len(sentence) < 20 or not ADVICE.search(sentence):
                raise WrongError(f"it refused without advice: {sentence}") from None
            if HINTS.fullmatch(path.name) and "swap.json" not in sentence:
                raise WrongError(f"it refused because of a file that only saves time: {sentence}") from None
            outcome = "refused"
        except TimeoutError:
            raise WrongError(f"it did not start or stop in {START_S:g} s") from None
    if listener.tracebacks:
        raise WrongError(f"it logged a traceback: {listener.tracebacks[0]}")
    return outcome


async def _judge(world: World, path: Path, content: bytes | None, host: ServerHost, listener: Listener) -> str:
    unreadable: list[str] = []
    found, stored = await committed(host), records(host, unreadable)
    for group, offsets in found.items():
        for (topic, index), offset in offsets.items():
            if offset not in world.ever.get((group, topic, index), ()):
                raise WrongError(f"{group} has offset {offset} of {topic}-{index}, which was never committed")
    for index, batches in stored.items():
        if batches != world.records.get(index, [])[: len(batches)] and not path.suffix == ".log":
            raise WrongError(f"{TOPIC}-{index} has other records")
    if found == world.committed and stored == world.records:
        return "kept"
    if HINTS.fullmatch(path.name):
        raise WrongError(f"a file that only saves time made a difference: {found} is not {world.committed}")
    if path.name in PLAIN_TEXTS and content is not None and is_valid_text(path.name, content):
        return "not noticed"
    if is_shorter_newest_segment(world, path, content):
        return "not noticed"
    if not unreadable and not any(path.name in line or path.parent.name in line for line in listener.lines):
        raise WrongError(
            f"it lost something and logged nothing of it ({listener.lines}): {_difference(found, world.committed)}"
        )
    return "lost, and said so"


def is_valid_text(name: str, content: bytes) -> bool:
    if name != "topics.json":
        return True
    try:
        parse_document(content.decode())
    except (CatalogueError, UnicodeDecodeError):
        return False
    return True


def is_shorter_newest_segment(world: World, path: Path, content: bytes | None) -> bool:
    """Return True if a log's newest segment ends behind one of its batches: as if no more had been written.

    It may be gone as well if the checkpoint does not list it yet. After a clean stop the checkpoint knows its size, so
    that both are noticed.
    """
    whole = read_whole(world.fs, path)
    newest = max(each for each in files_of(world.fs) if each.parent == path.parent and each.suffix == ".log")
    if path != newest:
        return False
    if content is None:
        checkpoint = Checkpoint.read(world.fs, path.parent)
        return checkpoint is None or int(path.stem) not in [each.base_offset for each in checkpoint.segments]
    if not whole.startswith(content):
        return False
    return len(content) in {0, *(position + header.size_bytes for position, header in iter_batches(whole))}


def _difference(found: Committed, due: Committed) -> str:
    return ", ".join(
        f"{group}: {found.get(group)} instead of {due[group]}" for group in due if found.get(group) != due[group]
    )


# -- runs ------------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """The outcomes of many cases, and those that were wrong."""

    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


async def run(seed: int, cases: int, *, stop_at: int = 20) -> Tally:
    """Run cases from a seed. The number of a case and the seed make it again."""
    made = await worlds()
    tally = Tally()
    for number in range(cases):
        chance = Random(f"{seed}/{number}")
        world = chance.choice(made)
        files = files_of(world.fs)
        path = chance.choice(sorted(files))
        kind, content = damaged(files[path], world.earlier.get(path), chance)
        try:
            tally.outcomes[await case(world, path, content, twice=number % 4 == 0)] += 1
        except Exception as error:
            tally.wrong.append(
                f"seed {seed} case {number}: {world.name} {path} {kind}: {type(error).__name__}: {error}"
            )
            if not isinstance(error, WrongError):
                logging.getLogger("tests.fuzz").exception("case %d", number)
            if len(tally.wrong) >= stop_at:
                break
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(description="Damage files and start on them.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=500)
    given = parser.parse_args()
    begun = time.monotonic()
    tally = asyncio.run(run(given.seed, given.cases))
    print(dict(tally.outcomes), f"{time.monotonic() - begun:.1f} s")
    for each in tally.wrong:
        print("WRONG", each)
    return 1 if tally.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
