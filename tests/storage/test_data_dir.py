"""The data directory: its lock, its identity, and the errors if it does not match the settings."""

from __future__ import annotations

import contextlib
import errno
from pathlib import Path

import pytest

from coordinator.config.config import Config
from coordinator.storage.data_dir import DataDir, DataDirError
from coordinator.storage.log.fs import File, RealFileSystem

CONFIG = Config()


def facts_in(path: Path) -> dict[str, str]:
    lines = (path / "meta.properties").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def refusal(path: Path, config: Config = CONFIG) -> str:
    with pytest.raises(DataDirError) as refused:
        DataDir.open(path, config)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert str(path) in sentence
    return sentence


def test_a_new_directory_is_made_and_gets_an_identity_that_stays(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "data"
    first = DataDir.open(path, CONFIG)
    assert len(first.cluster_id) == 22
    assert (first.path, first.node_id, first.offsets_partitions) == (path, 1, 8)
    first.close()
    assert facts_in(path) == {
        "coordinator.format.version": "1",
        "version": "1",
        "cluster.id": first.cluster_id,
        "node.id": "1",
        "offsets.topic.num.partitions": "8",
        "transaction.state.log.num.partitions": "8",
    }
    second = DataDir.open(path, CONFIG)
    assert second.cluster_id == first.cluster_id
    second.close()


def test_a_second_daemon_is_refused_until_the_first_releases_the_lock(tmp_path: Path) -> None:
    first = DataDir.open(tmp_path, CONFIG)
    assert "in use by another daemon" in refusal(tmp_path)
    first.close()
    DataDir.open(tmp_path, CONFIG).close()


def test_a_refused_start_does_not_keep_the_lock(tmp_path: Path) -> None:
    DataDir.open(tmp_path, CONFIG).close()
    refusal(tmp_path, Config(node_id=7))
    DataDir.open(tmp_path, CONFIG).close()


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (Config(offsets_topic_num_partitions=50), "set offsets.topic.num.partitions=8"),
        (Config(node_id=7), "set node.id=1"),
        (Config(cluster_id="another"), "but cluster.id is another"),
    ],
)
def test_settings_that_disagree_with_the_directory_are_refused(tmp_path: Path, config: Config, sentence: str) -> None:
    DataDir.open(tmp_path, CONFIG).close()
    assert sentence in refusal(tmp_path, config)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("coordinator.format.version=2\nversion=1\n", "format version 2, but this program knows only 1"),
        ("version=7\n", "unknown version 7"),
        ("what is this\n", "no key=value"),
        ("offsets.topic.num.partitions=eight\n", "not from 1 to 10000"),
        ("offsets.topic.num.partitions=0\n", "not from 1 to 10000"),
        (f"offsets.topic.num.partitions={'9' * 5_000}\n", "not from 1 to 10000"),
    ],
)
def test_a_directory_of_another_format_is_refused(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "meta.properties").write_text(content)
    assert sentence in refusal(tmp_path)
    (tmp_path / "meta.properties").write_bytes(b"\xff\xfe")
    assert "not text" in refusal(tmp_path)


def test_a_number_of_partitions_below_those_that_are_there_is_refused(tmp_path: Path) -> None:
    DataDir.open(tmp_path, CONFIG).close()
    (tmp_path / "__consumer_offsets-7").mkdir()
    DataDir.open(tmp_path, CONFIG).close()
    meta = tmp_path / "meta.properties"
    meta.write_text(meta.read_text().replace("partitions=8", "partitions=7"))
    assert "write the number that this directory has always had, at least 8" in refusal(tmp_path)


def test_a_directory_from_kafka_is_adopted(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "#\n#Mon Jan 01 00:00:00 UTC 2024\ncluster.id=abc\nversion=1\nnode.id=3\ndirectory.id=xyz\n"
    )
    for number in range(50):
        (tmp_path / f"__consumer_offsets-{number}").mkdir()
    assert "set offsets.topic.num.partitions=50" in refusal(tmp_path, Config(node_id=3, offsets_topic_num_partitions=9))
    adopted = DataDir.open(tmp_path, Config(node_id=3))  # the default is not a request
    assert (adopted.cluster_id, adopted.node_id, adopted.offsets_partitions) == ("abc", 3, 50)
    adopted.close()
    assert facts_in(tmp_path)["directory.id"] == "xyz"


def test_a_kafka_that_takes_its_directory_back_checks_what_was_appended(tmp_path: Path) -> None:
    """It trusts the ends of its logs while its note of a clean stop is there."""
    note = tmp_path / ".kafka_cleanshutdown"
    note.write_text('{"version":0,"brokerEpoch":7}')
    refusal(tmp_path, Config(cluster_nodes="1@a:1,2@b:1"))
    assert note.exists(), "nothing was appended"
    DataDir.open(tmp_path, CONFIG).close()
    assert not note.exists()


def test_a_node_of_a_cluster_does_not_count_its_directories_as_the_number_of_partitions(tmp_path: Path) -> None:
    nodes = "1@a:9092,2@b:9092,3@c:9092"
    for number in (2, 5):  # moved here from another node
        (tmp_path / f"__consumer_offsets-{number}").mkdir()
    with contextlib.closing(DataDir.open(tmp_path, Config(node_id=3, cluster_nodes=nodes, cluster_id="shop"))) as made:
        assert (made.cluster_id, made.offsets_partitions) == ("shop", 8)
    (tmp_path / "__consumer_offsets-49").mkdir()
    (tmp_path / "meta.properties").unlink()
    few = Config(node_id=3, cluster_nodes=nodes, cluster_id="shop", offsets_topic_num_partitions=6)
    assert "set offsets.topic.num.partitions=50" in refusal(tmp_path, few)


def test_a_cluster_needs_a_name_that_all_nodes_share(tmp_path: Path) -> None:
    nodes = Config(cluster_nodes="1@a:9092,2@b:9092")
    assert "belongs to no cluster yet; set cluster.id to a name of your choice, the same on" in refusal(tmp_path, nodes)
    DataDir.open(tmp_path, Config(cluster_id="shop")).close()
    DataDir.open(tmp_path, nodes).close()  # it has a cluster id already


def test_leftover_files_of_a_deleted_topic_are_removed(tmp_path: Path) -> None:
    left = tmp_path / "orders-3-delete"
    left.mkdir()
    (left / "00000000000000000000.log").write_bytes(b"x")
    (tmp_path / "orders-delete-3").mkdir()
    DataDir.open(tmp_path, CONFIG).close()
    assert not left.exists()
    assert (tmp_path / "orders-delete-3").exists()


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert "cannot be used" in refusal(tmp_path / "file")


class ReadOnlyFileSystem(RealFileSystem):
    def open(self, path: Path, *, create: bool = False) -> File:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    lock = open


def test_a_directory_that_cannot_be_written_is_refused_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(DataDirError, match=r"Permission denied.*make it writable, or choose another with --data-dir"):
        DataDir.open(tmp_path, CONFIG, ReadOnlyFileSystem())
