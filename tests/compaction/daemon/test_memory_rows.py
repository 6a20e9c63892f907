"""Rows from memory are sent to a child in slices."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from coordinator.compaction.daemon import memory_rows
from coordinator.compaction.daemon.memory_rows import MemoryRows
from coordinator.core.committed_rows import Row, StateChangedError
from coordinator.processes import frames


class LoopThread:
    """A loop whose callbacks run at once, in a thread of their own, one after another."""

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> None:
        thread = threading.Thread(target=callback, args=args)
        thread.start()
        thread.join()


def sent(rows: Callable[[int, int], Iterator[list[Row]] | None], high_watermark: int = 77) -> list[Any]:
    pipe = io.BytesIO()
    MemoryRows(LoopThread(), rows, lambda partition: high_watermark).send(pipe, 3, 50)
    pipe.seek(0)
    found = []
    while pipe.tell() < len(pipe.getvalue()):
        found.append(frames.read(pipe))
    return found


def test_rows_come_in_slices_and_end_with_the_high_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rows, "SLICE_S", 0.0)  # every slice is over after one list
    asked: list[tuple[int, int]] = []

    def rows(partition: int, below_offset: int) -> Iterator[list[Row]]:
        asked.append((partition, below_offset))
        return iter([[("g", 1)], [], [("h", 2), ("i", 3)]])

    assert sent(rows) == [
        ("rows", [("g", 1)]),
        ("rows", []),
        ("rows", [("h", 2), ("i", 3)]),
        ("rows", []),
        ("end", 77),
    ]
    assert asked == [(3, 50)]


def test_a_slice_takes_the_rows_that_fit_into_its_time() -> None:
    assert sent(lambda *_: iter([[("g", 1)], [("h", 2)]])) == [("rows", [("g", 1), ("h", 2)]), ("end", 77)]


def test_a_partition_that_is_being_loaded_is_absent() -> None:
    assert sent(lambda *_: None) == [("absent", 0)]


def test_a_partition_that_is_loaded_anew_while_sending_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rows, "SLICE_S", 0.0)

    def rows(*_: int) -> Iterator[list[Row]]:
        yield [("g", 1)]
        raise StateChangedError

    assert sent(rows) == [("rows", [("g", 1)]), ("absent", 0)]


def test_a_truncated_or_oversized_frame_raises_eof() -> None:
    whole = frames.encode({"a": (1, "b", b"c", None)})
    assert frames.read(io.BytesIO(whole)) == {"a": (1, "b", b"c", None)}
    for data in (b"", whole[:3], whole[:-1], b"\xff\xff\xff\xff"):
        with pytest.raises(EOFError):
            frames.read(io.BytesIO(data))
