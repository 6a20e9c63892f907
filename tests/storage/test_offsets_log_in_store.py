"""A partition of the offsets log in a shared store: what waits behind a split, and what a former claim leaves."""

from __future__ import annotations

import pytest

from coordinator.core.effects import Append, Producer
from coordinator.storage import store_flusher
from coordinator.storage.log_store import AppendFailed, AppendUnknown
from tests.storage.test_store_flusher import LOST, World, asked, settle


@pytest.fixture
async def world() -> World:
    made = World()
    made.take(0)
    return made


async def test_what_comes_while_a_split_waits_goes_behind_its_rest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_flusher, "ROUND_BYTES", 1)
    for number in range(3):
        world.append_transactional(0, b"%d" % number)  # each in its own batch
    await settle()
    for number in range(3, 6):
        world.store.appends[-1].durable()
        await settle()
        world.append_transactional(0, b"%d" % number)
        await settle()
    while len(world.durable) < 6:
        world.store.appends[-1].durable()
        await settle()
    assert [call.values(0) for call in world.store.appends] == [[b"%d" % number] for number in range(6)]
    assert world.log.queued_bytes == 0


async def test_bytes_behind_a_split_are_counted_until_they_are_durable(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_flusher, "ROUND_BYTES", 1)
    for value in (b"a", b"b"):
        world.log.append(Append(0, ((b"k", value),), None, Producer(1, 0), size=100), 1)
    await settle()
    (first,) = world.store.appends
    size = len(first.rows[0][1][0].batch)
    assert size < 100  # so it leaves some of what was counted
    assert world.log.queued_bytes == 200
    first.durable()
    await settle()
    assert (world.durable, world.log.queued_bytes) == ([(0, 1)], 200 - size)
    world.store.appends[1].durable()
    await settle()
    assert (world.durable, world.log.queued_bytes) == ([(0, 1), (0, 2)], 0)


async def test_a_store_that_breaks_when_it_is_asked_is_asked_again(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store_flusher, "FIRST_RETRY_S", 0)
    world.append(0, b"a")
    await settle()
    world.store.appends[0].ends(AppendUnknown(LOST))
    await asked(world, 1)
    world.store.resolves[0].answer.set_exception(RuntimeError("a bug"))
    await asked(world, 2)
    assert (world.durable, world.failed, world.fenced) == ([], [], [])
    assert "could not tell the outcome of an append; please report this" in caplog.text
    world.store.resolves[1].durable()
    await settle()
    assert (world.durable, world.log.queued_bytes) == ([(0, 1)], 0)


async def test_the_tail_behind_the_snapshot_grows_by_what_is_durable(world: World) -> None:
    world.append(0, b"a")
    await settle()
    assert world.logs[0].tail_bytes == 0
    size = len(world.store.appends[0].rows[0][1][0].batch)
    world.store.appends[0].durable()
    await settle()
    world.append(0, b"failed")
    await settle()
    world.store.appends[1].ends(AppendFailed(LOST))
    await settle()
    assert world.logs[0].tail_bytes == size


async def test_a_refusal_under_a_former_claim_is_not_called_back(world: World) -> None:
    world.append(0, b"large", size=500)
    world.append(0, b"refused")
    world.log.give_up(0)
    world.take(0, end_offset=7, epoch=3)
    await settle()
    assert world.failed == []
    assert world.log.next_offset(0) == 7


async def test_the_first_failure_under_each_claim_is_logged(world: World, caplog: pytest.LogCaptureFixture) -> None:
    for epoch in (1, 2):
        for _ in range(2):
            world.append(0, b"a")
            await settle()
            world.store.appends[-1].ends(AppendFailed(LOST))
            await settle()
        assert caplog.text.count("append failed partition=0 from_offset=0") == epoch
        world.log.give_up(0)
        world.take(0, epoch=epoch + 1)
    world.append(0, b"a")
    await settle()
    world.store.appends[-1].durable()
    await settle()
    assert "appends succeed again partition=0" not in caplog.text
