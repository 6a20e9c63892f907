"""The cases of transactions: what a coordinator answers to InitProducerId, AddPartitionsToTxn, EndTxn and so on.

Each case has a name that says its rule. Those of the data and of the offsets are in `transaction_data_cases` and in
`transaction_offset_cases`; `CASES` has all. TV1 is the protocol in which a client adds partitions before it writes and
its epoch stays: EndTxn up to version 4. In TV2 Produce 12 and TxnOffsetCommit 5 add partitions, and EndTxn 5 raises the
epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple

from tests.conformance.transaction_play import Play, Producer

COMMIT: Final = True
ABORT: Final = False
MAX_TIMEOUT_MS: Final = 900_000
SHORT_MS: Final = 2_000


class Kind(StrEnum):
    """Kinds of servers that cases need."""

    ANY = "any"
    BETWEEN_BROKERS = "between brokers"  # it serves the APIs between brokers, too
    EXPIRING = "expiring"  # it forgets transactional ids and producers after a second
    RESTARTED = "restarted"  # it can be killed and started again
    SLOW = "slow"  # it takes tens of thousands of requests in a minute


class Case(NamedTuple):
    """One case."""

    name: str
    play: Callable[[Play], None]
    kind: Kind

    @property
    def key(self) -> str:
        """Return the prefix of the names of its topics, groups and transactional ids."""
        return self.play.__name__.replace("_", "-")


CASES: Final[list[Case]] = []


def case(name: str, kind: Kind = Kind.ANY) -> Callable[[Callable[[Play], None]], Callable[[Play], None]]:
    """Add a function to the cases."""

    def add(play: Callable[[Play], None]) -> Callable[[Play], None]:
        CASES.append(Case(name, play, kind))
        return play

    return add


def ongoing(p: Play, name: str = "tx", *, timeout_ms: int = 60_000) -> Producer:
    """Begin a transaction of a new producer with the partition t-0, which is made."""
    p.topic()
    producer = p.init(name, timeout_ms=timeout_ms)
    p.add(producer, "t-0")
    return producer


def completed(p: Play, result: bool, *, version: int = 4) -> Producer:
    """End a transaction of a new producer; returns the producer as it is afterwards."""
    return p.end(ongoing(p), result, version=version)


# --- FindCoordinator and InitProducerId ------------------------------------------------------------------------------


@case("a coordinator is found for any transactional id, also for an empty one")
def find(p: Play) -> None:
    p.find("tx")
    p.find("tx", "other")
    p.find("tx", version=3)
    p.find("", version=3)
    p.find("")


@case("vector 1: a new id starts at epoch 0, and each InitProducerId raises the epoch")
def init_raises(p: Play) -> None:
    for version in (0, 1, 2, 3, 4, 5):
        p.init(version=version)
    p.describe()


@case("vector 2: InitProducerId refuses an empty id, a timeout out of range, and half an identity")
def init_refuses(p: Play) -> None:
    p.init("")
    p.init("", version=0)
    for timeout_ms in (0, -1, MAX_TIMEOUT_MS + 1, MAX_TIMEOUT_MS):
        p.init(timeout_ms=timeout_ms)
    p.init(given=Producer("tx", 5, -1))
    p.init(given=Producer("tx", -1, 5))
    p.init("tx2", timeout_ms=0)
    p.describe("tx2")


@case("InitProducerId: half an identity comes before a null id, that before an empty id, and that before the timeout")
def init_order(p: Play) -> None:
    half = Producer("tx", 5, -1)
    p.init("", timeout_ms=0)
    p.init("", given=half)
    p.init(None, given=half)
    p.init(None, timeout_ms=0)
    p.init(None, timeout_ms=0, given=half)
    p.init("tx", timeout_ms=0, given=half)
    p.init("tx", timeout_ms=0, given=Producer("tx", 5, 5))


@case("vector 3: InitProducerId without an id gives a new producer id each time")
def init_null(p: Play) -> None:
    for version in (0, 4, 5):
        p.init(None, version=version)
    p.init(None, given=Producer(None, 5, 3))


@case("an unknown id accepts any identity that a client gives")
def init_unknown_given(p: Play) -> None:
    p.init(given=Producer("tx", 5, 3))
    p.init("tx2", given=Producer("tx2", 5, 32766))
    p.init("tx3", given=Producer("tx3", 5, 32767))


@case("vector 20: InitProducerId with the identity raises the epoch, and its retry gets the same")
def init_given(p: Play) -> None:
    first = p.init()
    second = p.init(given=first)
    p.init(given=first)
    p.init(given=first)
    third = p.init(given=second)
    p.init(given=first)
    p.init(given=third.at(7))
    p.init(given=third.stranger())
    p.init(given=third.stranger(), version=3)
    p.init(given=first, version=3)
    p.init()
    p.init(given=third)
    p.init(given=third.at(4))


@case("InitProducerId sets the timeout, and none when it is refused")
def init_timeout(p: Play) -> None:
    first = p.init(timeout_ms=1000)
    p.init(timeout_ms=2000, given=first)
    p.describe()
    p.init(timeout_ms=3000, given=first.at(9))
    p.describe()
    p.init(timeout_ms=3000)
    p.describe()


@case("InitProducerId after a completed transaction: none, current, last and other epochs")
def init_completed(p: Play) -> None:
    producer = completed(p, COMMIT)
    p.init(given=producer)
    p.init(given=producer)
    p.describe()
    producer = p.init()
    p.add(producer, "t-0")
    p.end(producer, ABORT)
    p.init()
    p.init(given=producer)
    p.describe()


@case("vector 18: InitProducerId fences an open transaction of TV1; it answers 51 first")
def fence(p: Play) -> None:
    old = ongoing(p)
    p.produce(old, "t-0", 0, "a", "b")
    p.init()
    p.settle()
    p.describe()
    p.fetch("t-0")
    new = p.init()
    p.produce(old, "t-0", 2, "c")
    p.end(old, COMMIT)
    p.end(old, ABORT)
    p.end(old, ABORT, version=1)
    p.end(old, ABORT, version=0)
    p.add(old, "t-0")
    p.init(given=old)
    p.init(given=new.at(1))
    p.init(given=new)


@case("InitProducerId with its own identity on an open transaction fences it, and the repeated one is refused")
def fence_given(p: Play) -> None:
    old = ongoing(p)
    p.init(given=old)
    p.settle()
    p.init(given=old)
    p.init(given=old.at(1))
    p.init(given=old.at(2))


@case("InitProducerId on an open transaction refuses another producer id, and fences for any epoch")
def fence_other_identity(p: Play) -> None:
    old = ongoing(p)
    p.init(given=old.stranger())
    p.describe()
    p.init(given=old.at(5))
    p.settle()
    p.describe()
    p.init(given=old.at(5))
    p.init(given=old)


@case("InitProducerId with the epoch before on an open transaction fences it, and only the last epoch may go on")
def fence_epoch_before(p: Play) -> None:
    first = p.init()
    p.topic()
    second = p.init(given=first)
    p.add(second, "t-0")
    p.init(given=first)
    p.settle()
    p.describe()
    p.init(given=first)
    p.init(given=second)
    p.init()


@case("InitProducerId fences an open transaction that TV2 began")
def fence_tv2(p: Play) -> None:
    p.topic()
    old = p.init(version=5)
    p.produce(old, "t-0", 0, "a", version=12)
    p.describe()
    p.init(version=5)
    p.settle()
    p.describe()
    p.fetch("t-0")
    p.init(version=5)
    p.produce(old, "t-0", 1, "b", version=12)
    p.end(old, ABORT, version=5)
    p.end(old, COMMIT, version=5)
    p.end(old.at(1), ABORT, version=5)
    p.end(old.at(2), ABORT, version=5)


@case("InitProducerId fences an open transaction of a producer that ended one by TV2 before")
def fence_after_tv2(p: Play) -> None:
    old = completed(p, COMMIT, version=5)
    p.add(old, "t-0")
    p.init(version=5)
    p.settle()
    p.describe()
    p.init(version=5)
    p.fetch("t-0")


# --- AddPartitionsToTxn and AddOffsetsToTxn --------------------------------------------------------------------------


@case("vector 4: AddPartitionsToTxn refuses another producer id, another epoch, and an unknown or empty id")
def add_refuses(p: Play) -> None:
    p.topic()
    first = p.init()
    producer = p.init()
    for version in (0, 1, 2, 3):
        p.add(producer.stranger(), "t-0", version=version)
        p.add(producer.at(2), "t-0", version=version)
        p.add(first, "t-0", version=version)
    p.add(producer.stranger().at(9), "t-0")
    p.add(producer.called("unknown"), "t-0")
    p.add(producer.called(""), "t-0")
    p.describe()


@case("vector 5: a partition that is not there keeps all others out")
def add_unknown(p: Play) -> None:
    p.topic()
    producer = p.init()
    p.add(producer, "t-0", "nope-0")
    p.add(producer, "t-0", "t-1")
    p.add(producer, "nope-0", "t-0", version=0)
    p.describe()


@case("AddPartitionsToTxn: a partition that is not there comes before the state of the transaction and an empty id")
def add_unknown_order(p: Play) -> None:
    p.topic()
    producer = p.init()
    p.add(producer.called(""), "nope-0", "t-0")
    p.add(producer.stranger(), "nope-0", "t-0")
    p.add(producer.at(5), "nope-0")


@case("AddPartitionsToTxn of internal topics")
def add_internal(p: Play) -> None:
    p.topic()
    producer = p.init()
    p.add(producer, "__consumer_offsets-0")
    p.add(producer, "__transaction_state-0", "t-0")
    p.add(producer, "__consumer_offsets-77", "t-0")
    p.describe()


@case("AddPartitionsToTxn of nothing, of a partition twice, and of more partitions than the topic has")
def add_odd(p: Play) -> None:
    p.topic(partitions=3)
    producer = p.init()
    p.add(producer)
    p.describe()
    p.add(producer, "t-2", "t-0", "t-2")
    p.describe()
    p.add(producer, *(f"t-{index}" for index in range(5)))
    p.add(producer, "t--1")
    p.describe()


@case("partitions are added to those of the open transaction")
def add_more(p: Play) -> None:
    p.topic(partitions=2)
    p.topic("u")
    producer = p.init()
    p.add(producer, "t-1")
    p.add(producer, "t-1")
    p.add(producer, "u-0", "t-0")
    p.add_offsets(producer)
    p.add_offsets(producer)
    p.describe()
    p.end(producer, COMMIT)
    p.describe()
    p.add(producer, "u-0")
    p.describe()


@case("AddOffsetsToTxn refuses as AddPartitionsToTxn does, and takes a group that is not there or has no name")
def add_offsets(p: Play) -> None:
    first = p.init()
    producer = p.init()
    for version in (0, 1, 2, 3, 4):
        p.add_offsets(producer.stranger(), version=version)
        p.add_offsets(producer.at(2), version=version)
        p.add_offsets(first, version=version)
    p.add_offsets(producer.called("unknown"))
    p.add_offsets(producer.called(""))
    p.add_offsets(producer.called(""), "")
    p.describe()
    p.add_offsets(producer, "")
    p.describe()
    p.add_offsets(producer, "another", version=4)


# --- EndTxn ----------------------------------------------------------------------------------------------------------


@case("EndTxn refuses another producer id, another epoch, and an unknown or empty id")
def end_refuses(p: Play) -> None:
    first = p.init()
    p.topic()
    producer = p.init()
    for version in (0, 1, 2, 3, 4, 5):
        p.end(producer.stranger(), COMMIT, version=version)
        p.end(producer.at(2), COMMIT, version=version)
        p.end(first, COMMIT, version=version)
        p.end(producer.called("unknown"), COMMIT, version=version)
        p.end(producer.called(""), COMMIT, version=version)
    p.end(producer.stranger().at(9), COMMIT)
    p.end(producer.stranger().at(9), COMMIT, version=5)
    p.describe()


@case("EndTxn up to 4 of an Empty transaction")
def end_empty(p: Play) -> None:
    producer = p.init()
    for version in (0, 1, 4):
        p.end(producer, COMMIT, version=version)
        p.end(producer, ABORT, version=version)
    p.end(producer.at(5), ABORT)
    p.describe()


@case("vector 10: EndTxn up to 4 of a committed transaction: commit is a retry, abort is refused")
def end_committed(p: Play) -> None:
    producer = completed(p, COMMIT)
    for version in (0, 1, 4):
        p.end(producer, COMMIT, version=version)
        p.end(producer, ABORT, version=version)
    p.end(producer.at(5), COMMIT)
    p.end(producer.at(5), ABORT)
    p.describe()


@case("EndTxn up to 4 of an aborted transaction: abort is a retry, commit is refused")
def end_aborted(p: Play) -> None:
    producer = completed(p, ABORT)
    for version in (0, 1, 4):
        p.end(producer, COMMIT, version=version)
        p.end(producer, ABORT, version=version)
    p.describe()


@case("vector 25: EndTxn 5 raises the epoch, and its retry gets the same")
def end_tv2_commit(p: Play) -> None:
    old = ongoing(p)
    p.produce(old, "t-0", 0, "a")
    new = p.end(old, COMMIT, version=5)
    p.end(old, COMMIT, version=5)
    p.describe()
    p.fetch("t-0")
    p.end(old, ABORT, version=5)
    p.end(old.at(5), COMMIT, version=5)
    p.end(new, COMMIT, version=5)
    p.describe()


@case("EndTxn 5 of an open transaction with another epoch is refused")
def end_tv2_other_epoch(p: Play) -> None:
    p.topic()
    first = p.init()
    second = p.init()
    p.add(second, "t-0")
    p.end(first, COMMIT, version=5)
    p.end(first, ABORT, version=5)
    p.end(second.at(2), ABORT, version=5)
    p.end(second, ABORT, version=5)
    p.describe()


@case("vector 26: EndTxn 5 aborts an empty transaction after a commit, and raises the epoch")
def end_tv2_abort_after_commit(p: Play) -> None:
    producer = completed(p, COMMIT, version=5)
    after = p.end(producer, ABORT, version=5)
    p.describe()
    p.end(producer, ABORT, version=5)
    p.end(producer, COMMIT, version=5)
    p.end(after, ABORT, version=5)
    p.describe()


@case("EndTxn 5 of an Empty transaction: commit is refused, abort raises the epoch")
def end_tv2_empty(p: Play) -> None:
    producer = p.init(version=5)
    p.end(producer, COMMIT, version=5)
    after = p.end(producer, ABORT, version=5)
    p.describe()
    p.end(producer, ABORT, version=5)
    p.end(producer, COMMIT, version=5)
    p.end(after, COMMIT, version=5)
    p.end(after, ABORT, version=5)
    p.init(given=after)
    p.describe()


@case("EndTxn 5 of an aborted transaction: commit, abort, and both with the epoch before")
def end_tv2_aborted(p: Play) -> None:
    old = ongoing(p)
    new = p.end(old, ABORT, version=5)
    p.end(old, ABORT, version=5)
    p.end(old, COMMIT, version=5)
    p.end(new, COMMIT, version=5)
    newer = p.end(new, ABORT, version=5)
    p.end(new, ABORT, version=5)
    p.end(old, ABORT, version=5)
    p.end(new, COMMIT, version=5)
    p.end(newer, COMMIT, version=5)
    p.describe()


@case("EndTxn 5 after an InitProducerId takes the epoch before for a retry")
def end_tv2_after_init(p: Play) -> None:
    first = p.init(version=5)
    second = p.init(version=5)
    p.end(first, ABORT, version=5)
    p.end(first, COMMIT, version=5)
    p.end(second, ABORT, version=5)
    p.describe()


@case("a retry by EndTxn 5 after an EndTxn 4, and by 4 after 5")
def end_mixed(p: Play) -> None:
    producer = completed(p, COMMIT)
    p.end(producer, COMMIT, version=5)
    p.end(producer.at(-1), COMMIT, version=5)
    p.end(producer, COMMIT, version=4)
    p.add(producer, "t-0")
    after = p.end(producer, COMMIT, version=5)
    p.end(producer, COMMIT, version=4)
    p.end(after, COMMIT, version=4)
    p.end(after, ABORT, version=4)
    p.add(after, "t-0")
    p.end(after, COMMIT, version=4)
    p.describe()


@case("EndTxn 4 of a transaction that Produce 12 began")
def end_tv1_of_tv2(p: Play) -> None:
    p.topic()
    producer = p.init(version=5)
    p.produce(producer, "t-0", 0, "a", version=12)
    p.end(producer, COMMIT, version=4)
    p.describe()
    p.fetch("t-0")
    p.end(producer, COMMIT, version=4)
    p.produce(producer, "t-0", 1, "b", version=12)
    p.end(producer, ABORT, version=4)
    p.fetch("t-0", 2)


@case("InitProducerId after EndTxn 5: with the epoch before and with the new one")
def init_after_tv2(p: Play) -> None:
    old = ongoing(p)
    new = p.end(old, COMMIT, version=5)
    p.init(given=old, version=5)
    p.describe()
    newer = p.init(given=new, version=5)
    p.init(given=new, version=5)
    p.init(given=newer, version=5)
    p.init(version=5)


@case("a transaction goes on after each EndTxn 5 with sequences from 0")
def tv2_flow(p: Play) -> None:
    p.topic()
    producer = p.init(version=5)
    for result in (COMMIT, ABORT, COMMIT):
        p.produce(producer, "t-0", 0, "a", version=12)
        p.produce(producer, "t-0", 1, "b", version=12)
        p.commit_in(producer, {"t-0": 1}, version=5)
        p.describe()
        producer = p.end(producer, result, version=5)
        p.describe()
    p.fetch("t-0")
    p.offsets("t-0", stable=True)
    p.describe_producers("t-0")


# --- timeouts --------------------------------------------------------------------------------------------------------


@case("vector 19: an open transaction is aborted after its timeout, and its producer is fenced")
def timeout(p: Play) -> None:
    old = ongoing(p, timeout_ms=SHORT_MS)
    p.produce(old, "t-0", 0, "a")
    p.commit({"t-0": 3})
    p.add_offsets(old)
    p.commit_in(old, {"t-0": 5})
    p.await_state("tx", "CompleteAbort")
    p.describe()
    p.fetch("t-0")
    p.offsets("t-0", stable=True)
    p.end(old, COMMIT)
    p.end(old, ABORT)
    p.end(old, ABORT, version=1)
    p.add(old, "t-0")
    p.add(old, "t-0", version=1)
    p.add_offsets(old)
    p.produce(old, "t-0", 1, "b")
    p.commit_in(old, {"t-0": 6})
    p.commit_in(old, {"t-0": 6}, version=4)
    p.init(given=old)
    p.init(given=old, version=3)
    p.describe()
    p.init()


@case("after a timeout the new epoch is accepted, although the producer was not told it")
def timeout_new_epoch(p: Play) -> None:
    old = ongoing(p, timeout_ms=SHORT_MS)
    p.await_state("tx", "CompleteAbort")
    p.end(old.at(1), ABORT)
    p.end(old.at(1), COMMIT)
    p.init(given=old.at(1))


@case("after a timeout a producer of TV2 learns it from EndTxn 5, Produce 12 and TxnOffsetCommit 5")
def timeout_tv2(p: Play) -> None:
    p.topic()
    old = p.init(timeout_ms=SHORT_MS, version=5)
    p.produce(old, "t-0", 0, "a", version=12)
    p.await_state("tx", "CompleteAbort")
    p.describe()
    p.fetch("t-0")
    p.produce(old, "t-0", 1, "b", version=12)
    p.commit_in(old, {"t-0": 6}, version=5)
    p.end(old, COMMIT, version=5)
    p.end(old, ABORT, version=5)
    p.end(old.at(1), COMMIT, version=5)
    p.init(given=old, version=5)
    p.init(given=old.at(1), version=5)
    p.init(version=5)


@case("a transaction of TV1 that timed out and EndTxn 5 with the epoch before")
def timeout_end_tv2(p: Play) -> None:
    old = ongoing(p, timeout_ms=SHORT_MS)
    p.await_state("tx", "CompleteAbort")
    p.end(old, COMMIT, version=5)
    p.end(old, ABORT, version=5)


@case("an expired transactional id is not known, and gets a new producer id", Kind.EXPIRING)
def expired(p: Play) -> None:
    producer = completed(p, COMMIT)
    p.await_state("tx", "")
    p.describe()
    p.add(producer, "t-0")
    p.add(producer, "t-0", version=0)
    p.end(producer, COMMIT)
    p.commit_in(producer, {"t-0": 1})
    p.list()
    p.init(given=producer)


@case("an Empty transactional id expires, an open transaction does not", Kind.EXPIRING)
def expired_empty(p: Play) -> None:
    open_one = ongoing(p, "open")
    p.init("empty")
    p.await_state("empty", "")
    p.list()
    p.end(open_one, COMMIT)


@case("vector 23: an open transaction outlives a crash, and is committed", Kind.RESTARTED)
def crash_ongoing(p: Play) -> None:
    producer = ongoing(p)
    p.produce(producer, "t-0", 0, "a")
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7})
    p.restart()
    p.describe()
    p.fetch("t-0")
    p.describe_producers("t-0")
    p.offsets("t-0", stable=True)
    p.produce(producer, "t-0", 1, "b")
    p.end(producer, COMMIT)
    p.fetch("t-0")
    p.offsets("t-0", stable=True)


@case("after a crash an identity that was retried before is refused", Kind.RESTARTED)
def crash_retries(p: Play) -> None:
    first = p.init()
    p.init(given=first)
    p.restart()
    p.init(given=first)
    p.init(given=first.at(1))
    p.topic()
    old = p.init()
    p.add(old, "t-0")
    new = p.end(old, COMMIT, version=5)
    p.restart()
    p.end(old, COMMIT, version=5)
    p.describe()
    p.init(given=old)
    p.init(given=new)
    newest = p.init(None)
    p.produce(newest, "t-0", 0, "a", is_transactional=False)


@case("the timeout of an open transaction goes on after a crash", Kind.RESTARTED)
def crash_timeout(p: Play) -> None:
    ongoing(p, timeout_ms=SHORT_MS * 10)
    p.restart()
    p.await_state("tx", "CompleteAbort")
    p.describe()
    p.init()


# --- exhausted epochs ------------------------------------------------------------------------------------------------


@case("vector 21: InitProducerId gives a new producer id when the epoch is exhausted", Kind.SLOW)
def exhausted(p: Play) -> None:
    producer = p.exhaust("tx")
    p.describe()
    p.init(given=producer.at(32765))
    p.init(given=producer)
    p.init(given=producer)
    p.describe()
    p.init(given=producer.at(32765))
    p.init()


@case("EndTxn 5 gives a new producer id when the epoch is exhausted, also to its retry", Kind.SLOW)
def exhausted_tv2(p: Play) -> None:
    p.topic()
    old = p.exhaust("tx")
    p.produce(old, "t-0", 0, "a", version=12)
    new = p.end(old, COMMIT, version=5)
    p.end(old, COMMIT, version=5)
    p.end(old, ABORT, version=5)
    p.end(old.at(3), COMMIT, version=5)
    p.describe()
    p.fetch("t-0")
    p.init(given=old)
    p.produce(new, "t-0", 0, "b", version=12)
    p.end(new, ABORT, version=5)


@case("an open transaction at the last epoch is fenced", Kind.SLOW)
def exhausted_fence(p: Play) -> None:
    p.topic()
    old = p.exhaust("tx")
    p.add(old, "t-0")
    p.init()
    p.settle()
    p.describe()
    p.init()
    p.fetch("t-0")


# --- administration --------------------------------------------------------------------------------------------------


@case("vector 27: transactions are described and listed")
def administration(p: Play) -> None:
    p.topic(partitions=2)
    producer = p.init()
    p.add(producer, "t-1", "t-0")
    p.add_offsets(producer)
    idle = p.init("idle")
    p.describe("tx", "unknown", "", "idle", "tx")
    p.list()
    p.list("Ongoing", "Foo")
    p.list("Foo")
    p.list("Foo", "Bar", "Foo")
    p.list("ongoing")
    p.list("Empty")
    p.list("CompleteCommit", "CompleteAbort", "PrepareCommit", "PrepareAbort", "Dead", "PrepareEpochFence")
    p.list(producers=[idle])
    p.list(producers=[idle, producer])
    p.list("Ongoing", producers=[idle])
    p.list(version=0)


@case("ListTransactions by duration")
def list_by_duration(p: Play) -> None:
    ongoing(p)
    p.init("idle")
    p.list(duration_ms=3_600_000)
    p.list(duration_ms=0)
    p.list(duration_ms=-5)
    p.list("Empty", duration_ms=3_600_000)


@case("ListTransactions by duration of a completed transaction")
def list_completed_by_duration(p: Play) -> None:
    completed(p, COMMIT)
    p.list(duration_ms=0)
    p.list(duration_ms=3_600_000)


@case("ListTransactions by a pattern, which must match the whole id")
def list_by_pattern(p: Play) -> None:
    p.init("tx1")
    p.init("tx2")
    for pattern in ("tx.*", "tx1", "tx", "", "("):
        p.list(pattern=pattern, version=2)


@case("a described transaction keeps its start, and has no partitions, after it is complete")
def describe_states(p: Play) -> None:
    p.describe()
    producer = p.init()
    p.describe()
    p.topic()
    p.add(producer, "t-0")
    p.describe()
    p.end(producer, COMMIT)
    p.describe()
    p.init()
    p.describe()
