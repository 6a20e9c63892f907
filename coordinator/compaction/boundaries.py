"""Transactions that cross the boundaries of segments, and the last batch of each producer.

`rules.Survey` needs every batch of a producer, in log order. Where each segment is read by another task, that would
bring a log full of transactions to one place. Most transactions begin and end within one segment and matter to no
other: `digest` leaves those out. For each producer it keeps a few batches (the first open ones, the first and the last
marker, the last data), from which a Survey of the whole partition learns the same about everything that crosses a
boundary. `judged` joins what a segment knows of itself with what the Survey of the digests says of its edges.

Invariant: for every batch of a segment, `judged(...)` has the fate that a Survey of the whole log would give it. The
one exception is detected (`is_exact`): a producer whose epoch goes back, which no Kafka writes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from coordinator.compaction.rules import Fate, Round, Survey
from protocol.record_batch import BatchHeader, ControlType

_DECISIVE: Final = (ControlType.ABORT, ControlType.COMMIT)
_OWN: Final = Fate.ABORTED | Fate.UNDECIDED | Fate.DONE  # what a segment can know; last batches it cannot


class SurveyedBatch(NamedTuple):
    """A batch that a Survey needs. `marker` is the type of a control batch's first record; None if it has none."""

    header: BatchHeader
    marker: ControlType | None

    @property
    def is_decisive(self) -> bool:
        return self.marker in _DECISIVE


def surveyed(events: Iterable[SurveyedBatch]) -> Survey:
    """Return a Survey of these batches, added in this order."""
    survey = Survey()
    for event in events:
        survey.add(event.header, event.marker)
    return survey


def digest(events: Sequence[SurveyedBatch]) -> list[SurveyedBatch]:
    """Return the events of a segment that a Survey of the whole partition needs, in their order."""
    keep: set[int] = set()
    for numbers in _by_producer(events).values():
        keep.update(_needed(events, numbers))
    return [event for number, event in enumerate(events) if number in keep]


def _by_producer(events: Sequence[SurveyedBatch]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, event in enumerate(events):
        found.setdefault(event.header.producer_id, []).append(number)
    return found


def _needed(events: Sequence[SurveyedBatch], numbers: list[int]) -> Iterable[int]:
    """Return one producer's events without the transactions that begin and end within the segment."""
    epochs = [events[number].header.producer_epoch for number in numbers]
    if epochs != sorted(epochs) or any(events[number].marker is ControlType.UNKNOWN for number in numbers):
        return numbers  # too rare to save anything
    data = [number for number in numbers if not events[number].header.is_control]
    epochs_with_data = {events[number].header.producer_epoch for number in data}
    ends = [number for number in numbers if events[number].is_decisive]
    keep: set[int] = {data[-1]} if data else set()
    if ends:
        keep |= {ends[0], ends[-1]}
    # Markers alone tell of an epoch that wrote nothing here.
    keep |= {
        number
        for number in numbers
        if events[number].header.is_control and events[number].header.producer_epoch not in epochs_with_data
    }
    # A marker that is kept must find a batch of its transaction, if there was one; so must the next segment.
    first: int | None = None
    for number in numbers:
        event = events[number]
        if event.is_decisive:
            if first is not None and number in keep:
                keep.add(first)
            first = None
        elif first is None and event.header.is_transactional and not event.header.is_control:
            first = number
    if first is not None:
        keep.add(first)
    return keep


def is_exact(events: Iterable[SurveyedBatch]) -> bool:
    """Return whether concatenated digests give the fates that all events would give: no producer's epoch goes back."""
    epochs: dict[int, int] = {}
    for event in events:
        header = event.header
        if epochs.get(header.producer_id, header.producer_epoch) > header.producer_epoch:
            return False
        epochs[header.producer_id] = header.producer_epoch
    return True


def judged(events: Sequence[SurveyedBatch], shared: Round) -> Round:
    """Return the Round of one segment, from all of its own events and the Round of all segments' digests (`shared`)."""
    own = surveyed(events).round(
        now_ms=shared.now_ms, delete_retention_ms=shared.delete_retention_ms, clean_up_to=shared.clean_up_to
    )
    first_markers: dict[int, int] = {}
    first_open: dict[int, int] = {}
    producers: dict[int, int] = {}
    for header, marker in events:
        producers[header.base_offset] = header.producer_id
        if marker in _DECISIVE:
            first_markers.setdefault(header.producer_id, header.base_offset)
        elif Fate.UNDECIDED in own.fates.get(header.base_offset, Fate(0)):
            first_open.setdefault(header.producer_id, header.base_offset)
    at_the_edge = set(first_markers.values())
    fates: dict[int, Fate] = {}
    for base_offset, fate in own.fates.items():
        fate &= _OWN
        if Fate.UNDECIDED in fate:
            first = first_open[producers[base_offset]]
            fate = shared.fates.get(first, Fate(0)) & (Fate.ABORTED | Fate.UNDECIDED)
        elif base_offset in at_the_edge:
            fate = shared.fates.get(base_offset, Fate(0)) & Fate.DONE
        fates[base_offset] = fate
    for base_offset, fate in shared.fates.items():
        if Fate.LAST_OF_PRODUCER in fate:
            fates[base_offset] = fates.get(base_offset, Fate(0)) | Fate.LAST_OF_PRODUCER
    return replace(shared, fates={base_offset: fate for base_offset, fate in fates.items() if fate})


def divided(shared: Round, base_offsets: Sequence[int]) -> list[Round]:
    """Return a Round for each segment, with the fates of its batches only. `base_offsets` has all segments."""
    edges = sorted(shared.fates)
    rounds = []
    nothing = replace(shared, fates={})
    for number, base_offset in enumerate(base_offsets):
        low = bisect_left(edges, base_offset)
        high = bisect_left(edges, base_offsets[number + 1]) if number + 1 < len(base_offsets) else len(edges)
        fates = {base: shared.fates[base] for base in edges[low:high]}
        rounds.append(replace(shared, fates=fates) if fates else nothing)
    return rounds


def open_at_end(events: Sequence[SurveyedBatch]) -> dict[int, list[int]]:
    """Return, by producer, the base offsets of the batches whose transaction has no marker in this segment."""
    found: dict[int, list[int]] = {}
    for header, marker in events:
        if marker in _DECISIVE:
            found.pop(header.producer_id, None)
        elif header.is_transactional and not header.is_control:
            found.setdefault(header.producer_id, []).append(header.base_offset)
    return found
