"""The offsets log in a shared store: what is appended together, and what becomes of each outcome."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import Append, Producer
from coordinator.storage import store_flusher
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    ClaimLostError,
    LogStoreError,
)
from coordinator.storage.offsets_log import OffsetsLog
from coordinator.storage.store_flusher import StoreFlusher, StoreLog
from protocol.error_codes import ErrorCode
from protocol.record_batch import read_header, read_records

LOST = LogStoreError("the answer was lost")


def values_of(entry: Entry) -> list[bytes]:
    """The values of the records of a batch."""
    batch = bytes(entry.batch)
    return [record.value or b"" for record in read_records(batch, 0, read_header(batch))]


class Call:
    """One call of the store that is under way."""

    def __init__(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> None:
        self.rows = list(rows)
        self.answer: asyncio.Future[list[AppendOutcome]] = asyncio.get_running_loop().create_future()

    @property
    def partitions(self) -> list[int]:
        return [claim.partition for claim, _ in self.rows]

    def values(self, partition: int) -> list[bytes]:
        """The values of the records for a partition, in order."""
        entries = next(entries for claim, entries in self.rows if claim.partition == partition)
        return [value for entry in entries for value in values_of(entry)]

    def durable(self) -> None:
        self.answer.set_result([AppendDurable(entries[-1].last_offset + 1) for _, entries in self.rows])

    def ends(self, *outcomes: AppendOutcome) -> None:
        self.answer.set_result(list(outcomes))


class Store:
    """A store whose calls end when the test says so."""

    name = "a store"
    concurrent_appends = 2

    def __init__(self) -> None:
        self.appends: list[Call] = []
        self.resolves: list[Call] = []
        self.ended = 0  # questions that were cancelled

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        self.appends.append(Call(rows))
        return await self.appends[-1].answer

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        self.resolves.append(Call([(claim, entries)]))
        try:
            (outcome,) = await self.resolves[-1].answer
        except asyncio.CancelledError:
            await asyncio.sleep(0)  # as a store that ends a conversation
            self.ended += 1
            raise
        return outcome


class World:
    """An offsets log over that store, with all that it calls back."""

    def __init__(self, store: Store | None = None) -> None:
        self.store = store or Store()
        self.durable: list[tuple[int, int]] = []
        self.failed: list[tuple[int, int, ErrorCode]] = []
        self.fenced: list[int] = []
        self.on_durable: Callable[[int, int], None] = lambda *durable: self.durable.append(durable)
        self.on_failed: Callable[[int, int, ErrorCode], None] = lambda *failed: self.failed.append(failed)
        self.on_fenced: Callable[[int], object] = lambda partition: None
        self.logs: dict[int, StoreLog] = {}
        self.flusher: StoreFlusher
        self.log = OffsetsLog(
            {},
            Config(),
            asyncio.get_running_loop(),
            lambda *durable: self.on_durable(*durable),
            lambda *failed: self.on_failed(*failed),
            self._flusher,
        )

    def _flusher(self, on_durable: Callable[..., None], on_failed: Callable[..., None]) -> StoreFlusher:
        self.flusher = StoreFlusher(
            self.store,  # type: ignore[arg-type]
            asyncio.get_running_loop(),
            on_durable,
            on_failed,
            self._fenced,
            max_queued_bytes=200,
        )
        return self.flusher

    def _fenced(self, partition: int) -> None:
        self.fenced.append(partition)
        self.on_fenced(partition)

    def take(self, partition: int, end_offset: int = 0, epoch: int = 1) -> None:
        self.logs[partition] = StoreLog(Claim(partition, epoch, end_offset))
        self.log.take(partition, self.logs[partition])

    def append(self, partition: int, *values: bytes, size: int = 10) -> None:
        self.log.append(Append(partition, tuple((b"k", value) for value in values), None, size=size), 1)

    def append_transactional(self, partition: int, value: bytes) -> None:
        self.log.append(Append(partition, ((b"k", value),), None, Producer(1, 0), size=10), 1)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def asked(world: World, times: int) -> None:
    """Let the store be asked for the outcome so often."""
    await settle()
    assert len(world.store.resolves) == times


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store is asked again for an outcome at once."""
    monkeypatch.setattr(store_flusher, "FIRST_RETRY_S", 0)


@pytest.fixture
async def world() -> World:
    made = World()
    for partition in range(3):
        made.take(partition)
    return made


async def test_what_comes_during_an_append_goes_with_the_next_one_in_order(world: World) -> None:
    world.append(0, b"a")
    await settle()
    world.append(0, b"b")
    world.append(0, b"c", b"d")
    await settle()
    (first,) = world.store.appends  # never two at once for one partition
    first.durable()
    await settle()
    second = world.store.appends[1]
    assert (first.values(0), second.values(0)) == ([b"a"], [b"b", b"c", b"d"])
    second.durable()
    await settle()
    assert world.durable == [(0, 1), (0, 4)]
    assert world.log.queued_bytes == 0
    assert world.logs[0].high_watermark == 4


async def test_a_store_that_takes_one_at_a_time_gets_the_next_one_at_once(world: World) -> None:
    world.store.concurrent_appends = 1
    world.append(0, b"a")
    await settle()
    world.append(0, b"b")
    world.append(1, b"c")
    await settle()
    assert [call.partitions for call in world.store.appends] == [[0]]
    world.store.appends[0].durable()
    await settle()
    assert [call.partitions for call in world.store.appends] == [[0], [0, 1]]


async def test_partitions_share_an_append_and_others_do_not_wait_for_it(world: World) -> None:
    world.append(0, b"a")
    world.append(1, b"b")
    await settle()
    world.append(2, b"c")
    world.append(0, b"d")
    await settle()
    assert [call.partitions for call in world.store.appends] == [[0, 1], [2]]
    world.append(1, b"e")  # two are under way, as many as the store takes
    await settle()
    assert len(world.store.appends) == 2
    world.store.appends[0].durable()
    await settle()
    assert world.store.appends[2].partitions == [0, 1]


async def test_a_long_queue_goes_in_several_appends_without_gaps_and_others_do_not_wait_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_flusher, "ROUND_BYTES", 1)
    world.store.concurrent_appends = 1
    for number in range(3):
        world.append_transactional(0, b"%d" % number)  # each in its own batch
    world.append(1, b"x")
    await settle()
    for _ in range(4):
        world.store.appends[-1].durable()
        await settle()
    assert [call.partitions for call in world.store.appends] == [[0], [1], [0], [0]]
    sent = [call.rows[0][1] for call in world.store.appends if call.partitions == [0]]
    assert [read_header(bytes(entry.batch)).base_offset for batches in sent for entry in batches] == [0, 1, 2]
    assert (world.durable, world.log.queued_bytes) == ([(0, 1), (1, 1), (0, 2), (0, 3)], 0)


async def test_what_finds_no_room_in_an_append_goes_with_another_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_flusher, "ROUND_BYTES", 1)
    for partition in range(3):
        world.append(partition, b"a")
    await settle()
    assert [call.partitions for call in world.store.appends] == [[0], [1]]  # two at once, as the store takes


async def test_what_is_more_than_may_wait_is_refused(world: World) -> None:
    world.append(0, b"large", size=500)  # alone it may be larger
    world.append(0, b"refused")
    world.append(1, b"refused")
    world.append(0, b"dropped", size=0)  # the core has counted on the offset of the one before
    await settle()
    assert world.failed == [(0, 1, ErrorCode.NOT_ENOUGH_REPLICAS), (1, 0, ErrorCode.NOT_ENOUGH_REPLICAS)]
    assert world.log.queued_bytes == 500
    world.store.appends[0].durable()
    await settle()
    assert world.log.queued_bytes == 0
    world.append(0, b"again")
    await settle()
    assert (world.store.appends[1].values(0), world.log.next_offset(0)) == ([b"again"], 2)


async def test_behind_an_unknown_outcome_wait_as_many_bytes_as_allowed_and_one_more_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_flusher, "ROUND_BYTES", 50)
    world.append(0, b"a")
    await settle()
    world.store.appends[0].ends(AppendUnknown(LOST))
    await settle()
    world.append(0, b"b", size=50)
    world.append(0, b"refused", size=1)
    world.append(1, b"x", size=60)
    await settle()
    assert world.log.queued_bytes == 120
    world.store.resolves[0].ends(AppendDurable(1))
    await settle()
    for call in world.store.appends[1:]:
        call.durable()
    await settle()
    assert (world.durable, world.failed) == ([(0, 1), (1, 1), (0, 2)], [(0, 2, ErrorCode.NOT_ENOUGH_REPLICAS)])


async def test_each_new_reason_for_failures_is_logged_and_none_twice(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    monkeypatch.setattr(world.flusher, "_clock", lambda: now_s)

    async def fail(text: str) -> None:
        world.append(0, b"a")
        await settle()
        world.store.appends[-1].ends(AppendFailed(LogStoreError(text)))
        await settle()

    for text in ("the disk is full; make room", "the disk is full; make room", "read-only; promote it", "once more"):
        now_s += 1.0 if text != "once more" else 0.5  # one line a second at most
        await fail(text)
    lines = [each.getMessage() for each in caplog.records if "an append failed" in each.getMessage()]
    assert lines == [
        "an append failed partition=0 error=the disk is full; make room",
        "an append failed partition=0 error=read-only; promote it",
    ]
    world.append(0, b"a")
    await settle()
    world.store.appends[-1].ends(AppendUnknown(LOST))
    await asked(world, 1)
    now_s += 1.0
    for text in ("still away", "still away"):
        world.store.resolves[-1].ends(AppendUnknown(LogStoreError(text)))
        await settle()
    lines = [each.getMessage() for each in caplog.records if "still unknown" in each.getMessage()]
    assert lines == ["the outcome is still unknown partition=0 error=still away"]


async def test_a_failed_append_takes_all_that_waited_behind_it_along(world: World) -> None:
    world.append(0, b"a")
    world.append(1, b"x")
    await settle()
    world.append(0, b"b")
    (call,) = world.store.appends
    call.ends(AppendFailed(LogStoreError("full")), AppendDurable(1))
    await settle()
    assert world.failed == [(0, 0, ErrorCode.NOT_ENOUGH_REPLICAS)]
    assert world.durable == [(1, 1)]
    assert world.log.queued_bytes == 0
    world.append(0, b"again")
    await settle()
    assert world.store.appends[1].values(0) == [b"again"]
    assert read_header(bytes(world.store.appends[1].rows[0][1][0].batch)).base_offset == 0


async def test_a_fenced_append_ends_the_partition_here(world: World) -> None:
    world.append(0, b"a")
    await settle()
    world.append(0, b"b")
    world.store.appends[0].ends(AppendFenced())
    await settle()
    assert (world.fenced, world.failed, world.durable) == ([0], [], [])
    assert world.log.queued_bytes == 0
    assert len(world.store.appends) == 1


async def test_nothing_is_called_back_for_a_partition_that_a_callback_has_given_up(world: World) -> None:
    world.append(0, b"a")
    world.append(1, b"b")
    world.append(2, b"c")
    await settle()

    def give_up_others(partition: int) -> None:
        world.log.give_up(0)
        world.log.give_up(2)

    world.on_fenced = give_up_others
    world.store.appends[0].ends(AppendDurable(1), AppendFenced(), AppendFailed(LOST))
    await settle()
    assert (world.fenced, world.failed, world.durable) == ([1], [], [])
    assert world.log.queued_bytes == 0


@pytest.mark.parametrize(
    "outcome", [AppendDurable(1), AppendFailed(LOST), AppendFenced()], ids=lambda o: type(o).__name__
)
async def test_nothing_is_answered_until_an_unknown_outcome_is_known(world: World, outcome: AppendOutcome) -> None:
    world.append(0, b"a")
    world.append(1, b"x")
    await settle()
    world.store.appends[0].ends(AppendUnknown(LOST), AppendDurable(1))
    await settle()
    world.append(0, b"b")
    world.append(1, b"y")
    await asked(world, 1)
    assert (world.durable, world.failed, world.fenced) == ([(1, 1)], [], [])
    assert [call.partitions for call in world.store.appends] == [[0, 1], [1]]  # the other partition goes on
    world.store.resolves[0].ends(AppendUnknown(LOST))  # the store cannot be asked yet
    await asked(world, 2)
    world.store.resolves[1].ends(outcome)
    await settle()
    if isinstance(outcome, AppendDurable):
        assert world.durable == [(1, 1), (0, 1)]
        assert world.store.appends[2].values(0) == [b"b"]
        world.store.appends[2].durable()
    else:
        assert world.failed == ([(0, 0, ErrorCode.NOT_ENOUGH_REPLICAS)] if isinstance(outcome, AppendFailed) else [])
        assert world.fenced == ([0] if isinstance(outcome, AppendFenced) else [])
    world.store.appends[1].durable()
    await settle()
    assert world.log.queued_bytes == 0


async def test_a_store_that_breaks_has_done_something_unknown(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.append(0, b"a")
    await settle()
    world.store.appends[0].answer.set_exception(RuntimeError("a bug"))
    await asked(world, 1)
    assert (world.durable, world.failed, world.fenced) == ([], [], [])
    world.store.resolves[0].durable()
    await settle()
    assert world.durable == [(0, 1)]
    assert "please report this" in caplog.text


@pytest.mark.parametrize("is_unknown", [False, True])
async def test_the_late_outcome_of_a_former_claim_touches_nothing(world: World, is_unknown: bool) -> None:
    world.append(0, b"a")
    await settle()
    if is_unknown:
        world.store.appends[0].ends(AppendUnknown(LOST))
        await asked(world, 1)
    world.append(0, b"lost")
    world.log.give_up(0)
    world.take(0, end_offset=7, epoch=3)
    world.append(0, b"new")
    await settle()
    (world.store.resolves[0] if is_unknown else world.store.appends[0]).durable()
    await settle()
    assert (world.durable, world.failed, world.fenced) == ([], [], [])
    new = world.store.appends[1]
    assert (new.rows[0][0].epoch, new.values(0)) == (3, [b"new"])
    assert read_header(bytes(new.rows[0][1][0].batch)).base_offset == 7
    new.durable()
    await settle()
    assert world.durable == [(0, 8)]
    assert (world.logs[0].high_watermark, world.log.queued_bytes) == (8, 0)


async def test_a_partition_is_drained_when_its_appends_are_known_or_it_was_given_up(world: World) -> None:
    world.append(0, b"a")
    world.append(1, b"b")
    draining = [asyncio.create_task(world.log.drained(partition)) for partition in (0, 1)]
    await settle()
    assert not any(task.done() for task in draining)
    world.log.give_up(1)
    await settle()
    assert [task.done() for task in draining] == [False, True]
    world.store.appends[0].durable()
    await settle()
    assert draining[0].done()


async def test_a_close_waits_for_appends_and_not_for_what_is_unknown(world: World) -> None:
    world.append(0, b"a")
    world.append(1, b"b")
    await settle()
    world.append(1, b"c")
    closing = asyncio.create_task(world.log.close())
    await settle()
    world.store.appends[0].ends(AppendUnknown(LOST), AppendDurable(1))
    await settle()
    assert not closing.done()
    world.store.appends[1].durable()
    await closing
    assert world.durable == [(1, 1), (1, 2)]
    world.append(2, b"late")
    await settle()
    assert world.failed == [(2, 0, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


async def test_a_close_ends_the_questions_for_unknown_outcomes(world: World) -> None:
    world.append(0, b"a")
    await settle()
    world.store.appends[0].ends(AppendUnknown(LOST))
    await asked(world, 1)
    await world.log.close()
    assert world.store.ended == 1  # so the store may be closed now
    assert (world.durable, world.failed, world.fenced) == ([], [], [])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (LogStoreError("away"), ErrorCode.NOT_ENOUGH_REPLICAS),
        (ClaimLostError("lost"), ErrorCode.NOT_ENOUGH_REPLICAS),
        (OSError(errno.ENOSPC, "full"), ErrorCode.NOT_ENOUGH_REPLICAS),
        (RuntimeError("a bug"), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
async def test_clients_try_again_at_this_node_while_a_store_is_away(
    world: World, error: Exception, code: ErrorCode
) -> None:
    world.append(0, b"a")
    await settle()
    world.store.appends[0].ends(AppendFailed(error))
    await settle()
    assert world.failed == [(0, 0, code)]
