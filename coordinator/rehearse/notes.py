"""Fills the record of a phase from the notes of the observer and the output of the copies."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from coordinator.rehearse.output import printed_callbacks, refused_settings
from coordinator.rehearse.record import RefusedRequest, WrongCommit
from coordinator.rehearse.repeats import sent_again
from coordinator.torture.input import TOPIC

if TYPE_CHECKING:
    from coordinator.rehearse.observer import RehearsalObserver
    from coordinator.rehearse.record import PhaseRecord
    from coordinator.torture.copies import Copy

SEARCHED_BYTES: Final = 1 << 20  # of the output of a copy, in each phase
MOST_CALLBACKS: Final = 1000


class PhaseNotes:
    """Remembers where a phase began in the notes of the observer."""

    def __init__(self, observer: RehearsalObserver, partitions: int) -> None:
        self._observer = observer
        self._partitions = partitions
        self._read: dict[Copy, int] = {}  # how much of its output was read
        self._unsent: dict[int, int] = {}
        self.unread: set[int] = set()  # partitions that stood still, whose records are sent again for that reason
        self._since_s = time.monotonic()
        self._callbacks = self._late_commits = 0

    def begin(self) -> None:
        """Begin a phase."""
        observer, watch = self._observer, self._observer.watch
        watch.begin()
        watch.read_again.clear()
        observer.refused.clear()
        self._since_s = time.monotonic()
        self._callbacks, self._late_commits = len(observer.owners.callbacks), len(observer.late_commits)

    def end(self, record: PhaseRecord, copies: Iterable[Copy]) -> None:
        """Fill the record of the phase. `copies`: all that were started, those of former phases included."""
        record.took_s = round(time.monotonic() - self._since_s, 3)
        self._note_partitions(record)
        self._note_requests(record)
        for copy in copies:
            output, self._read[copy] = copy.printed(self._read.get(copy, 0), SEARCHED_BYTES)
            if found := list(refused_settings(output)):
                record.refused_settings[copy.client_id] = found
            if named := printed_callbacks(output):
                record.printed_callbacks.setdefault(copy.client_id, []).extend(named)

    def _note_partitions(self, record: PhaseRecord) -> None:
        owners, watch, now_s = self._observer.owners, self._observer.watch, time.monotonic()
        for number in range(self._partitions):
            record.without_owner_s[number] = round(owners.longest_gap_s(number, self._since_s, now_s), 3)
            commits = [each for each in watch.commits if each.partition == (TOPIC, number)]
            times = [self._since_s, *(each.at_s for each in commits if each.offset > each.before), now_s]
            record.standstill_s[number] = round(max(after - before for before, after in pairwise(times)), 3)
            if number not in self.unread:
                count = sent_again(watch.sent[TOPIC, number], owners.releases, self._since_s)
                record.sent_again.update({number: count} if count else {})
        record.callbacks = [
            each._replace(at_s=round(each.at_s - self._since_s, 3), took_s=round(each.took_s, 3))
            for each in owners.callbacks[self._callbacks :][:MOST_CALLBACKS]
        ]

    def _note_requests(self, record: PhaseRecord) -> None:
        observer, watch = self._observer, self._observer.watch
        record.assignors = list(observer.assignors)
        observer.assignors.clear()
        record.refused = [RefusedRequest(*key, count) for key, count in sorted(observer.refused.items())]
        record.late_commits = observer.late_commits[self._late_commits :]
        record.went_back = [
            WrongCommit(each.client, each.partition[1], each.offset, each.before)
            for each in watch.commits
            if each.offset < each.before
        ]
        record.read_again = [
            WrongCommit(client, partition[1], offset, watch.floor[partition])
            for client, partition, offset in watch.read_again
        ]
        unsent = {number: len(offsets) for (_, number), offsets in watch.unsent(watch.committed).items()}
        record.unsent = {number: new for number in unsent if (new := unsent[number] - self._unsent.get(number, 0)) > 0}
        self._unsent = unsent
