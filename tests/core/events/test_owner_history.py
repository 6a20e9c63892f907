"""The owners of past generations are bounded by group, and in bytes over all groups."""

from __future__ import annotations

from coordinator.core.events.owner_history import GENERATION_BYTES, HOLDER_BYTES, OwnerHistory


def note(history: OwnerHistory, group: str, generation: int, assignment: bytes = b"1234567890") -> None:
    history.add(group, generation * 1_000, generation, [], [("m", "client", "10.0.0.1", assignment)])


def generations(history: OwnerHistory, group: str) -> list[int]:
    return [each.generation for each in history.of(group, 1_000)]


def test_newest_generations_of_a_group_are_kept() -> None:
    history = OwnerHistory(3, 1 << 20)
    for number in range(5):
        note(history, "g", number)
    assert generations(history, "g") == [2, 3, 4]


def test_an_assignment_that_stays_is_one_object_and_counts_once() -> None:
    history = OwnerHistory(10, 1 << 20)
    note(history, "g", 1, b"x" * 1_000)
    note(history, "g", 2, bytes(b"x" * 1_000))
    first, second = history.of("g", 10)
    assert first.holders[0].assignment is second.holders[0].assignment
    assert history.kept_bytes == 2 * (GENERATION_BYTES + HOLDER_BYTES) + 1_000


def test_as_many_bytes_as_allowed_are_kept_and_one_more_drops_the_oldest_of_the_least_active_group() -> None:
    each = GENERATION_BYTES + HOLDER_BYTES + 10
    history = OwnerHistory(10, 3 * each)
    note(history, "idle", 1)
    note(history, "busy", 1)
    note(history, "busy", 2, b"0123456789")
    assert (generations(history, "idle"), generations(history, "busy")) == ([1], [1, 2])
    note(history, "busy", 3, b"x")
    assert (generations(history, "idle"), generations(history, "busy")) == ([], [1, 2, 3])
    assert history.kept_bytes <= 3 * each


def test_one_generation_that_is_too_large_is_not_kept() -> None:
    history = OwnerHistory(10, 1_000)
    note(history, "g", 1, b"x" * 2_000)
    assert generations(history, "g") == []
    assert history.kept_bytes == 0
