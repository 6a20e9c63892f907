"""Kafka's own Cleaner as a function: segments in, cleaned segments out, with a clock of ours.

One JVM serves a whole test run (java/CleanLogs.java), so a round costs milliseconds and hundreds of random logs can be
compared. `differences` holds what it made against what we made, batch by batch.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from protocol.compression import Codec
from protocol.record_batch import BatchHeader, Record, iter_batches, read_records
from tests.compaction.logs import DAY_MS, Segment
from tests.conformance.kafka import KafkaMissingError, cache_dir, jars

SOURCE = Path(__file__).parent / "java" / "CleanLogs.java"


def _class_path() -> str:
    """Kafka's jars and our class, compiled once for each version of both."""
    if shutil.which("javac") is None:
        raise KafkaMissingError("javac is needed to call Kafka's cleaner: install openjdk-17-jdk-headless")
    kafka = jars("broker")
    version = hashlib.sha256(kafka.name.encode() + SOURCE.read_bytes()).hexdigest()[:12]
    classes = cache_dir() / f"clean-logs-{version}"
    if not classes.is_dir():
        with tempfile.TemporaryDirectory(dir=cache_dir()) as name:  # beside it first: another run may do the same
            made = Path(name) / "classes"
            command = ["javac", "-cp", f"{kafka}/*", "-d", str(made), str(SOURCE)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            if done.returncode != 0:
                raise AssertionError(f"{SOURCE.name} does not compile with this Kafka: {done.stderr[-2000:]}")
            if not classes.is_dir():
                made.rename(classes)
    return f"{classes}:{kafka}/*"


class KafkaCleaner:
    """The JVM. Use it as a context manager."""

    def __enter__(self) -> KafkaCleaner:
        self._directory = tempfile.TemporaryDirectory()
        self._rounds = 0
        flags = [
            "-Xmx256m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=off",
        ]
        command = ["java", *flags, "-cp", _class_path(), "CleanLogs"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._directory.cleanup()

    def clean(
        self,
        closed: Sequence[Segment],
        active: Segment,
        *,
        now_ms: int,
        first_dirty: int = 0,
        clean_up_to: int | None = None,
        high_watermark: int | None = None,
        delete_retention_ms: int = DAY_MS,
        segment_bytes: int = 1 << 20,
    ) -> list[Segment]:
        """One round; what is left below `clean_up_to`, without the empty files that Kafka leaves.

        The high watermark is by default where the round ends, so that its last batch is kept as by Kafka before 4.4.
        """
        end = active.base_offset if clean_up_to is None else clean_up_to
        self._rounds += 1
        directory = Path(self._directory.name) / f"offsets-{self._rounds}"
        directory.mkdir()
        for segment in (*closed, active):
            (directory / segment.name).write_bytes(segment.data)
        numbers = (
            first_dirty,
            end,
            end if high_watermark is None else high_watermark,
            now_ms,
            delete_retention_ms,
            segment_bytes,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join([str(directory), *map(str, numbers)]) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline().strip()
        assert answer == f"end {end}", answer
        made = read_segments(directory, end)
        shutil.rmtree(directory)
        return made


def read_segments(directory: Path, end: int) -> list[Segment]:
    """The segments that begin below `end`, but for empty ones."""
    found = [Segment(int(path.stem), path.read_bytes()) for path in sorted(directory.glob("*.log"))]
    return [segment for segment in found if segment.base_offset < end and segment.data]


@dataclass(frozen=True, slots=True)
class Seen:
    """A batch, as far as two implementations must agree on it."""

    header: BatchHeader
    raw: bytes | None  # None if it is compressed: the same codec has many encoders
    records: tuple[Record, ...]


def seen(segments: Sequence[Segment]) -> list[tuple[str, Seen]]:
    """(file name, batch) of all batches."""
    found = []
    for segment in segments:
        for position, header in iter_batches(segment.data):
            records = tuple(read_records(segment.data, position, header))
            if header.codec == Codec.NONE:
                one = Seen(header, segment.data[position : position + header.size_bytes], records)
            else:
                one = Seen(header._replace(crc=0, batch_length=0), None, records)
            found.append((segment.name, one))
    return found


def keys(segments: Sequence[Segment]) -> set[tuple[int, object]]:
    """(offset, key) of every record that is left, markers included."""
    return {(each.offset, each.key) for _, batch in seen(segments) for each in batch.records}
