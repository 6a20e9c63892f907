"""Records of KIP-848 groups in a replay: which of them count.

The state of such a group is the newest value of each of its keys, so replay keeps these as bytes, by key. Two things
are decided at the end. A tombstone of the group itself ends all its older records. Of a classic group and a KIP-848
group of one name the one with the newer record exists. No log that Kafka or this coordinator has written needs either
rule: a group that is deleted or converted first gets a tombstone for each of its keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.offsets.raw_records import raw_name, raw_text, text_of
from protocol.errors import DecodeError
from protocol.group_records import RecordKind, decode_record_key

if TYPE_CHECKING:
    from coordinator.core.offsets.raw_records import RawRecord
    from coordinator.core.offsets.replay import ReplayedGroup

_DELETION_ORDER: Final = {
    kind.to_bytes(2, "big"): rank
    for rank, kind in enumerate(
        (
            RecordKind.CONSUMER_CURRENT,
            RecordKind.CONSUMER_TARGET,
            RecordKind.CONSUMER_TARGET_EPOCH,
            RecordKind.CONSUMER_MEMBER,
            RecordKind.CONSUMER_REGEX,
            RecordKind.CONSUMER_TOPICS,
            RecordKind.CONSUMER_GROUP,
        )
    )
}


class IgnoredRecords(NamedTuple):
    """Records of a group that are in the log and not used."""

    group_id: str
    log_offset: int  # of the newest of them
    reason: str  # a clause of a sentence


def is_sound(key: bytes) -> bool:
    """Return whether the key of a KIP-848 record names a group, and a member or regular expression if it has to."""
    try:
        return decode_record_key(key) is not None
    except DecodeError:
        return False


def in_deletion_order(keys: Iterable[bytes]) -> list[bytes]:
    """Sort the keys of one group in the order in which their tombstones are to be written."""
    return sorted(keys, key=lambda key: (_DELETION_ORDER[key[:2]], key))


def without_ended(consumer: Mapping[bytes, RawRecord], ended: Mapping[bytes, int]) -> dict[bytes, RawRecord]:
    """Return the records without those that are older than the tombstone of their group.

    `ended` is the log offset of that tombstone by raw name.
    """
    if not ended:
        return dict(consumer)
    return {key: raw for key, raw in consumer.items() if raw[1] > ended.get(raw_name(key), -1)}


def newest_of_each_group(consumer: Mapping[bytes, RawRecord]) -> dict[bytes, int]:
    """Return the log offset of the newest record of each group by raw name."""
    newest: dict[bytes, int] = {}
    for key, (_, log_offset) in consumer.items():
        name = raw_name(key)
        newest[name] = max(log_offset, newest.get(name, -1))
    return newest


def ended_records(consumer: Mapping[bytes, RawRecord], ended: Mapping[bytes, int]) -> list[IgnoredRecords]:
    """Return a report of the records that `without_ended` leaves out."""
    left = {key: raw for key, raw in consumer.items() if raw[1] < ended.get(raw_name(key), -1)} if ended else {}
    return [
        IgnoredRecords(
            text_of(name), log_offset, f"the group was deleted at log offset {ended[name]}, but this record was not"
        )
        for name, log_offset in newest_of_each_group(left).items()
    ]


class Divided(NamedTuple):
    """Groups as `divide` returns them."""

    classic: list[ReplayedGroup]
    apart: list[ReplayedGroup]  # what is known of KIP-848 groups besides their records: they have offsets
    beaten: set[bytes]  # raw names of KIP-848 groups that newer classic groups replace
    ignored: list[IgnoredRecords]


def divide(found: Iterable[ReplayedGroup], consumer: Mapping[bytes, RawRecord]) -> Divided:
    """Tell the classic groups in `found` from those that have records of KIP-848 groups. The newer record decides."""
    newest = newest_of_each_group(consumer)
    divided = Divided([], [], set(), [])
    for group in found:
        name = raw_text(group.group_id)
        log_offset = newest.get(name, -1)
        if log_offset < 0:
            divided.classic.append(group)
            continue
        is_classic = group.value is not None and group.record_offset > log_offset
        (divided.classic if is_classic else divided.apart).append(group)
        if is_classic:
            divided.beaten.add(name)
        if group.value is not None:
            older, newer = sorted((log_offset, group.record_offset))
            reason = f"a group of the other protocol has the same name, and the newer record at log offset {newer}"
            divided.ignored.append(IgnoredRecords(group.group_id, older, reason))
    return divided
