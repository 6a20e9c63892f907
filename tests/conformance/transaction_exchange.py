"""Transactions in all their states, put into a server by its producers, and what the server then tells of them.

`fill_transactional_ids` makes the same on Kafka and on us: transactions that are committed, aborted and open, of both
generations of the protocol, with records in several partitions and segments and offsets of groups. `told_of_ids` is
what administrators, readers of both isolation levels and groups are told. `go_on` ends the open transactions at the
server that has taken the logs over: by a commit, an abort and a new instance. `hand_over` changes the owner of logs.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.end_txn import EndTxnRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.list_transactions import ListTransactionsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from protocol.record_batch import iter_batches
from tests.conformance.script import plain
from tests.conformance.transaction_play import LATEST, Play, Producer
from tests.support.eventually import eventually
from tests.support.transactional import read, transactional_producer
from tests.support.wire import call

PARTITIONS: Final = (("t", 0), ("t", 1), ("u", 0), ("large", 0))
TOPICS: Final = {"t": 2, "u": 1, "large": 1, "late": 1}
INTERNAL: Final = ("__consumer_offsets-0", "__transaction_state-0")
DIRECTORIES: Final = (*INTERNAL, *(f"{topic}-{index}" for topic, count in TOPICS.items() for index in range(count)))
IDS: Final = (
    "committed",
    "aborted",
    "open",
    "newer",
    "replaced",
    "spanning",
    "large",
    "older offsets",
    "newer offsets",
    "fresh",
)
GROUPS: Final = ("plain", "of-open", "of-newer", "of-replaced", "of-both")
TOPIC_ID_FILE: Final = "partition.metadata"
SEGMENT_BYTES: Final = 1 << 20  # the least that Kafka takes
LONG_MS: Final = 900_000  # open transactions outlive any restart of a test
LATE_MS: Final = 15_000  # its owner has changed by then
PRODUCER_FENCED: Final = 90
CONCURRENT_TRANSACTIONS: Final = 51
UNSTABLE: Final = 88

Open = dict[str, Producer]


def fill_transactional_ids(port: int) -> Open:
    """Make transactional ids in all states; return the producers whose transactions are open."""
    play = Play(port, "")
    address = f"127.0.0.1:{port}"
    for name, ends_well in (("committed", True), ("aborted", False)):
        producer = transactional_producer(address, name)
        for number in range(3):
            producer.begin_transaction()
            for topic, index in (("t", 0), ("t", 1), ("u", 0)):
                producer.produce(topic, f"{name} {number}".encode(), partition=index)
            producer.flush(30)
            producer.commit_transaction(30) if ends_well else producer.abort_transaction(30)
    _fill_segments(play)
    _fill_offsets(play)
    opened = {
        "open": play.init("open", timeout_ms=LONG_MS),
        "newer": play.init("newer", timeout_ms=LONG_MS),
        "replaced": play.init("replaced", timeout_ms=LONG_MS),
    }
    play.commit({"t-0": 1, "u-0": 2}, "plain")
    for name in ("of-open", "of-newer", "of-replaced"):
        play.commit({"t-0": 3}, name)
    one = opened["open"]
    play.add(one, "t-0", "u-0")
    play.add_offsets(one, "of-open")
    play.produce(one, "t-0", 0, "open 0", "open 1")
    play.produce(one, "u-0", 0, "open 2")
    play.commit_in(one, {"t-0": 7, "u-0": 8}, "of-open")
    two = opened["newer"]  # of the protocol that adds partitions implicitly
    play.produce(two, "u-0", 0, "newer 0", version=12)
    play.commit_in(two, {"t-0": 9}, "of-newer", version=5)
    three = opened["replaced"]
    play.add(three, "t-1", "large-0")
    play.add_offsets(three, "of-replaced")
    play.produce(three, "large-0", 0, "replaced 0")
    play.commit_in(three, {"t-0": 11}, "of-replaced")
    behind = play.init("aborted", timeout_ms=LONG_MS)  # ends behind records of open transactions
    play.add(behind, "t-0", "u-0")
    play.produce(behind, "t-0", 0, "behind 0")
    play.produce(behind, "u-0", 0, "behind 1")
    play.end(behind, False)
    play.commit({"u-0": 12}, "plain")
    play.init("fresh", timeout_ms=LONG_MS)
    _refuse_errors(play)
    return opened


def _fill_segments(play: Play) -> None:
    """Write transactions over three segments: aborted ones in each, and one that begins and ends in different ones."""
    spanning = play.init("spanning", timeout_ms=LONG_MS)
    play.add(spanning, "large-0")
    play.produce(spanning, "large-0", 0, "spanning 0")
    producer = play.init("large", timeout_ms=LONG_MS)
    sequence = 0
    for number in range(6):
        play.add(producer, "large-0")
        for _ in range(2):
            play.produce(producer, "large-0", sequence, f"large {number} " + "x" * 240_000)
            sequence += 1
        play.end(producer, number % 2 == 0)
        if number == 3:
            play.end(spanning, False)


def _fill_offsets(play: Play) -> None:
    """Commit and abort offsets of a group in transactions of both generations of the protocol."""
    older = play.init("older offsets", timeout_ms=LONG_MS)
    newer = play.init("newer offsets", timeout_ms=LONG_MS)
    for number in range(4):
        play.add_offsets(older, "of-both")
        play.commit_in(older, {"t-0": 100 + number}, "of-both")
        play.end(older, number % 2 == 0)
        play.commit_in(newer, {"u-0": 200 + number}, "of-both", version=5)
        newer = play.end(newer, number % 2 == 0, version=5)


def _refuse_errors(play: Play) -> None:
    for step in play.steps:
        codes = [word for word in _codes(step.get("answer")) if word]
        assert not codes, step


def _codes(value: Any) -> Iterable[int]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            if key == "error_code":
                yield each
            else:
                yield from _codes(each)
    elif isinstance(value, list):
        for each in value:
            yield from _codes(each)


# --- what a server tells ----------------------------------------------------------------------------------------------


def told_of_ids(port: int, ids: Iterable[str] = IDS) -> dict[str, Any]:
    """Return all that clients can learn of transactional ids, partitions with transactions, and offsets of groups."""
    names = [*ids]
    play = Play(port, "")
    eventually(
        lambda: not any(play.state(each).startswith("Prepare") for each in names), "what was decided is complete"
    )
    listed = call(port, ListTransactionsRequest(), 1)
    described = call(port, DescribeTransactionsRequest(names), 0)
    topics = [TopicRequest(topic, [index]) for topic, index in PARTITIONS]
    producers = call(port, DescribeProducersRequest(topics), 0)
    return {
        "listed": sorted(
            (plain(each) for each in listed.transaction_states if each.transactional_id in names),
            key=lambda each: str(each["transactional_id"]),
        ),
        "described": [_described(each) for each in described.transaction_states],
        "producers": {
            f"{topic.name}-{partition.partition_index}": sorted(
                (plain(each) for each in partition.active_producers), key=lambda each: int(each.get("producer_id", 0))
            )
            for topic in producers.topics
            for partition in topic.partitions
        },
        "ends": {f"{topic}-{index}": _ends(port, topic, index) for topic, index in PARTITIONS},
        "read": {f"{topic}-{index}": _read(port, topic, index) for topic, index in PARTITIONS},
        "values": {f"{topic}-{index}": values(port, topic, index) for topic, index in PARTITIONS},
        "offsets": {stable: told_of_offsets(port, stable=stable) for stable in (False, True)},
    }


def values(port: int, topic: str, index: int) -> list[str]:
    """Return the beginnings of the values that a client's reader of committed records gets."""
    return [value[:12].rstrip("x ") for value in read(f"127.0.0.1:{port}", topic, index)]


def _described(state: Any) -> Any:
    found = plain(state)
    for topic in found.get("topics", []):
        topic["partitions"].sort()
    found.get("topics", []).sort(key=lambda topic: topic["topic"])
    return found


def _ends(port: int, topic: str, index: int) -> dict[str, int]:
    """Return the end and the last stable offset of a partition."""
    found = {}
    for level, name in enumerate(("end", "stable")):
        asked = ListOffsetsTopic(topic, [ListOffsetsPartition(index, timestamp=LATEST)])
        answer = call(port, ListOffsetsRequest(-1, level, [asked]), 7).topics[0].partitions[0]
        assert answer.error_code == 0, answer
        found[name] = answer.offset
    return found


def _read(port: int, topic: str, index: int) -> list[Any]:
    """Read each batch alone as a reader of committed records: limits, aborted transactions and bytes."""
    found: list[Any] = []
    offset = 0
    while True:
        part = _fetched(port, topic, index, offset)
        assert part.error_code == 0, part
        records = part.records or b""
        behind = end_of(records) if records else offset
        found.append(
            {
                "from": offset,
                "start": part.log_start_offset,
                "stable": part.last_stable_offset,
                "end": part.high_watermark,
                "aborted": sorted(
                    (each.producer_id, each.first_offset)
                    for each in part.aborted_transactions
                    if each.first_offset < behind  # Kafka adds later ones of the same part of its index
                ),
                "records": hashlib.sha256(records).hexdigest(),
            }
        )
        if not records:
            return found
        offset = behind


def _fetched(port: int, topic: str, index: int, offset: int) -> Any:
    asked = FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1)
    request = FetchRequest(isolation_level=1, topics=[FetchTopic(topic=topic, partitions=[asked])])
    request.max_wait_ms = request.min_bytes = 0
    return call(port, request, 12).responses[0].partitions[0]


def end_of(records: bytes) -> int:
    """Return the offset behind the last whole batch of some bytes."""
    return max(header.last_offset for _, header in iter_batches(records)) + 1


def told_of_offsets(port: int, *, stable: bool, groups: Iterable[str] = GROUPS) -> dict[str, Any]:
    """Return the offsets of groups in two partitions, -1 for none, or the error of one with a pending offset."""
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0]) for topic in ("t", "u")]
    asked = [OffsetFetchRequestGroup(group_id=name, topics=topics) for name in groups]
    answer = call(port, OffsetFetchRequest(groups=asked, require_stable=stable), 8)
    found: dict[str, Any] = {}
    for group in answer.groups:
        assert group.error_code == 0, group
        found[group.group_id] = {
            f"{topic.name}-{each.partition_index}": each.committed_offset if not each.error_code else -each.error_code
            for topic in group.topics
            for each in topic.partitions
        }
    return found


# --- going on ---------------------------------------------------------------------------------------------------------


def go_on(port: int, opened: Open) -> None:
    """End the open transactions: two by their producers as they are, one by a new instance."""
    play = Play(port, "")
    play.produce(opened["open"], "t-0", 2, "open 3")
    play.end(opened["open"], True)
    newer = play.end(opened["newer"], False, version=5)
    play.produce(newer, "u-0", 0, "newer 1", version=12)
    play.end(newer, True, version=5)
    _refuse_errors(play)

    def has_new_instance() -> bool:
        answer = call(port, InitProducerIdRequest("replaced", LONG_MS), 4)
        assert answer.error_code in (0, CONCURRENT_TRANSACTIONS), answer
        return bool(answer.error_code == 0)

    eventually(has_new_instance, "the open transaction is aborted for a new instance")
    old = opened["replaced"]
    assert call(port, EndTxnRequest("replaced", old.id, old.epoch, True), 4).error_code == PRODUCER_FENCED


def begin_late(port: int) -> None:
    """Open a transaction that is over time soon."""
    play = Play(port, "")
    late = play.init("late", timeout_ms=LATE_MS)
    play.add(late, "late-0")
    play.add_offsets(late, "of-late")
    play.produce(late, "late-0", 0, "late 0")
    play.commit_in(late, {"t-0": 13}, "of-late")
    _refuse_errors(play)


def await_late(port: int) -> None:
    """Wait until the server has aborted that transaction, in all its partitions."""
    play = Play(port, "")
    eventually(lambda: play.state("late") == "CompleteAbort", "the late transaction is aborted", within_s=60)
    assert _ends(port, "late", 0) == {"end": 2, "stable": 2}
    assert told_of_offsets(port, stable=True, groups=["of-late"]) == {"of-late": {"t-0": -1, "u-0": -1}}


# --- owners -----------------------------------------------------------------------------------------------------------


def hand_over(source: Path, target: Path, directories: Iterable[str] = DIRECTORIES) -> None:
    """Replace the partitions of a stopped Kafka by those of another server. It needs its files of topic ids."""
    for name in directories:
        kept = (target / name / TOPIC_ID_FILE).read_bytes()
        shutil.rmtree(target / name)
        shutil.copytree(source / name, target / name)
        (target / name / TOPIC_ID_FILE).write_bytes(kept)


def differences(expected: Any, found: Any, path: str = "") -> list[str]:
    """Return the places in which two tellings differ, each with both values."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = [*dict.fromkeys([*expected, *found])]
        return [line for key in keys for line in differences(expected.get(key), found.get(key), f"{path}/{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for number, (one, other) in pairs for line in differences(one, other, f"{path}/{number}")]
    return [] if expected == found else [f"{path}: expected {expected!r}, found {found!r}"]
