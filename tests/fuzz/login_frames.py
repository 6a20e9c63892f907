"""Frames of strangers to connections that must log in: made up, changed, half valid, cut and pipelined.

The connections are real ones, without sockets (`login_world`). Afterwards a smaller number of frames goes to a daemon,
over TLS and without (`login_sockets`).

    python -m tests.fuzz.login_frames --seed 1 --frames 1000000
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Final

from coordinator.server.connection import Connection
from tests.fuzz import login_sockets
from tests.fuzz.login_world import World
from tests.fuzz.strangers import Stranger

AT_ONCE: Final = (1, 2, 8)
WARM_UP: Final = 10  # one in so many frames comes before the first look at the memory
LOOK_EVERY: Final = 50_000  # frames, after which no connection may be in the memory
MOST_GROWTH_KB: Final = 16_000
TO_SOCKETS: Final = 50  # one in so many frames is sent to a daemon, in addition


def run(world: World, seed: int, frames: int) -> tuple[int, int]:
    """Send frames; return the memory in kB, warm and at the end. AssertionError names the round that broke a rule."""
    sent = rounds = looked_at = warm_kb = 0
    earlier = connections()  # that other tests of this process keep
    while sent < frames:
        chance = Random(f"{seed}/{rounds}")
        strangers = [Stranger(chance) for _ in range(chance.choice(AT_ONCE))]
        try:
            world.meet(strangers, chance)
        except Exception as error:
            raise AssertionError(f"seed {seed} round {rounds}: {error}") from error
        rounds += 1
        sent += sum(each.sent for each in strangers)
        if not warm_kb and sent > frames // WARM_UP:
            warm_kb = look(earlier)
            world.slowest_s = 0.0  # what is used for the first time is loaded by now
        elif sent - looked_at > LOOK_EVERY:
            looked_at = sent
            look(earlier)
    end_kb = look(earlier)
    assert end_kb - warm_kb < MOST_GROWTH_KB, f"the memory has grown from {warm_kb} to {end_kb} kB"
    return warm_kb, end_kb


def connections() -> list[Connection]:
    """Return all connections in the memory of this process."""
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, Connection)]


def look(earlier: list[Connection]) -> int:
    """Return the memory in kB. No connection may be in it but those from before."""
    known = set(map(id, earlier))
    left = [each for each in connections() if id(each) not in known]
    assert not left, f"connections are left in memory: {left[:3]}"
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 1024


def main() -> int:
    parser = argparse.ArgumentParser(description="Frames of strangers to connections that must log in.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--frames", type=int, default=1_000_000)
    given = parser.parse_args()
    begun = time.monotonic()
    with World() as world:
        warm_kb, end_kb = run(world, given.seed, given.frames)
    print(f"{'frames':>9} {'of':>8} the end of their connection")
    for outcome, frames in world.outcomes.most_common():
        print(f"{frames:>9,} {world.connections[outcome]:>8,} {outcome}")
    print(
        f"{world.outcomes.total():,} frames on {world.connections.total():,} connections in "
        f"{time.monotonic() - begun:.0f} s: {world.logins.succeeded:,} logins, {world.logins.failed:,} refused, "
        f"{world.served:,} requests behind a login; memory {warm_kb:,} kB, then {end_kb:,} kB; the slowest read "
        f"{world.slowest_s * 1000:.0f} ms {world.slowest!r}"
    )
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        figures = login_sockets.run(Path(directory), given.seed, given.frames // TO_SOCKETS)
    print(
        f"{figures.frames.total():,} frames to a daemon in {time.monotonic() - begun:.0f} s: {dict(figures.frames)}; "
        f"{figures.heartbeats} heartbeats; open files {figures.files}; memory {figures.memory_kb} kB; "
        f"{figures.lines} lines in its log"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
