"""`meta.properties`: a data directory that opens with the identity in the file, or a DataDirError."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Final

from coordinator.config.config import Config
from coordinator.storage.data_dir import DataDir, DataDirError
from coordinator.storage.file_names import META_NAME
from coordinator.storage.log.fs import read_whole
from tests.fuzz.edits import edited
from tests.fuzz.files import directory_with

HERE: Final = Path("/p")
WORDS: Final = (
    *("0", "1", "-1", "", "8", "50", "1_0", "٣", "9" * 5_000, "abc", "\x00", "\n", "1.0", " 1", "0x1"),
    *("version", "node.id", "cluster.id", "offsets.topic.num.partitions", "coordinator.format.version", "broker.id"),
)


def check(data: bytes) -> None:
    fs = directory_with(HERE, {META_NAME: data})
    try:
        opened = DataDir.open(HERE, Config(), fs)
    except DataDirError as error:
        assert str(error)
        return
    opened.close()
    assert opened.node_id == Config().node_id
    assert 1 <= opened.offsets_partitions <= 100_000
    written = read_whole(fs, HERE / META_NAME)
    again = DataDir.open(HERE, Config(), fs)
    assert (again.cluster_id, again.offsets_partitions) == (opened.cluster_id, opened.offsets_partitions)
    assert read_whole(fs, HERE / META_NAME) == written


def seeds() -> list[bytes]:
    fs = directory_with(HERE, {})
    DataDir.open(HERE, Config(cluster_id="cluster"), fs)
    return [read_whole(fs, HERE / META_NAME), b"#\n#date\nbroker.id=1\nversion=0\ncluster.id=abc\n", b""]


def mutate(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.4:
        return edited(data or b"a=b", chance)
    lines = data.decode(errors="replace").split("\n")
    at = chance.randrange(len(lines))
    words = lines[at].split("=")
    words[chance.randrange(len(words))] = chance.choice(WORDS)
    lines[at] = "=".join(words)
    return "\n".join(lines).encode(errors="replace")
