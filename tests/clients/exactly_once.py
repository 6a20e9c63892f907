"""Exactly-once processing with real clients, while clients and daemon are killed with SIGKILL.

Copies of a program take numbered records, written in transactions, of one topic, write each into another one, and send
their offsets with the same transactions; some are aborted on purpose. Copies, the daemon or both are killed and started
again, a copy is stopped for longer than its session now and then, so that it goes on as a zombie, and the offsets log
is compacted. Also the daemon is stopped, and a copy meets its successor. Held at the end:
  - a reader of committed records finds each number once, and those of a partition in order;
  - a reader that was there all the time found the same records in the same order;
  - no transaction is open or undecided, and `coordinator log verify` finds nothing.

    python -m tests.clients.exactly_once --seed 7 --kills 200 --program java --program librdkafka
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from protocol.messages.list_transactions import ListTransactionsRequest
from tests.clients.exactly_once_programs import PROGRAMS, Copy, program
from tests.clients.exactly_once_python import NO_REBOOTSTRAP, until_done
from tests.clients.kills import Compaction, verify
from tests.clients.matrix_programs import BrokenError, Missing
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.eventually import eventually
from tests.support.wire import ConnectionEnded, call

PARTITIONS: Final = 4
COPIES: Final = 3
RECORDS: Final = 20  # of one transaction at most
AHEAD: Final = 400  # records that wait in the input topic
ABORTED_PERCENT: Final = 10  # of transactions, on purpose
SESSION_MS: Final = 2000
NEVER: Final = "in an aborted transaction"  # the value of records that no reader of committed records may see
TRANSACTION_MS: Final = 30_000  # no transaction takes so long, so that each fenced producer has another reason
PROGRESS_S: Final = 60.0  # how long the copies may take, on a busy machine, to go on after a kill
KINDS: Final = ("client", "daemon", "both")
WEIGHTS: Final = (5, 3, 2)
COMPACTED_EACH: Final = 6  # kills: `coordinator compact` begins before one of them
ZOMBIES: Final = 0.1  # chance of a pause beside a kill
STOPS: Final = 0.1  # chance of a stop of the daemon with SIGTERM, and a start, beside a kill
RIVALS: Final = 0.3  # chance that a copy is killed after its successor has started
OVERRIDES: Final = (
    "group.initial.rebalance.delay.ms=0",
    "group.min.session.timeout.ms=1000",
    f"group.consumer.session.timeout.ms={SESSION_MS}",
    f"group.consumer.min.session.timeout.ms={SESSION_MS}",
    "group.consumer.heartbeat.interval.ms=500",
    "group.consumer.min.heartbeat.interval.ms=500",
    "offsets.topic.num.partitions=4",
    "offsets.topic.segment.bytes=65536",
    "offsets.snapshot.tail.bytes=32768",
    "offsets.snapshot.min.bytes=0",
    "log.segment.bytes=65536",
    "transaction.state.log.segment.bytes=65536",
)


@dataclass
class Result:
    """The outcome of one program."""

    program: str
    kills: Counter[str] = field(default_factory=Counter)
    rivals: int = 0  # of those of a client: its successor was there already
    pauses: int = 0
    stops: int = 0  # of the daemon, with SIGTERM
    records: int = 0
    lost: int = 0
    twice: int = 0
    disorder: int = 0
    aborted: int = 0  # records that only a reader of uncommitted records sees
    compactions: int = 0  # of the offsets log, that were finished
    ends: int = 0  # of copies by themselves
    seconds: float = 0.0
    broken: str = ""
    told: dict[str, int] = field(default_factory=dict)

    def row(self) -> str:
        """Return a row of the table."""
        kills = [self.kills[kind] for kind in KINDS]
        cells = [
            self.program,
            *kills,
            self.rivals,
            self.pauses,
            self.stops,
            self.records,
            self.lost,
            self.twice,
            self.aborted,
            self.compactions,
            self.ends,
        ]
        return "| " + " | ".join(map(str, [*cells, round(self.seconds), self.broken or "-"])) + " |"


HEADER: Final = (
    "| program | client | daemon | both | with rival | paused | stopped | records | lost | twice | aborted records "
    "| compactions | ended by themselves | seconds | broken |\n"
    "| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --- |"
)


class Reader:
    """A reader of the output that lives as long as the run, in a thread of its own."""

    def __init__(self, address: str) -> None:
        self.found: list[list[str]] = [[] for _ in range(PARTITIONS)]
        self.error = ""
        self._stopping = threading.Event()
        self._consumer = _consumer(address, "read_committed")
        self._consumer.assign([TopicPartition("out", each, OFFSET_BEGINNING) for each in range(PARTITIONS)])
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    @property
    def count(self) -> int:
        return sum(map(len, self.found))

    def _read(self) -> None:
        while not self._stopping.is_set():
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self.found[message.partition() or 0].append((message.value() or b"").decode())
            elif error.code() != KafkaError._PARTITION_EOF and not error.retriable():
                self.error = str(error)

    def close(self) -> None:
        """End the thread and its consumer."""
        self._stopping.set()
        self._thread.join()
        self._consumer.close()


class Feeder:
    """A producer that keeps some records ahead of the reader, in a thread of its own.

    It writes in transactions and aborts some of them, so that the copies read a topic with markers and aborted records.
    """

    def __init__(self, address: str, reader: Reader, is_served: Callable[[], bool]) -> None:
        self.count = 0  # in committed transactions
        self.error = ""
        self._reader = reader
        self._is_served = is_served
        self._chance = Random(0)
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                "bootstrap.servers": address,
                "transactional.id": "feeder",
                "transaction.timeout.ms": 60_000,
                "metadata.recovery.strategy": NO_REBOOTSTRAP,
                "reconnect.backoff.max.ms": 500,
                "linger.ms": 2,
                "log_level": 0,
            }
        )
        self._producer.init_transactions(PROGRESS_S)
        self._thread = threading.Thread(target=self._feed, daemon=True)
        self._thread.start()

    def _feed(self) -> None:
        try:
            while not self._stopping.is_set():
                if self.count - self._reader.count < AHEAD:
                    self._transact(is_aborted=self._chance.randrange(100) < ABORTED_PERCENT)
                else:
                    self._stopping.wait(0.01)
        except KafkaException as error:
            self.error = str(error)

    def _transact(self, *, is_aborted: bool) -> None:
        """Write some records. Those of a transaction that was aborted are written again by the next one."""
        producer = self._producer
        producer.begin_transaction()
        try:
            for number in range(self.count, self.count + RECORDS):
                value = NEVER if is_aborted else str(number)
                producer.produce("in", value, partition=number % PARTITIONS)
            if is_aborted:
                producer.flush(PROGRESS_S)  # they are in the log then
            else:
                until_done(producer.commit_transaction)
                self.count += RECORDS
                return
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
        until_done(producer.abort_transaction)

    def stop(self) -> None:
        """End the thread after the transaction that is open. It is left alone if the daemon does not run."""
        self._stopping.set()
        self._thread.join(PROGRESS_S if self._is_served() else 0)

    def close(self) -> None:
        """Stop after the transaction that is open. AssertionError if an error has ended the thread."""
        self.stop()
        assert not self._thread.is_alive(), "the transaction of the input does not end"
        assert not self.error, f"the input was not written: {self.error}"


def _consumer(address: str, isolation: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": address,
            "group.id": uuid.uuid4().hex,
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.max.ms": 500,
            "log_level": 0,
        }
    )


def read_all(address: str, topic: str, isolation: str) -> list[list[str]]:
    """Read all partitions up to their ends, as a reader of this isolation level sees them."""
    consumer = _consumer(address, isolation)
    consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(PARTITIONS)])
    found: list[list[str]] = [[] for _ in range(PARTITIONS)]
    ended: set[int] = set()
    deadline = time.monotonic() + PROGRESS_S
    try:
        while len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, f"{topic} was not read to its end; ended: {sorted(ended)}"
            message = consumer.poll(1)
            if message is None:
                continue
            error, partition = message.error(), message.partition() or 0
            if error is None:
                found[partition].append((message.value() or b"").decode())
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(partition)
            else:
                raise AssertionError(f"{topic}-{partition}: {error}")
    finally:
        consumer.close()
    return found


class Run:
    """One program with its daemon."""

    def __init__(self, name: str, directory: Path, seed: int, kills: int, tell: Callable[[str], None]) -> None:
        topics = (f"in:{PARTITIONS}", f"out:{PARTITIONS}")
        self.result = Result(name)
        self._program = program(name)
        self._daemon = Daemon(directory / "daemon", overrides=OVERRIDES, topics=topics)
        self._compact = Compaction(self._daemon.data_dir, directory / "compact.log")
        self._directory = directory
        self._chance = Random(f"{seed} {name}")
        self._kills = kills
        self._tell = tell
        self._copies: list[Copy] = []

    def run(self) -> Result:
        """Kill so often, and judge. `Result.broken` says which promise was broken."""
        begun = time.monotonic()
        try:
            self._play()
        except AssertionError as broken:
            self.result.broken = str(broken).partition("\n")[0][:300]
            self._describe()
        finally:
            for copy in self._copies:
                copy.kill()
            self._compact.kill()
            self._daemon.kill()
        told: Counter[str] = Counter()
        for copy in self._copies:
            told += copy.told
            self.result.ends += copy.ends
        self.result.told = dict(told.most_common())
        self.result.seconds = time.monotonic() - begun
        return self.result

    def _play(self) -> None:
        self._daemon.start()
        address = self._daemon.address
        options = {
            "bootstrap": address,
            "group": f"group-{self._program.name}",
            "input": "in",
            "output": "out",
            "partitions": str(PARTITIONS),
            "records": str(RECORDS),
            "session_ms": str(SESSION_MS),
            "heartbeat_ms": "400",
            "transaction_ms": str(TRANSACTION_MS),
            "aborted_percent": str(ABORTED_PERCENT),
        }
        self._copies = [Copy(self._program, each, options, self._directory) for each in range(COPIES)]
        for copy in self._copies:
            copy.start()
        reader = Reader(address)
        feeder = Feeder(address, reader, lambda: self._daemon.is_running)
        try:
            for number in range(1, self._kills + 1):
                if number == 1 or self._chance.random() < 0.7:
                    self._await_progress(reader, self._chance.randrange(1, 60))
                time.sleep(self._chance.uniform(0, 0.4))
                if number % COMPACTED_EACH == COMPACTED_EACH - 1 and not self._compact.is_running:
                    self._compact.begin()
                    if number // COMPACTED_EACH % 2:
                        self._compact.await_end()
                self._kill(self._chance.choices(KINDS, WEIGHTS)[0])
                self._tell(
                    f"{self._program.name}: {number} of {self._kills} kills; "
                    f"{feeder.count} records written, {reader.count} processed"
                )
            self._await_progress(reader, 1)
            feeder.close()
            self._await(lambda: reader.count >= feeder.count, "all records are processed")
            self._end(reader, feeder.count)
        finally:
            feeder.stop()
            reader.close()

    def _await_progress(self, reader: Reader, records: int) -> None:
        """Wait until so many more records are processed."""
        wanted = reader.count + records
        self._await(lambda: reader.count >= wanted, "the copies go on")

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        def holds() -> bool:
            for copy in self._copies:
                copy.restart_if_ended()
            return condition()

        eventually(holds, what, within_s=PROGRESS_S)

    def _kill(self, kind: str) -> None:
        """Kill and start again. A copy may stay away for a while, and another one is paused now and then."""
        chance = self._chance
        copy, other = chance.sample(self._copies, 2)
        if chance.random() < ZOMBIES:
            self._pause(other)
        if chance.random() < STOPS:
            self._daemon.stop()
            self._start_daemon()
            self.result.stops += 1
        if kind == "client" and chance.random() < RIVALS:
            copy.start_rival(chance.uniform(0, SESSION_MS / 1000))
            self.result.rivals += 1
        elif kind != "daemon":
            copy.kill()
        if kind != "client":
            if kind == "both" and chance.random() < 0.5:
                time.sleep(chance.uniform(0, 0.05))
            self._daemon.kill()
        if kind == "both" and chance.random() < 0.5:
            copy.start()
        if kind != "client":
            self._start_daemon()
        time.sleep(chance.choice((0, chance.uniform(0, 1), chance.uniform(0, 2 * SESSION_MS / 1000))))
        for each in self._copies:
            if not each.is_running:
                each.start()
        self.result.kills[kind] += 1

    def _start_daemon(self) -> None:
        """Start the daemon. A compaction that found no daemon may hold the directory; the start then waits for it."""
        was_compacting = self._compact.is_running
        try:
            self._daemon.start()
        except AssertionError:
            if not was_compacting:
                raise
            self._compact.await_end()
            self._daemon.start()

    def _pause(self, copy: Copy) -> None:
        """Stop a copy until its session is over and other copies have its partitions, and let it go on."""
        copy.signal(signal.SIGSTOP)
        time.sleep(SESSION_MS / 1000 * self._chance.uniform(1, 2))
        copy.signal(signal.SIGCONT)
        self.result.pauses += 1

    def _end(self, reader: Reader, count: int) -> None:
        """Judge the output, the transactions that are left, and the files."""
        address, result = self._daemon.address, self.result
        for copy in self._copies:
            copy.kill()
        eventually(self._has_no_open_transaction, "no transaction is open", within_s=TRANSACTION_MS / 1000 + 20)
        source = Counter(value for part in read_all(address, "in", "read_committed") for value in part)
        assert source == Counter(map(str, range(count))), "the input topic has not each record once"
        output = read_all(address, "out", "read_committed")
        every = read_all(address, "out", "read_uncommitted")
        found = Counter(value for part in output for value in part)
        result.records = count
        assert found.keys() <= source.keys(), f"not in the input: {sorted(found.keys() - source.keys())[:20]}"
        result.lost = len(source.keys() - found.keys())
        result.twice = sum(times > 1 for times in found.values())
        result.disorder = sum(int(first) > int(second) for part in output for first, second in itertools.pairwise(part))
        result.aborted = sum(map(len, every)) - sum(map(len, output))
        twice = [value for value, times in found.items() if times > 1]
        assert not result.lost, f"{result.lost} lost: {sorted(map(int, source.keys() - found.keys()))[:20]}"
        assert not twice, f"{result.twice} are there twice: {sorted(map(int, twice))[:20]}"
        assert not result.disorder, f"{result.disorder} records are not in order"
        self._await(lambda: reader.count >= sum(map(len, output)), "the reader reaches the end")
        assert reader.found == output, "the reader that was there all the time has found other records"
        assert not reader.error, f"the reader: {reader.error}"
        self._compact.await_end()
        result.compactions = self._daemon.log_text().count("compaction swapped")
        self._daemon.stop()  # asserts that there is no traceback
        verify(self._daemon.data_dir)
        errors = [line for line in self._daemon.log_lines() if " ERROR " in line]
        assert not errors, f"{len(errors)} errors in the daemon's log: {errors[0]}"

    def _describe(self) -> None:
        """Write into files how transactions, group and copies are when a promise was broken."""
        for copy in self._copies:
            copy.signal(signal.SIGQUIT)  # the stacks of its threads go into its log, in Java, Go and Python
        if self._daemon.is_running:
            commands = [["transactions", "list"]]
            commands += [["transactions", "describe", copy.name] for copy in self._copies]
            group = f"group-{self._program.name}"
            commands += [["groups", "describe", group], ["groups", "describe", group, "--members", "--verbose"]]
            with (self._directory / "described").open("wb") as file:
                for command in commands:
                    line = [sys.executable, "-m", "coordinator", *command, "--bootstrap-server", self._daemon.address]
                    subprocess.run(line, cwd=REPOSITORY, stdout=file, stderr=file, timeout=30, check=False)

    def _has_no_open_transaction(self) -> bool:
        try:
            answer = call(self._daemon.port, ListTransactionsRequest(), 1)
        except (OSError, ConnectionEnded):
            return False
        states = Counter(each.transaction_state for each in answer.transaction_states)
        return not states.keys() - {"Empty", "CompleteCommit", "CompleteAbort"}


def run(name: str, directory: Path, seed: int, kills: int, tell: Callable[[str], None] = lambda line: None) -> Result:
    """Run one program with so many kills."""
    directory.mkdir(parents=True, exist_ok=True)
    return Run(name, directory, seed, kills, tell).run()


def shares(names: Sequence[str], kills: int) -> dict[str, int]:
    """Divide the kills among the programs."""
    return {name: kills // len(names) + (number < kills % len(names)) for number, name in enumerate(names)}


def main() -> int:
    parser = argparse.ArgumentParser(description="Process records exactly once under kills, with real clients.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=200, help="of all programs together")
    parser.add_argument("--program", action="append", choices=PROGRAMS, help="may be repeated; all without it")
    parser.add_argument("--offered", action="store_true", help="leave out programs whose tools the machine lacks")
    parser.add_argument("--json", type=Path, help="where the figures are written, with all that copies told")
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    results: list[Result] = []
    missing: list[str] = []
    base = Path(tempfile.mkdtemp(prefix="exactly-once-"))
    for name, kills in shares(given.program or list(PROGRAMS), given.kills).items():
        try:
            result = run(name, base / name, given.seed, kills, tell=lambda line: print(line, flush=True))
        except (Missing, BrokenError) as error:
            missing.append(f"{name}: {error}")
            continue
        results.append(result)
        print(f"{HEADER}\n{result.row()}", flush=True)
        for text, times in result.told.items():
            print(f"    {times} x {text[:300]}", flush=True)
        if not result.broken:
            shutil.rmtree(base / name)
    print(f"\n{sum(sum(each.kills.values()) for each in results)} kills with seed {given.seed}\n\n{HEADER}")
    for result in results:
        print(result.row())
    for line in missing:
        print(f"left out: {line}")
    if given.json is not None:
        given.json.write_text(json.dumps([vars(each) for each in results], indent=2) + "\n")
    if any(each.broken for each in results):
        print(f"BROKEN; the files are in {base}")
        return 1
    shutil.rmtree(base, ignore_errors=True)
    return 1 if missing and not given.offered else 0


if __name__ == "__main__":
    sys.exit(main())
