"""Bugs of client libraries of Python that torture finds in the faulty release, and not in the fixed one, if any."""

from __future__ import annotations

from typing import Final

from coordinator.torture.schedule import KICK, REBALANCE, Step
from coordinator.torture.verdict import FailureKind
from tests.torture.bug import Bug

BUGS: Final[tuple[Bug, ...]] = (
    Bug(
        "kafka-python",
        "3.0.8",
        "3.0.9",
        FailureKind.STUCK,
        (REBALANCE,),
        "With a rebalance listener, partitions that a member keeps in a rebalance are never fetched again.",
        "dpkp/kafka-python#3132",
        ("--listener",),
    ),
    Bug(
        "kafka-python",
        "2.2.8",
        "2.2.9",
        FailureKind.READ_AGAIN,
        (Step("delay", api="OffsetFetch", times=3, ms=2000), KICK),
        "When the committed offsets arrive later than a poll lasts, the whole topic is read from the start again.",
        "dpkp/kafka-python#2629",
    ),
    Bug(
        "kafka-python",
        "2.1.1",
        "2.1.2",
        FailureKind.EXITED,
        (Step("fail_next", api="Fetch", error="FENCED_LEADER_EPOCH"),),
        "A passing error of one partition ends the application with an AttributeError.",
        "dpkp/kafka-python#2554",
    ),
    Bug(
        "kafka-python",
        "2.2.3",
        "2.2.4",
        FailureKind.ABANDONED,
        (Step("fail_next", api="OffsetCommit", error="REBALANCE_IN_PROGRESS"),),
        "A commit during a rebalance makes the member forget its id, and all wait until its old session ends.",
        "dpkp/kafka-python#2614",
    ),
    Bug(
        "kafka-python",
        "2.3.3",
        "3.0.0",
        FailureKind.ABANDONED,
        (Step("fail_next", api="Heartbeat", error="ILLEGAL_GENERATION"),),
        "A member that missed a generation forgets its id, and all wait until its old session ends.",
        "dpkp/kafka-python#3017",
    ),
    Bug(
        "aiokafka",
        "0.10.0",
        "0.11.0",
        FailureKind.STUCK,
        (Step("lose_reply", api="Fetch", times=20), Step("rebalance", after_ms=500)),
        "A rebalance while fetching fails ends the task that fetches: no exception, and no record any more.",
        "aio-libs/aiokafka#1007",
    ),
    Bug(
        "confluent-kafka",
        "2.13.0",
        "2.13.2",
        FailureKind.LOST,
        (KICK,),
        "A batch that reports the end of a partition counts it as a record: the next record is committed unread.",
        "confluentinc/librdkafka#5213",
        ("--eof",),
    ),
    Bug(
        "confluent-kafka",
        "2.11.1",
        "2.12.0",
        FailureKind.EXITED,
        (Step("fail_next", api="OffsetCommit", error="COORDINATOR_LOAD_IN_PROGRESS"),),
        "A commit that succeeds at its second attempt still reports the error of the first one.",
        "confluentinc/librdkafka#4672",
        ("--strict",),
    ),
    Bug(
        "confluent-kafka",
        "2.16.1",
        "",
        FailureKind.STUCK,
        (Step("fail_next", api="OffsetFetch", error="NOT_COORDINATOR", copy=1), KICK),
        "When the coordinator moves between a rebalance and OffsetFetch, the partitions are never fetched.",
        "confluentinc/librdkafka#5586",
    ),
)
