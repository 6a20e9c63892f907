"""A history in a bucket: an S3 server that the tests start, and a file system of fsspec."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import fsspec
import pytest
from moto.server import ThreadedMotoServer
from pyarrow import fs as arrow_fs

from coordinator.cli.main import main
from coordinator.history.bucket import Bucket, BucketError, shown, writing
from coordinator.history.commits import Cut, standing
from coordinator.history.events import extract_events
from coordinator.history.extract import extract
from coordinator.history.retention import Limits, forget_old
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.log.fs import RealFileSystem
from tests.compaction.logs import ANYTHING, LogWriter, seeded
from tests.history.test_events import rebalance, write
from tests.history.worlds import GROUPS, data_dir

pytestmark = pytest.mark.integration
FS = RealFileSystem()


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    started = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    _, port = started.get_host_and_port()
    options = f"endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1&allow_bucket_creation=true"
    fs, _ = arrow_fs.FileSystem.from_uri(f"s3://key:secret@tables?{options}")
    fs.create_dir("tables")
    yield options
    started.stop()


@pytest.fixture(params=["s3", "fsspec"])
def url(request: pytest.FixtureRequest, server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    if request.param == "s3":
        return f"s3://key:secret@tables/{tmp_path.name}?{server}"
    fsspec.filesystem("memory").store.clear()
    return f"memory:///tables/{tmp_path.name}"


def content(directory: Path) -> dict[str, bytes]:
    """Return the files of a history."""
    own = ("pulled.json", ".lock", "writer.lock", "pull.lock")
    files = (path for path in directory.rglob("*") if path.is_file() and path.name not in own)
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_a_copy_follows_what_is_written(tmp_path: Path, url: str) -> None:
    source = data_dir(tmp_path / "data", LogWriter().write(seeded(1, 150, ANYTHING)).segments)
    with writing(url) as bucket:
        streamed = HistorySource.of(source.data_dir, bucket.copy)
        extract(streamed)
        assert bucket.push() > 10_000
        assert bucket.push() == 0
        reader = Bucket.of(url)
        assert reader.pull() > 10_000
        assert reader.pull() < 1_000  # the marks
        assert content(reader.copy) == content(bucket.copy)
        write(source.data_dir, rebalance(1, 1))
        extract_events(streamed)
        forget_old(streamed, Limits(0), 1 << 42, FS)
        bucket.push()
    reader = Bucket.of(url)
    reader.pull()
    assert content(reader.copy) == content(streamed.history_dir)


def test_one_program_writes_at_a_time(url: str) -> None:
    with writing(url), pytest.raises(BucketError, match="another program writes"), writing(url):
        pass


class KilledError(Exception):
    """The end of a run."""


@pytest.mark.parametrize("stop", [0, 1, 2, 6, 12, 13, 14, 15, 20])
@pytest.mark.parametrize("forgets", [False, True])
def test_a_push_that_ends_anywhere_is_completed_by_the_next_run(
    tmp_path: Path, stop: int, monkeypatch: pytest.MonkeyPatch, *, forgets: bool
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    fsspec.filesystem("memory").store.clear()
    url = f"memory:///tables/{tmp_path.name}"
    segments = LogWriter().write(seeded(3, 120, ANYTHING)).segments

    def work(source: HistorySource) -> None:
        extract(source)
        forget_old(source, Limits(0 if forgets else -1), 1 << 42, FS)

    with writing(url) as bucket:
        extract(HistorySource.of(data_dir(tmp_path / "data", segments[: len(segments) // 2]).data_dir, bucket.copy))
        bucket.push()
    source = data_dir(tmp_path / "more", segments)
    expected = HistorySource.of(source.data_dir, tmp_path / "expected")
    work(expected)
    with writing(url) as bucket:
        work(HistorySource.of(source.data_dir, bucket.copy))
        left = [stop]

        def killed(self: Bucket, name: str, data: bytes) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise KilledError
            put(self, name, data)

        put = Bucket._write
        with monkeypatch.context() as patched, suppress(KilledError):
            patched.setattr(Bucket, "_write", killed)
            bucket.push()
        reader = Bucket.of(url)
        reader.pull()
        half, whole = HistorySource.of(tmp_path / "none", reader.copy), load_group(source, "g")
        for group in GROUPS:  # nothing is missing, and nothing is there twice
            past = load_group(half, group)
            assert len(set(past.commits.log_offset)) == len(past.commits)
        past = load_group(half, "g")
        for cut in range(past.compacted_to, past.extracted_to):
            assert standing(past.commits, Cut(before_offset=cut)) == standing(whole.commits, Cut(before_offset=cut))
        if stop % 2:
            bucket.push()  # the same process goes on
    with writing(url) as bucket:
        work(HistorySource.of(source.data_dir, bucket.copy))
        bucket.push()
    reader.pull()
    found, wanted = content(reader.copy), content(expected.history_dir)
    assert found.keys() == wanted.keys()
    if not forgets:
        assert found == wanted
    for group in GROUPS:
        now, then = (
            load_group(HistorySource.of(tmp_path / "none", each), group)
            for each in (reader.copy, tmp_path / "expected")
        )
        assert now.records == then.records and standing(now.commits, Cut()) == standing(then.commits, Cut())


def test_files_that_were_removed_from_the_copy_stay_in_the_bucket(tmp_path: Path, url: str) -> None:
    source = data_dir(tmp_path / "data", LogWriter().write(seeded(1, 80, ANYTHING)).segments)
    with writing(url) as bucket:
        extract(HistorySource.of(source.data_dir, bucket.copy))
        bucket.push()
        for path in bucket.copy.rglob("commits/**/*.parquet"):
            path.unlink()
        with pytest.raises(BucketError, match="start this again"):
            bucket.push()
        shutil.rmtree(bucket.copy)
        with pytest.raises(BucketError, match="start this again"):
            bucket.push()
    reader = Bucket.of(url)
    reader.pull()
    assert any(reader.copy.rglob("commits/**/*.parquet"))


def test_commands_write_and_read_it(tmp_path: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    source = data_dir(tmp_path / "data", LogWriter().write(seeded(1, 80, ANYTHING)).segments)
    place = ["--data-dir", str(source.data_dir), "--history-dir", url]
    assert main(["history", "extract", *place]) == 0
    capsys.readouterr()
    assert main(["history", "commits", "g", "--history-dir", url, "--json", "--data-dir", str(tmp_path / "none")]) == 0
    there = json.loads(capsys.readouterr().out)
    extract(HistorySource.of(source.data_dir, tmp_path / "expected"))
    place = ["--history-dir", str(tmp_path / "expected"), "--data-dir", str(tmp_path / "none")]
    assert main(["history", "commits", "g", *place, "--json"]) == 0
    assert there == json.loads(capsys.readouterr().out) != []


def test_a_bucket_that_does_not_answer_is_a_sentence(
    tmp_path: Path, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = data_dir(tmp_path / "data", LogWriter().write(seeded(1, 20, ANYTHING)).segments)
    nothing = f"s3://key:secret@nothing/here?{server.replace('allow_bucket_creation=true', '')}"
    dead = nothing.replace("endpoint_override=127.0.0.1:", "endpoint_override=127.0.0.1:1#")
    for url, words in ((nothing, "NO_SUCH_BUCKET"), (dead, "check the address"), ("no://here/x", "check the address")):
        assert main(["history", "extract", "--data-dir", str(source.data_dir), "--history-dir", url]) != 0
        said = capsys.readouterr().err
        assert shown(url) in said and words in said and said.count("\n") == 1 and "secret" not in said, said
    assert main(["history", "commits", "g", "--history-dir", nothing]) != 0
    assert "there is no history in s3://" in capsys.readouterr().err
