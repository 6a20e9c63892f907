"""The cases of transactions in the offsets of a group: TxnOffsetCommit, and OffsetFetch meanwhile."""

from __future__ import annotations

from tests.conformance.transaction_cases import ABORT, COMMIT, case
from tests.conformance.transaction_play import Play, Producer


def with_group(p: Play) -> Producer:
    """Begin a transaction of a new producer with the offsets of the group g, and make the topic t."""
    p.topic()
    producer = p.init()
    p.add_offsets(producer)
    return producer


@case("vectors 13 and 14: offsets are unstable until the commit")
def offsets_committed(p: Play) -> None:
    p.topic(partitions=2)
    p.commit({"t-0": 3, "t-1": 4})
    producer = p.init()
    p.add_offsets(producer)
    p.offsets("t-0", "t-1", stable=True)
    p.commit_in(producer, {"t-0": 7})
    p.offsets("t-0", "t-1")
    p.offsets("t-0", "t-1", stable=True)
    p.offsets(all_topics=True, stable=True)
    p.offsets(all_topics=True)
    p.end(producer, COMMIT)
    p.offsets("t-0", "t-1")
    p.offsets("t-0", "t-1", stable=True)


@case("OffsetFetch of offsets that are new with the transaction")
def offsets_new(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"t-0": 7})
    p.offsets("t-0")
    p.offsets("t-0", stable=True)
    p.offsets(all_topics=True)
    p.offsets(all_topics=True, stable=True)
    p.end(producer, COMMIT)
    p.offsets(all_topics=True, stable=True)


@case("vector 15: an abort leaves the old offsets")
def offsets_aborted(p: Play) -> None:
    p.topic()
    p.commit({"t-0": 3})
    producer = p.init()
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7})
    p.end(producer, ABORT)
    p.offsets("t-0")
    p.offsets("t-0", stable=True)


@case("vector 16: TxnOffsetCommit without AddOffsetsToTxn, while no transaction is open")
def offsets_not_added(p: Play) -> None:
    p.topic(partitions=2)
    producer = p.init()
    for version in (0, 1, 2, 3, 4):
        p.commit_in(producer, {"t-0": 7, "t-1": 8}, version=version)
    p.describe()
    p.offsets("t-0", stable=True)


@case("TxnOffsetCommit without AddOffsetsToTxn, while a transaction is open")
def offsets_not_added_ongoing(p: Play) -> None:
    p.topic()
    producer = p.init()
    p.add(producer, "t-0")
    for version in (0, 3, 4):
        p.commit_in(producer, {"t-0": 7}, version=version)
    p.describe()


@case("TxnOffsetCommit 5 adds the partition of the offsets")
def offsets_added_by_commit(p: Play) -> None:
    p.topic()
    producer = p.init(version=5)
    p.commit_in(producer, {"t-0": 7}, version=5)
    p.describe()
    p.offsets("t-0", stable=True)
    producer = p.end(producer, COMMIT, version=5)
    p.offsets("t-0", stable=True)
    p.commit_in(producer, {"t-0": 9}, version=5)
    p.end(producer, ABORT, version=5)
    p.offsets("t-0", stable=True)


@case("TxnOffsetCommit refuses another producer id, another epoch, and an unknown or empty id")
def offsets_refused(p: Play) -> None:
    p.topic()
    first = p.init()
    producer = p.init()
    p.add_offsets(producer)
    for version in (0, 1, 2, 3, 4, 5):
        p.commit_in(producer.stranger(), {"t-0": 7}, version=version)
        p.commit_in(producer.called("unknown"), {"t-0": 7}, version=version)
        p.commit_in(producer.called(""), {"t-0": 7}, version=version)
        p.commit_in(first, {"t-0": 7}, version=version)
        p.commit_in(producer.at(2), {"t-0": 7}, version=version)
        p.commit_in(producer.stranger().at(9), {"t-0": 7}, version=version)


@case("TxnOffsetCommit with another epoch, id or producer id while offsets are pending")
def offsets_refused_pending(p: Play) -> None:
    p.topic()
    first = p.init()
    producer = p.init()
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7})
    for version in (3, 4, 5):
        p.commit_in(producer.stranger(), {"t-0": 8}, version=version)
        p.commit_in(producer.called("unknown"), {"t-0": 8}, version=version)
        p.commit_in(first, {"t-0": 8}, version=version)
        p.commit_in(producer.at(2), {"t-0": 8}, version=version)
    p.offsets("t-0", stable=True)
    p.end(producer, COMMIT)
    p.offsets("t-0", stable=True)


@case("TxnOffsetCommit: the transaction is asked before the group")
def offsets_order(p: Play) -> None:
    p.topic()
    p.join("g")
    producer = p.init()
    for version in (3, 4):
        p.commit_in(producer, {"t-0": 7}, member=("stranger", 5), version=version)
        p.commit_in(producer.stranger(), {"t-0": 7}, member=("stranger", 5), version=version)
        p.commit_in(producer, {"nope-0": 7}, version=version)
        p.commit_in(producer, {"t-0": 7}, "", version=version)
    p.commit_in(producer.stranger(), {"nope-0": 7, "t-0": 1, "t-9": 1})
    p.commit_in(producer.called(""), {"nope-0": 7, "t-0": 1}, "")
    p.commit_in(producer.called(""), {"t-0": 1}, "")
    p.commit_in(producer.stranger(), {"t-0": 7}, member=("stranger", 5), version=5)
    p.describe()
    p.commit_in(producer, {"t-0": 7}, member=("stranger", 5), version=5)
    p.describe()


@case("vector 24: TxnOffsetCommit of a member is checked by the group, and the transaction can be aborted")
def offsets_of_members(p: Play) -> None:
    p.topic()
    member, generation = p.join("g")
    producer = p.init()
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7}, member=(member, generation - 1))
    p.commit_in(producer, {"t-0": 7}, member=(member, generation + 1))
    p.commit_in(producer, {"t-0": 7}, member=("stranger", generation))
    p.commit_in(producer, {"t-0": 7}, member=("", generation))
    p.commit_in(producer, {"t-0": 7}, member=(member, -1))
    p.commit_in(producer, {"t-0": 7}, member=(member, generation), instance="i")
    p.commit_in(producer, {"t-0": 7}, member=("", -1), instance="i")
    p.offsets("t-0", stable=True)
    p.commit_in(producer, {"t-0": 8})
    p.commit_in(producer, {"t-0": 9}, member=(member, generation))
    p.commit_in(producer, {"t-0": 10}, version=2)
    p.offsets("t-0", stable=True)
    p.end(producer, ABORT)
    p.offsets("t-0", stable=True)


@case("TxnOffsetCommit to a group that is not there, with a member or a generation")
def offsets_of_unknown_group(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"t-0": 7}, member=("m", 1))
    p.commit_in(producer, {"t-0": 7}, member=("", 1))
    p.commit_in(producer, {"t-0": 7}, member=("m", -1))
    p.commit_in(producer, {"t-0": 7}, "")
    p.offsets("t-0", stable=True)


@case("TxnOffsetCommit to partitions that are not there, and to good ones beside them")
def offsets_of_unknown_topics(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"nope-0": 1, "t-0": 7, "t-5": 2})
    p.end(producer, COMMIT)
    p.offsets("t-0", stable=True)


@case("vector 17: an ordinary commit made later in the log stays")
def later_commit_stays(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"t-0": 7})
    p.commit({"t-0": 9})
    p.offsets("t-0")
    p.offsets("t-0", stable=True)
    p.end(producer, COMMIT)
    p.offsets("t-0", stable=True)


@case("later offsets of a transaction replace earlier ones, also backwards")
def offsets_again(p: Play) -> None:
    p.topic(partitions=2)
    producer = p.init()
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7, "t-1": 1})
    p.commit_in(producer, {"t-0": 5})
    p.end(producer, COMMIT)
    p.offsets("t-0", "t-1", stable=True)


@case("two groups in a transaction")
def two_groups(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"t-0": 7})
    p.commit_in(producer, {"t-0": 8}, "h")
    p.offsets("t-0", group="h", stable=True)
    p.end(producer, COMMIT)
    p.offsets("t-0", stable=True)
    p.offsets("t-0", group="h", stable=True)


@case("two transactions with offsets of one partition")
def two_transactions(p: Play) -> None:
    p.topic()
    first, second = p.init("tx1"), p.init("tx2")
    for producer, offset in ((first, 5), (second, 6)):
        p.add_offsets(producer)
        p.commit_in(producer, {"t-0": offset})
    p.end(second, COMMIT)
    p.offsets("t-0")
    p.offsets("t-0", stable=True)
    p.end(first, COMMIT)
    p.offsets("t-0", stable=True)


@case("OffsetCommit while a transactional commit is pending, and OffsetDelete and DeleteGroups")
def pending_and_deletes(p: Play) -> None:
    p.topic()
    p.commit({"t-0": 3})
    producer = p.init()
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 7})
    p.delete_offsets("t-0")
    p.offsets("t-0", stable=True)
    p.end(producer, COMMIT)
    p.offsets("t-0", stable=True)
    p.add_offsets(producer)
    p.commit_in(producer, {"t-0": 9})
    p.delete_group()
    p.offsets("t-0", stable=True)
    p.end(producer, COMMIT)
    p.offsets("t-0", stable=True)


@case("a group that was made by a pending commit is described and listed")
def group_of_pending(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"t-0": 7})
    p.describe_group()
    p.end(producer, ABORT)
    p.describe_group()
    p.offsets("t-0", stable=True)


@case("RequireStable is of OffsetFetch 7 and later, and 88 is told per partition")
def stable_versions(p: Play) -> None:
    producer = with_group(p)
    p.commit_in(producer, {"t-0": 7})
    for version in (8, 9):
        p.offsets("t-0", "t-1", "u-0", stable=True, version=version)
    p.old_offsets("t-0", stable=True)
    p.old_offsets("t-0", stable=False)


@case("offsets and data of one transaction")
def offsets_and_data(p: Play) -> None:
    producer = with_group(p)
    p.add(producer, "t-0")
    p.produce(producer, "t-0", 0, "a")
    p.commit_in(producer, {"t-0": 1})
    p.describe()
    p.end(producer, COMMIT)
    p.fetch("t-0")
    p.offsets("t-0", stable=True)
    p.describe()
