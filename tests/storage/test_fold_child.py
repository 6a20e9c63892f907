"""The child that folds a snapshot and batches: it makes what this process would make, and says what is damaged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest

from coordinator.processes import frames
from coordinator.processes.child_process import Children
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding
from coordinator.storage.snapshot.loading import follow
from coordinator.storage.snapshot.store_keeper import CHILD
from protocol.record_batch import iter_batches
from tests.compaction.logs import OFFSETS, LogWriter, seeded
from tests.processes.test_child_process import is_gone
from tests.storage.snapshot.test_snapshot_is_replay import without_gaps
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

WAIT_S = 60.0  # for a child that waits for more than it is sent


def batches_of(seed: int) -> tuple[list[bytes], list[int]]:
    """Return batches with transactions and tombstones, and the offset behind each of them."""
    writer = LogWriter().write(without_gaps(seeded(seed, 60, OFFSETS)))
    read = [(segment.data, *each) for segment in writer.segments for each in iter_batches(bytes(segment.data))]
    return [bytes(data[at : at + header.size_bytes]) for data, at, header in read], [
        header.last_offset + 1 for *_, header in read
    ]


def encoded(chunks: list[bytes], end_offset: int, base: bytes | None = None, partition: int = 0) -> list[bytes]:
    """Make a snapshot in this process."""
    data = b"".join(chunks)
    read = ((header, data[at : at + header.size_bytes]) for at, header in iter_batches(data))
    binding, decoded = (None, None) if base is None else file.decode(base)
    loaded = follow(read, decoded, binding and binding.last, end_offset=end_offset)
    assert loaded.last is not None
    return file.encode(Binding(partition, 0, end_offset, loaded.last), loaded.contents())


def folded(chunks: list[bytes], end_offset: int, base: bytes | None = None, *, is_whole: bool = True) -> Any:
    """Have a child make a snapshot of partition 0. Returns its pieces, or the text that says why there is none."""

    def converse(stdin: IO[bytes], stdout: IO[bytes]) -> Any:
        has_base = base is not None
        frames.write(
            stdin,
            {
                "partition": 0,
                "end_offset": end_offset,
                "has_base": has_base,
                "is_whole": is_whole,
                "is_of_transactions": False,
            },
        )
        for piece in ([base, None] if has_base else []) + [*chunks, None]:
            frames.write(stdin, piece)
        pieces: list[bytes] = []
        while isinstance(piece := frames.read(stdout), bytes):
            pieces.append(piece)
        return pieces if piece is None else piece

    return Children().run(CHILD, converse, timeout_s=WAIT_S, name="the child")


@pytest.mark.parametrize("seed", range(3))
def test_its_snapshots_are_those_of_this_process_byte_by_byte(seed: int) -> None:
    batches, ends = batches_of(seed)
    middle = len(batches) // 2
    base = b"".join(encoded(batches[:middle], ends[middle - 1]))
    assert b"".join(folded(batches[:middle], ends[middle - 1])) == base
    assert folded(batches[middle:], ends[-1], base) == encoded(batches[middle:], ends[-1], base)
    joined = b"".join(batches)  # one chunk, which goes on behind the offset
    assert b"".join(folded([joined], ends[middle - 1])) == base


def test_a_log_of_a_cleaner_may_have_gaps() -> None:
    batches, ends = batches_of(0)
    assert folded(batches[1:], ends[-1], is_whole=False) == encoded(batches[1:], ends[-1])


def test_it_says_what_is_damaged_or_missing_in_a_sentence() -> None:
    batches, ends = batches_of(0)
    base = b"".join(encoded(batches[:3], ends[2]))
    damaged = batches[4][:-1] + bytes([batches[4][-1] ^ 1])
    of_another_partition = b"".join(encoded(batches[:3], ends[2], partition=5))
    missing = f"records behind offset {ends[2]} "
    for said, text in (
        (folded(batches[3:], ends[-1], base[:-1] + b"x"), "it is damaged"),
        (folded(batches[3:], ends[-1], b"no snapshot"), "the file is no snapshot"),
        (folded(batches[3:], ends[-1], of_another_partition), "it is of partition 5"),
        (folded([batches[3], damaged, *batches[5:]], ends[-1], base), "a batch of the store cannot be read: "),
        (folded([batches[3][:20]], ends[-1], base), "a batch of the store cannot be read: "),
        (folded(batches[4:], ends[-1], base), missing),
        (folded([], ends[-1], base), missing),  # noticed behind the last batch
        (folded([*batches[:3], *batches[4:]], ends[-1]), missing),
        (folded(batches[:3], ends[-1]), missing),
        (folded(batches[1:], ends[-1]), "records behind offset 0 are missing"),
        (folded([], 0), "the log is empty"),
    ):
        assert isinstance(said, str)
        assert said.startswith(text)


DAEMON = """
import sys
from coordinator.processes import frames
from coordinator.processes.child_process import Children
from coordinator.storage.snapshot.store_keeper import CHILD

children = Children()

def converse(stdin, stdout):
    order = {"partition": 0, "end_offset": 1, "has_base": False, "is_whole": True, "is_of_transactions": False}
    frames.write(stdin, order)
    print(next(iter(children._running)).pid, flush=True)
    return frames.read(stdout)  # it waits for batches, which never come

children.run(CHILD, converse, timeout_s=600, name="the child")
"""


def test_it_dies_with_the_daemon() -> None:
    with subprocess.Popen([sys.executable, "-c", DAEMON], stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        try:
            child = int(daemon.stdout.readline())
            with Path(f"/proc/{child}/fd/0").open("wb"):  # so that only its lifeline tells it
                daemon.kill()
                eventually(lambda: is_gone(child), "the child has ended")
        finally:
            daemon.kill()
