"""The mirror on disk: the cluster's bytes and offsets, gaps, resumption, torn ends, failing disks."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.observe.decode import Decoder
from coordinator.observe.errors import LogRecreatedError
from coordinator.observe.mirror import Mirror
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import LogConfig
from tests.observe.world import RememberingState, batch, commit, commits_from, log_bytes, part


def opened(path: Path, partitions: int = 1, config: LogConfig | None = None) -> Mirror:
    return Mirror.open(path, partitions, RealFileSystem(), config)


def content(path: Path, partition: int = 0) -> bytes:
    return log_bytes(list(offsets_log_dir(path, partition).glob("*.log")))


def test_the_mirror_has_the_clusters_bytes(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    data = commits_from(0, 20, 3)
    taken = mirror.take([part(0, 0, data)])
    assert (taken.parts[0].next_offset, taken.parts[0].records, taken.parts[0].size_bytes) == (20, 20, len(data))
    mirror.close()
    assert content(tmp_path) == data


def test_a_batch_that_was_cut_off_is_left_for_the_next_fetch(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    whole, more = commits_from(0, 4), commits_from(4, 1)
    mirror.take([part(0, 0, whole + more[:-1], 5)])
    assert mirror.next_offset(0) == 4
    mirror.take([part(0, 4, more)])
    mirror.close()
    assert content(tmp_path) == whole + more


def test_an_answer_that_is_out_of_date_is_left_out(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    data = commits_from(0, 4)
    mirror.take([part(0, 0, data)])
    assert not mirror.take([part(0, 0, data)]).parts
    mirror.close()
    assert content(tmp_path) == data


def test_gaps_that_compaction_left_are_kept(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    data = commits_from(5, 1) + commits_from(9, 2) + commits_from(40, 1)
    mirror.take([part(0, 0, data)])
    assert mirror.next_offset(0) == 41
    mirror.close()
    assert content(tmp_path) == data
    again = opened(tmp_path)
    assert (again.next_offset(0), again.recovery_messages()) == (41, [])
    again.close()


@pytest.mark.parametrize("start", [2**31 - 1, 2**31, 2**33])
def test_a_log_may_begin_and_go_on_beyond_the_range_of_an_index(tmp_path: Path, start: int) -> None:
    mirror = opened(tmp_path)
    data = commits_from(start, 2) + commits_from(start + 2**32, 2)
    mirror.take([part(0, 0, data)])
    mirror.close()
    assert content(tmp_path) == data
    again = opened(tmp_path)
    assert again.next_offset(0) == start + 2**32 + 2
    again.close()


def test_a_jump_to_the_start_of_the_clusters_log_survives_a_restart(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    mirror.take([part(0, 0, commits_from(0, 3))])
    mirror.skip_to(0, 5_000_000_000)
    mirror.save_checkpoints()
    mirror.abandon()
    again = opened(tmp_path)
    assert again.next_offset(0) == 5_000_000_000
    again.take([part(0, 5_000_000_000, commits_from(5_000_000_000, 2))])
    again.close()
    assert content(tmp_path) == commits_from(0, 3) + commits_from(5_000_000_000, 2)


def test_batches_below_the_position_are_left_out_and_one_across_it_is_another_log(tmp_path: Path) -> None:
    mirror = opened(tmp_path)
    mirror.take([part(0, 0, commits_from(0, 3))])
    mirror.take([part(0, 3, commits_from(2, 3))])
    assert mirror.next_offset(0) == 5
    with pytest.raises(LogRecreatedError, match="partition 0 at offset 5"):
        mirror.take([part(0, 5, commits_from(3, 6, 6))])
    mirror.close()
    assert content(tmp_path) == commits_from(0, 5)


def test_damaged_bytes_are_never_written(tmp_path: Path) -> None:
    mirror = opened(tmp_path, 2)
    data = bytearray(commits_from(0, 3))
    data[-2] ^= 1
    taken = mirror.take([part(0, 0, bytes(data), 3), part(1, 0, commits_from(0, 3))])
    assert "checksum" in str(taken.problem)
    assert (mirror.next_offset(0), mirror.next_offset(1)) == (0, 3)
    mirror.close()


@pytest.mark.parametrize("left", [1, 60, 61, 100])
def test_a_torn_end_is_cut_and_fetched_again(tmp_path: Path, left: int) -> None:
    mirror = opened(tmp_path)
    data = commits_from(0, 30, 3)
    mirror.take([part(0, 0, data)])
    mirror.abandon()
    (file,) = offsets_log_dir(tmp_path, 0).glob("*.log")
    file.write_bytes(data + commits_from(30, 3, 3)[:left])
    again = opened(tmp_path)
    assert again.next_offset(0) == 30
    again.take([part(0, 30, commits_from(30, 6, 3))])
    again.close()
    assert content(tmp_path) == data + commits_from(30, 6, 3)


def test_segments_are_rolled_and_indexed_as_any_log(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=2_000, index_interval_bytes=200)
    mirror = opened(tmp_path, config=config)
    data = commits_from(0, 100, 2)
    mirror.take([part(0, 0, data)])
    mirror.close()
    files = sorted(offsets_log_dir(tmp_path, 0).glob("*.log"))
    assert len(files) > 3
    assert log_bytes(files) == data
    again = opened(tmp_path, config=config)
    log = again.logs[0]
    assert log.read(50, 10_000)[:8] == (50).to_bytes(8, "big")
    again.close()


def test_the_state_is_built_from_the_mirror_and_then_gets_nothing_twice(tmp_path: Path) -> None:
    mirror = opened(tmp_path, 2)
    mirror.take([part(0, 0, commits_from(0, 30, 3)), part(1, 0, batch(0, commit("h", 7)))])
    mirror.close()
    again, decoder, state = opened(tmp_path, 2), Decoder(), RememberingState()
    for decoded in again.replay(decoder):
        state.commits(decoded.groups, decoded.topics, decoded.partitions, decoded.offsets, decoded.at_ms)
    assert state.offsets == {("g", "t", 0): 29, ("h", "t", 0): 7}
    new = again.take([part(0, 30, commits_from(30, 1))]).to_decode
    assert [each.batches.base_offset.tolist() for each in new] == [[30]]
    again.close()


def test_a_failed_write_is_cut_back_and_the_state_gets_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coordinator.storage.log import fs as real

    mirror = opened(tmp_path)
    mirror.take([part(0, 0, commits_from(0, 3))])
    mirror.sync()
    mirror.take([part(0, 3, commits_from(3, 3))])
    write = real.RealFile.pwrite

    def half(self: real.RealFile, data: bytes, position: int) -> None:
        write(self, data[: len(data) // 2], position)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(real.RealFile, "pwrite", half)
    taken = mirror.take([part(0, 6, commits_from(6, 3))])
    assert taken.error is not None
    assert not taken.to_decode
    monkeypatch.undo()
    mirror.repair()
    assert mirror.next_offset(0) == 3  # what was not flushed is fetched again
    taken = mirror.take([part(0, 3, commits_from(3, 6))])
    assert [each.batches.base_offset.tolist() for each in taken.to_decode] == [[6, 7, 8]]
    mirror.close()
    assert content(tmp_path) == commits_from(0, 9)
