"""The cases of transactions in the log of a partition: Produce, Fetch, ListOffsets and DescribeProducers."""

from __future__ import annotations

import time
from typing import Final

from protocol.record_batch import ControlType, build_batch, build_control_batch
from tests.conformance.transaction_cases import ABORT, COMMIT, Kind, case, ongoing
from tests.conformance.transaction_play import Play, batch_of

TV1_VERSIONS: Final = (3, 8, 9, 10, 11)
TV2_VERSIONS: Final = (12, 13)
LAST_SEQUENCE: Final = 2_147_483_647


@case("vector 6: Produce to a partition that is not in the transaction, while none is open")
def not_added(p: Play) -> None:
    p.topic()
    producer = p.init()
    for version in TV1_VERSIONS:
        p.produce(producer, "t-0", 0, "a", version=version)
    p.fetch("t-0", committed=False)
    p.describe()
    p.describe_producers("t-0")


@case("Produce up to 11 to a partition that is not in the open transaction")
def not_added_ongoing(p: Play) -> None:
    p.topic("u")
    producer = ongoing(p)
    for version in TV1_VERSIONS:
        p.produce(producer, "u-0", 0, "a", version=version)
    p.end(producer, COMMIT)
    for version in TV1_VERSIONS:
        p.produce(producer, "t-0", 0, "a", version=version)


@case("Produce from 12 adds its partition")
def added_by_produce(p: Play) -> None:
    p.topic(partitions=2)
    producer = p.init(version=5)
    p.produce(producer, "t-0", 0, "a", version=12)
    p.describe()
    p.produce(producer, "t-1", 0, "b", version=13)
    p.describe()
    p.fetch("t-0", committed=False)
    p.end(producer, COMMIT, version=5)
    p.fetch("t-1")


@case("Produce asks for the producer id and the epoch that the coordinator knows")
def produce_identity(p: Play) -> None:
    p.topic()
    first = p.init()
    producer = p.init()
    for version in (*TV1_VERSIONS, *TV2_VERSIONS):
        p.produce(producer.stranger(), "t-0", 0, "a", version=version)
        p.produce(producer.called("unknown"), "t-0", 0, "a", version=version)
        p.produce(first, "t-0", 0, "a", version=version)
        p.produce(producer.at(2), "t-0", 0, "a", version=version)
        p.produce(producer.stranger().at(9), "t-0", 0, "a", version=version)
    p.describe()


@case("Produce to an open transaction with another epoch or producer id")
def produce_identity_open(p: Play) -> None:
    p.topic()
    first = p.init()
    producer = p.init()
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 0, "a")
    for version in (9, 11, 12):
        p.produce(first, "t-0", 1, "b", version=version)
        p.produce(producer.at(2), "t-0", 0, "b", version=version)
        p.produce(producer.at(2), "t-0", 1, "b", version=version)
        p.produce(producer.stranger(), "t-0", 0, "b", version=version)
        p.produce(producer.called("unknown"), "t-0", 1, "b", version=version)


@case("a transactional batch without a transactional id, and with an empty one")
def produce_without_id(p: Play) -> None:
    producer = ongoing(p)
    for version in (9, 11, 12):
        p.produce(producer.called(None), "t-0", 0, "a", version=version)
        p.produce(producer.called(""), "t-0", 0, "a", version=version)
    p.fetch("t-0", committed=False)


@case("a transactional id and a batch that is not transactional")
def produce_plain_with_id(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a", is_transactional=False)
    p.produce(producer, "t-0", 1, "b")
    p.produce(producer, "t-0", 2, "c", is_transactional=False)
    p.produce(producer.called(None), "t-0", 2, "c", is_transactional=False)
    p.fetch("t-0", committed=False)
    p.end(producer, COMMIT)
    p.produce(producer.called(None), "t-0", 2, "d", is_transactional=False)
    p.fetch("t-0")


@case("vectors 7, 8, 9, 11: a committed and an aborted transaction, as readers see them")
def life(p: Play) -> None:
    producer = ongoing(p)
    batch = batch_of(producer, 0, "a", "b")
    p.produce(producer, "t-0", 0, "a", "b", batch=batch)
    p.produce(producer, "t-0", 0, "a", "b", batch=batch)
    p.produce(producer, "t-0", 5, "c")
    p.fetch("t-0")
    p.fetch("t-0", committed=False)
    p.list_offsets("t-0")
    p.list_offsets("t-0", committed=False)
    p.end(producer, COMMIT)
    p.fetch("t-0")
    p.list_offsets("t-0")
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 2, "d")
    p.produce(producer, "t-0", 3, "e")
    p.list_offsets("t-0")
    p.end(producer, ABORT)
    p.fetch("t-0", 3)
    p.fetch("t-0", 0)
    p.fetch("t-0", 4)
    p.fetch("t-0", 5)
    p.fetch("t-0", 6)
    p.fetch("t-0", 3, committed=False)
    p.list_offsets("t-0")
    p.describe_producers("t-0")


@case("vector 12: the stable offset is that of the oldest open transaction")
def two_producers(p: Play) -> None:
    p.topic()
    first, second = p.init("tx1"), p.init("tx2")
    p.add(first, "t-0")
    p.add(second, "t-0")
    p.produce(first, "t-0", 0, "a")
    p.produce(second, "t-0", 0, "b")
    p.end(second, COMMIT)
    p.fetch("t-0")
    p.fetch("t-0", committed=False)
    p.list_offsets("t-0")
    p.describe_producers("t-0")
    p.end(first, ABORT)
    p.fetch("t-0")
    p.fetch("t-0", 1)
    p.fetch("t-0", 3)
    p.list_offsets("t-0")


@case("aborted transactions of two producers are told in the order of their markers")
def aborted_order(p: Play) -> None:
    p.topic()
    first, second = p.init("tx1"), p.init("tx2")
    for producer, value in ((first, "a"), (second, "b")):
        p.add(producer, "t-0")
        p.produce(producer, "t-0", 0, value)
    p.end(second, ABORT)
    p.end(first, ABORT)
    p.fetch("t-0")
    p.fetch("t-0", 2)
    p.fetch("t-0", 3)


@case("a marker is written to a partition of the transaction that has no data, and no list tells of it")
def no_data(p: Play) -> None:
    producer = ongoing(p)
    p.fetch("t-0")
    p.end(producer, ABORT)
    p.fetch("t-0")
    p.describe_producers("t-0")
    p.add(producer, "t-0")
    p.end(producer, COMMIT)
    p.fetch("t-0")


@case("ListOffsets of committed data, by time and at the start")
def list_offsets(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    for committed in (True, False):
        for timestamp in (-1, -2, -3, 0, 1 << 42):
            p.list_offsets("t-0", timestamp, committed=committed)
    p.end(producer, COMMIT)
    for timestamp in (-1, -2, -3, 0, 1 << 42):
        p.list_offsets("t-0", timestamp)


@case("Fetch tells the aborted transactions to readers of committed data, and null to others")
def fetch_versions(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.end(producer, ABORT)
    for version in (4, 5, 11, 12, 13, 17):
        p.fetch("t-0", version=version)
        p.fetch("t-0", committed=False, version=version)


@case("a waiting reader of committed data is answered when the transaction ends")
def waiting_reader(p: Play) -> None:
    producer = ongoing(p)
    p.fetch_meanwhile("t-0", 0, lambda: p.produce_and_end(producer, "t-0"))


@case("a reader of committed data waits for stable bytes, another one for any")
def waiting_for_bytes(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.fetch_waiting("t-0", 0, committed=True)
    p.fetch_waiting("t-0", 0, committed=False)


@case("one request to a partition of the transaction and to one that is not in it")
def some_not_added(p: Play) -> None:
    p.topic("u")
    producer = ongoing(p)
    p.produce_to(producer, "t-0", "u-0")
    p.produce_to(producer, "t-0", "u-0", sequence=1, version=9)
    p.produce_to(producer, "t-0", "u-0", "nope-0", sequence=2, version=12)
    p.produce_to(producer, "u-0", "t-0", sequence=0, version=12)
    p.describe()
    p.fetch("u-0", committed=False)


@case("sequences of an idempotent producer without a transactional id")
def sequences(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    for sequence, values in (
        (0, "a"),
        (1, "bc"),
        (3, "d"),
        (0, "a"),
        (1, "bc"),
        (1, "b"),
        (2, "c"),
        (5, "x"),
        (4, "e"),
    ):
        p.produce(producer, "t-0", sequence, *values, is_transactional=False)
    p.describe_producers("t-0")
    p.fetch("t-0")


@case("only the last five batches are known again")
def duplicates(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    for sequence in (*range(6), 0, 1, 5):
        p.produce(producer, "t-0", sequence, "a", is_transactional=False)


@case("epochs of an idempotent producer: an older one, a newer one at 0 and elsewhere")
def epochs(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    p.produce(producer.at(1), "t-0", 0, "a", is_transactional=False)
    p.produce(producer, "t-0", 0, "b", is_transactional=False)
    p.produce(producer, "t-0", 1, "b", is_transactional=False)
    p.produce(producer.at(2), "t-0", 1, "c", is_transactional=False)
    p.produce(producer.at(2), "t-0", 0, "d", is_transactional=False)
    p.produce(producer.at(1), "t-0", 0, "a", is_transactional=False)
    p.produce(producer.at(2), "t-0", 0, "d", is_transactional=False)
    p.describe_producers("t-0")


@case("an idempotent producer that is new to a partition begins with any sequence")
def any_first_sequence(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    p.produce(producer, "t-0", 7, "a", is_transactional=False)
    p.produce(producer, "t-0", 9, "x", is_transactional=False)
    p.produce(producer, "t-0", 8, "b", is_transactional=False)


@case("a transactional producer of Produce up to 11 that is new to a partition begins with any sequence")
def any_first_sequence_tv1(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 7, "a")
    p.produce(producer, "t-0", 9, "x")
    p.produce(producer, "t-0", 8, "b")
    p.end(producer, COMMIT)
    p.fetch("t-0")


@case("a transactional producer of Produce 12 begins with sequence 0")
def first_sequence_tv2(p: Play) -> None:
    p.topic()
    producer = p.init(version=5)
    p.produce(producer, "t-0", 7, "b", version=12)
    p.describe()
    p.produce(producer, "t-0", 0, "a", version=12)
    p.produce(producer, "t-0", 1, "b", version=12)
    p.fetch("t-0", committed=False)


@case("a transactional batch with sequence 0 that fails keeps higher ones out")
def lowest_sequence(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.end(producer, COMMIT)
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 0, "a")
    p.produce(producer, "t-0", 1, "b")
    p.end(producer, ABORT)
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 1, "b")


@case("a sequence goes on at 0 behind the largest")
def sequence_wraps(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    p.produce(producer, "t-0", LAST_SEQUENCE - 1, "a", is_transactional=False)
    p.produce(producer, "t-0", LAST_SEQUENCE, "b", "c", is_transactional=False)
    p.produce(producer, "t-0", LAST_SEQUENCE, "b", "c", is_transactional=False)
    p.produce(producer, "t-0", 0, "x", is_transactional=False)
    p.produce(producer, "t-0", 1, "d", is_transactional=False)
    p.describe_producers("t-0")


@case("a producer id without a sequence or without an epoch")
def odd_batches(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    p.produce(producer, "t-0", -1, "a", is_transactional=False)
    p.produce(producer.at(-1), "t-0", 0, "a", is_transactional=False)
    p.produce(producer.at(-5), "t-0", 0, "a", is_transactional=False)
    nobody = build_batch([(None, b"a")], timestamp_ms=int(time.time() * 1000), is_transactional=True)
    p.produce(p.init(), "t-0", -1, "a", batch=bytes(nobody))
    p.fetch("t-0", committed=False)


@case("a client may not write a marker")
def control_batch(p: Play) -> None:
    producer = ongoing(p)
    marker = build_control_batch(
        ControlType.COMMIT, timestamp_ms=int(time.time() * 1000), producer_id=producer.id, producer_epoch=producer.epoch
    )
    p.produce(producer, "t-0", -1, "a marker", batch=bytes(marker))
    p.produce(producer.called(None), "t-0", -1, "a marker", batch=bytes(marker))
    p.fetch("t-0", committed=False)


@case("two batches in one request")
def two_batches(p: Play) -> None:
    producer = ongoing(p)
    both = batch_of(producer, 0, "a") + batch_of(producer, 1, "b")
    p.produce(producer, "t-0", 0, "a, b", batch=both)
    p.fetch("t-0", committed=False)


@case("acks 1 and a transactional batch")
def acks(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a", acks=1)
    p.fetch("t-0", committed=False)


@case("a sequence goes on over transactions of TV1, and from 0 after a fence")
def sequence_goes_on(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.end(producer, COMMIT)
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 2, "x")
    p.produce(producer, "t-0", 1, "b")
    p.end(producer, ABORT)
    producer = p.init()
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 2, "x")
    p.produce(producer, "t-0", 0, "c")
    p.describe_producers("t-0")
    p.end(producer, COMMIT)
    p.describe_producers("t-0")


@case("a retried batch of a transaction that ended is known, and is not appended again")
def retry_after_end(p: Play) -> None:
    producer = ongoing(p)
    batch = batch_of(producer, 0, "a")
    p.produce(producer, "t-0", 0, "a", batch=batch)
    p.end(producer, COMMIT)
    for version in (9, 11):
        p.produce(producer, "t-0", 0, "a", batch=batch, version=version)
    p.produce(producer, "t-0", 0, "a", batch=batch, version=12)
    p.describe()
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 0, "a", batch=batch)
    p.fetch("t-0", committed=False)


@case("a late batch of TV2 does not reach the next transaction")
def late_tv2(p: Play) -> None:
    p.topic()
    old = p.init(version=5)
    batch = batch_of(old, 0, "a")
    p.produce(old, "t-0", 0, "a", batch=batch, version=12)
    new = p.end(old, COMMIT, version=5)
    p.produce(old, "t-0", 0, "a", batch=batch, version=12)
    p.produce(old, "t-0", 1, "b", version=12)
    p.produce(new, "t-0", 5, "x", version=12)
    p.describe()
    p.produce(new, "t-0", 0, "c", version=12)
    p.produce(old, "t-0", 1, "b", version=12)
    p.produce(old, "t-0", 1, "b", version=11)
    p.fetch("t-0", committed=False)


@case("producers are described: idempotent, with an open transaction, after a commit and after a fence")
def describe_producers(p: Play) -> None:
    p.topic(partitions=2)
    p.produce(p.init(None), "t-0", 0, "a", "b", is_transactional=False)
    producer = p.init()
    p.add(producer, "t-0")
    p.describe_producers("t-0")
    p.produce(producer, "t-0", 0, "c")
    p.describe_producers("t-0", "t-1")
    p.end(producer, COMMIT)
    p.describe_producers("t-0")
    p.describe_producers("t-9", "nope-0", "t-1")


@case("a producer is forgotten in a partition after a while, and begins with any sequence", Kind.EXPIRING)
def producer_expired(p: Play) -> None:
    p.topic()
    producer = p.init(None)
    p.produce(producer, "t-0", 0, "a", is_transactional=False)
    p.await_no_producers("t-0")
    p.produce(producer, "t-0", 0, "a", is_transactional=False)
    p.await_no_producers("t-0")
    p.produce(producer, "t-0", 9, "b", is_transactional=False)
    p.fetch("t-0")


@case("deleted records end the aborted transactions before them, and the stable offset is not below the start")
def deleted_records(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.end(producer, ABORT)
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 1, "b")
    p.produce(producer, "t-0", 2, "c")
    p.delete_records("t-0", 1)
    p.fetch("t-0", 1)
    p.delete_records("t-0", 3)
    p.fetch("t-0", 3)
    p.list_offsets("t-0")
    p.fetch("t-0", 3, committed=False)
    p.end(producer, ABORT)
    p.fetch("t-0", 3)
