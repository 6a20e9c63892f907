"""`coordinator tables` at a real Kafka under load, killed again and again: each commit must be in the tables once.

Members of classic and of consumer groups commit to a Kafka all the time, while the command reads its offsets topic with
Spark's Kafka source. It is ended with SIGKILL, JVM and workers too, and started again. At the end each acknowledged
commit is looked for in the tables. CPU time and memory are those of the command with all its children.

    python bench/tables_stream.py --seconds 600 --kills 5 --markdown bench/build/tables_stream.md
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pyarrow.parquet as pq
from confluent_kafka import Consumer, KafkaException, TopicPartition

from bench import session_cost
from tests.conformance.kafka import Kafka, jars

TOPIC, PARTITIONS = "orders", 12
SETTINGS = {"offsets.topic.num.partitions": "8", "group.initial.rebalance.delay.ms": "0"}

Commit = tuple[str, int, int]  # group, partition, offset


@dataclass
class Load:
    """Members that commit growing offsets; `acknowledged` are those that the Kafka took."""

    address: str
    groups: int
    members: int
    pause_s: float
    acknowledged: list[Commit] = field(default_factory=list)
    sent: set[Commit] = field(default_factory=set)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for number in range(self.groups):
            protocol = "consumer" if number % 2 else "classic"
            for member in range(self.members):
                args = (f"{protocol}-{number}", protocol, member)
                self._threads.append(threading.Thread(target=self._member, args=args, daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)

    def _member(self, group: str, protocol: str, number: int) -> None:
        dice = random.Random(f"{group}-{number}")
        offset = number
        while not self._stop.is_set():
            offset = self._life(group, protocol, offset, 20 + dice.random() * 40)

    def _life(self, group: str, protocol: str, offset: int, seconds: float) -> int:
        """Be a member for some time. Offsets are the member's own: each commit of a group is another one."""
        settings: dict[str, Any] = {"bootstrap.servers": self.address, "group.id": group, "enable.auto.commit": False}
        consumer = Consumer(settings | {"group.protocol": protocol, "log_level": 0})
        consumer.subscribe([TOPIC])
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until and not self._stop.is_set():
                consumer.poll(self.pause_s)
                owned = consumer.assignment()
                if not owned:
                    continue
                offset += self.members
                places = [TopicPartition(TOPIC, each.partition, offset) for each in owned]
                self.sent.update((group, each.partition, offset) for each in owned)
                try:
                    done = consumer.commit(offsets=places, asynchronous=False)
                except KafkaException:
                    continue
                self.acknowledged += [(group, each.partition, each.offset) for each in done if each.error is None]
        finally:
            consumer.close()
        return offset


@dataclass
class Job:
    """The command, in a session of its own, so that all its processes can be killed."""

    address: str
    tables: Path
    log: Path
    every_s: float
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    _process: subprocess.Popen[bytes] | None = None

    def command(self, *more: str) -> list[str]:
        found = ",".join(str(path) for path in sorted(jars("spark").iterdir()))
        words = ["--tables-dir", str(self.tables), "--bootstrap-server", self.address, "--jars", found, "--json"]
        return [sys.executable, "-m", "coordinator", "tables", *words, *more]

    def start(self) -> None:
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                self.command("--every", str(self.every_s)), stdout=out, stderr=out, start_new_session=True
            )

    def kill(self) -> None:
        assert self._process is not None
        self.measure()
        self.cpu_s += session_cost.now(self._process.pid)[0]
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def finish(self) -> None:
        """Add what is left."""
        done = subprocess.run(self.command("--available-now"), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"the last run failed: {done.stderr[-2000:]}")

    def measure(self) -> None:
        assert self._process is not None
        self.peak_mb = max(self.peak_mb, session_cost.now(self._process.pid)[1])


def stored(tables: Path) -> Counter[Commit]:
    found: Counter[Commit] = Counter()
    for path in (tables / "commits").rglob("*.parquet"):
        table = pq.ParquetFile(path).read(["group", "partition", "committed_offset", "tombstone"])
        rows = zip(*(table[name].to_pylist() for name in table.column_names), strict=True)
        found.update((group, partition, offset) for group, partition, offset, is_gone in rows if not is_gone)
    return found


def rows_of(tables: Path, name: str) -> int:
    return sum(pq.ParquetFile(path).metadata.num_rows for path in (tables / name).rglob("*.parquet"))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--groups", type=int, default=6)
    parser.add_argument("--members", type=int, default=3)
    parser.add_argument("--every", type=float, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    seconds, kills = (90.0, 1) if arguments.quick else (arguments.seconds, arguments.kills)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        with Kafka(directory / "kafka", settings=SETTINGS) as kafka:
            kafka.create_topic(TOPIC, PARTITIONS)
            load = Load(kafka.address, arguments.groups, arguments.members, 0.02)
            load.start()
            time.sleep(5)
            job = Job(kafka.address, directory / "tables", directory / "job.log", arguments.every)
            begun = time.monotonic()
            for number in range(kills + 1):
                job.start()
                until = begun + seconds * (number + 1) / (kills + 1)
                while time.monotonic() < until:
                    time.sleep(1)
                    job.measure()
                job.kill()
                print(f"{time.monotonic() - begun:.0f} s: killed; {sum(stored(job.tables).values())} commits stored")
            load.stop()
            job.finish()
        found, acknowledged = stored(job.tables), Counter(load.acknowledged)
        facts = {
            "seconds": seconds,
            "kills": kills + 1,
            "acknowledged": sum(acknowledged.values()),
            "stored": sum(found.values()),
            "lost": sum(1 for each in acknowledged if not found[each]),
            "twice": sum(1 for each, count in found.items() if count > 1),
            "never_sent": sum(1 for each in found if each not in load.sent),
            "cpu_s": round(job.cpu_s, 1),
            "peak_mb": round(job.peak_mb),
            **{f"{table}_rows": rows_of(job.tables, table) for table in ("rebalances", "members", "moves", "lag")},
        }
        print((directory / "job.log").read_text(errors="replace")[-1500:])
    print(json.dumps(facts, indent=1))
    if arguments.json:
        arguments.json.write_text(json.dumps(facts, indent=1))
    if arguments.markdown:
        arguments.markdown.parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"| {key.replace('_', ' ')} | {value} |\n" for key, value in facts.items())
        arguments.markdown.write_text(f"| | |\n| --- | ---: |\n{rows}")
    return int(bool(facts["lost"] or facts["twice"] or facts["never_sent"]))


if __name__ == "__main__":
    sys.exit(main())
