"""Decode kernel against plain reader: the same segments by both, in turns, in one run.

Both read all records with offset, timestamp, key and value from bytes that are in memory, on one core: the plain reader
(`protocol.record_batch.read_records`) as Python objects, the kernel as columns that point at keys and values. CPU time
of the process counts, not the clock's, and medians over the rounds are shown. Further lines say what each addition
costs: checksums, Arrow columns of keys and values, the decoded table.

    python bench/kernel.py                     # makes 40 MB of log, and takes about half a minute
    python bench/kernel.py --data-dir DIR      # a log that is there

Exit code 1: the two did not read the same. A slow figure is printed, never an error.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.spark_logs import size_of, write_logs
from coordinator.columnar.columns import offsets_table
from coordinator.columnar.kernel import Batches, Records, read_batches, read_records
from protocol.compression import Codec
from protocol.record_batch import iter_batches, verify
from protocol.record_batch import read_records as plainly_read

HERE: Final = Path("segment")
TARGET_RATIO: Final = 8.0
TARGET_MREC_S: Final = 1.0


def plain(data: bytes, *, checked: bool) -> int:
    records = 0
    for position, header in iter_batches(data):
        if checked:
            verify(data, position, header)
        records += len(plainly_read(data, position, header))
    return records


def by_kernel(data: bytes, *, checked: bool) -> tuple[Batches, Records]:
    batches, _ = read_batches(data, path=HERE, verify_crc=checked)
    return batches, read_records(data, batches, path=HERE)


def with_columns(data: bytes) -> int:
    _, records = by_kernel(data, checked=False)
    return len(records.keys()) + len(records.values())


def as_table(data: bytes) -> int:
    batches, records = by_kernel(data, checked=False)
    return int(offsets_table(batches, records, log_partition=0).num_rows)


WORKS: Final[dict[str, Callable[[bytes], Any]]] = {
    "plain": lambda data: plain(data, checked=False),
    "plain, checksums": lambda data: plain(data, checked=True),
    "kernel": lambda data: by_kernel(data, checked=False),
    "kernel, checksums": lambda data: by_kernel(data, checked=True),
    "kernel, keys and values as Arrow": with_columns,
    "kernel, the decoded table": as_table,
}


def is_same(data: bytes) -> bool:
    """Return whether both read the same records."""
    _, records = by_kernel(data, checked=True)
    rows = zip(
        records.offset.tolist(),
        records.timestamp.tolist(),
        records.keys().to_pylist(),
        records.values().to_pylist(),
        strict=True,
    )
    expected = (each[:4] for position, header in iter_batches(data) for each in plainly_read(data, position, header))
    return all(found == wanted for found, wanted in zip(rows, expected, strict=True))


def measure(segments: list[bytes], rounds: int) -> dict[str, float]:
    """Median CPU seconds for all segments, by work."""
    taken: dict[str, list[float]] = {name: [] for name in WORKS}
    for _ in range(rounds):
        for name, work in WORKS.items():
            started = time.process_time()
            for data in segments:
                work(data)
            taken[name].append(time.process_time() - started)
    return {name: statistics.median(each) for name, each in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data-dir", type=Path, help="a log that is there, instead of a made one")
    parser.add_argument("--size", type=size_of, default="40MB", help="of the log that is made")
    parser.add_argument("--codec", choices=[each.name.lower() for each in Codec], default="none")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-kernel-") as name:
        data_dir = given.data_dir
        if data_dir is None:
            data_dir = Path(name) / "data"
            codec = Codec[given.codec.upper()]
            write_logs(data_dir, size_bytes=given.size, keys=given.size // 2000, codec=codec)
        segments = [path.read_bytes() for path in sorted(data_dir.glob("__consumer_offsets-*/*.log"))]
    if not segments:
        sys.exit(f"bench: {data_dir} holds no offsets log")
    if not all(is_same(data) for data in segments):
        print("bench: the kernel did not read what the plain reader read", file=sys.stderr)
        return 1
    size_mb = sum(map(len, segments)) / 1e6
    records = sum(plain(data, checked=False) for data in segments)
    seconds = measure(segments, given.rounds)
    rates = {name: records / each / 1e6 for name, each in seconds.items()}
    ratios = {
        name: seconds["plain" if "checksums" not in name else "plain, checksums"] / seconds[name] for name in WORKS
    }
    if given.json:
        print(json.dumps({"records": records, "size_mb": size_mb, "mrec_s": rates, "ratio": ratios}))
        return 0
    print(
        f"{records} records, {size_mb:.1f} MB in {len(segments)} segments; CPU time, medians of {given.rounds} rounds"
    )
    print(f"{'':34}{'Mrec/s':>8}{'MB/s':>8}{'x plain':>9}")
    for work, rate in rates.items():
        print(f"{work:34}{rate:8.2f}{size_mb / seconds[work]:8.0f}{ratios[work]:9.1f}")
    print(
        f"asked for: x{TARGET_RATIO:.0f} and {TARGET_MREC_S:.0f} Mrec/s per core; "
        f"reached: x{ratios['kernel']:.1f} and {rates['kernel']:.1f} Mrec/s"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
