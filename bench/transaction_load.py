"""Transactional producers of librdkafka, as the load of `transactions.py`.

A `Load` is a number of producers with a thread each. They commit one transaction after another for some seconds, and
note how long each took. A transaction writes records to three partitions; one that also reads takes them from a
consumer, and sends its offsets. The settings are those of librdkafka, except that a record is not held back for others
to come (linger.ms=0).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final, NamedTuple

from bench.measure import BenchError
from bench.servers import Running

INPUT: Final = "input"
OUTPUT: Final = "output"
PARTITIONS: Final = 3  # a transaction writes to all of them
VALUE: Final = b"x" * 100
INPUT_RECORDS: Final = 20_000  # a consumer that has read them begins again
FIRST: Final = 3  # transactions of a producer before those that count
LIMIT_S: Final = 60.0
CONSUMER_SETTINGS: Final = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
}


class Shape(NamedTuple):
    """The contents of a transaction."""

    name: str
    records: int  # for each partition
    reads: bool = False  # it consumes as many records as it writes, and sends its offsets


class Found(NamedTuple):
    """The figures of one measurement."""

    cpu_us: float  # of the server, for a transaction
    per_second: float  # transactions of all producers together
    commit_ms: list[float]  # the times that commit_transaction took
    whole_ms: list[float]  # the times from begin_transaction on


def fill(port: int) -> None:
    """Write the records that consumers read. The topics are there."""
    import confluent_kafka

    producer = confluent_kafka.Producer({"bootstrap.servers": f"127.0.0.1:{port}", "log_level": 0})
    for _ in range(INPUT_RECORDS):
        producer.produce(INPUT, VALUE, partition=0)
        producer.poll(0)
    if producer.flush(LIMIT_S):
        raise BenchError("the records to be read could not be written")


class Load:
    """The producers of one server."""

    def __init__(self, port: int, producers: int) -> None:
        self._port = port
        self._producers = [self._producer(f"bench-{producers}-{number}") for number in range(producers)]
        for each in self._producers:
            each.init_transactions(LIMIT_S)

    def _producer(self, transactional_id: str) -> Any:
        import confluent_kafka

        return confluent_kafka.Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{self._port}",
                "transactional.id": transactional_id,
                "linger.ms": 0,
                "log_level": 0,
            }
        )

    def measure(self, server: Running, shape: Shape, seconds: float) -> Found:
        """Commit transactions for some seconds."""
        inputs = [_Input(self._port, f"{number}") if shape.reads else None for number in range(len(self._producers))]
        try:
            workers = [_Worker(*each, shape) for each in zip(self._producers, inputs, strict=True)]
            _together([(each, FIRST, 0.0) for each in workers])
            for each in workers:
                each.commit_ms.clear()
                each.whole_ms.clear()
            used, begun = server.cpu_ns(), time.monotonic()
            _together([(each, 0, begun + seconds) for each in workers])
            used, took_s = server.cpu_ns() - used, time.monotonic() - begun
        finally:
            for source in inputs:
                if source is not None:
                    source.close()
        commits = [ms for each in workers for ms in each.commit_ms]
        whole = [ms for each in workers for ms in each.whole_ms]
        return Found(used / len(commits) / 1000, len(commits) / took_s, commits, whole)


class _Input:
    """A consumer in a group of its own."""

    def __init__(self, port: int, name: str) -> None:
        import confluent_kafka

        settings = {**CONSUMER_SETTINGS, "bootstrap.servers": f"127.0.0.1:{port}", "group.id": f"bench-{name}"}
        self._consumer = confluent_kafka.Consumer({**settings, "log_level": 0})
        self._consumer.subscribe([INPUT], on_assign=_from_the_beginning)

    def take(self, number: int) -> list[Any]:
        """Return so many records, from the beginning again where the topic ends."""
        import confluent_kafka

        taken: list[Any] = []
        until_s = time.monotonic() + LIMIT_S
        while len(taken) < number:
            for message in self._consumer.consume(number - len(taken), 1.0):
                if message.error() is None:
                    taken.append(message)
                elif message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF:
                    self._consumer.seek(confluent_kafka.TopicPartition(INPUT, 0, 0))
                else:
                    raise BenchError(f"a consumer failed: {message.error()}")
            if time.monotonic() > until_s:
                raise BenchError(f"a consumer got {len(taken)} of {number} records in {LIMIT_S:g} s")
        return taken

    def sent(self, producer: Any, taken: Sequence[Any]) -> None:
        """Send the offset behind the records with the transaction."""
        import confluent_kafka

        behind = confluent_kafka.TopicPartition(INPUT, 0, taken[-1].offset() + 1)
        producer.send_offsets_to_transaction([behind], self._consumer.consumer_group_metadata(), LIMIT_S)

    def close(self) -> None:
        self._consumer.close()


def _from_the_beginning(consumer: Any, assigned: Any) -> None:
    for each in assigned:
        each.offset = 0
    consumer.assign(assigned)


class _Worker:
    """A producer, with the consumer that it reads from, if it does."""

    def __init__(self, producer: Any, source: _Input | None, shape: Shape) -> None:
        self._producer = producer
        self._source = source
        self._shape = shape
        self.commit_ms: list[float] = []
        self.whole_ms: list[float] = []
        self.error: BaseException | None = None

    def run(self, number: int, until_s: float) -> None:
        """Commit so many transactions, and go on until then."""
        try:
            for done in count():
                if done >= number and time.monotonic() >= until_s:
                    return
                self._transact()
        except BaseException as error:
            self.error = error

    def abort(self) -> None:
        """Abort a transaction that failed, so that the next measurement may begin one."""
        with suppress(Exception):
            self._producer.abort_transaction(LIMIT_S)

    def _transact(self) -> None:
        shape, producer = self._shape, self._producer
        taken = self._source.take(shape.records * PARTITIONS) if self._source is not None else []
        begun = time.perf_counter()
        producer.begin_transaction()
        for _ in range(shape.records):
            for partition in range(PARTITIONS):
                producer.produce(OUTPUT, VALUE, partition=partition)
        if self._source is not None:
            self._source.sent(producer, taken)
        committing = time.perf_counter()
        producer.commit_transaction(LIMIT_S)
        ended = time.perf_counter()
        self.commit_ms.append((ended - committing) * 1000)
        self.whole_ms.append((ended - begun) * 1000)


def _together(runs: Sequence[tuple[_Worker, int, float]]) -> None:
    """Run workers, each in a thread, and wait for all. The first error of one of them is raised."""
    threads = [threading.Thread(target=worker.run, args=(number, until_s)) for worker, number, until_s in runs]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for worker, *_ in runs:
        if worker.error is not None:
            worker.abort()
            raise BenchError(f"a transaction failed: {worker.error}") from worker.error
