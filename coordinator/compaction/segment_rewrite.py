"""The second pass over one segment: writes what is left of each batch, given the offsets that survive.

A batch without survivors is not decoded; in a log of commits that is most of them. A batch that loses nothing is copied
together with its neighbours. Otherwise the surviving records are cut out and put behind a new header: their bytes need
not change as long as the base timestamp stays and every varint has its shortest form. All else is decoded and encoded
one record at a time: tombstones and markers that get a delete horizon, records with headers.

`rules` decides what becomes of a batch, and its bytes; this module only groups batches that can be treated alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeAlias

import google_crc32c
import numpy as np
import numpy.typing as npt

from coordinator.columnar.batches import HEADER, Batches, Int64s
from coordinator.columnar.kernel import Records
from coordinator.compaction.plan import InputError
from coordinator.compaction.rules import Fate, Round, empty_batch, encode_record, new_times, rewritten_batch
from coordinator.compaction.segment_scan import STRETCH_BYTES, Mask, records_of, stretches
from protocol.compression import Codec, compress
from protocol.errors import ProtocolError
from protocol.record_batch import HEADER_BYTES, LENGTH_END, MAGIC, BatchHeader, Record, read_header, read_records

Part: TypeAlias = bytes | memoryview

_KEPT_ATTRIBUTES: Final = 0x7F  # those of `rules`, and the horizon: batches that get a new one are written by `rules`
_NO_TIMESTAMP: Final = -1
_NULL: Final = 1  # the varint of -1
_VARINT_STEPS: Final = tuple(np.uint64(1 << bits) for bits in range(7, 64, 7))
_FIELDS: Final = [(name, HEADER[name]) for name in HEADER.names or ()]
_PREFIX: Final = np.dtype(_FIELDS[:5])
_CHECKED: Final = np.dtype(_FIELDS[5:])  # from the attributes on: covered by the checksum


@dataclass(slots=True)
class Rewritten:
    """The survivors of some neighbouring batches: bytes to write one behind the other, and their facts."""

    parts: list[Part]
    batches: int
    records: int
    first_offset: int  # of the first batch that stays
    last_offset: int  # of the last one
    max_timestamp_ms: int


@dataclass(slots=True)
class _Outcome:
    """The outcome of each of some batches; one element per batch."""

    batches: Batches
    verbatim: Mask
    kept: Int64s  # records that stay
    max_timestamp: Int64s
    written: dict[int, list[Part]] = field(default_factory=dict)  # by index: batches neither verbatim nor removed


def rewrite_segment(
    data: bytes, batches: Batches, round_: Round, survivors: Int64s, counts: Counter[str], path: Path
) -> Iterator[Rewritten]:
    """Yield the surviving bytes of a segment, one stretch at a time; nothing for a stretch without survivors.

    `survivors` ascend: the offset of each key's newest record, as far as they lie in this segment. `round_` has the
    fates of its batches. `counts` has the names of `CompactionStats`. InputError: a survivor is not there.
    """
    for stretch in stretches(batches, STRETCH_BYTES):
        low, high = np.searchsorted(survivors, (stretch.base_offset[0], stretch.last_offset[-1] + 1)).tolist()
        outcome = _outcome(data, stretch, round_, survivors[low:high], counts, path)
        counts["batches_before"] += len(stretch)
        counts["records_before"] += int(stretch.count.sum(dtype=np.int64))
        counts["records_after"] += int(outcome.kept.sum())
        rewritten = _assembled(data, outcome)
        if rewritten is not None:
            counts["batches_after"] += rewritten.batches
            yield rewritten


def _outcome(
    data: bytes, batches: Batches, round_: Round, survivors: Int64s, counts: Counter[str], path: Path
) -> _Outcome:
    fates = _fates(batches, round_)
    is_control, undecided, aborted = batches.is_control, fates & Fate.UNDECIDED != 0, fates & Fate.ABORTED != 0
    keeps_empty = (fates & Fate.LAST_OF_PRODUCER != 0) | (batches.last_offset + 1 == round_.clean_up_to)
    done = is_control & (fates & Fate.DONE != 0)
    outcome = _Outcome(
        batches=batches,
        verbatim=undecided | (is_control & ~done & (batches.count > 0)),
        kept=np.where(undecided | is_control, batches.count, 0).astype(np.int64),
        max_timestamp=batches.max_timestamp.copy(),
    )
    for index in np.flatnonzero(done).tolist():
        _end_marker(data, outcome, index, round_, path)
    counts["aborted_dropped"] += int(batches.count[aborted & ~is_control].sum(dtype=np.int64))
    is_marker = is_control & (batches.count > 0)
    counts["markers_kept"] += int((is_marker & (outcome.kept > 0)).sum())
    counts["markers_dropped"] += int((is_marker & (outcome.kept == 0)).sum())

    hits = np.searchsorted(survivors, batches.last_offset, "right") - np.searchsorted(survivors, batches.base_offset)
    looked_at = hits > 0
    if round_.open_keys:  # tombstones behind an undecided record of their key stay, even superseded ones
        looked_at |= batches.last_offset > min(round_.open_keys.values())
    decoded = np.flatnonzero((~is_control & ~aborted & looked_at) | undecided)
    if len(decoded):
        _keep_records(data, outcome, decoded, undecided[decoded], round_, survivors, counts, path)
    elif len(survivors):
        raise InputError(f"{path.name} has no record with offset {survivors[0]}")
    gone = ~outcome.verbatim & (outcome.kept == 0) & keeps_empty
    for index in np.flatnonzero(gone).tolist():
        outcome.written[index] = [empty_batch(read_header(data, int(batches.position[index])))]
    return outcome


def _fates(batches: Batches, round_: Round) -> npt.NDArray[np.int64]:
    fates = np.zeros(len(batches), np.int64)
    if round_.fates:
        bases = np.fromiter(round_.fates, np.int64, len(round_.fates))
        values = np.fromiter(round_.fates.values(), np.int64, len(round_.fates))
        where = np.searchsorted(batches.base_offset, bases)
        where[where == len(batches)] = 0
        here = batches.base_offset[where] == bases
        fates[where[here]] = values[here]
    return fates


def _end_marker(data: bytes, outcome: _Outcome, index: int, round_: Round, path: Path) -> None:
    """Handle a control batch of whose transaction nothing is left: remove it, or set its delete horizon."""
    position = int(outcome.batches.position[index])
    header = read_header(data, position)
    if round_.drops_records(header):
        outcome.kept[index] = 0
    elif header.record_count and round_.new_horizon_ms(header, keeps_tombstone=False) is None:
        outcome.verbatim[index] = True
    elif header.record_count:
        _rebuild(outcome, index, header, _plain_records(data, position, header, path), round_)


def _keep_records(
    data: bytes,
    outcome: _Outcome,
    decoded: Int64s,
    is_verbatim: Mask,
    round_: Round,
    survivors: Int64s,
    counts: Counter[str],
    path: Path,
) -> None:
    """Handle the batches at the indexes `decoded`, in which records survive or which stay as they are."""
    batches = outcome.batches[decoded]
    records = records_of(data, batches, path)
    where = np.searchsorted(records.offset, survivors)
    if (where == len(records)).any() or (records.offset[where] != survivors).any():
        raise InputError(f"{path.name} has no record for one of the offsets that survive in it; make a new plan")
    keeps = np.zeros(len(records), np.bool_)
    keeps[where] = True
    is_tombstone = records.value_len < 0
    due = keeps & is_tombstone
    due &= (batches.has_delete_horizon & (batches.base_timestamp <= round_.now_ms))[records.batch]
    if round_.open_keys:
        stays = _behind_open_keys(records, is_tombstone & ~is_verbatim[records.batch], round_)
        keeps |= stays
        due &= ~stays
    counts["tombstones_dropped"] += int(due.sum())
    keeps &= ~due
    kept = np.bincount(records.batch[keeps], minlength=len(batches))
    tombstones = np.bincount(records.batch[keeps & is_tombstone], minlength=len(batches))
    all_tombstones = np.bincount(records.batch[is_tombstone], minlength=len(batches))
    counts["tombstones_kept"] += int(np.where(is_verbatim, all_tombstones, tombstones).sum())

    gets_horizon = (tombstones > 0) & ~batches.has_delete_horizon
    whole = is_verbatim | ((kept > 0) & (kept == batches.count) & ~gets_horizon)
    outcome.verbatim[decoded[whole]] = True
    outcome.kept[decoded] = np.where(is_verbatim, batches.count, kept)
    changed = ~whole & (kept > 0)
    alike = changed & ~gets_horizon & ~batches.has_log_append_time
    if alike.any():
        alike &= _keeps_its_bytes(data, batches, records, keeps)
        _cut_out(outcome, decoded, batches, records, keeps & alike[records.batch], np.flatnonzero(alike))
    first = np.searchsorted(records.batch, np.arange(len(batches)))
    for number in np.flatnonzero(changed & ~alike).tolist():
        position = int(batches.position[number])
        header = read_header(data, position)
        some = _plain_records(data, position, header, path)
        stays = keeps[first[number] : first[number] + len(some)].tolist()
        left = [record for record, stay in zip(some, stays, strict=True) if stay]
        _rebuild(outcome, int(decoded[number]), header, left, round_)


def _behind_open_keys(records: Records, tombstones: Mask, round_: Round) -> Mask:
    """Return a mask of the tombstones that follow an undecided record of their key, which may still be committed."""
    stays = np.zeros(len(records), np.bool_)
    which = np.flatnonzero(tombstones & (records.key_len >= 0))
    for number, key, offset in zip(
        which.tolist(), records.keys(which).to_pylist(), records.offset[which].tolist(), strict=True
    ):
        stays[number] = offset > round_.open_keys.get(key, offset)
    return stays


def _keeps_its_bytes(data: bytes, batches: Batches, records: Records, keeps: Mask) -> Mask:
    """Return a mask of the batches whose surviving records already have the bytes that would be written for them."""
    which = np.flatnonzero(keeps)
    of = records.batch[which]
    delta = records.timestamp[which] - batches.base_timestamp[of]
    key_len, value_len = records.key_len[which], records.value_len[which]
    body = 2 + _varint_size(delta) + _varint_size(records.offset[which] - batches.base_offset[of])
    body += _varint_size(key_len) + np.maximum(key_len, 0) + _varint_size(value_len) + np.maximum(value_len, 0)
    length = _varint_size(body)
    source = np.frombuffer(records.data, np.uint8)
    good = records.size[which] == length + body  # no headers, and no number longer than it need be
    good &= source[records.start[which] + length] == 0  # attributes
    good &= (value_len >= 0) | (source[records.value_at[which] - 1] == _NULL)
    # Without a horizon, timestamps count from the first record that stays.
    begins = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
    first_of = of[begins]
    same_base = np.where(
        batches.has_delete_horizon[first_of], batches.base_timestamp[first_of] >= 0, delta[begins] == 0
    )
    alike = np.zeros(len(batches), np.bool_)
    alike[first_of] = np.logical_and.reduceat(good, begins) & same_base
    return alike


def _varint_size(numbers: npt.NDArray[np.int64] | npt.NDArray[np.int32]) -> Int64s:
    """Return the number of bytes of each number's zigzag varint."""
    wide = numbers.astype(np.int64)
    raw = ((wide << 1) ^ (wide >> 63)).view(np.uint64)
    size = np.ones(len(raw), np.int64)
    for step in _VARINT_STEPS:
        longer = raw >= step
        if not longer.any():
            break
        size += longer
    return size


def _cut_out(
    outcome: _Outcome, decoded: Int64s, batches: Batches, records: Records, keeps: Mask, which: Int64s
) -> None:
    """Write the batches at the indexes `which`: new headers, and the bytes of the records that stay."""
    some = batches[which]
    kept = np.flatnonzero(keeps)
    count = np.bincount(records.batch[kept], minlength=len(batches))[which]
    edges = np.concatenate(([0], np.cumsum(count)))
    max_timestamp = np.maximum(np.maximum.reduceat(records.timestamp[kept], edges[:-1]), _NO_TIMESTAMP)
    column = records.slices(records.start, records.size, kept)
    _, offsets_buffer, body_buffer = column.buffers()
    cuts = np.frombuffer(offsets_buffer, np.int32)[edges].tolist()
    bodies: list[Part] = [memoryview(body_buffer)[low:high] for low, high in pairwise(cuts)]
    for number in np.flatnonzero(some.codec != Codec.NONE).tolist():
        bodies[number] = compress(Codec(int(some.codec[number])), bytes(bodies[number]))

    checked = np.empty(len(which), _CHECKED)
    checked["attributes"] = some.attributes & _KEPT_ATTRIBUTES
    checked["last_offset_delta"] = some.last_offset - some.base_offset
    checked["base_timestamp"] = some.base_timestamp
    checked["max_timestamp"] = max_timestamp
    checked["producer_id"] = some.producer_id
    checked["producer_epoch"] = some.producer_epoch
    checked["base_sequence"] = some.base_sequence
    checked["count"] = count
    tails = [checked[number].tobytes() for number in range(len(which))]
    prefix = np.empty(len(which), _PREFIX)
    prefix["base_offset"] = some.base_offset
    prefix["length"] = HEADER_BYTES - LENGTH_END + np.fromiter(map(len, bodies), np.int64, len(bodies))
    prefix["leader_epoch"] = some.leader_epoch
    prefix["magic"] = MAGIC
    value, extend = google_crc32c.value, google_crc32c.extend
    prefix["crc"] = [extend(value(tail), bytes(body)) for tail, body in zip(tails, bodies, strict=True)]
    index = decoded[which]
    outcome.max_timestamp[index] = max_timestamp
    for place, head, tail, body in zip(index.tolist(), prefix, tails, bodies, strict=True):
        outcome.written[place] = [head.tobytes(), tail, body]


def _rebuild(outcome: _Outcome, index: int, header: BatchHeader, records: list[Record], round_: Round) -> None:
    """Encode a batch from the records that stay, at least one."""
    horizon_ms = round_.new_horizon_ms(header, keeps_tombstone=any(record.value is None for record in records))
    times = new_times(header, [record.timestamp_ms for record in records], horizon_ms)
    body = b"".join(
        encode_record(record, record.timestamp_ms - times.base_ms, record.offset - header.base_offset)
        for record in records
    )
    outcome.written[index] = [rewritten_batch(header, body, len(records), times)]
    outcome.max_timestamp[index] = times.max_ms


def _plain_records(data: bytes, position: int, header: BatchHeader, path: Path) -> list[Record]:
    try:
        return read_records(data, position, header)
    except ProtocolError as error:
        raise InputError(f"{path.name} at byte {position}: {error}") from None


def _assembled(data: bytes, outcome: _Outcome) -> Rewritten | None:
    """Return all that stays, in log order; neighbours that stay as they are become one part."""
    batches = outcome.batches
    same = np.flatnonzero(outcome.verbatim)
    parts: dict[int, list[Part]] = outcome.written
    if len(same):
        view = memoryview(data)
        begins = np.flatnonzero(np.concatenate(([True], np.diff(same) != 1)))
        first, last = same[begins], same[np.concatenate((begins[1:] - 1, [len(same) - 1]))]
        ends = batches.position[last] + batches.size[last]
        for index, low, high in zip(first.tolist(), batches.position[first].tolist(), ends.tolist(), strict=True):
            parts[index] = [view[low:high]]
    if not parts:
        return None
    stays = outcome.verbatim.copy()
    stays[list(parts)] = True
    which = np.flatnonzero(stays)
    return Rewritten(
        parts=[part for index in sorted(parts) for part in parts[index]],
        batches=len(which),
        records=int(outcome.kept.sum()),
        first_offset=int(batches.base_offset[which[0]]),
        last_offset=int(batches.last_offset[which[-1]]),
        max_timestamp_ms=int(outcome.max_timestamp[which].max()),
    )
