"""The owner of a directory: locks, refused clusters, topics that were created again."""

from __future__ import annotations

from pathlib import Path

import pytest

from coordinator.observe.directory import ObservedDirectory, ObservedLog
from coordinator.observe.errors import ObserveError
from coordinator.storage.log.fs import RealFileSystem

FS = RealFileSystem()
LOG = ObservedLog("one", b"\1" * 16, 50)


def opened(path: Path) -> ObservedDirectory:
    return ObservedDirectory.open(path, FS)


def test_a_directory_remembers_whose_log_it_has(tmp_path: Path) -> None:
    directory = opened(tmp_path / "deep" / "mirror")
    assert directory.log is None
    directory.belongs_to(LOG)
    directory.close()
    again = opened(tmp_path / "deep" / "mirror")
    assert again.log == LOG
    again.check_cluster("one")
    with pytest.raises(ObserveError, match="mirrors the cluster one, but --bootstrap-server leads to two"):
        again.check_cluster("two")
    again.close()


def test_two_observers_of_one_directory_are_refused(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    with pytest.raises(ObserveError, match="in use by another daemon"):
        opened(tmp_path)
    directory.close()
    opened(tmp_path).close()


def test_a_data_directory_of_a_daemon_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=1\ncluster.id=x\nnode.id=1\n")
    with pytest.raises(ObserveError, match="no observation"):
        opened(tmp_path)


def test_a_log_of_unknown_origin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "__consumer_offsets-3").mkdir()
    with pytest.raises(ObserveError, match="unknown whose"):
        opened(tmp_path)


@pytest.mark.parametrize("text", ["observed.topic.id=xyz", "observed.topic.id=unknown\ncluster.id=a"])
def test_a_damaged_file_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(ObserveError, match="damaged"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("now", "why"),
    [
        (LOG, ""),
        (ObservedLog("one", bytes(16), 50), ""),
        (ObservedLog("one", b"\1" * 16, 60), ""),
        (ObservedLog("one", b"\2" * 16, 50), "the topic was deleted and created again"),
        (ObservedLog("one", b"\1" * 16, 8), "the topic has 8 partitions, and had 50"),
    ],
)
def test_another_log_of_the_same_cluster_is_recognised(now: ObservedLog, why: str) -> None:
    assert LOG.why_other(now) == why


def test_what_was_mirrored_is_set_aside_with_its_history(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    directory.belongs_to(LOG)
    (tmp_path / "__consumer_offsets-0").mkdir()
    (tmp_path / "history").mkdir()
    aside = directory.set_aside("20260101T000000Z")
    assert directory.log is None
    assert sorted(path.name for path in aside.iterdir()) == ["__consumer_offsets-0", "history", "meta.properties"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", aside.name]
    directory.close()
    assert opened(aside).log == LOG
