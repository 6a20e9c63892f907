"""Promises to clients: commits that were sent, commits that were acknowledged, and members that keep committing.

An acknowledged commit must be there after any fault of the daemon, and no offset may be there that was never sent.
Offsets only rise, so a later commit of the same partition is as good as the acknowledged one.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.clients.members import ClientMember, TopicPartition

LOCK = threading.Lock()


@dataclass
class Promises:
    """Offsets sent and offsets acknowledged, by partition."""

    sent: dict[TopicPartition, int] = field(default_factory=dict)
    acknowledged: dict[TopicPartition, int] = field(default_factory=dict)
    count: int = 0  # acknowledged commits
    rising: Iterator[int] = field(default_factory=lambda: itertools.count(1))  # one for all: partitions change hands

    def send(self, offsets: dict[TopicPartition, int]) -> None:
        _raise_to(self.sent, offsets)

    def acknowledge(self, offsets: dict[TopicPartition, int]) -> None:
        self.count += 1
        _raise_to(self.acknowledged, offsets)

    def check(self, found: dict[TopicPartition, int], acknowledged_before: dict[TopicPartition, int]) -> None:
        """`acknowledged_before` was taken before `found` was asked for, `sent` is read after."""
        for partition, offset in acknowledged_before.items():
            assert found.get(partition, -1) >= offset, f"{partition}: {offset} was acknowledged, {found} is there"
        for partition, offset in found.items():
            assert offset <= self.sent[partition], f"{partition}: {offset} was never sent"


def _raise_to(known: dict[TopicPartition, int], offsets: dict[TopicPartition, int]) -> None:
    """A slow thread that owned a partition before must not take back what its next owner noted."""
    with LOCK:
        for partition, offset in offsets.items():
            known[partition] = max(offset, known.get(partition, 0))


class Committer:
    """Commits rising offsets through one client member until told to stop, whatever happens to the daemon."""

    def __init__(self, member: ClientMember, promises: Promises) -> None:
        self.member = member
        self.count = 0  # acknowledged commits
        self._promises = promises
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Committer:
        self._thread.start()
        return self

    def __exit__(self, *failure: object) -> None:
        self._stopping.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        while not self._stopping.is_set():
            owned = self.member.assignment()
            if not owned:
                time.sleep(0.01)  # between two assignments: nothing to commit
                continue
            offsets = dict.fromkeys(owned, next(self._promises.rising))
            self._promises.send(offsets)
            try:
                self.member.commit(offsets)
            except Exception:
                continue  # not acknowledged: no promise
            self._promises.acknowledge(offsets)
            self.count += 1
