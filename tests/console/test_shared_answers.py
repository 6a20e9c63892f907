"""An answer is asked for once for all who want it within a moment."""

from __future__ import annotations

import asyncio

import pytest

from coordinator.console import shared_answers
from coordinator.console.shared_answers import GroupAnswers, SharedAnswer


async def test_those_who_ask_at_the_same_time_share_one_answer() -> None:
    asked: list[int] = []

    async def ask() -> int:
        asked.append(1)
        await asyncio.sleep(0)
        return len(asked)

    shared = SharedAnswer(60.0, ask)
    assert await asyncio.gather(*(shared.get() for _ in range(100))) == [1] * 100
    assert await shared.get() == 1
    old = SharedAnswer(0.0, ask)
    assert [await old.get(), await old.get()] == [2, 3]


async def test_a_failure_is_told_to_all_and_one_who_goes_disturbs_no_other() -> None:
    released = asyncio.Event()

    async def ask() -> int:
        await released.wait()
        raise OSError("down")

    shared = SharedAnswer(60.0, ask)
    waiting = [asyncio.ensure_future(shared.get()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    released.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in results] == [asyncio.CancelledError, OSError, OSError]


async def test_as_many_groups_are_kept_as_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_answers, "MOST_ANSWERS", 2)
    asked: list[str] = []

    async def ask(group: str) -> str:
        asked.append(group)
        return group

    answers: GroupAnswers[str] = GroupAnswers(60.0)
    for group in ("a", "b", "a", "c", "a", "b"):
        assert await answers.get(group, lambda group=group: ask(group)) == group  # type: ignore[misc]
    assert asked == ["a", "b", "c", "b"]


async def test_an_answer_is_asked_for_again_in_the_newest_way() -> None:
    async def ask(number: int) -> int:
        return number

    answers: GroupAnswers[int] = GroupAnswers(0.0)
    assert [await answers.get("g", lambda number=number: ask(number)) for number in (1, 2)] == [1, 2]  # type: ignore[misc]
