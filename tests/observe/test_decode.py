"""Decoded batches: the last commit of each key, transactions, other records; against an oracle on random logs."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from coordinator.columnar.batches import read_batches
from coordinator.observe.decode import Decoder, PartitionBatches
from coordinator.observe.transactions import OpenTransactions
from protocol.record_batch import ControlType, build_control_batch, iter_batches
from tests.compaction.logs import CONSUMER_KEYS, GROUP_KEYS, OFFSETS, OTHER_KEYS, LogWriter, seeded
from tests.history.worlds import effects, records_of, replay
from tests.observe.world import NOW_MS, RememberingState, batch, commit, group_record


def decoded_into(state: RememberingState, decoder: Decoder, *parts: tuple[int, bytes]) -> None:
    decoded = decoder.decode(
        [PartitionBatches(number, data, read_batches(data, path="test")[0]) for number, data in parts]
    )
    state.commits(decoded.groups, decoded.topics, decoded.partitions, decoded.offsets, decoded.at_ms)
    for _, at_ms, key, value in decoded.records:
        state.record(at_ms, key, value)


@pytest.mark.parametrize("seed", range(40))
def test_decoding_in_portions_agrees_with_a_record_by_record_reader(seed: int) -> None:
    segments = LogWriter().write(seeded(seed, 80, OFFSETS)).segments
    data = b"".join(segment.data for segment in segments)
    edges = [0, *(position for position, _ in iter_batches(data)), len(data)]
    rng = random.Random(seed)
    cuts = sorted({0, len(data), *rng.sample(edges, min(len(edges), 5))})
    state, decoder = RememberingState(), Decoder()
    for first, behind in pairwise(cuts):
        decoded_into(state, decoder, (3, data[first:behind]))

    found = effects(segments)
    expected = {
        (group, topic, partition): standing.offset
        for group in {effect.key.group for effect in found}
        for (topic, partition), standing in replay(found, group, lambda _: True).items()
    }
    assert state.living == expected
    others = {*GROUP_KEYS, *OTHER_KEYS, *CONSUMER_KEYS}
    assert state.records == [
        (record.timestamp_ms, record.key, record.value)
        for header, record in records_of(segments)
        if not header.is_control and record.key in others
    ]


def test_each_key_is_given_once_for_all_batches_of_a_fetch() -> None:
    state = RememberingState()
    first = batch(0, commit("g", 1), commit("g", 2), commit("h", 5)) + batch(3, commit("g", 3))
    decoded_into(state, Decoder(), (0, first), (7, batch(100, commit("k", 9))))
    assert state.offsets == {("g", "t", 0): 3, ("h", "t", 0): 5, ("k", "t", 0): 9}
    assert state.given == 3


def test_a_deleted_offset_is_minus_one() -> None:
    state = RememberingState()
    decoded_into(state, Decoder(), (0, batch(0, commit("g", 1)) + batch(1, commit("g", None))))
    assert state.offsets == {("g", "t", 0): -1}


def test_other_records_come_in_order_with_their_log_offsets() -> None:
    decoder = Decoder()
    data = batch(10, group_record("g"), commit("g", 1), (b"\0\5xyz", b"v"), group_record("g", None))
    decoded = decoder.decode([PartitionBatches(0, data, read_batches(data, path="test")[0])])
    assert [(offset, key[:2], value) for offset, _, key, value in decoded.records] == [
        (10, b"\0\2", b"\0\3"),
        (12, b"\0\5", b"v"),
        (13, b"\0\2", None),
    ]


def marker(base_offset: int, kind: ControlType, producer: int) -> bytes:
    return bytes(
        build_control_batch(kind, base_offset=base_offset, timestamp_ms=NOW_MS, producer_id=producer, producer_epoch=0)
    )


def in_transaction(base_offset: int, producer: int, *records: tuple[bytes | None, bytes | None]) -> bytes:
    return batch(base_offset, *records, producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True)


def test_a_commit_in_a_transaction_counts_at_its_marker_only() -> None:
    state, decoder = RememberingState(), Decoder()
    decoded_into(state, decoder, (0, in_transaction(0, 5, commit("g", 1))))
    assert state.offsets == {}
    decoded_into(state, decoder, (0, marker(1, ControlType.COMMIT, 5)))
    assert state.offsets == {("g", "t", 0): 1}


def test_a_commit_in_an_aborted_transaction_never_counts() -> None:
    state, decoder = RememberingState(), Decoder()
    decoded_into(state, decoder, (0, in_transaction(0, 5, commit("g", 1)) + marker(1, ControlType.ABORT, 5)))
    assert state.offsets == {}
    assert not decoder.transactions


def test_the_newest_record_of_a_key_wins_and_not_the_newest_marker() -> None:
    state, decoder = RememberingState(), Decoder()
    decoded_into(
        state,
        decoder,
        (
            0,
            in_transaction(0, 5, commit("g", 1))
            + in_transaction(1, 6, commit("g", 2))
            + marker(2, ControlType.COMMIT, 6)
            + marker(3, ControlType.COMMIT, 5),
        ),
    )
    assert state.offsets == {("g", "t", 0): 2}


def test_a_transaction_belongs_to_one_partition_of_the_log() -> None:
    state, decoder = RememberingState(), Decoder()
    decoded_into(state, decoder, (0, in_transaction(0, 5, commit("g", 1))))
    decoded_into(state, decoder, (1, marker(0, ControlType.COMMIT, 5)))
    assert state.offsets == {}


def test_records_that_cannot_be_read_are_counted_and_left_out() -> None:
    decoder = Decoder()
    data = batch(0, (b"\0\1\0\x10no", b"v"), commit("g", 4), (commit("h", 1)[0], b"\0\3short"))
    decoded = decoder.decode([PartitionBatches(0, data, read_batches(data, path="test")[0])])
    assert (decoded.groups, decoded.offsets, decoded.undecodable) == (["g"], [4], 2)


def test_commits_of_open_transactions_are_bounded() -> None:
    transactions = OpenTransactions(most_commits=3)
    for number in range(5):
        transactions.add(0, number, b"%d" % number, number, (number, 0))
    assert transactions.given_up == 2
    assert transactions.end(0, 0, is_commit=True) == {}
    assert transactions.end(0, 4, is_commit=True) == {b"4": (4, 0)}
