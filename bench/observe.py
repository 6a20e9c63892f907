"""Speed of `coordinator observe`: records followed a second, and the CPU time that takes.

A broker of its own process, pinned to one core, has a `__consumer_offsets` of 50 partitions whose high watermarks grow
at a given rate: commits of many groups, made once and repeated with new offsets. The follower, pinned to the other
core, is the real one: connection, Fetch, mirror on disk with flushes, decoding, and the state. Figures are taken after
a warm-up. `--rate 0`: everything is there from the start, so the figure is the greatest speed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict, parser
from bench.report import markdown_table
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.headers import decode_request_header, encode_response_header
from protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from protocol.messages.list_offsets import ListOffsetsPartitionResponse, ListOffsetsResponse, ListOffsetsTopicResponse
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.offsets_records import OffsetValue, encode_offset_key, encode_offset_value
from protocol.record_batch import build_batch

TOPIC: Final = "__consumer_offsets"
PARTITIONS: Final = 50
GROUP_PARTITIONS: Final = 10  # committed by each group
BASE_OFFSET: Final = struct.Struct(">q")
VERSIONS: Final = {ApiKey.API_VERSIONS: 0, ApiKey.METADATA: 12, ApiKey.FETCH: 12, ApiKey.LIST_OFFSETS: 6}
TEMPLATE_CYCLES: Final = 20  # times that each group commits before a template repeats
WHOLE_LOG: Final = 2**40


class Template:
    """The batches of one partition, and where each begins. Offsets in it count from 0, and it repeats for ever."""

    def __init__(self, partition: int, groups: int, per_batch: int) -> None:
        now_ms = time.time_ns() // 1_000_000
        self.data = bytearray()
        self.starts: list[int] = []
        self.firsts: list[int] = []
        count = 0
        rows = []
        for cycle in range(TEMPLATE_CYCLES):
            for group in range(partition, groups, PARTITIONS):
                rows += [
                    (
                        encode_offset_key(f"billing-service-{group:05d}", f"orders-{group % 40:03d}", number),
                        encode_offset_value(OffsetValue(1_000_000 + cycle * 500, -1, "", now_ms, -1)),
                    )
                    for number in range(GROUP_PARTITIONS)
                ]
        for first in range(0, len(rows), per_batch):
            some = rows[first : first + per_batch]
            self.starts.append(len(self.data))
            self.firsts.append(count)
            self.data += build_batch(some, base_offset=count, timestamp_ms=now_ms)
            count += len(some)
        self.starts.append(len(self.data))
        self.count = count
        self.per_batch = per_batch

    def read(self, offset: int, end: int, max_bytes: int) -> bytes:
        """Return whole batches from an offset on, below `end`."""
        out = bytearray()
        while offset < end and len(out) < max_bytes:
            cycle, within = divmod(offset, self.count)
            first = within // self.per_batch
            last = min(len(self.firsts), first + max(1, (end - offset) // self.per_batch))
            while last > first + 1 and self.starts[last] - self.starts[first] > max_bytes - len(out):
                last -= max(1, (last - first) // 8)
            chunk = self.data[self.starts[first] : self.starts[last]]
            shift = cycle * self.count
            begin = self.starts[first]
            for number in range(first, last):
                BASE_OFFSET.pack_into(chunk, self.starts[number] - begin, shift + self.firsts[number])
            out += chunk
            offset = shift + (self.firsts[last] if last < len(self.firsts) else self.count)
        return bytes(out)


class Broker:
    """Answers what the follower asks."""

    def __init__(self, templates: list[Template], rate: float, seconds_ahead: float) -> None:
        self.templates = templates
        self.rate = rate
        self.seconds_ahead = seconds_ahead
        self.began = 0.0
        self.port = 0

    def high_watermark(self, partition: int) -> int:
        if not self.rate:
            return WHOLE_LOG
        if not self.began:
            self.began = time.monotonic()
        records = int(self.rate * (time.monotonic() - self.began + self.seconds_ahead)) // PARTITIONS
        per_batch = self.templates[partition].per_batch
        return records // per_batch * per_batch

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                frame = await reader.readexactly(size)
                header, position = decode_request_header(frame)
                request = codec.decode_request(header.api_key, header.api_version, frame, position)
                answer = await self.answer(header.api_key, request)
                body = encode_response_header(header.api_key, header.api_version, header.correlation_id)
                body += codec.encode_response(answer, header.api_version)
                writer.write(len(body).to_bytes(4, "big") + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, key: int, request: Any) -> Any:
        if key == ApiKey.API_VERSIONS:
            return ApiVersionsResponse(
                error_code=0,
                api_keys=[
                    ApiVersion(api_key=int(each), min_version=0, max_version=top) for each, top in VERSIONS.items()
                ],
            )
        if key == ApiKey.METADATA:
            partitions = [
                MetadataResponsePartition(
                    error_code=0, partition_index=number, leader_id=1, replica_nodes=[1], isr_nodes=[1]
                )
                for number in range(PARTITIONS)
            ]
            return MetadataResponse(
                brokers=[MetadataResponseBroker(node_id=1, host="127.0.0.1", port=self.port)],
                cluster_id="bench",
                controller_id=1,
                topics=[
                    MetadataResponseTopic(error_code=0, name=TOPIC, topic_id=bytes(15) + b"\1", partitions=partitions)
                ],
            )
        if key == ApiKey.LIST_OFFSETS:
            return ListOffsetsResponse(
                topics=[
                    ListOffsetsTopicResponse(
                        name=topic.name,
                        partitions=[
                            ListOffsetsPartitionResponse(
                                partition_index=each.partition_index,
                                error_code=0,
                                offset=self.high_watermark(each.partition_index),
                            )
                            for each in topic.partitions
                        ],
                    )
                    for topic in request.topics
                ]
            )
        return await self.fetch(request)

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        until = time.monotonic() + request.max_wait_ms / 1000
        while True:
            left = request.max_bytes
            found = []
            for each in request.topics[0].partitions:
                end = self.high_watermark(each.partition)
                data = b""
                if left > 0:
                    data = self.templates[each.partition].read(
                        each.fetch_offset, end, min(left, each.partition_max_bytes)
                    )
                left -= len(data)
                found.append(
                    PartitionData(
                        partition_index=each.partition,
                        error_code=0,
                        high_watermark=end,
                        last_stable_offset=end,
                        log_start_offset=0,
                        aborted_transactions=None,
                        records=data,
                    )
                )
            if left < request.max_bytes or time.monotonic() >= until:
                return FetchResponse(responses=[FetchableTopicResponse(topic=TOPIC, partitions=found)])
            await asyncio.sleep(0.01)


async def run_broker(args: argparse.Namespace) -> None:
    templates = [Template(number, args.groups, args.per_batch) for number in range(PARTITIONS)]
    broker = Broker(templates, args.rate, args.ahead)
    server = await asyncio.start_server(broker.serve, "127.0.0.1", 0, limit=1 << 20)
    broker.port = server.sockets[0].getsockname()[1]
    print(broker.port, flush=True)
    async with server:
        await server.serve_forever()


class PlainState:
    """A dictionary of offsets and a list of records: less than the real state does."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.count = 0

    def commits(
        self, groups: list[str], topics: list[str], partitions: list[int], offsets: list[int], at_ms: list[int]
    ) -> None:
        self.offsets.update(zip(zip(groups, topics, partitions, strict=True), offsets, strict=True))
        self.count += len(groups)

    def record(self, at_ms: int, key: bytes, value: bytes | None) -> None:
        self.count += 1

    def caught_up(self) -> None:
        pass


def new_state(name: str) -> Any:
    if name == "plain":
        return PlainState()
    from coordinator.observe.state import ObservedGroups

    return ObservedGroups()


async def run_follower(args: argparse.Namespace) -> None:
    from coordinator.observe.observer import Observer, ObserverSettings
    from coordinator.server.gc_policy import GcPolicy

    state = new_state(args.state)
    observer = Observer(
        ObserverSettings(f"127.0.0.1:{args.port}", args.directory, housekeeping_s=args.housekeeping), state
    )
    slow = 0.0

    async def watch_loop() -> None:
        """Find the longest time that this process kept its loop from running; not that of other processes."""
        nonlocal slow
        while True:
            before, cpu_before = time.perf_counter(), time.process_time()
            await asyncio.sleep(0.005)
            late = time.perf_counter() - before - 0.005
            slow = max(slow, min(late, time.process_time() - cpu_before))

    async def collect_garbage() -> None:
        while True:  # as the command does
            await asyncio.sleep(1)
            policy.second()

    policy = GcPolicy(lambda what, seconds: None)
    policy.start()
    collector = asyncio.create_task(collect_garbage())
    await observer.start()
    await asyncio.sleep(args.warmup)
    watcher = asyncio.create_task(watch_loop())
    children = children_cpu_s()
    before, began, cpu = observer.progress.records, time.perf_counter(), cpu_s()
    lags = []
    while time.perf_counter() - began < args.seconds:
        await asyncio.sleep(0.5)
        lags.append(observer.progress.lag)
    seconds = time.perf_counter() - began
    records = observer.progress.records - before
    facts = {
        "records_per_s": round(records / seconds),
        "cpu_share": round((cpu_s() - cpu) / seconds, 3),
        "cpu_us_per_record": round((cpu_s() - cpu) / max(records, 1) * 1e6, 2),
        "lag_first": lags[0],
        "lag_last": lags[-1],
        "lag_most": max(lags),
        "loop_held_ms": round(slow * 1000, 1),
        "bytes_per_record": round(observer.progress.bytes / max(observer.progress.records, 1)),
        "fetches": observer.progress.fetches,
        "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "children_cpu_share": round((children_cpu_s() - children) / seconds, 3),
        "log_mb": observer.log_bytes >> 20,
        "history_mb": observer.progress.history_bytes >> 20,
        "extracted_segments": observer.progress.extracted_segments,
        "compactions": observer.progress.compactions,
        "problem": observer.progress.problem or observer.progress.housekeeping_problem,
    }
    watcher.cancel()
    collector.cancel()
    await observer.stop()
    print(json.dumps(facts), flush=True)


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Run a broker and a follower, each on its own core, and return the follower's figures."""
    common = ["--rate", str(args.rate), "--groups", str(args.groups), "--per-batch", str(args.per_batch)]
    me = [sys.executable, __file__]
    with tempfile.TemporaryDirectory(dir=args.scratch) as name:
        broker = subprocess.Popen(
            ["taskset", "-c", str(args.cores[0]), *me, "--as", "broker", *common, "--ahead", str(args.ahead)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert broker.stdout is not None
            port = broker.stdout.readline().strip()
            command = ["taskset", "-c", str(args.cores[1]), *me, "--as", "follower", *common, "--port", port]
            command += ["--directory", name, "--seconds", str(args.seconds), "--warmup", str(args.warmup)]
            command += ["--state", args.state, "--housekeeping", str(args.housekeeping)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=args.seconds + args.warmup + 120)
            if done.returncode:
                raise SystemExit(done.stderr)
            facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
            return facts
        finally:
            broker.kill()
            broker.wait()


RUNS: Final = (
    ("100,000 a second, 10 in a batch", 100_000, 10, 0.0),
    ("100,000 a second, each in a batch of its own", 100_000, 1, 0.0),
    ("100,000 a second, with housekeeping", 100_000, 10, 10.0),
    ("as fast as possible", 0, 10, 0.0),
)
WANTED: Final = 100_000
HEADINGS: Final = (
    "records",
    "followed a second",
    "of one core",
    "loop held, ms",
    "behind at first",
    "at last",
    "MB of memory",
)


def report(args: argparse.Namespace) -> int:
    """Measure each of RUNS, and report."""
    findings = Findings("observe", "Following the offsets log of another Kafka")
    rows = []
    for name, rate, per_batch, housekeeping in RUNS:
        run = options().parse_args([])
        run.rate, run.per_batch, run.housekeeping, run.state = rate, per_batch, housekeeping, "real"
        run.scratch = args.work_dir
        run.seconds = 5.0 if args.quick else 20.0
        run.ahead = 0.0 if rate else 400.0

        def once(name: str = name, run: argparse.Namespace = run) -> None:
            facts = measure(run)
            findings.raw[name] = facts
            rows.append(
                (
                    name,
                    f"{facts['records_per_s']:,}",
                    f"{facts['cpu_share']:.0%}",
                    f"{facts['loop_held_ms']:.1f}",
                    f"{facts['lag_first']:,}" if run.rate else "-",
                    f"{facts['lag_last']:,}" if run.rate else "-",
                    f"{facts['rss_mb']}",
                )
            )
            if run.rate:
                findings.verdicts.append(
                    Verdict(f"{name}: followed", 0.99 * WANTED, "records a second", facts["records_per_s"], "at least")
                )

        findings.attempt(f"ours: {name}", once)
    findings.table("3,000 groups, the follower on one core", markdown_table(HEADINGS, rows))
    return findings.finish(args)


def options() -> argparse.ArgumentParser:
    """Return the options of one process of a run."""
    made = argparse.ArgumentParser(description=__doc__)
    made.add_argument("--as", dest="role", choices=("broker", "follower"), default="")
    made.add_argument("--rate", type=float, default=100_000, help="records a second; 0: as fast as possible")
    made.add_argument("--groups", type=int, default=3_000)
    made.add_argument("--per-batch", type=int, default=10, help="records of a batch")
    made.add_argument("--ahead", type=float, default=0.0, help="seconds of records that are there at the start")
    made.add_argument("--seconds", type=float, default=15.0)
    made.add_argument("--warmup", type=float, default=5.0)
    made.add_argument("--state", choices=("plain", "real"), default="plain")
    made.add_argument("--housekeeping", type=float, default=0, help="seconds between rounds; 0: none")
    made.add_argument("--port", type=int, default=0)
    made.add_argument("--directory", type=Path)
    made.add_argument("--scratch", default=None, help="directory for the mirror")
    made.add_argument("--cores", type=int, nargs=2, default=sorted(os.sched_getaffinity(0))[:2])
    return made


def main() -> int:
    """Be one process of a run, or measure all."""
    if "--as" not in sys.argv:
        return report(parser(__doc__).parse_args())
    args = options().parse_args()
    asyncio.run(run_broker(args) if args.role == "broker" else run_follower(args))
    return 0


if __name__ == "__main__":
    sys.exit(main())
