"""Random histories of appends, outcomes and claims: each record has one fate, and what is called durable is stored."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.storage import store_flusher
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
)
from protocol.error_codes import ErrorCode
from protocol.record_batch import read_header
from tests.storage.test_store_flusher import LOST, World, settle, values_of

PARTITIONS = 3
FATES = ("kept", "kept", "refused", "stolen", "answer lost", "request lost")
MOST_STEPS = 1000


@pytest.fixture(autouse=True, scope="module")
def without_pauses() -> Iterator[None]:
    """The store is asked again for an outcome at once, and given little at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store_flusher, "FIRST_RETRY_S", 0)
        patch.setattr(store_flusher, "ROUND_BYTES", 150)
        yield


class Sent:
    """A call that has not been answered. The store decides about it when it is reached."""

    def __init__(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> None:
        self.rows = list(rows)
        self.outcomes: list[AppendOutcome] = []
        self.answer: asyncio.Future[list[AppendOutcome]] = asyncio.get_running_loop().create_future()


class StoreWithFates:
    """A store that does to each call what the history says. It checks what it is sent."""

    name = "a store"
    concurrent_appends = 2

    def __init__(self) -> None:
        self.epochs = [0] * PARTITIONS
        self.batches: list[list[Entry]] = [[] for _ in range(PARTITIONS)]
        self.appends: list[Sent] = []
        self.resolves: list[Sent] = []
        self.violations: list[str] = []  # an error raised here would be one more unknown outcome

    def must(self, holds: bool, what: str) -> None:
        if not holds:
            self.violations.append(what)

    def end(self, partition: int) -> int:
        batches = self.batches[partition]
        return batches[-1].last_offset + 1 if batches else 0

    def claim(self, partition: int) -> Claim:
        self.epochs[partition] += 1
        return Claim(partition, self.epochs[partition], self.end(partition))

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        return await self._answer(self.appends, rows)

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        (outcome,) = await self._answer(self.resolves, [(claim, entries)])
        return outcome

    async def _answer(self, calls: list[Sent], rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> list[AppendOutcome]:
        call = Sent(rows)
        calls.append(call)
        self.must(len(self.appends) <= self.concurrent_appends, "too many appends at once")
        claims = Counter(claim for sent in (*self.appends, *self.resolves) for claim, _ in sent.rows)
        self.must(set(claims.values()) == {1}, "two calls for one claim")
        try:
            return await call.answer
        finally:
            calls.remove(call)

    def reach(self, call: Sent, fate: str) -> None:
        if not call.outcomes:
            call.outcomes = [self._done(claim, list(entries), fate) for claim, entries in call.rows]

    def _done(self, claim: Claim, entries: list[Entry], fate: str) -> AppendOutcome:
        partition = claim.partition
        if fate == "stolen" and self.epochs[partition] == claim.epoch:
            self.epochs[partition] += 1
        if self.epochs[partition] != claim.epoch:
            return AppendFenced()
        if fate == "request lost":
            return AppendUnknown(LOST)
        if self.batches[partition][-len(entries) :] != entries:  # else an append whose answer was lost
            if fate == "refused":
                return AppendFailed(LOST)
            self.must(read_header(bytes(entries[0].batch)).base_offset == self.end(partition), "a gap")
            self.batches[partition] += entries
        return AppendUnknown(LOST) if fate == "answer lost" else AppendDurable(self.end(partition))


class History(World):
    """An offsets log, and what became of each record: in flight, or one fate."""

    store: StoreWithFates  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(StoreWithFates())  # type: ignore[arg-type]
        self.in_flight: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        self.fates: dict[bytes, str] = {}
        self.next_offset: dict[int, int] = {}  # as the core counts
        self.on_durable, self.on_failed, self.on_fenced = self._durable, self._failed, self._lost

    def append(self, partition: int, *values: bytes, size: int = 10) -> None:
        if partition not in self.next_offset:
            claim = self.store.claim(partition)
            self.take(partition, claim.end_offset, claim.epoch)
            self.next_offset[partition] = claim.end_offset
        self.in_flight[partition] += [(self.next_offset[partition] + at, value) for at, value in enumerate(values)]
        self.next_offset[partition] += len(values)
        super().append(partition, *values, size=size)

    def give_up(self, partition: int) -> None:
        self.log.give_up(partition)
        self._fate(partition, 0, 1 << 62, "given up")
        self.next_offset.pop(partition, None)

    def _lost(self, partition: int) -> None:
        is_lost = self.logs[partition].claim.epoch != self.store.epochs[partition]
        self.store.must(is_lost, "fenced while the claim holds")
        self.give_up(partition)

    def _durable(self, partition: int, high_watermark: int) -> None:
        self.store.must(high_watermark <= self.store.end(partition), "durable and not stored")
        self._fate(partition, 0, high_watermark, "durable")

    def _failed(self, partition: int, from_offset: int, error: ErrorCode) -> None:
        self.store.must(error is ErrorCode.NOT_ENOUGH_REPLICAS, "another error")
        self._fate(partition, from_offset, 1 << 62, "failed")
        self.store.must(self.log.next_offset(partition) == from_offset, "another next offset")
        self.next_offset[partition] = from_offset

    def _fate(self, partition: int, start: int, end: int, fate: str) -> None:
        records = self.in_flight[partition]
        self.in_flight[partition] = [each for each in records if not start <= each[0] < end]
        for offset, value in records:
            if start <= offset < end:
                self.store.must(value not in self.fates, "two fates")
                self.fates[value] = fate

    def calls(self) -> list[Sent]:
        return [*self.store.appends, *self.store.resolves]

    async def finish(self) -> None:
        """Let the store do all that it is sent."""
        for _ in range(MOST_STEPS):
            await settle()
            if not self.calls():
                return
            for call in self.calls():
                self.store.reach(call, "kept")
                call.answer.set_result(call.outcomes)
        raise AssertionError("the log does not come to rest")

    def check(self) -> None:
        assert not self.store.violations
        assert not any(self.in_flight.values())
        assert self.log.queued_bytes == 0
        stored = [[value for entry in batches for value in values_of(entry)] for batches in self.store.batches]
        for values in stored:
            numbers = [int(value) for value in values]
            assert numbers == sorted(set(numbers)), "records in the order of their appends, each once"
        there = {value for values in stored for value in values}
        assert all((fate == "durable") <= (value in there) for value, fate in self.fates.items())
        assert not any(fate == "failed" and value in there for value, fate in self.fates.items())


NUMBERS = st.integers(0, 9)
OPERATIONS = st.one_of(
    st.tuples(st.just("append"), st.integers(0, PARTITIONS - 1), st.sampled_from([1, 1, 3]), st.sampled_from([10, 90])),
    st.tuples(st.just("reach"), NUMBERS, st.sampled_from(FATES)),
    st.tuples(st.just("answer"), NUMBERS, st.sampled_from(FATES)),
    st.tuples(st.just("give_up"), st.integers(0, PARTITIONS - 1)),
)


@given(st.lists(OPERATIONS, min_size=10, max_size=80))
async def test_each_record_has_one_fate_and_what_is_durable_is_stored(operations: list[tuple[Any, ...]]) -> None:
    world = History()
    number = 0
    for name, *arguments in operations:
        if name == "append":
            partition, count, size = arguments
            world.append(partition, *(b"%d" % (number + each) for each in range(count)), size=size)
            number += count
        elif name == "give_up":
            world.give_up(*arguments)
        else:
            await settle()
            calls = [call for call in world.calls() if not call.answer.done()]
            if not calls:
                continue
            at, fate = arguments
            call = calls[at % len(calls)]
            world.store.reach(call, fate)
            if name == "answer":
                call.answer.set_result(call.outcomes)
    await world.finish()
    world.check()
    assert len(world.fates) == number
    await world.log.close()
