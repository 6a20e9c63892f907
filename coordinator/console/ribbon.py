"""The ownership ribbon: who owned which partition when, from the changes of what each member owns.

A change replaces all that its member owned. A partition that two members claim belongs to the one that took it last,
until that one gives it up. Spans cover the whole range of a ribbon: UNOWNED between two owners, and before the
first change too, where `known_from_ms` tells what was known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import nsmallest
from typing import Final

from coordinator.console.model import UNOWNED, Ribbon, RibbonMember, RibbonRow, Seam
from coordinator.core.events.ownership_log import OwnerChange

MOST_ROWS: Final = 500  # partitions of one ribbon
MOST_SPANS: Final = 40_000  # over all rows; the oldest are left out beyond it

TopicPartition = tuple[str, int]
Span = tuple[int, int, int]


def ribbon(
    changes: Iterable[OwnerChange],
    members: Mapping[str, RibbonMember],
    seams: list[Seam],
    *,
    from_ms: int,
    until_ms: int,
    known_from_ms: int,
) -> Ribbon:
    """Return the ribbon of `from_ms` to `until_ms`. A member that `members` does not have is named by its key."""
    taken = _owners(changes)
    shown = nsmallest(MOST_ROWS, taken)
    rows: dict[TopicPartition, list[tuple[int, int, str | None]]] = {}
    for place in shown:
        rows[place] = list(_spans(taken[place], from_ms, until_ms))
    if (count := sum(map(len, rows.values()))) > MOST_SPANS:
        from_ms = _later_start(rows.values(), count)
        known_from_ms = max(known_from_ms, from_ms)
        rows = {place: [span for span in spans if span[1] > from_ms] for place, spans in rows.items()}
    positions: dict[str, int] = {}
    named: list[RibbonMember] = []
    for spans in rows.values():
        for _, _, key in spans:
            if key is not None and key not in positions:
                positions[key] = len(named)
                named.append(members.get(key) or RibbonMember(key=key, name=key))
    return Ribbon(
        from_ms=from_ms,
        until_ms=until_ms,
        known_from_ms=max(known_from_ms, from_ms),
        members=named,
        rows=[
            RibbonRow(
                topic=topic,
                partition=partition,
                spans=[
                    (max(start, from_ms), end, UNOWNED if key is None else positions[key]) for start, end, key in spans
                ],
            )
            for (topic, partition), spans in rows.items()
        ],
        seams=[seam for seam in seams if seam.ended_ms >= from_ms and seam.at_ms <= until_ms],
        rows_left_out=len(taken) - len(shown),
    )


def _owners(changes: Iterable[OwnerChange]) -> dict[TopicPartition, list[tuple[int, str | None]]]:
    """Return for each partition its owners, each with the moment from which on it has it; None: it has no owner."""
    owned: dict[str, set[TopicPartition]] = {}
    owner: dict[TopicPartition, str] = {}
    taken: dict[TopicPartition, list[tuple[int, str | None]]] = {}
    for at_ms, key, partitions in sorted(changes, key=lambda change: change.at_ms):
        now = {(topic, partition) for topic, numbers in partitions.items() for partition in numbers}
        for place in owned.get(key, set()) - now:
            if owner.get(place) == key:
                del owner[place]
                _note(taken[place], at_ms, None)
        for place in now:
            if owner.get(place) != key:
                owner[place] = key
                _note(taken.setdefault(place, []), at_ms, key)
        owned[key] = now
    return taken


def _note(owners: list[tuple[int, str | None]], at_ms: int, key: str | None) -> None:
    """Note an owner. One that had the partition for no time at all is left out."""
    while owners and owners[-1][0] >= at_ms:
        owners.pop()
    if (owners[-1][1] if owners else None) != key:
        owners.append((at_ms, key))


def _spans(owners: list[tuple[int, str | None]], from_ms: int, until_ms: int) -> Iterator[tuple[int, int, str | None]]:
    """Yield the spans of one partition within the range, without gaps."""
    start, key = from_ms, None
    for at_ms, following in owners:
        if at_ms >= until_ms:
            break
        if at_ms > start:
            yield start, at_ms, key
            start = at_ms
        key = following
    if start < until_ms:
        yield start, until_ms, key


def _later_start(rows: Iterable[list[tuple[int, int, str | None]]], count: int) -> int:
    """Return the moment from which on MOST_SPANS spans are left."""
    ends = sorted(end for spans in rows for _, end, _ in spans)
    return ends[count - MOST_SPANS - 1]
