"""Loops of Python libraries that consume, transform and produce in transactions.

`python -m tests.clients.exactly_once_python LIBRARY name=value ...`; `exactly_once.py` says what the options are. An
error that aborts a transaction, or ends the process, is told on stdout as a line of JSON.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

# A librdkafka 2.16 that has lost its only broker bootstraps again. Afterwards send_offsets_to_transaction may wait for
# ever: AddOffsetsToTxn is answered, and no TxnOffsetCommit is sent. The same happens on Apache Kafka 4.4.0.
NO_REBOOTSTRAP = "none"
LIMIT_S = 60
# aiokafka 0.14 forgets to answer send_offsets_to_transaction if its sender ends by a lost connection. With kafka-python
# 3.0 it may not return either after the daemon was killed.
HANGING_S = 15
ENDED = 3  # the exit code after an error that a new process gets over


def say(event: str, error: BaseException) -> None:
    print(json.dumps({"event": event, "message": f"{type(error).__name__}: {error}"}), flush=True)


def until_done(act: Callable[[float], Any]) -> None:
    """Repeat a call of librdkafka that may be repeated, as it says of its error."""
    from confluent_kafka import KafkaException

    while True:
        try:
            act(LIMIT_S)
            return
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
            say("repeated", error)


def librdkafka(options: Mapping[str, str]) -> None:
    """Run the loop of confluent-kafka."""
    import confluent_kafka

    reading: dict[str, Any] = {
        "bootstrap.servers": options["bootstrap"],
        "group.id": options["group"],
        "client.id": options["name"],
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "isolation.level": "read_committed",
        "fetch.wait.max.ms": 100,
        "reconnect.backoff.max.ms": 500,
        "log_level": 0,
    }
    if options["protocol"] == "consumer":
        reading["group.protocol"] = "consumer"
    else:
        reading |= {
            "session.timeout.ms": options["session_ms"],
            "heartbeat.interval.ms": options["heartbeat_ms"],
        }
    if "instance" in options:
        reading["group.instance.id"] = options["instance"]
    consumer = confluent_kafka.Consumer(reading)
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": options["bootstrap"],
            "client.id": options["name"],
            "transactional.id": options["name"],
            "transaction.timeout.ms": options["transaction_ms"],
            "reconnect.backoff.max.ms": 500,
            "linger.ms": 0,
            "metadata.recovery.strategy": NO_REBOOTSTRAP,
            "log_level": 0,
        }
    )
    LibrdkafkaLoop(consumer, producer, options).run()


class LibrdkafkaLoop:
    """Consumer and producer of one process."""

    def __init__(self, consumer: Any, producer: Any, options: Mapping[str, str]) -> None:
        self.consumer = consumer
        self.producer = producer
        self.options = options
        self.messages: list[Any] = []  # of the next transaction
        self.chance = Random(int(options["seed"]))

    def run(self) -> None:
        """Transact until the process is killed or an error ends it."""
        from confluent_kafka import KafkaException

        self.producer.init_transactions(LIMIT_S)
        self.consumer.subscribe([self.options["input"]], on_revoke=self._gave_up, on_lost=self._gave_up)
        while True:
            self._gather()
            if not self.messages:
                continue
            is_aborted = self.chance.randrange(100) < int(self.options["aborted_percent"])
            try:
                self._transact()
                if not is_aborted:
                    until_done(self.producer.commit_transaction)
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
                say("aborted", error)
                is_aborted = True
            if is_aborted:
                until_done(self.producer.abort_transaction)
                self._rewind()
            self.messages.clear()

    def _gave_up(self, consumer: Any, partitions: Any) -> None:
        """Forget what was read before a rebalance: the next offsets are sent with the generation after it."""
        self.messages.clear()

    def _gather(self) -> None:
        from confluent_kafka import KafkaError, KafkaException

        wait_s = 0.1
        while len(self.messages) < int(self.options["records"]):
            message = self.consumer.poll(wait_s)
            if message is None:
                return
            if message.error() is not None:
                if message.error().fatal() or message.error().code() == KafkaError._FATAL:
                    raise KafkaException(message.error())
                say("fetch error", KafkaException(message.error()))
                continue
            self.messages.append(message)
            wait_s = 0

    def _transact(self) -> None:
        from confluent_kafka import TopicPartition

        self.producer.begin_transaction()
        offsets: dict[int, int] = {}
        for message in self.messages:
            self.producer.produce(self.options["output"], message.value(), partition=message.partition())
            offsets[message.partition()] = message.offset() + 1
        wanted = [TopicPartition(self.options["input"], *each) for each in offsets.items()]
        metadata = self.consumer.consumer_group_metadata()
        until_done(lambda limit_s: self.producer.send_offsets_to_transaction(wanted, metadata, limit_s))

    def _rewind(self) -> None:
        """Read again from the committed offsets on."""
        assigned = self.consumer.assignment()
        if assigned:
            for each in self.consumer.committed(assigned, LIMIT_S):
                if each.error is not None:
                    raise RuntimeError(f"committed: {each.error}")
                each.offset = max(each.offset, 0)
                self.consumer.seek(each)


def kafka_python(options: Mapping[str, str]) -> None:
    """Run the loop of kafka-python."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, _give_up)
    KafkaPythonLoop(options).run()


def _give_up(*_: object) -> None:
    """End the process, whose call does not return."""
    say("ended", TimeoutError(f"a transaction takes longer than {HANGING_S} s"))
    os._exit(ENDED)


class KafkaPythonLoop:
    """Consumer and producer of one process. An error aborts the transaction and ends the process.

    The producer of 3.0.12 sends offsets that were refused again with its next transaction, and the committed offsets go
    back: so there is no next one.

    The generation is noted with the records. Its thread for heartbeats may forget it at any time, and offsets that are
    sent without a generation are accepted, because older clients have none: those of a zombie, too. A consumer that was
    expelled may keep its positions when it joins again, so that each generation begins at the committed offsets.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        from kafka import KafkaConsumer, KafkaProducer

        self.options = options
        self.chance = Random(int(options["seed"]))
        common: dict[str, Any] = {
            "bootstrap_servers": options["bootstrap"],
            "client_id": options["name"],
            "reconnect_backoff_max_ms": 500,
        }
        self.consumer = KafkaConsumer(
            options["input"],
            group_id=options["group"],
            group_instance_id=options.get("instance"),
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=int(options["session_ms"]),
            heartbeat_interval_ms=int(options["heartbeat_ms"]),
            fetch_max_wait_ms=100,
            **common,
        )
        self.producer = KafkaProducer(
            transactional_id=options["name"], transaction_timeout_ms=int(options["transaction_ms"]), **common
        )

    def run(self) -> None:
        """Transact until the process is killed or an error ends it."""
        from kafka.errors import KafkaError

        self.producer.init_transactions()
        generation = -1
        while True:
            batches = self.consumer.poll(timeout_ms=100, max_records=int(self.options["records"]))
            member = self.consumer.group_metadata()
            if not batches:
                continue
            if member.generation_id < 0 or member.generation_id != generation:
                generation = member.generation_id
                self._rewind()
                continue
            is_aborted = self.chance.randrange(100) < int(self.options["aborted_percent"])
            signal.alarm(HANGING_S)
            try:
                self._transact(batches, member)
                if not is_aborted:
                    self.producer.commit_transaction()
            except KafkaError as error:
                say("aborted", error)
                self.producer.abort_transaction()
                raise
            if is_aborted:
                self.producer.abort_transaction()
                self._rewind()
            signal.alarm(0)

    def _transact(self, batches: Mapping[Any, list[Any]], member: Any) -> None:
        from kafka.structs import OffsetAndMetadata

        self.producer.begin_transaction()
        for partition, records in batches.items():
            for each in records:
                self.producer.send(self.options["output"], each.value, partition=partition.partition)
        offsets = {each: OffsetAndMetadata(records[-1].offset + 1, "", -1) for each, records in batches.items()}
        self.producer.send_offsets_to_transaction(offsets, member)

    def _rewind(self) -> None:
        """Read again from the committed offsets on."""
        for each in self.consumer.assignment():
            self.consumer.seek(each, self.consumer.committed(each) or 0)


def aiokafka(options: Mapping[str, str]) -> None:
    """Run the loop of aiokafka."""
    logging.disable(logging.CRITICAL)
    asyncio.run(AioLoop(options).run())


class AioLoop:
    """A consumer, and for each partition that it owns a producer.

    The library sends offsets without the generation of its consumer. So a partition has a transactional id of its own,
    and its new owner fences the former one, before it asks for the committed offset.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self.options = options
        self.producers: dict[Any, Any] = {}
        self.chance = Random(int(options["seed"]))

    async def run(self) -> None:
        """Transact until the process is killed or an error ends it."""
        from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener

        loop = self
        asyncio.get_running_loop().add_signal_handler(signal.SIGQUIT, _print_tasks)

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            async def on_partitions_revoked(self, revoked: Any) -> None:
                for each in revoked:
                    producer = loop.producers.pop(each, None)
                    if producer is not None:
                        await producer.stop()

            async def on_partitions_assigned(self, assigned: Any) -> None:
                pass

        options = self.options
        consumer = AIOKafkaConsumer(
            bootstrap_servers=options["bootstrap"],
            group_id=options["group"],
            client_id=options["name"],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=int(options["session_ms"]),
            heartbeat_interval_ms=int(options["heartbeat_ms"]),
            fetch_max_wait_ms=100,
        )
        consumer.subscribe([options["input"]], listener=Listener())
        await consumer.start()
        while True:
            for partition in consumer.assignment() - self.producers.keys():
                await self._take(consumer, partition)
            for partition in list(self.producers):
                try:
                    batches = await consumer.getmany(partition, timeout_ms=20, max_records=int(options["records"]))
                except AssertionError:  # it was revoked
                    continue
                if batches.get(partition) and partition in self.producers:
                    transaction = self._transact(consumer, partition, batches[partition])
                    await asyncio.wait_for(transaction, HANGING_S)

    async def _take(self, consumer: Any, partition: Any) -> None:
        """Fence the former owner of a partition, and read from its committed offset on."""
        from aiokafka import AIOKafkaProducer

        producer = AIOKafkaProducer(
            bootstrap_servers=self.options["bootstrap"],
            client_id=self.options["name"],
            transactional_id=f"{self.options['group']}-{partition.partition}",
            transaction_timeout_ms=int(self.options["transaction_ms"]),
        )
        await producer.start()
        if partition not in consumer.assignment():
            await producer.stop()
            return
        consumer.seek(partition, await consumer.committed(partition) or 0)
        self.producers[partition] = producer

    async def _transact(self, consumer: Any, partition: Any, messages: list[Any]) -> None:
        producer = self.producers[partition]
        await producer.begin_transaction()
        for message in messages:
            await producer.send(self.options["output"], message.value, partition=message.partition)
        await producer.send_offsets_to_transaction({partition: messages[-1].offset + 1}, self.options["group"])
        if self.chance.randrange(100) < int(self.options["aborted_percent"]):
            await producer.abort_transaction()
            if partition in consumer.assignment():
                consumer.seek(partition, await consumer.committed(partition) or 0)
        else:
            await producer.commit_transaction()


def _print_tasks() -> None:
    """Write to stderr where each task waits."""
    for task in asyncio.all_tasks():
        task.print_stack()


def main() -> None:
    """Run the loop of a library; an error that it does not get over ends the process."""
    options = dict(each.split("=", 1) for each in sys.argv[2:])
    faulthandler.register(signal.SIGQUIT, all_threads=True)
    try:
        {"librdkafka": librdkafka, "kafka-python": kafka_python, "aiokafka": aiokafka}[sys.argv[1]](options)
    except Exception as error:
        say("ended", error)
        sys.exit(ENDED)


if __name__ == "__main__":
    main()
