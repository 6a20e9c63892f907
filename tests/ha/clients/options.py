"""The command line of all clients, the names of their groups, and the values that they commit."""

from __future__ import annotations

import argparse
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PARTITIONS = 2  # of each group that has no members
WRITERS = 16  # at most so many programs may commit to one key


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a client program."""

    bootstrap: str
    groups: int
    seconds: float
    history: Path
    seed: int
    topic: str | None  # its members subscribe to it; None: no members
    partitions: int  # of the topic
    number: int  # different for each program
    watch: tuple[str, ...]  # groups of other programs, whose offsets it fetches

    @property
    def addresses(self) -> list[tuple[str, int]]:
        pairs = (address.rpartition(":") for address in self.bootstrap.split(","))
        return [(host, int(port)) for host, _, port in pairs]


def parse(arguments: list[str] | None = None) -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True, help="host:port,host:port")
    parser.add_argument("--groups", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--topic", help="name:partitions; half of the groups then have members that subscribe to it")
    parser.add_argument("--number", type=int, default=0, choices=range(WRITERS))
    parser.add_argument("--watch", default="", help="group,group")
    given = parser.parse_args(arguments)
    topic, _, partitions = given.topic.partition(":") if given.topic else (None, "", "0")
    return Options(
        bootstrap=given.bootstrap,
        groups=given.groups,
        seconds=given.seconds,
        history=given.history,
        seed=given.seed,
        topic=topic,
        partitions=int(partitions or 1),
        number=given.number,
        watch=tuple(filter(None, given.watch.split(","))),
    )


def standalone_groups(library: str, options: Options) -> list[str]:
    """Groups without members: all, or every other one if there is a topic to subscribe to."""
    count = options.groups if options.topic is None else options.groups - options.groups // 2
    return [f"{library}-alone-{number}" for number in range(count)]


def member_groups(library: str, options: Options) -> list[str]:
    return [
        f"{library}-members-{number}" for number in range(options.groups - len(standalone_groups(library, options)))
    ]


class Values:
    """Values that rise, and that no other program commits, also when this one was started again."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> int:
        with self._lock:
            self._last = max(self._last + 1, time.monotonic_ns() // 1000)
            return self._last * WRITERS + self._number
