"""The cases of the APIs between brokers: AddPartitionsToTxn from version 4 on, and WriteTxnMarkers.

A server that is alone needs neither. The cases say what a partition accepts as a marker.
"""

from __future__ import annotations

from typing import Final

from tests.conformance.transaction_cases import ABORT, COMMIT, Kind, case, ongoing
from tests.conformance.transaction_play import Play, Producer

BETWEEN: Final = Kind.BETWEEN_BROKERS


@case("AddPartitionsToTxn 4 and 5 verify partitions", BETWEEN)
def verify(p: Play) -> None:
    p.topic(partitions=2)
    first = p.init()
    producer = p.init()
    for version in (4, 5):
        p.add_batch(producer, "t-0", version=version, verifies=True)
        p.add_batch(producer.stranger(), "t-0", version=version, verifies=True)
        p.add_batch(first, "t-0", version=version, verifies=True)
        p.add_batch(producer.called("unknown"), "t-0", version=version, verifies=True)
        p.add_batch(producer.called(""), "t-0", version=version, verifies=True)
    p.add(producer, "t-0")
    for version in (4, 5):
        p.add_batch(producer, "t-0", "t-1", version=version, verifies=True)
    p.end(producer, COMMIT)
    p.add_batch(producer, "t-0", version=5, verifies=True)


@case("AddPartitionsToTxn 4 and 5 add partitions", BETWEEN)
def add_between(p: Play) -> None:
    p.topic(partitions=2)
    producer = p.init()
    p.add_batch(producer.at(7), "t-0", version=4)
    p.add_batch(producer, "t-0", "nope-0", version=5)
    p.add_batch(producer, "t-0", version=4)
    p.describe()
    p.add_batch(producer, "t-1", version=5)
    p.describe()


@case("a marker of an unknown producer is written", BETWEEN)
def marker_of_stranger(p: Play) -> None:
    p.topic()
    producer = p.init()
    p.marker(producer, COMMIT, "t-0", version=1)
    p.marker(producer, ABORT, "t-0", "nope-0", "t-5", version=1)
    p.marker(producer.at(3), ABORT, "t-0", version=2)
    p.fetch("t-0")
    p.describe_producers("t-0")


@case("a marker with the epoch of the data: accepted of TV1, refused of TV2", BETWEEN)
def marker_epochs(p: Play) -> None:
    for name, transaction_version in (("t", 0), ("u", 1), ("v", 2)):
        p.topic(name)
        producer = p.init(f"tx-{name}")
        p.add(producer, f"{name}-0")
        p.produce(producer, f"{name}-0", 0, "a")
        p.marker(producer.at(-1), COMMIT, f"{name}-0", transaction_version=transaction_version)
        p.marker(producer, COMMIT, f"{name}-0", transaction_version=transaction_version)
        p.marker(producer, COMMIT, f"{name}-0", transaction_version=transaction_version)
        p.marker(producer.at(1), COMMIT, f"{name}-0", transaction_version=transaction_version)
        p.marker(producer.at(1), COMMIT, f"{name}-0", transaction_version=transaction_version)
        p.marker(producer, COMMIT, f"{name}-0", transaction_version=transaction_version)
        p.fetch(f"{name}-0")


@case("a marker of an older coordinator is refused", BETWEEN)
def marker_coordinators(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.marker(producer, ABORT, "t-0", coordinator_epoch=5, version=1)
    p.marker(producer, ABORT, "t-0", coordinator_epoch=4, version=1)
    p.marker(producer, ABORT, "t-0", coordinator_epoch=5, version=1)
    p.end(producer, COMMIT, settles=False)
    p.describe()
    p.describe_producers("t-0")
    p.fetch("t-0")


@case("a marker for the offsets of groups ends pending offsets", BETWEEN)
def marker_of_offsets(p: Play) -> None:
    p.topic()
    producer = p.init()
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7})
    p.marker(producer, COMMIT, "__consumer_offsets-0", version=1)
    p.offsets("t-0", stable=True)
    p.end(producer, ABORT)
    p.offsets("t-0", stable=True)


def stuck(p: Play, result: bool, *, version: int = 4) -> Producer:
    """Decide a transaction whose marker no partition takes, because it has seen one of a later coordinator."""
    p.topic("u")
    producer = ongoing(p)
    p.marker(producer, ABORT, "t-0", coordinator_epoch=1000, version=1)
    p.end(producer, result, version=version, settles=False)
    p.describe()
    return producer


@case("while markers of a commit of TV1 are missing, all is refused with 51 but a wrong identity", BETWEEN)
def prepared_commit(p: Play) -> None:
    all_that_meets_markers(p, stuck(p, COMMIT))


@case("while markers of an abort of TV1 are missing, all is refused with 51 but a wrong identity", BETWEEN)
def prepared_abort(p: Play) -> None:
    all_that_meets_markers(p, stuck(p, ABORT))


@case("while markers of a commit of TV2 are missing, its retry is refused with 51", BETWEEN)
def prepared_commit_tv2(p: Play) -> None:
    old = stuck(p, COMMIT, version=5)
    all_that_meets_markers(p, old)
    all_that_meets_markers(p, old.at(1))


@case("while markers of an abort of TV2 are missing, its retry is refused with 51", BETWEEN)
def prepared_abort_tv2(p: Play) -> None:
    old = stuck(p, ABORT, version=5)
    all_that_meets_markers(p, old)
    all_that_meets_markers(p, old.at(1))


def all_that_meets_markers(p: Play, producer: Producer) -> None:
    """Send all that a client may while the markers of its transaction are missing."""
    for version in (1, 4, 5):
        for result in (COMMIT, ABORT):
            p.end(producer, result, version=version)
    p.end(producer.at(7), COMMIT, version=4)
    p.end(producer.at(7), COMMIT, version=5)
    p.end(producer.stranger(), COMMIT, version=4)
    p.add(producer, "t-0")
    p.add(producer.at(7), "t-0")
    p.add_offsets(producer)
    p.produce(producer, "t-0", 0, "a", version=9)
    for version in (9, 11, 12):
        p.produce(producer, "u-0", 0, "a", version=version)
    for version in (0, 3, 4, 5):
        p.commit_in(producer, {"t-0": 1}, version=version)
    p.init()
    p.init(given=producer)
    p.init(given=producer.at(7))
    p.describe()
