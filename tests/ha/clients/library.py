"""A library's consumers at work: each group has a thread that commits and fetches through the library's own calls.

A library tries again by itself, so a commit may reach coordinators several times. An error counts as a refusal only if
it came before the library could have tried twice; everything else leaves the outcome open.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.clients.members import LIBRARIES, ClientMember, MemberOptions, TopicPartition
from tests.ha.clients.options import PARTITIONS, Options, Values, member_groups, standalone_groups
from tests.ha.history import COMMIT, FETCH, JOIN, Generation, History, Key, Process

PAUSE_S = 0.05
MEMBERS = 2  # of each group that has members
BACKOFF_MS = 500
END_S = 10.0  # for a client to end what it has begun; the rest counts as killed
UNKNOWN_TOPIC = "not-kept-here"  # offsets may be committed for any topic


@dataclass(frozen=True)
class Library:
    """A library, its settings in its own words, and the errors by which it says that a commit was refused."""

    name: str
    settings: Mapping[str, Any]
    is_refusal: Callable[[BaseException], bool]


class Working:
    """One consumer and the thread that uses it."""

    def __init__(
        self, library: Library, options: Options, process: Process, values: Values, group: str, random: Random
    ) -> None:
        self._library = library
        self._options = options
        self._process = process
        self._values = values
        self._group = group
        self._random = random
        self._joins_noted = 0
        self.is_member = group in member_groups(library.name, options)
        self._alone = [(options.topic or UNKNOWN_TOPIC, partition) for partition in range(PARTITIONS)]

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            member = LIBRARIES[self._library.name](self._member_options())
            self._joins_noted = 0
            with contextlib.suppress(AssertionError):  # the library's consumer ended: another one is made
                while not stop.wait(PAUSE_S * (0.5 + self._random.random())):
                    self._work(member)
            with contextlib.suppress(Exception):
                member.close()

    def _member_options(self) -> MemberOptions:
        return MemberOptions(
            address=self._options.bootstrap,
            group=self._group,
            topics=(self._options.topic,) if self.is_member and self._options.topic else (),
            assigned=() if self.is_member else tuple(self._alone),
            name=f"{self._group}-{threading.get_ident()}",
            extra=self._library.settings,
        )

    def _work(self, member: ClientMember) -> None:
        owned = sorted(member.assignment())
        self._note_joins(member)
        if not owned or not member.is_open:
            return
        partition = self._random.choice(owned)
        if self._random.random() < 0.6:
            self._commit(member, partition)
        else:
            self._fetch(member, partition)

    def _commit(self, member: ClientMember, partition: TopicPartition) -> None:
        value = self._values.next()
        began = time.monotonic()
        self._process.invoke(COMMIT, Key(self._group, partition[1]), value, may_repeat=True)
        try:
            member.commit({partition: value})
        except Exception as error:
            if time.monotonic() - began < BACKOFF_MS / 1000 * 0.8 and self._library.is_refusal(error):
                self._process.fail(error)
            else:
                self._process.info(error)
        else:
            self._process.ok()

    def _fetch(self, member: ClientMember, partition: TopicPartition) -> None:
        self._process.invoke(FETCH, Key(self._group, partition[1]))
        try:
            found = member.committed(partition)
        except Exception as error:
            self._process.info(error)
        else:
            self._process.ok(found)

    def _note_joins(self, member: ClientMember) -> None:
        """Note the generations that the library told. A join began after what it told before, at the earliest."""
        assigned = [number for number, told in enumerate(member.told) if told.event == "assigned"]
        for number, owned in list(zip(assigned, member.ownerships, strict=False))[self._joins_noted :]:
            self._joins_noted += 1
            if owned.generation >= 0 and self.is_member:
                self._process.invoke(JOIN, Key(self._group, -1), at_ns=member.told[number - 1].at_ns)
                self._process.ok(Generation(owned.generation), at_ns=member.told[number].at_ns)


def run(library: Library, options: Options) -> None:
    """Work for some seconds, or until SIGTERM, and end this process."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    history = History(options.history)
    values = Values(options.number)
    groups = standalone_groups(library.name, options) + MEMBERS * member_groups(library.name, options)
    threads = []
    for number, group in enumerate(groups):
        process = history.process(f"{library.name}-{number}")
        working = Working(library, options, process, values, group, Random(f"{options.seed} {number}"))
        threads.append(threading.Thread(target=working.run, args=(stop,), daemon=True))
        threads[-1].start()
    stop.wait(options.seconds)
    stop.set()
    deadline = time.monotonic() + END_S
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    os._exit(0)  # a library may still wait for an answer
